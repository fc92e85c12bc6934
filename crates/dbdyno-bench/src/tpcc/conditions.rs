//! The consistency conditions of clause 3.3.2, and what a check says of each.

use dbdyno_model::run::Check;

use super::names::Names;

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

    /// Adds those of a part, after the name of its set.
    fn take(&mut self, other: Self, set: Option<u32>) {
        let named = |sentence: String| match set {
            Some(set) => format!("set {set}, {sentence}"),
            None => sentence,
        };
        self.shown.extend(other.shown.into_iter().map(named));
        self.count += other.count;
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

/// Warehouses from the first to the last id.
pub(crate) type Range = (i16, i16);

/// What is checked by itself, in a snapshot of its own: no condition compares what belongs to different
/// warehouses or sets.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) names: &'a Names,
    pub(crate) range: Range,
}

/// One for each warehouse of a set.
pub(crate) fn parts<'a>(names: &'a Names, warehouses: &[i16]) -> Vec<Part<'a>> {
    let ranges = ranges(warehouses).into_iter();
    ranges.map(|range| Part { names, range }).collect()
}

/// One range for each warehouse, which together hold every id that there can be: rows of a
/// warehouse that is missing are seen too.
fn ranges(warehouses: &[i16]) -> Vec<Range> {
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

/// Conditions on sums that sysbench-tpcc's purge leaves as they are, while it removes what they sum up.
const OF_WHAT_PURGE_REMOVES: [&str; 4] = ["3.3.2.8", "3.3.2.9", "3.3.2.10", "3.3.2.12"];

/// What was found of the twelve conditions.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) violations: [Violations; 12],
    /// Whether orders are missing, as sysbench-tpcc's purge leaves it.
    pub(crate) purged: bool,
}

impl Found {
    /// What was found in all parts together. Their sets are named where there are several.
    pub(crate) fn of(parts: &[Part<'_>], found: Vec<Self>) -> Self {
        let mut all = Self::default();
        for (part, found) in parts.iter().zip(found) {
            all.take(found, part.names.set());
        }
        all
    }

    fn take(&mut self, other: Self, set: Option<u32>) {
        for (all, some) in self.violations.iter_mut().zip(other.violations) {
            all.take(some, set);
        }
        self.purged |= other.purged;
    }

    /// As a document says it.
    pub(crate) fn into_checks(self, when: When) -> Vec<Check> {
        let all = conditions(when).into_iter().zip(self.violations);
        all.map(|((name, description), violations)| {
            if self.purged && OF_WHAT_PURGE_REMOVES.contains(&name) {
                return does_not_apply(name, description);
            }
            violations.into_check(name, description)
        })
        .collect()
    }
}

fn does_not_apply(name: &str, description: &str) -> Check {
    const WHY: &str = "does not apply: orders are missing, as after a run of sysbench-tpcc with \
                       --enable_purge=yes; where there was none, they were lost";
    Check {
        name: name.into(),
        description: description.into(),
        passed: true,
        detail: Some(WHY.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use super::*;
    use crate::tpcc::Layout;

    #[test]
    fn the_first_violations_are_shown_and_the_others_counted() {
        let found = |warehouses: RangeInclusive<i32>| {
            let mut found = Found::default();
            for warehouse in warehouses {
                found.violations[7].add(|| format!("warehouse {warehouse}"));
            }
            found
        };
        let names = Names::new(Layout::Own, 1, 1);
        let parts = parts(&names, &[1, 3, 5]);
        let found = Found::of(&parts, vec![found(1..=2), Found::default(), found(3..=5)]);
        let checks = found.into_checks(When::AfterRun);
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
    fn a_set_is_named_where_there_are_several() {
        let found = || {
            let mut found = Found::default();
            found.violations[0].add(|| "warehouse 1: it is odd".to_owned());
            found
        };
        let detail = |sets: &[u32], of: u32| {
            let names: Vec<Names> = sets
                .iter()
                .map(|&set| Names::new(Layout::Own, set, of))
                .collect();
            let parts: Vec<Part<'_>> = names.iter().flat_map(|names| parts(names, &[1])).collect();
            let found = Found::of(&parts, parts.iter().map(|_| found()).collect());
            found.into_checks(When::AfterRun)[0].detail.clone()
        };
        let alone = detail(&[1], 1);
        assert_eq!(alone.as_deref(), Some("warehouse 1: it is odd"));
        let expected = "set 1, warehouse 1: it is odd; set 2, warehouse 1: it is odd";
        assert_eq!(detail(&[1, 2], 2).as_deref(), Some(expected));
    }

    #[test]
    fn what_purge_removes_is_not_held_against_the_server() {
        let mut found = Found::default();
        for violations in &mut found.violations {
            violations.add(|| "warehouse 1".to_owned());
        }
        found.purged = true;
        let checks = found.into_checks(When::AfterRun);
        let apart = checks.iter().filter(|check| !check.applies());
        let names: Vec<&str> = apart.map(|check| check.name.as_str()).collect();
        assert_eq!(names, OF_WHAT_PURGE_REMOVES);
        assert_eq!(checks.iter().filter(|check| !check.passed).count(), 8);
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
