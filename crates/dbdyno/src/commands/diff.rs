//! `dbdyno diff`: what differs between two sets of facts, and between what the rules say of them.

use std::path::Path;

use dbdyno_model::Facts;
use dbdyno_report::diff::JudgedServer;
use dbdyno_report::{Judged, diff, diff_page, to_json};
use dbdyno_rules::solver::humane;

use crate::cli;
use crate::exit::Failure;
use crate::facts_file;
use crate::printer::Printer;

pub(crate) fn run(arguments: &cli::Diff, printer: &Printer) -> Result<(), Failure> {
    let (a, b) = (judged(&arguments.a)?, judged(&arguments.b)?);
    let diff = diff(&a, &b, env!("CARGO_PKG_VERSION"));
    let text = if arguments.json {
        to_json(&diff)
    } else {
        diff_page(&diff, printer.width(), printer.style())
    };
    printer.result(&text)
}

/// Both sides are judged by the same rules, whichever dbdyno collected them.
fn judged(path: &Path) -> Result<Judged, Failure> {
    let facts = facts_file::read(path)?;
    let servers = dbdyno_rules::side_by_side(&facts)
        .iter()
        .map(|one| server(one))
        .collect();
    Ok(Judged {
        name: path.display().to_string(),
        facts,
        servers,
    })
}

fn server(facts: &Facts) -> JudgedServer {
    let settings = facts.postgres.iter().flat_map(|server| &server.settings);
    JudgedServer {
        settings: settings
            .map(|(name, setting)| (name.clone(), humane::setting(setting)))
            .collect(),
        findings: dbdyno_rules::check(facts).findings,
    }
}
