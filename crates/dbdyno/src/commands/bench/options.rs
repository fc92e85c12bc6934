//! The server and the workload that `bench` is about, found before anything is started.

use std::path::Path;
use std::str::FromStr as _;
use std::sync::Arc;

use dbdyno_bench::oltp::{self, Kind};
use dbdyno_bench::tpcc::{self, Mode, ReadBackError};
use dbdyno_bench::workload::Workload;
use dbdyno_model::Connection;
use dbdyno_report::shell_word;

use crate::cli::{BenchData, Sbtest};
use crate::exit::{Exit, Failure};
use crate::target;

/// A workload as it is named, before anything is known of its data.
#[derive(Debug, Clone)]
pub(super) enum Named {
    Tpcc,
    Oltp(oltp::Config),
    Script(String),
}

pub(super) fn named(data: &BenchData) -> Result<Named, Failure> {
    if let Ok(kind) = Kind::from_str(&data.workload) {
        return Ok(Named::Oltp(sbtest(kind, &data.sbtest)?));
    }
    match data.workload.as_str() {
        "tpcc" => Ok(Named::Tpcc),
        file if file.contains(['.', '/']) || Path::new(file).exists() => {
            Ok(Named::Script(file.to_owned()))
        }
        other => Err(Failure::usage(
            format!("there is no workload {other}"),
            "dbdyno bench list names them; a file of your own statements is one too",
        )),
    }
}

fn sbtest(kind: Kind, options: &Sbtest) -> Result<oltp::Config, Failure> {
    let config = oltp::Config {
        tables: options.tables,
        table_size: options.table_size,
        range_size: options.range_size,
        distribution: options.rand_type,
        skip_transactions: options.skip_trx,
        ..oltp::Config::new(kind)
    };
    match config.refusal() {
        Some(why) => Err(Failure::usage(
            why,
            "dbdyno bench run --help names the options",
        )),
        None => Ok(config),
    }
}

/// The server, as psql would find it where none is named.
pub(super) fn connection(data: &BenchData) -> Result<Connection, Failure> {
    target::resolve(data.target.as_deref().unwrap_or(""))
}

/// The workload as its data in the database are.
pub(super) fn loaded(
    named: &Named,
    connection: &Connection,
    mode: Option<Mode>,
) -> Result<Workload, Failure> {
    match named {
        Named::Tpcc => {
            let stored = tpcc::read_back(connection).map_err(|error| unread(&error, connection))?;
            Ok(Workload::Tpcc(stored.config, mode.unwrap_or_default()))
        }
        Named::Oltp(config) => Ok(Workload::Oltp(oltp::Config {
            pipelined: match mode {
                None | Some(Mode::Unbatched) => false,
                Some(Mode::Pipelined) => true,
                Some(Mode::Batched) => {
                    return Err(Failure::usage(
                        "--mode batched is for tpcc",
                        "sysbench's workloads are unbatched or pipelined",
                    ));
                }
            },
            ..*config
        })),
        Named::Script(file) => {
            if mode.is_some() {
                return Err(Failure::usage(
                    "--mode is for tpcc and sysbench's workloads",
                    "a file's statements are sent as they stand there",
                ));
            }
            let hint = "a WORKLOAD is a name that dbdyno bench list shows, or a file";
            Ok(Workload::Script(Arc::new(target::read_script(file, hint)?)))
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

fn unread(error: &ReadBackError, connection: &Connection) -> Failure {
    let address = connection.display();
    let (message, hint) = match error {
        ReadBackError::Sql(source) => (
            format!("{address}: {}", source.deepest()),
            source.hint().map(str::to_owned),
        ),
        ReadBackError::NotLoaded => (
            format!("{address}: {error}"),
            Some(format!("dbdyno bench load tpcc {}", shell_word(&address))),
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
