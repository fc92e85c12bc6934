//! A restart is due, and the server will come back with nothing in its buffers.
//!
//! ## What it finds
//! A setting that waits for a restart, shared buffers of 1 GiB or more, and no autoprewarm.
//!
//! ## Why it matters
//! After a restart every page is read from the storage again. The larger the buffers, the longer
//! the load runs at the speed of the disks.
//!
//! ## What to do
//! Put `pg_prewarm` into `shared_preload_libraries` with the same restart: it keeps a list of the
//! pages in the buffers and reads them back at the next start. Run CHECKPOINT right before the
//! restart, so that stopping has little left to write.
//!
//! ## Risk
//! None to data. Reading the pages back takes the storage while the load begins.
//!
//! ## When it does not apply
//! Where nothing waits for a restart: that one is planned elsewhere cannot be read. The first
//! restart after loading the library has no list yet.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/pgprewarm.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::formulas::GIB;
use crate::postgres::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, server, settle};
use crate::sql::{StatementExt, statement};

pub(super) const RULE: Rule = Rule {
    id: "maintenance.warm_restart",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/pgprewarm.html"],
    check,
    source_text: include_str!("warm_restart.rs"),
};

const LIBRARY: &str = "pg_prewarm";
const LARGE_BYTES: u64 = GIB;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let libraries = settings::text(postgres, "shared_preload_libraries")?;
    let buffers = settings::bytes(postgres, "shared_buffers")?;
    let waiting: Vec<&str> = postgres
        .settings
        .iter()
        .filter(|(_, setting)| setting.waits_for_restart())
        .map(|(name, _)| name.as_str())
        .collect();
    if waiting.is_empty() {
        return Err(Outcome::NotApplicable(
            "no setting waits for a restart".to_owned(),
        ));
    }
    let loaded = libraries
        .split(',')
        .any(|name| name.trim().trim_matches('"') == LIBRARY);
    // The setting exists where the library is loaded, and is on unless somebody said otherwise.
    let warms = loaded && postgres.is_on("pg_prewarm.autoprewarm") != Some(false);
    if warms || buffers < LARGE_BYTES {
        return Ok(Outcome::Ok);
    }
    let mut finding = RULE
        .finding(format!(
            "a restart is due for {}, after which {} of buffers are empty",
            waiting.join(", "),
            settings::humane(postgres, "shared_buffers")
        ))
        .shows(postgres, "shared_preload_libraries")
        .shows(postgres, "shared_buffers");
    if !loaded {
        // Not a setting of the plan: where the package is missing, the server would not start.
        let list = if libraries.is_empty() {
            LIBRARY.to_owned()
        } else {
            format!("{libraries}, {LIBRARY}")
        };
        finding = finding.host_action(
            format!("shared_preload_libraries = '{list}', where the package has {LIBRARY}"),
            Needs::Restart,
        );
    } else {
        finding = finding.host_action("pg_prewarm.autoprewarm = on", Needs::Restart);
    }
    Ok(finding
        .statement(statement(
            "CHECKPOINT",
            "right before the restart, which then has little to write",
        ))
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        configure, finding, healthy, not_applicable, ok, postgres, set, setting, unknown,
    };
    use dbdyno_model::Facts;

    /// A restart waits for max_connections; buffers in pages of 8 KiB.
    fn waiting(buffers: &str) -> Facts {
        let mut facts = healthy();
        configure(&mut facts, "shared_buffers", buffers);
        setting(&mut facts, "max_connections").pending_restart = true;
        facts
    }

    #[test]
    fn large_buffers_are_warmed() {
        let mut facts = waiting("1048576");
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.message, @"a restart is due for max_connections, after which 8GB of buffers are empty");
        assert!(found.host_actions[0].action.contains("'pg_prewarm'"));
        assert_eq!(found.statements[0].sql, "CHECKPOINT");
        configure(&mut facts, "shared_preload_libraries", "pg_prewarm");
        ok(&RULE, &facts);
        set(&mut facts, "pg_prewarm.autoprewarm", "off");
        let found = finding(&RULE, &facts);
        assert_eq!(found.host_actions[0].action, "pg_prewarm.autoprewarm = on");
    }

    #[test]
    fn small_buffers_are_soon_warm() {
        ok(&RULE, &waiting("16384"));
    }

    #[test]
    fn no_restart_is_not_applicable_and_unread_settings_are_unknown() {
        let mut facts = healthy();
        not_applicable(&RULE, &facts);
        postgres(&mut facts)
            .settings
            .remove("shared_preload_libraries");
        unknown(&RULE, &facts);
    }
}
