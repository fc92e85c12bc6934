//! The server and the workload that `bench` is about, found before anything is started.

use std::path::Path;
use std::str::FromStr as _;
use std::sync::Arc;

use dbdyno_bench::keys;
use dbdyno_bench::oltp::{self, Kind};
use dbdyno_bench::tpcc::{self, Expected, Mode, ReadBackError};
use dbdyno_bench::workload::Workload;
use dbdyno_model::Connection;
use dbdyno_report::shell_word;

use super::{keyed, sbtest};
use crate::cli::{BenchData, Keyed, TpccData};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::target;

/// A workload as it is named, before anything is known of its data.
#[derive(Debug, Clone)]
pub(super) enum Named {
    Tpcc,
    Oltp(oltp::Config, oltp::Expected),
    Keys(keys::Kind, Keyed),
    Friends(Keyed),
    Script(String),
}

pub(super) fn named(data: &BenchData) -> Result<Named, Failure> {
    if let Ok(kind) = Kind::from_str(&data.workload) {
        let (config, said) = sbtest::config(kind, &data.sbtest)?;
        return Ok(Named::Oltp(config, said));
    }
    let same = |kind: &keys::Kind| kind.name() == data.workload;
    if let Some(kind) = keys::Kind::ALL.into_iter().find(same) {
        return Ok(Named::Keys(kind, data.keyed.clone()));
    }
    match data.workload.as_str() {
        "tpcc" => Ok(Named::Tpcc),
        "friends" => Ok(Named::Friends(data.keyed.clone())),
        file if file.contains(['.', '/']) || Path::new(file).exists() => {
            Ok(Named::Script(file.to_owned()))
        }
        other => Err(Failure::usage(
            format!("there is no workload {other}"),
            "dbdyno bench list names them; a file of your own statements is one too",
        )),
    }
}

/// The server, as psql would find it where none is named.
pub(super) fn connection(data: &BenchData, interrupt: &Interrupt) -> Result<Connection, Failure> {
    let named = data.target.as_deref().unwrap_or("");
    target::resolve(named, &data.password, interrupt.flag())
}

/// The same where it need not be there, and is not asked.
pub(super) fn unasked(data: &BenchData, interrupt: &Interrupt) -> Result<Connection, Failure> {
    let named = data.target.as_deref().unwrap_or("");
    let candidates = target::candidates(named, &data.password, interrupt.flag())?;
    Ok(candidates.first())
}

/// What is said of TPC-C's tables, and the seed for runs on those that nobody has written one down for.
pub(super) fn expected(tpcc: &TpccData, seed: u64) -> Expected {
    Expected {
        layout: tpcc.layout,
        sets: tpcc.sets,
        warehouses: tpcc.warehouses,
        seed,
    }
}

/// The workload as its data in the database are.
pub(super) fn loaded(
    named: &Named,
    connection: &Connection,
    mode: Option<Mode>,
    expected: &Expected,
) -> Result<Workload, Failure> {
    match named {
        Named::Tpcc => {
            let found = tpcc::find(connection, expected);
            let found = found.map_err(|error| unread(&error, connection))?;
            Ok(Workload::Tpcc(found.config, mode.unwrap_or_default()))
        }
        Named::Oltp(config, said) => sbtest::loaded(config, said, mode, connection),
        Named::Keys(kind, options) => {
            let config = keyed::keys_loaded(*kind, options, connection)?;
            Ok(Workload::Keys(config))
        }
        Named::Friends(options) => {
            let config = keyed::friends_loaded(options, connection)?;
            Ok(Workload::Friends(config))
        }
        Named::Script(file) => {
            let hint = "a WORKLOAD is a name that dbdyno bench list shows, or a file";
            let script = target::read_script(connection.engine, file, hint)?;
            Ok(Workload::Script(Arc::new(script)))
        }
    }
}

/// The workload as so many connections drive it.
pub(super) fn driven_by(workload: &Workload, connections: u32) -> Workload {
    match workload {
        // Each connection has its own part of the table, as in sysbench.
        Workload::Oltp(config) => Workload::Oltp(oltp::Config {
            segments: connections,
            ..*config
        }),
        other => other.clone(),
    }
}

pub(super) fn unread(error: &ReadBackError, connection: &Connection) -> Failure {
    let address = connection.display();
    let (message, hint) = match error {
        ReadBackError::Sql(source) => (
            format!("{address}: {}", source.deepest()),
            source.hint().map(str::to_owned),
        ),
        ReadBackError::NotLoaded => (
            format!("{address}: {error}"),
            Some(format!(
                "dbdyno bench load tpcc {}; for data of sysbench-tpcc give --layout sysbench",
                shell_word(&address)
            )),
        ),
        ReadBackError::Contradiction { .. } | ReadBackError::Foreign { .. } => (
            format!("{address}: {error}"),
            error.hint().map(str::to_owned),
        ),
        ReadBackError::Unfinished => (
            format!("{address}: {error}"),
            Some(format!(
                "dbdyno bench load tpcc {} with --resume and its options goes on with it, with \
                 --replace it begins anew",
                shell_word(&address)
            )),
        ),
        _ => (
            format!("{address}: {error}"),
            Some(format!(
                "dbdyno bench load tpcc --replace {}",
                shell_word(&address)
            )),
        ),
    };
    Failure::new(Exit::Usage, message, hint)
}
