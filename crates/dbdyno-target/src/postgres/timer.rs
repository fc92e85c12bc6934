//! What reading the clock costs the server: twice that is what timing one read or write adds.

use ::postgres::{Client, Error};

use super::reader::Subject;

pub(super) const SUBJECT: Subject = Subject::new("postgres.timer", "clock_timestamp()");

const CALLS: u32 = 10_000;
/// The fastest of several is the one that nothing disturbed.
const ROUNDS: usize = 5;

/// Nanoseconds: the same query with a function that reads the clock and with one that does not.
pub(super) fn read(client: &mut Client, _version: u32) -> Result<Option<f64>, Error> {
    let mut with_clock: Option<f64> = None;
    let mut without: Option<f64> = None;
    for _ in 0..ROUNDS {
        with_clock = faster(with_clock, time_ms(client, "clock_timestamp()")?);
        without = faster(without, time_ms(client, "statement_timestamp()")?);
    }
    Ok(with_clock
        .zip(without)
        .map(|(with_clock, without)| (with_clock - without).max(0.0) * 1e6 / f64::from(CALLS)))
}

fn faster(so_far: Option<f64>, now: Option<f64>) -> Option<f64> {
    match (so_far, now) {
        (Some(so_far), Some(now)) => Some(so_far.min(now)),
        (so_far, now) => so_far.or(now),
    }
}

/// By the server's own watch: the network is no part of it.
fn time_ms(client: &mut Client, function: &str) -> Result<Option<f64>, Error> {
    let sql = format!(
        "EXPLAIN (ANALYZE, TIMING OFF) SELECT count({function}) FROM generate_series(1, {CALLS})"
    );
    for row in client.query(&sql, &[])? {
        let line: &str = row.try_get(0)?;
        if let Some(ms) = parse(line) {
            return Ok(Some(ms));
        }
    }
    Ok(None)
}

/// `Execution Time: 1.234 ms`.
fn parse(line: &str) -> Option<f64> {
    let ms: f64 = line
        .trim()
        .strip_prefix("Execution Time:")?
        .strip_suffix("ms")?
        .trim()
        .parse()
        .ok()?;
    (ms.is_finite() && ms >= 0.0).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::{faster, parse};
    use proptest::prelude::*;

    #[test]
    fn the_time_is_found_and_nothing_else_taken_for_it() {
        assert_eq!(parse("Execution Time: 1.234 ms"), Some(1.234));
        assert_eq!(parse("  Execution Time: 0.001 ms\n"), Some(0.001));
        assert_eq!(parse("Planning Time: 1.234 ms"), None);
        assert_eq!(parse("Execution Time: NaN ms"), None);
        assert_eq!(parse("Execution Time: -1 ms"), None);
        assert_eq!(parse("Execution Time: ms"), None);
    }

    #[test]
    fn the_fastest_counts() {
        assert_eq!(faster(None, Some(2.0)), Some(2.0));
        assert_eq!(faster(Some(1.0), Some(2.0)), Some(1.0));
        assert_eq!(faster(Some(1.0), None), Some(1.0));
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in ".*") {
            let _ = parse(&line);
        }
    }
}
