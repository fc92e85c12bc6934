//! The server runs in a container, where the machine's settings are not the container's to change.
//!
//! ## What it finds
//! A server inside a container.
//!
//! ## Why it matters
//! `vm.*` sysctls, huge pages, block queues, file systems and CPU governors belong to the machine
//! and act on every container on it. A container without privileges cannot write them, and one that
//! can would change its neighbours. Its own may be most of `net.*`, `fs.mqueue.*`, and of `kernel.*`
//! those of shared memory, semaphores and message queues.
//!
//! ## What to do
//! Hand what dbdyno prints as host actions to whoever runs the machine: a node's tuning profile, a
//! DaemonSet, the provider's instance settings.
//!
//! ## Risk
//! None: dbdyno changes nothing below the server.
//!
//! ## When it does not apply
//! Servers on a machine of their own.
//!
//! ## Sources
//! - <https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, need, settle};

pub(super) const RULE: Rule = Rule {
    id: "container.host_settings",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &["https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/"],
    check,
    source_text: include_str!("host_settings.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let fact = &host(facts)?.container;
    if !need(fact, "whether this is a container")? {
        return Err(Outcome::NotApplicable(
            "the server is not in a container".to_owned(),
        ));
    }
    Ok(RULE
        .finding(
            "the server runs in a container: sysctls, huge pages, block queues and CPU governors \
             are its host's owner's to change, so actions on them are only printed",
        )
        .evidence("container", true, &fact.origin)
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, unknown};
    use dbdyno_model::Fact;

    #[test]
    fn a_container_is_told() {
        let mut facts = healthy();
        facts.host.as_mut().unwrap().container = Fact::known(true, "/proc/1/cgroup");
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"the server runs in a container: sysctls, huge pages, block queues and CPU governors are its host's owner's to change, so actions on them are only printed");
        assert!(finding.host_actions.is_empty());
    }

    #[test]
    fn a_machine_of_its_own_is_not_applicable() {
        not_applicable(&RULE, &healthy());
    }

    #[test]
    fn what_could_not_be_told_is_unknown() {
        let mut facts = healthy();
        facts.host.as_mut().unwrap().container = Fact::default();
        assert_eq!(
            unknown(&RULE, &facts),
            "whether this is a container: not collected"
        );
    }
}
