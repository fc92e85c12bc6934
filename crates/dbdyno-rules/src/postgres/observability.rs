//! A server that does not record what it does.
//!
//! ## What it finds
//! `pg_stat_statements` not preloaded, `log_checkpoints` off, or `log_autovacuum_min_duration` at
//! −1.
//!
//! ## Why it matters
//! The query that takes most of the time, the checkpoint that stalls commits and the vacuum that
//! never ends can only be found afterwards if they were recorded.
//!
//! ## What to do
//! Add `pg_stat_statements` to `shared_preload_libraries` (a restart) and create the extension, once
//! the package that has it is installed: without it the server would not start. Set
//! `log_checkpoints` to on and `log_autovacuum_min_duration` to 10 minutes or less. Switch
//! `track_io_timing` on where `pg_test_timing` shows less than 100 ns.
//!
//! ## Risk
//! None to data. Each statement costs a little more CPU time.
//!
//! ## When it does not apply
//! Lab servers, which the driver observes.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/monitoring-stats.html>
//! - <https://www.postgresql.org/docs/current/pgstatstatements.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Postgres, ReplicationRole};
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};
use crate::sql::{StatementExt, statement};

pub(super) const RULE: Rule = Rule {
    id: "postgres.observability",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/monitoring-stats.html",
        "https://www.postgresql.org/docs/current/pgstatstatements.html",
    ],
    check,
    source_text: include_str!("observability.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const LIBRARY: &str = "pg_stat_statements";

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if facts.intent.lab {
        return Err(Outcome::NotApplicable(
            "a lab server is observed by its driver".to_owned(),
        ));
    }
    let libraries = settings::text(postgres, "shared_preload_libraries")?;
    let loaded = libraries.split(',').any(is_library);
    let checkpoints = settings::flag(postgres, "log_checkpoints")?;
    let vacuums = settings::number(postgres, "log_autovacuum_min_duration")? >= 0.0;
    let missing: Vec<&str> = [
        (loaded, "statements (pg_stat_statements)"),
        (checkpoints, "checkpoints (log_checkpoints)"),
        (vacuums, "long vacuums (log_autovacuum_min_duration)"),
    ]
    .iter()
    .filter_map(|(recorded, what)| (!recorded).then_some(*what))
    .collect();
    if missing.is_empty() {
        return Ok(Outcome::Ok);
    }
    let mut finding = RULE
        .finding(format!("not recorded: {}", missing.join(", ")))
        .shows(postgres, "shared_preload_libraries")
        .shows(postgres, "log_checkpoints")
        .shows(postgres, "log_autovacuum_min_duration");
    if !loaded {
        finding = with_library(finding, postgres, libraries);
    }
    if !checkpoints {
        finding = finding.recommend(safe(
            "log_checkpoints",
            value("on"),
            "stalls can be explained",
        ));
    }
    if !vacuums {
        finding = finding.recommend(safe(
            "log_autovacuum_min_duration",
            value("10min"),
            "vacuums that never end can be found",
        ));
    }
    Ok(finding.into_outcome())
}

fn with_library(finding: Finding, postgres: &Postgres, libraries: &str) -> Finding {
    let list = if libraries.is_empty() {
        LIBRARY.to_owned()
    } else {
        format!("{libraries}, {LIBRARY}")
    };
    let available = postgres.available_extensions.value();
    let is_available = available.is_some_and(|names| names.iter().any(|name| name == LIBRARY));
    // A list that waits for a restart is not the one that is shown, and would be lost.
    let waits = postgres
        .setting("shared_preload_libraries")
        .is_some_and(|setting| setting.pending_restart);
    if !is_available || waits {
        // Where the package is missing, the server would not start.
        let action =
            format!("shared_preload_libraries = '{list}', then CREATE EXTENSION {LIBRARY}");
        return finding.host_action(action, Needs::Restart);
    }
    let why = "what each statement costs is counted";
    let libraries = safe("shared_preload_libraries", value(&list), why);
    let finding = finding.recommend(libraries.giving_up("a little CPU time for each statement"));
    let created = postgres.extensions.value();
    let is_created = created.is_some_and(|all| all.iter().any(|one| one.name == LIBRARY));
    // A standby gets it from its primary.
    if is_created || postgres.role.get() == Some(ReplicationRole::Standby) {
        return finding;
    }
    let sql = format!("CREATE EXTENSION IF NOT EXISTS {LIBRARY}");
    finding.statement(statement(
        sql,
        "shows the counters, in this database, once the library is loaded",
    ))
}

