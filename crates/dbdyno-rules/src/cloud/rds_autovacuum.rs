//! Amazon RDS may start more autovacuum workers than were sized for.
//!
//! ## What it finds
//! PostgreSQL 18 or later on RDS with adaptive autovacuum on, whose worker slots times their memory
//! are more than the configured workers would take.
//!
//! ## Why it matters
//! When tables come near transaction id wraparound, RDS raises autovacuum's settings by itself, from
//! 18 on the number of workers too, up to `autovacuum_worker_slots`. Each may take
//! `autovacuum_work_mem`, or `maintenance_work_mem` where that is not set.
//!
//! ## What to do
//! Set `autovacuum_work_mem`, so that slots times that much fit beside the rest.
//!
//! ## Risk
//! Vacuum of large tables scans their indexes more often with less memory.
//!
//! ## When it does not apply
//! Other services and versions, and `rds.adaptive_autovacuum = 0`.
//!
//! ## Sources
//! - <https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/Appendix.PostgreSQL.CommonDBATasks.Autovacuum.AdaptivePG18.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use crate::rule::{FindingExt, Rule, humane_bytes, server, setting_number, settle};

pub(super) const RULE: Rule = Rule {
    id: "cloud.rds_autovacuum",
    severity: Severity::Info,
    confidence: Confidence::Low,
    sources: &[
        "https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/Appendix.PostgreSQL.CommonDBATasks.Autovacuum.AdaptivePG18.html",
    ],
    check,
    source_text: include_str!("rds_autovacuum.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    if server.managed_by.as_deref() != Some("Amazon RDS") || server.major() < 18 {
        return Err(Outcome::NotApplicable(
            "not PostgreSQL 18 or later on Amazon RDS".to_owned(),
        ));
    }
    let adaptive = server
        .setting("rds.adaptive_autovacuum")
        .is_some_and(|setting| matches!(setting.value.as_str(), "1" | "on"));
    if !adaptive {
        return Err(Outcome::NotApplicable(
            "rds.adaptive_autovacuum is off".to_owned(),
        ));
    }
    let slots = setting_number(server, "autovacuum_worker_slots")?;
    let workers = setting_number(server, "autovacuum_max_workers")?;
    if slots <= workers {
        return Ok(Outcome::Ok);
    }
    let own = setting_number(server, "autovacuum_work_mem")?;
    let (each, from) = if own < 0.0 {
        (
            setting_number(server, "maintenance_work_mem")?,
            "maintenance_work_mem",
        )
    } else {
        (own, "autovacuum_work_mem")
    };
    Ok(RULE
        .finding(format!(
            "near wraparound RDS may start {slots} autovacuum workers instead of {workers}, which \
             take {} instead of {} ({from} each)",
            humane_bytes((slots * each) as u64),
            humane_bytes((workers * each) as u64)
        ))
        .evidence("autovacuum_worker_slots", slots, "pg_settings")
        .evidence(from, each, "pg_settings")
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, set, unknown};
    use dbdyno_model::Facts;

    fn on_rds(slots: &str) -> Facts {
        let mut facts = healthy();
        let server = postgres(&mut facts);
        server.version_num = 180_001;
        server.managed_by = Some("Amazon RDS".to_owned());
        set(&mut facts, "rds.adaptive_autovacuum", "1");
        set(&mut facts, "autovacuum_worker_slots", slots);
        facts
    }

    #[test]
    fn more_slots_than_workers_are_told() {
        let finding = finding(&RULE, &on_rds("16"));
        insta::assert_snapshot!(finding.message, @"near wraparound RDS may start 16 autovacuum workers instead of 3, which take 1 GiB instead of 192 MiB (maintenance_work_mem each)");
    }

    #[test]
    fn as_many_slots_as_workers_are_fine() {
        ok(&RULE, &on_rds("3"));
    }

    #[test]
    fn others_are_not_applicable_and_missing_slots_unknown() {
        not_applicable(&RULE, &healthy());
        let mut facts = on_rds("16");
        set(&mut facts, "rds.adaptive_autovacuum", "0");
        not_applicable(&RULE, &facts);
        let mut facts = on_rds("16");
        postgres(&mut facts)
            .settings
            .remove("autovacuum_worker_slots");
        assert!(unknown(&RULE, &facts).starts_with("autovacuum_worker_slots:"));
    }
}
