//! The kernel puts huge pages under every process without being asked.
//!
//! ## What it finds
//! `/sys/kernel/mm/transparent_hugepage/enabled` at `always`.
//!
//! ## Why it matters
//! A page fault may stop to compact memory until 2 MiB lie together, and a small allocation may
//! keep 2 MiB. PostgreSQL's documentation discourages them. They touch the private memory of
//! backends; shared buffers have a switch of their own (`shmem_enabled`) and use explicit huge
//! pages better.
//!
//! ## What to do
//! Set `madvise`: programs that ask for huge pages still get them. `never` does too.
//!
//! ## Risk
//! None to data. Programs on the host that gain from `always` lose that gain.
//!
//! ## When it does not apply
//! Other engines than PostgreSQL; MongoDB 8 and later wants the reverse, and on a host of both it is
//! kernel.transparent_huge_pages_conflict's.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/mm/transhuge.html>
//! - <https://www.postgresql.org/docs/current/runtime-config-resource.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::overcommit_conflict::runs_mongodb;
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, humane_number, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.transparent_huge_pages",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &[
        "https://docs.kernel.org/admin-guide/mm/transhuge.html",
        "https://www.postgresql.org/docs/current/runtime-config-resource.html",
    ],
    check,
    source_text: include_str!("transparent_huge_pages.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    server(facts)?;
    let host = host(facts)?;
    if runs_mongodb(host) {
        return Err(Outcome::NotApplicable(
            "MongoDB runs here too: see kernel.transparent_huge_pages_conflict".to_owned(),
        ));
    }
    let fact = &host.transparent_huge_pages.enabled;
    let enabled = need_ref(fact, "transparent huge pages")?;
    if enabled != "always" {
        return Ok(Outcome::Ok);
    }
    let stalls = host
        .vmstat
        .rate(|sample| sample.compact_stall.map(|count| count as f64));
    let mut message =
        "transparent huge pages are always on: page faults may stop to compact memory".to_owned();
    if let Some(rate) = stalls.filter(|rate| *rate > 0.0) {
        message += &format!(", {} times a second now", humane_number(rate));
    }
    Ok(RULE
        .finding(message)
        .evidence("transparent_hugepage/enabled", enabled, &fact.origin)
        .host_action(
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, and to keep it: \
             w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise \
             in /etc/tmpfiles.d/90-dbdyno.conf",
            Needs::Online,
        )
        .file(
            "/etc/tmpfiles.d/90-dbdyno.conf",
            ["w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise"],
        )
        .run(["echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"])
        .costing("programs on the host that gain from always lose that gain")
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::kernel::overcommit_conflict::tests::with_engines;
    use crate::testing::{finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::host::VmStat;
    use dbdyno_model::{Fact, Facts};

    fn always() -> Facts {
        let mut facts = healthy();
        let enabled = &mut facts.host.as_mut().unwrap().transparent_huge_pages.enabled;
        *enabled = Fact::known(
            "always".to_owned(),
            "/sys/kernel/mm/transparent_hugepage/enabled",
        );
        facts
    }

    #[test]
    fn always_is_found() {
        let finding = finding(&RULE, &always());
        insta::assert_snapshot!(finding.message, @"transparent huge pages are always on: page faults may stop to compact memory");
    }

    #[test]
    fn stalls_in_the_window_are_told() {
        let mut facts = always();
        let vmstat = &mut facts.host.as_mut().unwrap().vmstat;
        let after = VmStat {
            compact_stall: Some(30),
            ..VmStat::default()
        };
        vmstat.after = Fact::known(after, "/proc/vmstat");
        vmstat.seconds = 10.0;
        assert!(
            finding(&RULE, &facts)
                .message
                .ends_with("3 times a second now")
        );
    }

    #[test]
    fn beside_mongodb_another_rule_answers() {
        let mut facts = with_engines(&["mongod", "postgres"]);
        facts.host.as_mut().unwrap().transparent_huge_pages =
            always().host.unwrap().transparent_huge_pages;
        assert!(not_applicable(&RULE, &facts).contains("huge_pages_conflict"));
    }

    #[test]
    fn madvise_is_fine() {
        ok(&RULE, &healthy());
    }

    #[test]
    fn another_engine_is_not_applicable_and_a_switch_unread_is_unknown() {
        let mut facts = always();
        facts.host.as_mut().unwrap().transparent_huge_pages.enabled = Fact::default();
        assert_eq!(
            unknown(&RULE, &facts),
            "transparent huge pages: not collected"
        );
        facts.postgres = None;
        not_applicable(&RULE, &facts);
    }
}
