//! Reads and writes whose time nobody measures, or a clock that is too slow to measure them.
//!
//! ## What it finds
//! `track_io_timing` off where the server reads its clock in less than 100 ns; or on where that
//! takes more than a microsecond.
//!
//! ## Why it matters
//! With it, statements, `EXPLAIN` and vacuum say how long they waited for storage: the difference
//! between a slow disk and a slow plan. It reads the clock twice for every read and write, which is
//! nothing with a clock in user space and a good part of a cached read with one behind a system
//! call.
//!
//! ## What to do
//! Switch it on where the clock is fast. Where it is slow, mend the clock source first
//! (`kernel.clocksource`) and keep it off until then. dbdyno measures the clock through the server
//! while it collects; `pg_test_timing` does the same on the host.
//!
//! ## Risk
//! None.
//!
//! ## When it does not apply
//! Lab servers, which the driver observes; clocks between 100 ns and a microsecond, where either
//! choice can be defended.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-statistics.html>
//! - <https://www.postgresql.org/docs/current/pgtesttiming.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, need, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.io_timing",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-statistics.html",
        "https://www.postgresql.org/docs/current/pgtesttiming.html",
    ],
    check,
    source_text: include_str!("io_timing.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const FAST_NS: f64 = 100.0;
const SLOW_NS: f64 = 1000.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if facts.intent.lab {
        return Err(Outcome::NotApplicable(
            "a lab server is observed by its driver".to_owned(),
        ));
    }
    let is_on = settings::flag(postgres, "track_io_timing")?;
    let cost = need(&postgres.timer_cost_ns, "cost of reading the clock")?;
    let (severity, message, wanted, why, gives_up) = if !is_on && cost < FAST_NS {
        (
            Severity::Info,
            format!("track_io_timing is off, and reading the clock takes only {cost:.0} ns"),
            "on",
            "statements say how long they waited for storage",
            "two readings of the clock for every read and write",
        )
    } else if is_on && cost > SLOW_NS {
        (
            Severity::Warn,
            format!("track_io_timing is on, and each reading of the clock takes {cost:.0} ns"),
            "off",
            "reads and writes do not wait for the clock",
            "the times of reads and writes, until the clock source is mended",
        )
    } else {
        return Ok(Outcome::Ok);
    };
    Ok(RULE
        .finding(message)
        .severity(severity)
        .shows(postgres, "track_io_timing")
        .evidence(
            "reading the clock",
            format!("{cost:.0} ns"),
            postgres.timer_cost_ns.origin.clone(),
        )
        .recommend(safe("track_io_timing", value(wanted), why).giving_up(gives_up))
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::finding::Want;
    use dbdyno_model::{Fact, Facts, Severity};

    fn timed(setting: &str, cost_ns: f64) -> Facts {
        let mut facts = healthy();
        configure(&mut facts, "track_io_timing", setting);
        postgres(&mut facts).timer_cost_ns = Fact::known(cost_ns, "clock_timestamp()");
        facts
    }

    #[test]
    fn off_is_found_with_a_fast_clock() {
        let finding = finding(&RULE, &timed("off", 31.4));
        assert_eq!(
            finding.message,
            "track_io_timing is off, and reading the clock takes only 31 ns"
        );
        assert_eq!(finding.recommendations[0].want, Want::Value("on".into()));
    }

    #[test]
    fn on_is_found_with_a_slow_clock() {
        let finding = finding(&RULE, &timed("on", 1900.0));
        assert_eq!(finding.severity, Severity::Warn);
        assert_eq!(finding.recommendations[0].want, Want::Value("off".into()));
        assert!(finding.recommendations[0].gives_up.is_some());
    }

    #[test]
    fn what_fits_the_clock_is_fine() {
        ok(&RULE, &timed("on", 31.0));
        ok(&RULE, &timed("off", 1900.0));
        ok(&RULE, &timed("off", 400.0));
        ok(&RULE, &timed("on", 400.0));
    }

    #[test]
    fn an_unmeasured_clock_is_unknown_and_a_lab_not_applicable() {
        let mut facts = healthy();
        assert!(unknown(&RULE, &facts).starts_with("cost of reading the clock"));
        facts.intent.lab = true;
        not_applicable(&RULE, &facts);
    }
}
