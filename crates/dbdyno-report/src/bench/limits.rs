//! What TPC-C asks of a run with users: its response times, and NOTPM beside the most there can be.

use dbdyno_model::Bench;

use crate::number;
use crate::table::{Align, Table};

/// A row for each transaction, below a blank line; nothing without users.
pub(super) fn table(run: &Bench, width: usize) -> Vec<String> {
    if run.limits.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&[
        ("limit", Align::Left),
        ("p90", Align::Right),
        ("below", Align::Right),
        ("result", Align::Left),
    ]);
    for limit in &run.limits {
        let result = match limit.passed {
            Some(true) => "pass".to_owned(),
            Some(false) => "FAIL".to_owned(),
            None => number::MISSING.to_owned(),
        };
        table.row([
            limit.transaction.clone(),
            number::or_missing(limit.p90_ms, number::duration_ms),
            number::duration(limit.limit_s),
            result,
        ]);
    }
    let mut lines = vec![String::new()];
    lines.extend(table.fit(width));
    lines
}

/// `124 of at most 129 (12.86 a warehouse): 97 %`.
pub(super) fn notpm(run: &Bench) -> Option<String> {
    let factor = run.think?;
    let (notpm, most) = run.notpm.zip(run.notpm_most)?;
    let per_warehouse = Bench::MOST_NOTPM;
    if factor != 1.0 {
        return Some(format!(
            "{}, by {factor} × the specification's times and so none of its figures",
            number::measured(notpm)
        ));
    }
    Some(format!(
        "{} of at most {} ({per_warehouse} a warehouse): {}",
        number::measured(notpm),
        number::measured(most),
        number::percent(notpm / most)
    ))
}
