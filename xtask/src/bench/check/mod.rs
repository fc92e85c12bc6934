//! What it costs to check a server with ten thousand tables: what docs/performance.md quotes.

mod database;
mod locks;
mod log;
mod options;
mod round;
mod rows;
mod site;

use self::options::{Options, usage};
use self::round::Round;
use self::site::Site;
use super::machine::Head;
use super::table;
use crate::{command, servers};

pub(super) fn run(words: &[&str]) -> Result<(), String> {
    if words.contains(&"--help") {
        println!("{}", usage());
        return Ok(());
    }
    let options = Options::parse(words)?;
    command::cargo(&["build", "--release", "-p", "dbdyno"])?;
    let servers = servers::fetch()?;
    let site = Site::start(&servers, options.tables)?;
    eprintln!("making {} tables", options.tables);
    let relations = database::make(&site, options.tables)?;
    let runs = format!("medians of {} rounds", options.rounds);
    let mut head = Head::new(options.shown(), runs, None)?;
    head.servers.push(format!(
        "PostgreSQL {} with {} tables, {relations} relations",
        site.version()?,
        options.tables
    ));
    // What is in no cache yet is nobody's figure.
    round::check(&site)?;
    let mut rounds = Vec::new();
    for round in 1..=options.rounds {
        eprintln!("round {round} of {}", options.rounds);
        rounds.push(Round::run(&site, options.tables)?);
    }
    eprintln!("a check beside locked tables");
    let strongest = locks::strongest(&site)?;
    let rows = rows::rows(&rounds, strongest);
    table::save("check", &table::document(&head.json(), &rows))?;
    println!("{}\n{}", head.markdown(), table::markdown(&rows));
    Ok(())
}
