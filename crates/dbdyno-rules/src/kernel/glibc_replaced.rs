//! The C library was upgraded under the running server, and with it perhaps the order of text.
//!
//! ## What it finds
//! A server whose mapped C library is no longer the file of that name.
//!
//! ## Why it matters
//! Collations of the provider `libc` sort as the library says. A new version may sort some words
//! differently (2.28 changed nearly all languages). After its next restart the server looks things
//! up in indexes that were built in the old order: rows are not found, unique indexes take
//! duplicates, and nothing reports an error. A standby on another release has that already.
//!
//! ## What to do
//! Compare the versions before the restart. If the collation version changes, rebuild indexes on
//! text of libc collations and then refresh the recorded version.
//!
//! ## Risk
//! Rebuilding takes time and space; `REINDEX ... CONCURRENTLY` does it beside the load.
//!
//! ## When it does not apply
//! Databases and columns under `C`, `POSIX` or ICU collations. An upgrade within one version, as
//! most security updates are, changes no order. The mapping is visible to the server's own user and
//! to root only.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/sql-altercollation.html>
//! - <https://wiki.postgresql.org/wiki/Locale_data_changes>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.glibc_replaced",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/sql-altercollation.html",
        "https://wiki.postgresql.org/wiki/Locale_data_changes",
    ],
    check,
    source_text: include_str!("glibc_replaced.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    server(facts)?;
    let host = host(facts)?;
    let process = need_ref(&host.server_process, "the server's process")?;
    let libc = need_ref(&process.libc, "the server's C library")?;
    if !libc.replaced {
        return Ok(Outcome::Ok);
    }
    let version = match &libc.version {
        Some(version) => format!(" {version}"),
        None => String::new(),
    };
    Ok(RULE
        .finding(format!(
            "the server still runs with the C library{version} of before an upgrade of {}: if its \
             version changed, text sorts differently after the next restart and indexes on it are \
             wrong",
            libc.path
        ))
        .keeps_data()
        .evidence("C library", &libc.path, &process.libc.origin)
        .host_action(
            "after the restart: SELECT collname, collversion, \
             pg_collation_actual_version(oid) FROM pg_collation WHERE collprovider = 'c' AND \
             collversion <> pg_collation_actual_version(oid); for what it lists: REINDEX INDEX \
             CONCURRENTLY, then ALTER COLLATION ... REFRESH VERSION (from 15 on also ALTER DATABASE \
             ... REFRESH COLLATION VERSION)",
            Needs::Restart,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, process, unknown};
    use dbdyno_model::host::Libc;
    use dbdyno_model::{Fact, Facts};

    fn with_library(replaced: bool, version: Option<&str>) -> Facts {
        let mut facts = healthy();
        let libc = Libc {
            path: "/usr/lib/x86_64-linux-gnu/libc.so.6".to_owned(),
            version: version.map(str::to_owned),
            replaced,
        };
        process(&mut facts, |process| {
            process.libc = Fact::known(libc, "/proc/4242/maps");
        });
        facts
    }

    #[test]
    fn an_upgrade_under_the_server_is_told() {
        let finding = finding(&RULE, &with_library(true, None));
        insta::assert_snapshot!(finding.message, @"the server still runs with the C library of before an upgrade of /usr/lib/x86_64-linux-gnu/libc.so.6: if its version changed, text sorts differently after the next restart and indexes on it are wrong");
    }

    #[test]
    fn the_library_on_disk_is_fine() {
        ok(&RULE, &with_library(false, Some("2.36")));
    }

    #[test]
    fn an_invisible_mapping_is_unknown_and_no_server_not_applicable() {
        let mut facts = healthy();
        assert_eq!(
            unknown(&RULE, &facts),
            "the server's C library: not collected"
        );
        facts.postgres = None;
        not_applicable(&RULE, &facts);
    }
}
