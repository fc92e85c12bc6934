//! Queries compiled that end before compiling pays.
//!
//! ## What it finds
//! `jit` on where short transactions that write are declared as the load.
//!
//! ## Why it matters
//! A plan whose estimated cost is high enough is compiled to machine code first, which takes tens
//! to hundreds of milliseconds. Short transactions never need that, and one wrong estimate adds it
//! to a query of one millisecond. PostgreSQL 19 switches it off by default.
//!
//! ## What to do
//! Set `jit` to off; sessions that report may set it on for themselves.
//!
//! ## Risk
//! None to data. Long analytical queries may take longer.
//!
//! ## When it does not apply
//! Loads that are not declared: how much time compiling takes stands in pg_stat_statements
//! (`jit_*`, from PostgreSQL 15), which is not read yet.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/jit-decision.html>
//! - <https://www.postgresql.org/docs/19/release-19.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::load;
use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.just_in_time",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/jit-decision.html",
        "https://www.postgresql.org/docs/19/release-19.html",
    ],
    check,
    source_text: include_str!("just_in_time.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if !settings::flag(postgres, "jit")? {
        return Ok(Outcome::Ok);
    }
    let Some(workload) = load::declared_writes(facts) else {
        return Err(Outcome::Unknown(
            "time spent compiling: pg_stat_statements is not read, and no load of short transactions is declared"
                .to_owned(),
        ));
    };
    Ok(RULE
        .finding(format!(
            "jit is on: compiling cannot pay for the declared workload {workload}, whose transactions are short"
        ))
        .shows(postgres, "jit")
        .recommend(
            safe("jit", value("off"), "short transactions end before compiled code pays")
                .giving_up("speed of long analytical queries"),
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, declare_tpcc, finding, healthy, ok, unknown};

    #[test]
    fn on_is_found_for_declared_short_transactions() {
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        insta::assert_snapshot!(finding(&RULE, &facts).message, @"jit is on: compiling cannot pay for the declared workload tpcc, whose transactions are short");
    }

    #[test]
    fn off_is_fine() {
        let mut facts = healthy();
        configure(&mut facts, "jit", "off");
        ok(&RULE, &facts);
    }

    #[test]
    fn without_a_declared_load_it_is_unknown() {
        assert!(unknown(&RULE, &healthy()).starts_with("time spent compiling"));
    }
}
