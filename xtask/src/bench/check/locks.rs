//! How strong the locks are that a check takes on the tables and sequences of others.
//!
//! Whoever looks at pg_locks now and then misses what is held for microseconds. So another session
//! holds EXCLUSIVE on every table, which lets ACCESS SHARE pass and nothing else, and what it can get
//! on every sequence: SHARE ROW EXCLUSIVE. Any stronger request of ours has to wait, and the log names
//! its mode. An index or a TOAST table cannot be locked so, but neither do they get a stronger lock
//! from a session that may only read than their table does.

use super::log::Session;
use super::round;
use super::site::{APPLICATION, Site, run};

/// Every table and sequence that is not a catalogue.
const HOLD: &str = "DO $hold$
DECLARE
    r record;
BEGIN
    FOR r IN SELECT c.oid::regclass::text AS name, c.relkind FROM pg_class c
        WHERE c.relkind IN ('r', 'S') AND c.oid >= 16384
    LOOP
        EXECUTE CASE r.relkind WHEN 'r' THEN format('LOCK TABLE ONLY %s IN EXCLUSIVE MODE', r.name)
            ELSE format('ALTER SEQUENCE %s NO CYCLE', r.name) END;
    END LOOP;
END
$hold$";

/// What has to be refused while they are held: a lock one step above ACCESS SHARE on a table, and what
/// pg_sequences asks of a sequence.
const PROBES: [(&str, &str); 2] = [
    ("LOCK TABLE t_000001 IN ROW SHARE MODE", "RowShareLock"),
    (
        "SELECT pg_sequence_last_value('t_000010_id_seq')",
        "RowExclusiveLock",
    ),
];

/// In the order of their strength.
const MODES: [&str; 8] = [
    "AccessShareLock",
    "RowShareLock",
    "RowExclusiveLock",
    "ShareUpdateExclusiveLock",
    "ShareLock",
    "ShareRowExclusiveLock",
    "ExclusiveLock",
    "AccessExclusiveLock",
];

/// The strongest mode that a check asked for.
pub(super) fn strongest(site: &Site) -> Result<&'static str, String> {
    let mut holder = site.connect()?;
    run(&mut holder, "BEGIN")?;
    run(&mut holder, HOLD)?;
    for (sql, mode) in PROBES {
        refused(site, sql, mode)?;
    }
    let session = round::check(site)?.session;
    run(&mut holder, "ROLLBACK")?;
    let strongest = strongest_of(&session.awaited);
    // One that failed for another reason was not seen to its end.
    if strongest == MODES[0] && !session.errors.is_empty() {
        return Err(format!(
            "statements of ours failed beside locked tables: {}",
            session.errors.join("; ")
        ));
    }
    Ok(strongest)
}

fn strongest_of(awaited: &[String]) -> &'static str {
    let mut modes = MODES.iter().rev();
    let found = modes.find(|mode| awaited.iter().any(|one| one == *mode));
    found.copied().unwrap_or(MODES[0])
}

/// That nothing can pass is tried out, and that the log says so.
fn refused(site: &Site, sql: &str, mode: &str) -> Result<(), String> {
    let end = site.log_end()?;
    let mut client = site.connect()?;
    run(&mut client, "SET lock_timeout = '200ms'; BEGIN")?;
    if client.batch_execute(sql).is_ok() {
        return Err(format!(
            "{sql}: it was let through, so that nothing is known of locks"
        ));
    }
    let session = Session::parse(&site.log_since(end)?, APPLICATION);
    if session.awaited.iter().any(|awaited| awaited == mode) {
        return Ok(());
    }
    Err(format!(
        "{sql}: the log does not tell of its wait for {mode}: {}",
        session.errors.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::strongest_of;

    #[test]
    fn the_strongest_counts_and_who_never_waited_had_the_weakest() {
        let told = |modes: &[&str]| {
            let modes: Vec<String> = modes.iter().map(|mode| (*mode).to_owned()).collect();
            strongest_of(&modes)
        };
        assert_eq!(told(&[]), "AccessShareLock");
        assert_eq!(told(&["RowShareLock"]), "RowShareLock");
        assert_eq!(
            told(&["ShareLock", "RowExclusiveLock", "RowShareLock"]),
            "ShareLock"
        );
    }
}
