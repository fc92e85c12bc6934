//! When a number is not to be trusted as it stands, and what to do about it.

use dbdyno_bench::driver::MAX_ERROR_SHARE;
use dbdyno_bench::wire::{read_only_hint, refused_as_read_only};
use dbdyno_model::Bench;
use dbdyno_model::bench::Warning;
use dbdyno_model::run::ServerUse;
use dbdyno_report::number;
use dbdyno_stats::{LEAST_IN_BATCH, MIN_BATCHES};

use super::{pages, users};

/// A driver thread that is busier than that makes its terminals wait.
const SATURATED: f64 = 0.8;
/// Seconds of arrivals that may be due and not begun at the end without the queue having grown.
const QUEUE_S: f64 = 1.0;
/// Below this the end of a warm-up cannot be told.
const LEAST_S: f64 = 10.0;
/// The same of transactions, in batches of whole seconds, which may hold nearly twice the least.
const LEAST_TRANSACTIONS: u64 = 2 * MIN_BATCHES as u64 * LEAST_IN_BATCH;
/// More than this share of the CPU taken by the hypervisor is another machine.
const STEAL: f64 = 0.05;
const NO_CHECKPOINT: &str =
    "no checkpoint fell into the window: writing its pages back is not in the number";

/// Everything that a reader has to know before quoting the rate.
pub(super) fn warnings(run: &Bench, writes: bool) -> Vec<Warning> {
    let all = [
        nothing_done(run),
        errors(run),
        restarted(run),
        queue(run),
        saturated(run),
        unsteady(run),
        no_checkpoint(run, writes),
        steal(run),
    ];
    let mut all: Vec<Warning> = all.into_iter().flatten().collect();
    all.extend(users::warnings(run));
    all.extend(pages::warnings(run));
    all
}

pub(super) fn warn(what: String, next: &str) -> Option<Warning> {
    let next = next.to_owned();
    Some(Warning { what, next })
}

fn nothing_done(run: &Bench) -> Option<Warning> {
    if run.transactions > 0 {
        return None;
    }
    warn(
        "no transaction was committed".into(),
        "look at the errors above, or take a longer --duration",
    )
}

fn errors(run: &Bench) -> Option<Warning> {
    let failed: u64 = run.errors.values().sum();
    let all = failed + run.transactions + run.intended_rollbacks;
    let share = failed as f64 / all.max(1) as f64;
    if share <= MAX_ERROR_SHARE {
        return None;
    }
    let read_only = run.errors.keys().find_map(|code| {
        let message = run.error_messages.get(code).map_or("", String::as_str);
        refused_as_read_only(code, message)
    });
    warn(
        format!(
            "{} of the transactions were given up",
            number::percent(share)
        ),
        read_only.map_or(
            "mend what the errors name: a rate beside so many of them says little",
            read_only_hint,
        ),
    )
}

fn restarted(run: &Bench) -> Option<Warning> {
    let often = match run.server.restarts.filter(|restarts| *restarts > 0)? {
        1 => "once".to_owned(),
        restarts => format!("{} times", number::count(restarts)),
    };
    warn(
        format!(
            "the server was restarted {often}: the rate has a gap, and what the server did right \
             before its end is not counted"
        ),
        "look at the end of the server's log for why it stopped",
    )
}

fn queue(run: &Bench) -> Option<Warning> {
    let open = run.open_loop.as_ref()?;
    let waiting = open.backlog as f64 - f64::from(run.connections);
    if waiting <= open.rate_tps * QUEUE_S {
        return None;
    }
    warn(
        format!(
            "the server does not keep up with {}: {} transactions were due and not begun",
            number::tps(open.rate_tps),
            number::count(open.backlog)
        ),
        "take a lower --rate or more --connections; without --rate the run says what it can do",
    )
}

fn saturated(run: &Bench) -> Option<Warning> {
    let busy = run.driver_busy.filter(|busy| *busy > SATURATED)?;
    warn(
        format!(
            "the driver was busy for {} of its time: it may have been what was measured",
            number::percent(busy)
        ),
        "give it more --threads, and processors that the server does not need",
    )
}

