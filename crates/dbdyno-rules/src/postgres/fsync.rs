//! A server that does not wait for its writes to reach the disk.
//!
//! ## What it finds
//! `fsync` off.
//!
//! ## Why it matters
//! After a power cut or a crash of the system, files hold an arbitrary mixture of old and new
//! pages. The database can be corrupt beyond repair, and may look whole.
//!
//! ## What to do
//! Set `fsync` to on at once. What was written until then still lies in the kernel's cache, and nothing
//! asks for it later: run `sync` on the server's machine, or `initdb --sync-only` on the data directory.
//! Then take a new backup. Where throughput is the reason, look at `synchronous_commit`, which cannot
//! corrupt.
//!
//! ## Risk
//! None. Commits take as long as the disk does.
//!
//! ## When it does not apply
//! Nowhere; not even on throw-away servers whose numbers are meant to be compared.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.fsync",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-wal.html"],
    check,
    source_text: include_str!("fsync.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if settings::flag(postgres, "fsync")? {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding("fsync is off: a power cut can corrupt this database beyond repair")
        .shows(postgres, "fsync")
        .recommend(
            safe(
                "fsync",
                value("on"),
                "a power cut must not corrupt the database",
            )
            .giving_up("time, since commits and checkpoints wait for the disk"),
        )
        .host_action(
            "once fsync is on: sync on the server's machine, since what was written before is asked of no disk again",
            Needs::Online,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, set, unknown};

    #[test]
    fn off_is_found() {
        let mut facts = healthy();
        set(&mut facts, "fsync", "off");
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"fsync is off: a power cut can corrupt this database beyond repair");
        assert_eq!(finding.recommendations.len(), 1);
        assert!(finding.recommendations[0].gives_up.is_some());
        assert!(finding.host_actions[0].action.contains("sync on the"));
    }

    #[test]
    fn on_is_fine() {
        ok(&RULE, &healthy());
    }

    #[test]
    fn unread_is_unknown_and_no_server_not_applicable() {
        let mut facts = healthy();
        postgres(&mut facts).settings.remove("fsync");
        insta::assert_snapshot!(unknown(&RULE, &facts), @"fsync: pg_settings does not list it");
        facts.postgres = None;
        not_applicable(&RULE, &facts);
    }
}
