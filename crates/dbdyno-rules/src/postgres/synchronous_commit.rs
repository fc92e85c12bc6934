//! Commits that are acknowledged before they are safe.
//!
//! ## What it finds
//! `synchronous_commit` off; or a primary with synchronous standbys whose commits wait for its own
//! disk only (`local`).
//!
//! ## Why it matters
//! With `off`, a crash loses the commits of the last moments (up to three times
//! `wal_writer_delay`), although clients were told they are done. With `local`, losing the primary
//! loses what the standby that was to replace it never received.
//!
//! ## What to do
//! Decide it where the data are: `ALTER ROLE … SET synchronous_commit` or `SET LOCAL` for what may
//! be lost, `on` for the rest. dbdyno changes it in neither direction by itself.
//!
//! ## Risk
//! Setting it to on makes each commit wait for the disk. It cannot corrupt in any setting.
//!
//! ## When it does not apply
//! What `ALTER ROLE` and `ALTER DATABASE` set for single roles and databases: that was decided where
//! the data are, and is not looked at.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.synchronous_commit",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-wal.html"],
    check,
    source_text: include_str!("synchronous_commit.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::text(postgres, "synchronous_commit")?;
    let standbys = settings::text(postgres, "synchronous_standby_names")?;
    let why = match now {
        "off" => {
            let delay = settings::number(postgres, "wal_writer_delay")?;
            format!(
                "a crash loses acknowledged commits of the last {:.0} ms",
                delay * 3.0 * 1000.0
            )
        }
        "local" if !standbys.is_empty() => {
            "commits do not wait for the synchronous standbys, which lack them after a failover"
                .to_owned()
        }
        _ => return Ok(Outcome::Ok),
    };
    Ok(RULE
        .finding(format!("synchronous_commit is {now}: {why}"))
        .keeps_data()
        .shows(postgres, "synchronous_commit")
        .shows(postgres, "synchronous_standby_names")
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, postgres, setting, unknown};

    #[test]
    fn off_is_found_and_left_to_its_owner() {
        let mut facts = healthy();
        configure(&mut facts, "synchronous_commit", "off");
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"synchronous_commit is off: a crash loses acknowledged commits of the last 600 ms");
        assert_eq!(finding.recommendations, []);
    }

    #[test]
    fn local_beside_synchronous_standbys_is_found_and_without_them_fine() {
        let mut facts = healthy();
        configure(&mut facts, "synchronous_commit", "local");
        ok(&RULE, &facts);
        configure(&mut facts, "synchronous_standby_names", "ANY 1 (a, b)");
        assert!(finding(&RULE, &facts).message.contains("failover"));
    }

    #[test]
    fn off_for_our_role_alone_is_neither_found_nor_fine() {
        let mut facts = healthy();
        configure(&mut facts, "synchronous_commit", "off");
        setting(&mut facts, "synchronous_commit").source = "user".into();
        assert!(unknown(&RULE, &facts).contains("ALTER ROLE"));
    }

    #[test]
    fn on_is_fine_and_unread_unknown() {
        let mut facts = healthy();
        ok(&RULE, &facts);
        postgres(&mut facts).settings.remove("synchronous_commit");
        unknown(&RULE, &facts);
    }
}