fn unsteady(run: &Bench) -> Option<Warning> {
    if run.steady || run.transactions == 0 {
        return None;
    }
    let whole = run.seconds + run.warm_up_s;
    if whole < LEAST_S {
        return warn(
            format!(
                "{} are too short to tell whether the rate was steady",
                number::duration(whole)
            ),
            "take a --duration of at least 10s, better a minute",
        );
    }
    let ended = run.transactions + run.intended_rollbacks;
    if ended < LEAST_TRANSACTIONS {
        return warn(
            format!(
                "{} transactions are too few to tell whether the rate was steady",
                number::count(ended)
            ),
            "take a longer --duration",
        );
    }
    warn(
        "the rate had not become steady".into(),
        "take a longer --duration, or a --warm-up that outlasts the caches",
    )
}

/// An arm that never wrote its pages has not paid for what it did.
fn no_checkpoint(run: &Bench, writes: bool) -> Option<Warning> {
    let server = &run.server;
    if let Some(moved) = server.checkpoint_moved_bytes {
        let wrote = writes && run.transactions > 0;
        return wrote.then(|| unwritten(server, moved)).flatten();
    }
    let checkpoints = server.checkpoints_timed? + server.checkpoints_requested?;
    if !writes || checkpoints > 0 || run.transactions == 0 {
        return None;
    }
    warn(
        NO_CHECKPOINT.into(),
        "take a --duration of several checkpoint_timeout, or let dbdyno tune charge them",
    )
}

/// InnoDB's checkpoint follows the oldest page that is not written back yet.
fn unwritten(server: &ServerUse, moved: u64) -> Option<Warning> {
    const NEXT: &str = "take a --warm-up and a --duration in which the redo log fills \
        (innodb_redo_log_capacity, MariaDB's innodb_log_file_size), or let it be smaller";
    // A file of statements may only read.
    let logged = server.wal_bytes_per_transaction;
    if logged.is_some_and(|bytes| bytes <= 0.0) {
        return None;
    }
    if moved == 0 {
        return warn(NO_CHECKPOINT.into(), NEXT);
    }
    let more = server
        .dirty_pages?
        .saturating_sub(server.dirty_pages_before?);
    let flushed = server.pages_flushed?;
    if more <= flushed {
        return None;
    }
    warn(
        format!(
            "{} of the {} pages that became dirty in the window were not written back in it",
            number::count(more),
            number::count(more + flushed)
        ),
        NEXT,
    )
}

fn steal(run: &Bench) -> Option<Warning> {
    let steal = run.conditions.steal.filter(|steal| *steal > STEAL)?;
    warn(
        format!(
            "the hypervisor took {} of the CPU time for others",
            number::percent(steal)
        ),
        "compare only runs that alternate within minutes, and quote their ratio",
    )
}

#[cfg(test)]
mod tests {
    use dbdyno_model::run::{Conditions, OpenLoop};

    use super::*;

    fn sound() -> Bench {
        Bench {
            transactions: 1_000,
            seconds: 60.0,
            steady: true,
            connections: 8,
            driver_busy: Some(0.3),
            server: ServerUse {
                checkpoints_timed: Some(0),
                checkpoints_requested: Some(1),
                ..ServerUse::default()
            },
            ..Bench::default()
        }
    }

    fn said(run: &Bench) -> Vec<String> {
        warnings(run, true)
            .into_iter()
            .map(|warning| warning.what)
            .collect()
    }

