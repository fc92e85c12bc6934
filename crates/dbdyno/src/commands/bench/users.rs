//! What to know of a run with users at its terminals before NOTPM is quoted.

use dbdyno_model::Bench;
use dbdyno_model::bench::Warning;
use dbdyno_report::number;

use super::trust::warn;

/// Fewer transactions of a kind have no 90th percentile to speak of.
const LEAST_OF_A_KIND: u64 = 100;

pub(super) fn warnings(run: &Bench) -> Vec<Warning> {
    let all = [
        other_times(run),
        above_most(run),
        slow_responses(run),
        few_of_a_kind(run),
    ];
    all.into_iter().flatten().collect()
}

/// Users who are not those of the specification.
fn other_times(run: &Bench) -> Option<Warning> {
    let factor = run.think.filter(|factor| *factor != 1.0)?;
    let above = match run.notpm.zip(run.notpm_most) {
        Some((notpm, most)) if notpm > most => ", and NOTPM is above what its times leave room for",
        _ => "",
    };
    warn(
        format!("keying and think times were {factor} × the specification's{above}"),
        "take --think without a factor for a figure that goes with TPC-C's times",
    )
}

/// By the specification's times only chance can do it.
fn above_most(run: &Bench) -> Option<Warning> {
    run.think.filter(|factor| *factor == 1.0)?;
    let (notpm, most) = run.notpm.zip(run.notpm_most)?;
    if notpm <= most {
        return None;
    }
    warn(
        format!(
            "NOTPM of {} is above the {} that the times leave room for in the long run",
            number::measured(notpm),
            number::measured(most)
        ),
        "take a longer --duration: a minute has but three cycles of each user",
    )
}

fn slow_responses(run: &Bench) -> Option<Warning> {
    let missed = run
        .limits
        .iter()
        .filter(|limit| limit.passed == Some(false));
    let missed: Vec<&str> = missed.map(|limit| limit.transaction.as_str()).collect();
    if missed.is_empty() {
        return None;
    }
    warn(
        format!(
            "{} took longer than TPC-C allows: by its rules this NOTPM does not count",
            missed.join(", ")
        ),
        "load fewer --warehouses, or find out what the server waits for",
    )
}

/// A percentile of few says what happened to one or two of them.
fn few_of_a_kind(run: &Bench) -> Option<Warning> {
    if run.limits.is_empty() || run.transactions == 0 {
        return None;
    }
    let kinds = run.per_transaction.iter();
    let few: Vec<String> = kinds
        .filter(|kind| kind.count < LEAST_OF_A_KIND)
        .map(|kind| format!("{} ({})", kind.name, kind.count))
        .collect();
    if few.is_empty() {
        return None;
    }
    warn(
        format!(
            "a 90th percentile of fewer than {LEAST_OF_A_KIND} transactions says little: {}",
            few.join(", ")
        ),
        "take a longer --duration",
    )
}

#[cfg(test)]
mod tests {
    use dbdyno_model::bench::Limit;
    use dbdyno_model::run::TransactionStats;

    use super::*;

    /// At ten warehouses for half an hour.
    fn thinking() -> Bench {
        let kind = |name: &str, count| TransactionStats {
            name: name.into(),
            count,
            ..TransactionStats::default()
        };
        let limit = |name: &str| Limit {
            transaction: name.into(),
            limit_s: 5.0,
            p90_ms: Some(40.0),
            passed: Some(true),
        };
        Bench {
            transactions: 8_600,
            think: Some(1.0),
            notpm: Some(124.8),
            notpm_most: Some(128.6),
            limits: vec![limit("new_order"), limit("delivery")],
            per_transaction: vec![kind("new_order", 3_744), kind("delivery", 374)],
            ..Bench::default()
        }
    }

    fn said(run: &Bench) -> Vec<String> {
        let said = warnings(run).into_iter();
        said.map(|warning| warning.what).collect()
    }

    #[test]
    fn users_bring_warnings_of_their_own() {
        assert_eq!(said(&thinking()), [""; 0]);
        let mut lucky = thinking();
        lucky.notpm = Some(130.0);
        let mut hurried = lucky.clone();
        hurried.think = Some(0.01);
        let mut slow = thinking();
        slow.limits[1].passed = Some(false);
        let mut few = thinking();
        few.per_transaction[1].count = 99;
        for (run, expected) in [
            (lucky, "above the 129 that the times"),
            (
                hurried,
                "were 0.01 × the specification's, and NOTPM is above",
            ),
            (slow, "delivery took longer"),
            (few, "says little: delivery (99)"),
        ] {
            let said = said(&run);
            assert!(
                said.len() == 1 && said[0].contains(expected),
                "{said:?} {expected}"
            );
        }
        // Without users nothing is asked of percentiles.
        let mut other = thinking();
        (other.think, other.limits) = (None, Vec::new());
        other.per_transaction[1].count = 1;
        assert_eq!(said(&other), [""; 0]);
    }
}
