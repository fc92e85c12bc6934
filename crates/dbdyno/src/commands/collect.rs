//! `dbdyno collect`: the facts alone, on standard output or whole in a file.

use std::path::Path;

use dbdyno_model::Facts;
use dbdyno_report::to_json;

use crate::cli;
use crate::collecting;
use crate::exit::{Exit, Failure};
use crate::facts_file;
use crate::files;
use crate::interrupt::Interrupt;
use crate::printer::{Printer, plain};
use crate::target::resolve_named;

pub(crate) fn run(
    arguments: &cli::Collect,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let output = arguments.output.as_deref();
    let output = output.filter(|path| *path != Path::new("-"));
    if let Some(path) = output {
        check_output(path)?;
    }
    let named = arguments.target.as_deref();
    let target = resolve_named(named, &arguments.password, interrupt.flag())?;
    let facts = collecting::collect(target.as_ref(), &(&arguments.reading).into(), printer)?;
    // From here on nothing is left half.
    interrupt.watches(true);
    if interrupt.is_set() {
        return Err(interrupted());
    }
    for server in &facts.unreached {
        let port = server.port.map(|port| format!(" on port {port}"));
        printer.say(&format!(
            "{}{} runs here and was not read: {}",
            server.engine.as_deref().unwrap_or("PostgreSQL"),
            port.unwrap_or_default(),
            plain(&server.why)
        ));
    }
    let text = to_json(&facts);
    let Some(path) = output else {
        return printer.result(&text);
    };
    files::write(path, text.as_bytes()).map_err(|error| {
        Failure::new(
            Exit::Surroundings,
            format!("cannot write {}: {error}", path.display()),
            Some("nothing was written; name another file with -o".into()),
        )
    })?;
    printer.say(&format!(
        "wrote {}: {}; `dbdyno check --facts` reads it",
        path.display(),
        what(&facts)
    ));
    Ok(())
}

/// A sample may take an hour: what cannot be written is told before it.
fn check_output(path: &Path) -> Result<(), Failure> {
    let refuse = |why: String| {
        Failure::usage(
            format!("cannot write {}: {why}", path.display()),
            "name a file in a directory that you may write to, or - for standard output",
        )
    };
    if path.exists() && !path.is_file() {
        return Err(refuse("it is there and is not a file".to_owned()));
    }
    if path.is_file() && !facts_file::may_replace(path) {
        return Err(Failure::usage(
            format!("{} is there and holds no facts alone", path.display()),
            "name another file: only facts are replaced by newer ones",
        ));
    }
    files::check_writable(path).map_err(|error| refuse(error.to_string()))
}

fn what(facts: &Facts) -> String {
    let servers = facts
        .each()
        .filter(|facts| facts.postgres.is_some())
        .count();
    let host = if facts.host.is_some() {
        "the host"
    } else {
        "no host facts"
    };
    match servers {
        0 => host.to_owned(),
        1 => format!("{host}, 1 server"),
        servers => format!("{host}, {servers} servers"),
    }
}

fn interrupted() -> Failure {
    Failure::new(Exit::Interrupted, "interrupted: nothing was written", None)
}