/// `$libdir/pg_stat_statements` names it as well.
fn is_library(name: &str) -> bool {
    let name = name.trim().trim_matches('"');
    name.rsplit('/').next() == Some(LIBRARY)
}

#[cfg(test)]
mod tests {
    use super::{RULE, value};
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::postgres::ReplicationRole;
    use dbdyno_model::{Fact, Facts};

    #[test]
    fn a_missing_library_is_found_and_left_to_the_owner() {
        let finding = finding(&RULE, &healthy());
        insta::assert_snapshot!(finding.message, @"not recorded: statements (pg_stat_statements)");
        assert_eq!(finding.recommendations, []);
        insta::assert_snapshot!(finding.host_actions[0].action, @"shared_preload_libraries = 'pg_stat_statements', then CREATE EXTENSION pg_stat_statements");
    }

    fn offering() -> Facts {
        let mut facts = healthy();
        postgres(&mut facts).available_extensions =
            Fact::known(vec!["pg_stat_statements".into()], "test");
        facts
    }

    #[test]
    fn what_the_server_has_among_its_files_is_a_setting_and_a_statement() {
        let mut facts = offering();
        configure(&mut facts, "shared_preload_libraries", "auto_explain");
        let all = finding(&RULE, &facts);
        assert_eq!(all.host_actions, []);
        assert_eq!(
            all.recommendations[0].want,
            value("auto_explain, pg_stat_statements")
        );
        assert_eq!(
            all.statements[0].sql,
            "CREATE EXTENSION IF NOT EXISTS pg_stat_statements"
        );

        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        let on_standby = finding(&RULE, &facts);
        assert_eq!(on_standby.recommendations.len(), 1);
        assert_eq!(on_standby.statements, []);
    }

    #[test]
    fn a_list_that_waits_for_a_restart_is_not_overwritten() {
        let mut facts = offering();
        let settings = &mut postgres(&mut facts).settings;
        let libraries = settings.get_mut("shared_preload_libraries").unwrap();
        libraries.pending_restart = true;
        let finding = finding(&RULE, &facts);
        assert_eq!(finding.recommendations, []);
        assert_eq!(finding.host_actions.len(), 1);
    }

    #[test]
    fn the_defaults_of_13_are_found() {
        let mut facts = healthy();
        configure(&mut facts, "log_checkpoints", "off");
        configure(&mut facts, "log_autovacuum_min_duration", "-1");
        configure(&mut facts, "shared_preload_libraries", "auto_explain");
        let finding = finding(&RULE, &facts);
        assert_eq!(finding.recommendations.len(), 2);
        assert!(
            finding.host_actions[0]
                .action
                .contains("'auto_explain, pg_stat_statements'")
        );
    }

    #[test]
    fn all_recorded_is_fine() {
        let mut facts = healthy();
        for libraries in [
            "auto_explain, pg_stat_statements",
            "$libdir/pg_stat_statements",
        ] {
            configure(&mut facts, "shared_preload_libraries", libraries);
            ok(&RULE, &facts);
        }
    }

    #[test]
    fn a_lab_server_is_not_applicable_and_unread_settings_unknown() {
        let mut facts = healthy();
        postgres(&mut facts).settings.remove("log_checkpoints");
        unknown(&RULE, &facts);
        facts.intent.lab = true;
        not_applicable(&RULE, &facts);
    }
}
