//! Collects facts of one server that was named, or of this host and every server found on it.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use dbdyno_model::Connection;
use dbdyno_model::facts::Facts;
use dbdyno_target::host::{self, HostOptions, Postmaster, Root};
use dbdyno_target::names::{self, Names};
use dbdyno_target::{connection, found};

use crate::cli::Reading;
use crate::exit::{Exit, Failure};
use crate::facts;
use crate::neighbours::{self, not_read, not_readable};
use crate::printer::Printer;
use crate::target::postmaster;

/// Beside the sample. Each statement has a limit of its own on the server; this one ends the wait
/// for a server that stopped in the middle of an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What is asked of a collection.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Time between the two readings of each counter.
    pub(crate) sample: Duration,
    /// Of servers that are found; none is the one that does most of the work.
    pub(crate) database: Option<String>,
    /// Leave the names of hosts and users and their addresses in.
    pub(crate) with_names: bool,
}

impl From<&Reading> for Wanted {
    fn from(reading: &Reading) -> Self {
        Self {
            sample: reading.sample,
            database: reading.database.clone(),
            with_names: reading.with_names,
        }
    }
}

/// The facts of the server, or without one of this host and all servers that run on it.
pub(crate) fn collect(
    to: Option<&Connection>,
    wanted: &Wanted,
    printer: &Printer,
) -> Result<Facts, Failure> {
    let mut names = Names::here(&|name| std::env::var(name).ok());
    let facts = match to {
        Some(to) => {
            names.add(to);
            printer.progress(&format!("reading {}", to.display()));
            server(to, wanted.sample, &mut names).map_err(without_secrets)?
        }
        None => {
            printer.progress("reading this host");
            this_host(wanted, &mut names)
        }
    };
    printer.clear();
    let names = (!wanted.with_names).then_some(&names);
    names::hidden(&facts, names).map_err(|error| {
        Failure::new(
            Exit::Defect,
            format!("the facts cannot be written without the names in them: {error}"),
            Some("--with-names leaves the names in".into()),
        )
    })
}

/// An error of the server's may repeat what it was given.
pub(crate) fn without_secrets(failure: Failure) -> Failure {
    Failure {
        message: names::hidden_text(&failure.message, None),
        ..failure
    }
}

/// One server, and where its own backend shows that it runs here the host, with what others hold of it.
fn server(to: &Connection, sample: Duration, names: &mut Names) -> Result<Facts, Failure> {
    // This has a limit of its own, which the user may have set.
    let mut client = connection::connect(to)
        .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))?;
    let (facts, postmaster) = within(sample + PATIENCE, &to.display(), move || {
        let postmaster = postmaster(&mut client);
        let facts = facts::read(&mut client, postmaster, sample)?;
        Ok((facts, postmaster))
    })?;
    let unreached = postmaster.map(|named| neighbours::of(named, Some(names)));
    Ok(Facts {
        unreached: unreached.unwrap_or_default(),
        ..facts
    })
}

/// This host with every server that runs on it: all are read at the same time.
fn this_host(wanted: &Wanted, names: &mut Names) -> Facts {
    let postmasters = host::postmasters(&Root::host());
    for account in postmasters.iter().filter_map(found::account) {
        names.add_user(&account);
    }
    let results: Vec<Result<Facts, Failure>> = thread::scope(|scope| {
        let readers: Vec<_> = postmasters
            .iter()
            .map(|postmaster| scope.spawn(move || found_server(postmaster.clone(), wanted.clone())))
            .collect();
        readers
            .into_iter()
            .map(|reader| reader.join().unwrap_or_else(|_| Err(ended(None))))
            .collect()
    });
    let mut read = Vec::new();
    let mut unreached = Vec::new();
    for (postmaster, result) in postmasters.iter().zip(results) {
        match result {
            Ok(facts) => read.push(facts),
            Err(failure) => unreached.push(not_read(postmaster, failure)),
        }
    }
    let others = host::other_servers(&Root::host());
    unreached.extend(others.into_iter().map(not_readable));
    let mut servers = read.into_iter();
    let first = servers
        .next()
        .unwrap_or_else(|| alone(&postmasters, wanted.sample));
    Facts {
        others: servers.collect(),
        unreached,
        ..first
    }
}

fn found_server(postmaster: Postmaster, wanted: Wanted) -> Result<Facts, Failure> {
    let what = match postmaster.port {
        Some(port) => format!("the server on port {port}"),
        None => format!("the server of process {}", postmaster.pid),
    };
    within(wanted.sample + PATIENCE, &what, move || {
        let pid = postmaster.pid;
        let database = wanted.database.as_deref();
        let mut client = found::reach(&postmaster, database, &|name| std::env::var(name).ok())
            .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))?;
        facts::read(&mut client, Some(pid), wanted.sample)
    })
}

/// The host where no server could be read: with the data directory of one that runs, if there is any.
fn alone(postmasters: &[Postmaster], sample: Duration) -> Facts {
    let root = Root::host();
    let options = postmasters.first().map(|postmaster| HostOptions {
        data_directory: postmaster.data_directory.clone(),
        wal_directory: postmaster
            .data_directory
            .as_ref()
            .map(|directory| directory.join("pg_wal")),
        server_pid: Some(postmaster.pid),
        ..HostOptions::default()
    });
    facts::of_host_over(&root, &options.unwrap_or_default(), sample)
}

/// Runs the work on a thread of its own and does not wait for it longer than that.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let started = thread::Builder::new().name("reader".into()).spawn(move || {
        // Nobody waits any more once the time is over.
        let _ = sender.send(work());
    });
    started.map_err(|error| {
        let message = format!("cannot start a thread to read {what}: {error}");
        Failure::new(Exit::Surroundings, message, None)
    })?;
    match receiver.recv_timeout(limit) {
        Ok(result) => result,
        Err(RecvTimeoutError::Disconnected) => Err(ended(Some(what))),
        Err(RecvTimeoutError::Timeout) => Err(Failure::usage(
            format!(
                "{what} stopped answering while it was read: nothing came for {} s",
                limit.as_secs()
            ),
            "its log and its host say whether it hangs; pg_stat_activity shows our session as dbdyno",
        )),
    }
}

fn ended(what: Option<&str>) -> Failure {
    let message = format!(
        "the reader of {} ended without an answer",
        what.unwrap_or("a server")
    );
    Failure::new(Exit::Defect, message, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_hangs_is_left_behind() {
        let (hold, held) = mpsc::channel::<()>();
        let limit = Duration::from_millis(50);
        let failure = within(limit, "it", move || {
            let _ = held.recv();
            Ok(())
        })
        .unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(
            failure.message.contains("it stopped answering"),
            "{}",
            failure.message
        );
        drop(hold);
    }

    #[test]
    fn a_reader_that_breaks_is_a_defect_and_an_answer_is_an_answer() {
        let limit = Duration::from_secs(60);
        let broken = within(limit, "it", || -> Result<(), Failure> {
            panic!("as a reader must not")
        });
        assert_eq!(broken.unwrap_err().exit, Exit::Defect);
        assert_eq!(within(limit, "it", || Ok(7)).unwrap(), 7);
    }
}
