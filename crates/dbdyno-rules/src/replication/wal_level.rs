//! A server that cannot be replicated from, nor backed up while it runs.
//!
//! ## What it finds
//! `wal_level` at minimal.
//!
//! ## Why it matters
//! No standby can follow, no base backup can be taken from the running server, and nothing can be
//! recovered to a point in time. It is the setting of a benchmark or a bulk load that was left.
//!
//! ## What to do
//! Set it to replica, the default, and `max_wal_senders`, which has to be 0 beside minimal, to 10.
//! Streaming needs nothing else: `archive_mode` is for archiving and recovery to a point in time alone.
//!
//! ## Risk
//! None to data. It needs a restart. Bulk loads into tables of the same transaction are logged.
//!
//! ## When it does not apply
//! Lab servers; data that can be made anew at any time.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>
//! - <https://www.postgresql.org/docs/current/warm-standby.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use crate::postgres::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "replication.wal_level",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-wal.html",
        "https://www.postgresql.org/docs/current/warm-standby.html",
    ],
    check,
    source_text: include_str!("wal_level.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if facts.intent.lab {
        return Err(Outcome::NotApplicable(
            "a lab server is never replicated".to_owned(),
        ));
    }
    if settings::text(postgres, "wal_level")? != "minimal" {
        return Ok(Outcome::Ok);
    }
    let finding = RULE
        .finding("wal_level is minimal: no standby, no backup of the running server, no recovery to a point in time")
        .shows(postgres, "wal_level")
        .shows(postgres, "max_wal_senders")
        .recommend(
            safe(
                "wal_level",
                value("replica"),
                "the server can be replicated and backed up while it runs",
            )
            .giving_up("a restart, and speed of bulk loads into new tables"),
        );
    // Standbys and base backups take a sender each; with minimal there may be none.
    if settings::number(postgres, "max_wal_senders")? > 0.0 {
        return Ok(finding.into_outcome());
    }
    Ok(finding
        .recommend(
            safe(
                "max_wal_senders",
                value("10"),
                "standbys and base backups can connect",
            )
            .giving_up("a restart"),
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::finding::Want;

    #[test]
    fn minimal_is_found_and_raised() {
        let mut facts = healthy();
        configure(&mut facts, "wal_level", "minimal");
        assert_eq!(finding(&RULE, &facts).recommendations.len(), 1);
        configure(&mut facts, "max_wal_senders", "0");
        let found = finding(&RULE, &facts);
        assert_eq!(found.recommendations[0].want, Want::Value("replica".into()));
        assert_eq!(found.recommendations[1].want, Want::Value("10".into()));
        facts.intent.lab = true;
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn more_is_fine_and_unread_unknown() {
        let mut facts = healthy();
        ok(&RULE, &facts);
        configure(&mut facts, "wal_level", "logical");
        ok(&RULE, &facts);
        postgres(&mut facts).settings.remove("wal_level");
        unknown(&RULE, &facts);
    }
}
