//! PostgreSQL and MongoDB on one host want opposite settings of transparent huge pages.
//!
//! ## What it finds
//! A host where both PostgreSQL and MongoDB run, and which of the two the present setting serves.
//!
//! ## Why it matters
//! MongoDB from 8 on asks for `always`: its allocator is built for huge pages. PostgreSQL does
//! better without them (kernel.transparent_huge_pages). One host has one setting.
//!
//! ## What to do
//! Keep `madvise` and give MongoDB a host of its own; or keep `always` and start the postmaster
//! through a wrapper that switches huge pages off for itself and its children
//! (prctl PR_SET_THP_DISABLE).
//!
//! ## Risk
//! None to data.
//!
//! ## When it does not apply
//! Hosts without both. MongoDB's version is not read; before 8 it wants them off, as PostgreSQL
//! does, and there is no conflict.
//!
//! ## Sources
//! - <https://www.mongodb.com/docs/manual/administration/tcmalloc-performance/>
//! - <https://man7.org/linux/man-pages/man2/prctl.2.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::overcommit_conflict::both_run;
use crate::rule::{FindingExt, Rule, host, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.transparent_huge_pages_conflict",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.mongodb.com/docs/manual/administration/tcmalloc-performance/",
        "https://man7.org/linux/man-pages/man2/prctl.2.html",
    ],
    check,
    source_text: include_str!("transparent_huge_pages_conflict.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    if !both_run(host)? {
        return Err(Outcome::NotApplicable(
            "PostgreSQL and MongoDB do not both run here".to_owned(),
        ));
    }
    let fact = &host.transparent_huge_pages.enabled;
    let enabled = need_ref(fact, "transparent huge pages")?;
    let (served, other) = if enabled == "always" {
        ("MongoDB from 8 on", "PostgreSQL")
    } else {
        ("PostgreSQL", "MongoDB from 8 on")
    };
    Ok(RULE
        .finding(format!(
            "transparent huge pages are at {enabled}, as {served} wants them and {other} does not"
        ))
        .evidence("transparent_hugepage/enabled", enabled, &fact.origin)
        .host_action(
            "move one of the two servers to another host, or start the postmaster through a \
             wrapper that calls prctl(PR_SET_THP_DISABLE) and keep always for MongoDB",
            Needs::Migration,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::kernel::overcommit_conflict::tests::with_engines;
    use crate::testing::{finding, healthy, host, not_applicable, unknown};
    use dbdyno_model::Fact;

    #[test]
    fn the_one_that_is_not_served_is_named() {
        let mut facts = with_engines(&["mongod", "postgres"]);
        let served = finding(&RULE, &facts);
        insta::assert_snapshot!(served.message, @"transparent huge pages are at madvise, as PostgreSQL wants them and MongoDB from 8 on does not");
        let fact = &mut host(&mut facts).transparent_huge_pages.enabled;
        *fact = Fact::known("always".to_owned(), "enabled");
        assert!(
            finding(&RULE, &facts)
                .message
                .ends_with("and PostgreSQL does not")
        );
    }

    #[test]
    fn one_of_them_is_not_applicable() {
        not_applicable(&RULE, &with_engines(&["mongod"]));
    }

    #[test]
    fn an_unread_host_is_unknown() {
        unknown(&RULE, &healthy());
        let mut facts = with_engines(&["mongod", "postgres"]);
        host(&mut facts).transparent_huge_pages.enabled = Fact::default();
        assert_eq!(
            unknown(&RULE, &facts),
            "transparent huge pages: not collected"
        );
    }
}
