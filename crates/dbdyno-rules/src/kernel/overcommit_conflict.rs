//! PostgreSQL and MongoDB on one host want opposite kinds of memory overcommit.
//!
//! ## What it finds
//! `vm.overcommit_memory` of 1 or 2 on a host where both PostgreSQL and MongoDB run.
//!
//! ## Why it matters
//! PostgreSQL is safest under 2: an allocation beyond the limit fails and one statement with it.
//! MongoDB from 8 on asks for 1, because its allocator reserves far more than it uses; under 2 it
//! may not start. One host has one setting.
//!
//! ## What to do
//! Keep 0, the kernel's default, and protect the postmaster by its out-of-memory score instead
//! (kernel.oom_protection). Better, give each of the two a host of its own.
//!
//! ## Risk
//! Under 0 the out-of-memory killer decides which process ends.
//!
//! ## When it does not apply
//! Hosts without both. MongoDB's version is not read; before 8 it does not ask for 1.
//!
//! ## Sources
//! - <https://www.mongodb.com/docs/manual/administration/tcmalloc-performance/>
//! - <https://www.postgresql.org/docs/current/kernel-resources.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Host;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, need_ref, settle, sysctl};

pub(super) const RULE: Rule = Rule {
    id: "kernel.overcommit_conflict",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.mongodb.com/docs/manual/administration/tcmalloc-performance/",
        "https://www.postgresql.org/docs/current/kernel-resources.html",
    ],
    check,
    source_text: include_str!("overcommit_conflict.rs"),
};

/// Whether MongoDB runs beside PostgreSQL.
pub(super) fn both_run(host: &Host) -> Result<bool, Outcome> {
    let engines = need_ref(&host.engines, "database servers on the host")?;
    let runs = |name: &str| engines.iter().any(|engine| engine == name);
    Ok(runs("mongod") && runs("postgres"))
}

/// Whether MongoDB is seen here; not knowing counts as no.
pub(super) fn runs_mongodb(host: &Host) -> bool {
    let engines = host.engines.value().map_or(&[][..], Vec::as_slice);
    engines.iter().any(|engine| engine == "mongod")
}

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
    let (mode, origin) = sysctl(host, "vm.overcommit_memory")?;
    if mode == 0 {
        return Ok(Outcome::Ok);
    }
    let loser = if mode == 2 {
        "MongoDB, which reserves far more than it uses and may not start"
    } else {
        "PostgreSQL, whose memory the kernel then promises without any limit"
    };
    Ok(RULE
        .finding(format!(
            "vm.overcommit_memory is {mode} on a host of PostgreSQL and MongoDB: that is against \
             {loser}"
        ))
        .keeps_running()
        .evidence("vm.overcommit_memory", mode, origin)
        .sysctl(&[("vm.overcommit_memory", 0)], Needs::Online)
        .costing("the kernel kills a process when the memory runs out")
        .host_action(
            "and keep it from the postmaster: see kernel.oom_protection",
            Needs::Restart,
        )
        .into_outcome())
}

#[cfg(test)]
pub(super) mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, unknown};
    use dbdyno_model::{Fact, Facts};

    /// The captured machine with those servers on it.
    pub(in crate::kernel) fn with_engines(names: &[&str]) -> Facts {
        let mut facts = healthy();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        host(&mut facts).engines = Fact::known(names, "/proc/*/comm");
        facts
    }

    fn with_mode(mode: i64) -> Facts {
        let mut facts = with_engines(&["mongod", "postgres"]);
        host(&mut facts).sysctl.insert(
            "vm.overcommit_memory".to_owned(),
            Fact::known(mode, "/proc/sys/vm/overcommit_memory"),
        );
        facts
    }

    #[test]
    fn a_mode_that_serves_one_is_found() {
        let strict = finding(&RULE, &with_mode(2));
        insta::assert_snapshot!(strict.message, @"vm.overcommit_memory is 2 on a host of PostgreSQL and MongoDB: that is against MongoDB, which reserves far more than it uses and may not start");
        assert!(
            finding(&RULE, &with_mode(1))
                .message
                .contains("against PostgreSQL")
        );
    }

    #[test]
    fn the_default_is_fine() {
        ok(&RULE, &with_mode(0));
    }

    #[test]
    fn one_of_them_is_not_applicable_and_an_unread_host_unknown() {
        not_applicable(&RULE, &with_engines(&["postgres"]));
        assert_eq!(
            unknown(&RULE, &healthy()),
            "database servers on the host: not collected"
        );
    }
}
