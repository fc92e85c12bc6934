//! What sessions wait for: several looks at them while the window passes.

use std::thread;
use std::time::{Duration, Instant};

use ::postgres::{Client, Error};
use dbdyno_model::Fact;
use dbdyno_model::postgres::Waits;

use super::error::CollectError;
use super::reader::{Reader, Subject, count, count_or_none};

const SUBJECT: Subject = Subject::new("postgres.waits", "pg_stat_activity");
const LOCKS: Subject = Subject::new("postgres.relation_locks", "pg_locks");

/// Between two looks: ten a second tell one in twenty, and cost less than one percent of a CPU.
const PAUSE: Duration = Duration::from_millis(100);

const SQL: &str = "SELECT backend_type = 'startup', \
         coalesce(wait_event_type || ':' || wait_event, ''), count(*) \
     FROM pg_stat_activity WHERE backend_type = 'startup' \
         OR (backend_type IN ('client backend', 'parallel worker') AND state = 'active' \
             AND pid <> pg_backend_pid()) \
     GROUP BY 1, 2";

/// Sessions that were seen in one state.
struct Seen {
    is_startup: bool,
    /// Empty for who ran.
    event: String,
    sessions: u64,
}

/// Looks at least once, and returns when the moment has come.
pub(super) fn watch(reader: &mut Reader<'_>, until: Instant) -> Result<Fact<Waits>, CollectError> {
    let wait = |longest: Duration| {
        thread::sleep(until.saturating_duration_since(Instant::now()).min(longest));
    };
    if !reader.sees_all_sessions {
        wait(Duration::MAX);
        return Ok(reader.unseen(&SUBJECT));
    }
    let mut waits = Waits {
        most_relation_locks: reader.read(&LOCKS, most_relation_locks)?.get().flatten(),
        ..Waits::default()
    };
    loop {
        let look = reader.read(&SUBJECT, look)?;
        let Some(seen) = look.value() else {
            wait(Duration::MAX);
            return Ok(look.map(|_| Waits::default()));
        };
        add(&mut waits, seen);
        if Instant::now() >= until {
            return Ok(Fact::known(waits, SUBJECT.origin));
        }
        wait(PAUSE);
    }
}

fn look(client: &mut Client, _version: u32) -> Result<Vec<Seen>, Error> {
    client
        .query(SQL, &[])?
        .iter()
        .map(|row| {
            Ok(Seen {
                is_startup: row.try_get(0)?,
                event: row.try_get(1)?,
                sessions: count(row.try_get(2)?),
            })
        })
        .collect()
}

fn add(waits: &mut Waits, seen: &[Seen]) {
    waits.looks += 1;
    for one in seen {
        if !one.is_startup {
            waits.active += one.sessions;
        }
        if one.event.is_empty() {
            continue;
        }
        let events = if one.is_startup {
            &mut waits.startup_events
        } else {
            &mut waits.events
        };
        *events.entry(one.event.clone()).or_default() += one.sessions;
    }
}

/// None where nobody else holds any.
fn most_relation_locks(client: &mut Client, _version: u32) -> Result<Option<u64>, Error> {
    const SQL: &str = "SELECT max(held) FROM (SELECT count(*) AS held FROM pg_locks \
         WHERE locktype = 'relation' AND pid <> pg_backend_pid() GROUP BY pid) l";
    Ok(count_or_none(client.query_one(SQL, &[])?.try_get(0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_add_up_and_who_runs_waits_for_nothing() {
        let seen = |is_startup, event: &str, sessions| Seen {
            is_startup,
            event: event.into(),
            sessions,
        };
        let mut waits = Waits::default();
        add(
            &mut waits,
            &[
                seen(false, "", 3),
                seen(false, "LWLock:LockManager", 2),
                seen(true, "IO:DataFileRead", 1),
            ],
        );
        add(&mut waits, &[seen(false, "LWLock:LockManager", 1)]);
        assert_eq!((waits.looks, waits.active), (2, 6));
        assert_eq!(waits.events["LWLock:LockManager"], 3);
        assert_eq!(waits.events.len(), 1);
        assert_eq!(waits.startup_events["IO:DataFileRead"], 1);
    }
}
