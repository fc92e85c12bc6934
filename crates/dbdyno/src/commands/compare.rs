//! `dbdyno compare`: stored runs or files side by side.

use dbdyno_model::Tune;
use dbdyno_report::{Chosen, Selection, compare, comparison_markdown, comparison_page};

use crate::cli;
use crate::clock;
use crate::exit::Failure;
use crate::printer::Printer;
use crate::{selection, store};

pub(crate) fn run(arguments: &cli::Compare, printer: &Printer) -> Result<(), Failure> {
    let mut open = || store::open(arguments.store.store.as_deref(), printer);
    let mut loaded: Vec<(&str, Tune)> = Vec::new();
    let mut chosen = Vec::new();
    for text in std::iter::once(&arguments.base).chain(&arguments.runs) {
        let named = selection::parse(text, &selection::is_file);
        // Two arms of one trial are the same document, read once.
        let at = match loaded.iter().position(|(trial, _)| *trial == named.trial) {
            Some(at) => at,
            None => {
                loaded.push((named.trial, selection::load(named.trial, &mut open)?));
                loaded.len() - 1
            }
        };
        let part = match named.part {
            Some(part) => part,
            None => judged_arm(text, &loaded[at].1)?,
        };
        chosen.push((at, part));
    }
    let selections: Vec<Selection<'_>> = chosen
        .into_iter()
        .map(|(at, part)| {
            let tune = &loaded[at].1;
            let name = match &part {
                Chosen::Arm(arm) => format!("{}:{arm}", tune.name),
                Chosen::Run(number) => format!("{}/{number}", tune.name),
            };
            Selection {
                name,
                tune,
                runs: part,
            }
        })
        .collect();
    let comparison = compare(&selections, &clock::now(), env!("CARGO_PKG_VERSION"))
        .map_err(|error| Failure::new(crate::exit::Exit::Usage, error.to_string(), error.hint()))?;
    let text = if arguments.json {
        dbdyno_report::to_json(&comparison)
    } else if arguments.markdown {
        comparison_markdown(&comparison)
    } else {
        comparison_page(&comparison, printer.width(), printer.style())
    };
    printer.result(&text)
}

/// A trial without an arm means the arm it judged.
fn judged_arm(text: &str, tune: &Tune) -> Result<Chosen, Failure> {
    if let Some(verdict) = &tune.verdict {
        return Ok(Chosen::Arm(verdict.arm.clone()));
    }
    let arms: Vec<&str> = tune.arms.iter().map(|arm| arm.name.as_str()).collect();
    Err(Failure::usage(
        format!("{text} judged no arm"),
        if arms.is_empty() {
            "it is a plan without a trial: name one with runs, see `dbdyno runs list`".to_owned()
        } else {
            format!("name one of its arms: {text}:{}", arms.join(" or "))
        },
    ))
}
