//! One second of a run, in columns that stay under each other.

use dbdyno_model::run::Second;

use crate::number;
use crate::text::plural;

/// `   12 s     3,160 TPS   p50 2.41 ms   p95 8.41 ms   p99 12.6 ms   0 errors   2 retries`.
#[must_use]
pub fn bench_second(second: &Second) -> String {
    let latency = |name: &str, value: Option<f64>| {
        let value = number::or_missing(value, number::duration_ms);
        format!("{name} {value:<8}")
    };
    let at = match second.is_whole() {
        true => format!("{:.0} s", second.at_s),
        false => format!("{:.1} s", second.at_s),
    };
    let line = format!(
        "{at:>6} {:>12}   {} {} {} {}   {}",
        number::tps(second.tps()),
        latency("p50", second.p50_ms),
        latency("p95", second.p95_ms),
        latency("p99", second.p99_ms),
        plural(second.errors, "error"),
        plural(second.retries, "retry"),
    );
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_stand_under_each_other() {
        let second = Second {
            at_s: 12.0,
            transactions: 3162,
            p50_ms: Some(2.41),
            p95_ms: Some(8.4),
            p99_ms: Some(12.6),
            retries: 1,
            ..Second::default()
        };
        let nothing = Second {
            at_s: 113.0,
            errors: 8,
            ..Second::default()
        };
        insta::assert_snapshot!([bench_second(&second), bench_second(&nothing)].join("\n"));
    }

    #[test]
    fn a_part_of_a_second_has_the_rate_of_that_part() {
        let cut = Second {
            at_s: 2.5,
            cut_to_s: Some(0.5),
            transactions: 500,
            ..Second::default()
        };
        let line = bench_second(&cut);
        assert!(line.contains("2.5 s    1,000 TPS "), "{line}");
    }
}