    #[test]
    fn a_sound_run_has_none_and_each_fault_has_its_own() {
        assert_eq!(said(&sound()), [""; 0]);
        let open = |backlog| OpenLoop {
            rate_tps: 100.0,
            backlog,
            ..OpenLoop::default()
        };
        let faults = [
            (
                Bench {
                    transactions: 0,
                    ..sound()
                },
                "no transaction",
            ),
            (
                Bench {
                    errors: [("40001".into(), 11)].into(),
                    ..sound()
                },
                "given up",
            ),
            (
                Bench {
                    server: ServerUse {
                        restarts: Some(2),
                        ..sound().server
                    },
                    ..sound()
                },
                "restarted 2 times",
            ),
            (
                Bench {
                    open_loop: Some(open(109)),
                    ..sound()
                },
                "does not keep up",
            ),
            (
                Bench {
                    driver_busy: Some(0.81),
                    ..sound()
                },
                "busy for 81 %",
            ),
            (
                Bench {
                    steady: false,
                    ..sound()
                },
                "not become steady",
            ),
            (
                Bench {
                    steady: false,
                    seconds: 5.0,
                    ..sound()
                },
                "too short",
            ),
            (
                Bench {
                    conditions: Conditions {
                        steal: Some(0.06),
                        ..Conditions::default()
                    },
                    ..sound()
                },
                "hypervisor",
            ),
        ];
        for (run, expected) in faults {
            let said = said(&run);
            assert!(
                said.len() == 1 && said[0].contains(expected),
                "{said:?} {expected}"
            );
        }
        let within = Bench {
            open_loop: Some(open(108)),
            errors: [("40001".into(), 10)].into(),
            ..sound()
        };
        assert_eq!(said(&within), [""; 0]);
    }

    #[test]
    fn a_server_that_took_no_writes_is_named() {
        let next = |code: &str, message: &str| {
            let run = Bench {
                errors: [(code.into(), 11)].into(),
                error_messages: [(code.into(), message.into())].into(),
                ..sound()
            };
            warnings(&run, true).remove(0).next
        };
        let replica = "The MySQL server is running with the --read-only option";
        for (code, message) in [("25006", ""), ("1290", replica)] {
            let next = next(code, message);
            assert!(next.contains("primary's address"), "{next}");
        }
        assert!(next("23505", "").contains("mend what the errors name"));
    }

    #[test]
    fn few_transactions_do_not_tell_of_steadiness() {
        let few = Bench {
            transactions: 390,
            intended_rollbacks: 9,
            steady: false,
            ..sound()
        };
        assert_eq!(
            said(&few),
            ["399 transactions are too few to tell whether the rate was steady"]
        );
    }

    #[test]
    fn a_checkpoint_is_missed_where_pages_were_written_and_counters_known() {
        let mut run = sound();
        run.server.checkpoints_requested = Some(0);
        assert_eq!(said(&run).len(), 1);
        assert_eq!(warnings(&run, false), []);
        run.server.checkpoints_timed = None;
        assert_eq!(said(&run), [""; 0]);
    }

    #[test]
    fn innodb_has_to_have_written_back_what_it_dirtied() {
        let run = |moved, dirty, flushed| Bench {
            server: ServerUse {
                wal_bytes_per_transaction: Some(500.0),
                checkpoint_moved_bytes: Some(moved),
                dirty_pages_before: Some(100),
                dirty_pages: Some(dirty),
                pages_flushed: Some(flushed),
                ..ServerUse::default()
            },
            ..sound()
        };
        let none = said(&run(0, 150, 0));
        assert!(none.len() == 1 && none[0].contains("no checkpoint"));
        let few = said(&run(4_096, 1_100, 500));
        assert!(few.len() == 1, "{few:?}");
        assert!(few[0].contains("1,000 of the 1,500 pages"), "{few:?}");
        assert_eq!(said(&run(4_096, 600, 500)), [""; 0]);
        assert_eq!(said(&run(4_096, 50, 0)), [""; 0]);
        assert_eq!(warnings(&run(0, 150, 0), false), []);
        let mut unknown = run(4_096, 1_100, 500);
        unknown.server.dirty_pages = None;
        assert_eq!(said(&unknown), [""; 0]);
        let mut only_read = run(0, 100, 0);
        only_read.server.wal_bytes_per_transaction = Some(0.0);
        assert_eq!(said(&only_read), [""; 0]);
    }
}
