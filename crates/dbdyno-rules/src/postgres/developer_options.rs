//! Settings that were made for developing the server itself.
//!
//! ## What it finds
//! A build with assertions; or a developer option away from its default for everyone.
//!
//! ## Why it matters
//! Assertions and caches that are thrown away at once make everything slower, some of it tenfold;
//! ignored system indexes and writable catalogs put the database at risk. The manual says of all of
//! them that they have no place on a production server.
//!
//! ## What to do
//! Remove the lines that are named; install a build without assertions.
//!
//! ## Risk
//! None.
//!
//! ## When it does not apply
//! Servers for developing PostgreSQL.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-developer.html>
//! - <https://www.postgresql.org/docs/current/runtime-config-preset.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Setting;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, server, setting, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.developer_options",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-developer.html",
        "https://www.postgresql.org/docs/current/runtime-config-preset.html",
    ],
    check,
    source_text: include_str!("developer_options.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const ASSERTIONS: &str = "debug_assertions";

/// Each version has some of them. What hides damage has a rule of its own.
const OPTIONS: [&str; 12] = [
    "allow_system_table_mods",
    "clobber_cache_always",
    "debug_discard_caches",
    "debug_io_direct",
    "debug_parallel_query",
    "force_parallel_mode",
    "ignore_system_indexes",
    "jit_debugging_support",
    "jit_profiling_support",
    "post_auth_delay",
    "pre_auth_delay",
    "wal_consistency_checking",
];

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let has_assertions = settings::flag(postgres, ASSERTIONS)?;
    let hidden = OPTIONS
        .iter()
        .find(|name| postgres.why_hidden(name).is_some());
    let changed: Vec<(&str, &Setting)> = OPTIONS
        .into_iter()
        .filter_map(|name| Some((name, postgres.setting(name)?)))
        .filter(|(_, setting)| is_changed(setting))
        .collect();
    let mut found = Vec::new();
    if has_assertions {
        found.push("the server is built with assertions".to_owned());
    }
    if !changed.is_empty() {
        let names: Vec<&str> = changed.iter().map(|(name, _)| *name).collect();
        found.push(format!("{} set for everyone", names.join(", ")));
    }
    if found.is_empty() {
        // What our own role has says nothing of the others.
        return match hidden {
            Some(name) => setting(postgres, name).map(|_| Outcome::Ok),
            None => Ok(Outcome::Ok),
        };
    }
    let mut finding = RULE.finding(format!(
        "{}: made for developing the server, not for running it",
        found.join("; ")
    ));
    if has_assertions {
        finding = finding
            .shows(postgres, ASSERTIONS)
            .host_action("install a build without assertions", Needs::Restart);
    }
    for (name, setting) in changed {
        finding = finding.shows(postgres, name).host_action(
            format!("remove {name}: it is set in {}", place(setting)),
            Needs::of_context(&setting.context),
        );
    }
    Ok(finding.into_outcome())
}

fn is_changed(setting: &Setting) -> bool {
    setting.is_set_by_user() && setting.boot_value.as_deref() != Some(setting.value.as_str())
}

/// The file and line, where the role may see them.
fn place(setting: &Setting) -> String {
    match (&setting.source_file, setting.source_line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => setting.source.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, postgres, set, setting, unknown};

    #[test]
    fn assertions_and_options_are_found_with_their_place() {
        let mut facts = healthy();
        set(&mut facts, "debug_assertions", "on");
        configure(&mut facts, "ignore_system_indexes", "on");
        let setting = setting(&mut facts, "ignore_system_indexes");
        (setting.source_file, setting.source_line) = (Some("postgresql.conf".into()), Some(9));
        let finding = finding(&RULE, &facts);
        assert_eq!(
            finding.message,
            "the server is built with assertions; ignore_system_indexes set for everyone: made for developing the server, not for running it"
        );
        assert_eq!(
            finding.host_actions[1].action,
            "remove ignore_system_indexes: it is set in postgresql.conf:9"
        );
    }

    #[test]
    fn what_our_role_has_says_nothing_of_the_others() {
        let mut facts = healthy();
        configure(&mut facts, "ignore_system_indexes", "on");
        setting(&mut facts, "ignore_system_indexes").source = "client".into();
        let why = unknown(&RULE, &facts);
        assert!(why.contains("options of this connection"), "{why}");
    }

    #[test]
    fn a_default_that_is_written_out_is_fine() {
        let mut facts = healthy();
        ok(&RULE, &facts);
        configure(&mut facts, "allow_system_table_mods", "off");
        ok(&RULE, &facts);
    }

    #[test]
    fn an_unread_build_is_unknown() {
        let mut facts = healthy();
        postgres(&mut facts).settings.remove("debug_assertions");
        unknown(&RULE, &facts);
    }
}
