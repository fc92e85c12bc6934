//! dbdyno's driver beside its peers, within one run, alternated: what docs/performance.md quotes.

mod contest;
mod figures;
mod mariadb;
mod oltp;
mod options;
mod ours;
mod parts;
mod peers;
mod rows;
mod site;
mod told;

use self::options::{Options, usage};
use self::parts::Context;
use self::peers::Peers;
use self::rows::Row;
use self::site::Site;
use super::machine::Head;
use super::{floor, table};
use crate::{command, servers};

/// Of TPC-C.
const WAREHOUSES: u32 = 10;
/// Connections that load, or check, at once.
const LOADERS: u32 = floor::SESSIONS;

pub(super) fn run(words: &[&str]) -> Result<(), String> {
    if words.contains(&"--help") {
        println!("{}", usage());
        return Ok(());
    }
    let options = Options::parse(words)?;
    command::cargo(&["build", "--release", "-p", "dbdyno"])?;
    let servers = servers::fetch()?;
    let peers = Peers::find(&options);
    let mut report = Report {
        head: Head::new(options.shown(), options.runs(), Some(peers.versions()))?,
        rows: Vec::new(),
        troubles: Vec::new(),
    };
    let context = Context {
        options: &options,
        peers: &peers,
    };
    for engine in &options.engines {
        let measured = match Site::start(*engine, &servers) {
            Ok(site) => report.measure(site, &context),
            Err(error) => Err(error),
        };
        if let Err(error) = measured {
            report.troubles.push(format!("{}: {error}", engine.name()));
        }
    }
    report.save()?;
    report.print();
    match report.failed() {
        0 => Ok(()),
        failed => Err(format!("{failed} of what should be measured failed")),
    }
}

/// All that was found out until now.
#[derive(Debug)]
struct Report {
    head: Head,
    rows: Vec<Row>,
    /// What became of parts that have no rows.
    troubles: Vec<String>,
}

impl Report {
    fn measure(&mut self, mut site: Site, context: &Context<'_>) -> Result<(), String> {
        let server = site.engine.name();
        let version = site.version()?;
        self.head.servers.push(format!("{server} {version}"));
        for part in &context.options.parts {
            match part.run(&mut site, context) {
                Ok(rows) => self.rows.extend(rows),
                Err(absent) => {
                    let trouble = format!("{}, {server}: {absent}", part.name());
                    eprintln!("{trouble}");
                    self.troubles.push(trouble);
                }
            }
            // What was measured is kept, whatever becomes of the rest.
            self.save()?;
        }
        Ok(())
    }

    fn save(&self) -> Result<(), String> {
        let mut document = table::document(&self.head.json(), &self.rows);
        document["troubles"] = self.troubles.clone().into();
        table::save("drivers", &document)
    }

    fn print(&self) {
        println!("{}\n{}", self.head.markdown(), table::markdown(&self.rows));
        for trouble in &self.troubles {
            println!("{trouble}");
        }
    }

    fn failed(&self) -> usize {
        let rows = self.rows.iter().filter(|row| row.is_failed()).count();
        rows + self.troubles.len()
    }
}
