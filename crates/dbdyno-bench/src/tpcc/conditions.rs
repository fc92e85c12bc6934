//! The consistency conditions of clause 3.3.2, and what a check says of each.

use dbdyno_model::run::Check;

/// Violations shown of each condition.
pub(crate) const SHOWN: usize = 3;

/// What the database went through, which decides the form of 3.3.2.11.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    AfterLoad,
    AfterRun,
}

/// The twelve conditions in order: their names and what they demand.
pub(crate) fn conditions(when: When) -> [(&'static str, &'static str); 12] {
    [
        ("3.3.2.1", "w_ytd = sum(d_ytd) for each warehouse"),
        (
            "3.3.2.2",
            "d_next_o_id − 1 = max(o_id) = max(no_o_id) for each district",
        ),
        (
            "3.3.2.3",
            "max(no_o_id) − min(no_o_id) + 1 = number of new orders of each district",
        ),
        (
            "3.3.2.4",
            "sum(o_ol_cnt) = number of order lines of each district",
        ),
        (
            "3.3.2.5",
            "o_carrier_id is null exactly where the order has a row in new_order",
        ),
        ("3.3.2.6", "o_ol_cnt = number of order lines of each order"),
        (
            "3.3.2.7",
            "ol_delivery_d is null exactly where the order has no carrier",
        ),
        ("3.3.2.8", "w_ytd = sum(h_amount) for each warehouse"),
        ("3.3.2.9", "d_ytd = sum(h_amount) for each district"),
        (
            "3.3.2.10",
            "c_balance = sum(delivered ol_amount) − sum(h_amount) for each customer",
        ),
        (
            "3.3.2.11",
            match when {
                // The number of orders delivered is what the load left; a run only adds to it.
                When::AfterLoad => "orders − new orders = 2100 for each district",
                When::AfterRun => "orders − new orders = orders with a carrier for each district",
            },
        ),
        (
            "3.3.2.12",
            "c_balance + c_ytd_payment = sum(delivered ol_amount) for each customer",
        ),
    ]
}

/// The first violations of a condition, and how many there are.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    pub(crate) shown: Vec<String>,
    pub(crate) count: i64,
}

impl Violations {
    /// Counts one; its sentence is only made where it is shown.
    pub(crate) fn add(&mut self, sentence: impl FnOnce() -> String) {
        if self.shown.len() < SHOWN {
            self.shown.push(sentence());
        }
        self.count += 1;
    }

    /// As a document says it.
    pub(crate) fn into_check(mut self, name: &str, description: &str) -> Check {
        self.shown.truncate(SHOWN);
        let more = self.count - self.shown.len() as i64;
        if more > 0 {
            self.shown.push(format!("and {more} more"));
        }
        Check {
            name: name.into(),
            description: description.into(),
            passed: self.count == 0,
            detail: (self.count > 0).then(|| self.shown.join("; ")),
        }
    }
}

/// Warehouses from the first to the last id. No condition compares what belongs to different ones, so
/// that each range can be read by itself, in a snapshot of its own.
pub(crate) type Range = (i16, i16);

/// One range for each warehouse, which together hold every id that there can be: rows of a
/// warehouse that is missing are seen too.
pub(crate) fn ranges(warehouses: &[i16]) -> Vec<Range> {
    let mut ranges = Vec::new();
    let mut from = i16::MIN;
    let inner = warehouses.split_last().map_or(&[][..], |(_, inner)| inner);
    for &to in inner {
        ranges.push((from, to));
        from = to + 1;
    }
    ranges.push((from, i16::MAX));
    ranges
}

/// What was found of the twelve conditions in each range.
pub(crate) fn merge(ranges: Vec<[Violations; 12]>) -> [Violations; 12] {
    let mut merged: [Violations; 12] = Default::default();
    for range in ranges {
        for (all, some) in merged.iter_mut().zip(range) {
            all.shown.extend(some.shown);
            all.count += some.count;
        }
    }
    merged
}

/// What was found of the twelve conditions, as a document says it.
pub(crate) fn checks(when: When, found: [Violations; 12]) -> Vec<Check> {
    let all = conditions(when).into_iter().zip(found);
    all.map(|((name, description), violations)| violations.into_check(name, description))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use super::*;

    #[test]
    fn the_first_violations_are_shown_and_the_others_counted() {
        let found = |warehouses: RangeInclusive<i32>| {
            let mut found: [Violations; 12] = Default::default();
            for warehouse in warehouses {
                found[7].add(|| format!("warehouse {warehouse}"));
            }
            found
        };
        let found = merge(vec![found(1..=2), Default::default(), found(3..=5)]);
        let checks = checks(When::AfterRun, found);
        assert_eq!(checks.len(), 12);
        let failed: Vec<&Check> = checks.iter().filter(|check| !check.passed).collect();
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].name, "3.3.2.8");
        let detail = failed[0].detail.as_deref();
        assert_eq!(
            detail,
            Some("warehouse 1; warehouse 2; warehouse 3; and 2 more")
        );
    }

    #[test]
    fn ranges_hold_every_id() {
        let all = (i16::MIN, i16::MAX);
        assert_eq!(ranges(&[]), [all]);
        assert_eq!(ranges(&[1]), [all]);
        let three = [(i16::MIN, 1), (2, 2), (3, i16::MAX)];
        assert_eq!(ranges(&[1, 2, 7]), three);
    }
}
