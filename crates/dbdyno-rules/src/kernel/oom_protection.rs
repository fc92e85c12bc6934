//! The out-of-memory killer may choose the postmaster.
//!
//! ## What it finds
//! An `oom_score_adj` of 0 or more on the server's main process.
//!
//! ## Why it matters
//! When the host runs out of memory the kernel kills the process with the highest score. A killed
//! backend costs a restart of the sessions; a killed postmaster leaves the database down.
//!
//! ## What to do
//! In the server's systemd unit set `OOMScoreAdjust=-1000` for the postmaster, and let it give its
//! children the usual score, so that they stay killable.
//!
//! ## Risk
//! With the postmaster out of reach, another process on the host is killed instead.
//!
//! ## When it does not apply
//! Containers (their runtime sets the score) and lab servers.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/kernel-resources.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::unit::{directive, drop_in};
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, need, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.oom_protection",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/kernel-resources.html"],
    check,
    source_text: include_str!("oom_protection.rs"),
};

/// The postmaster is spared, its sessions are not: one of them is a small loss.
const WANTED: [&str; 3] = [
    "OOMScoreAdjust=-1000",
    "Environment=PG_OOM_ADJUST_FILE=/proc/self/oom_score_adj",
    "Environment=PG_OOM_ADJUST_VALUE=0",
];

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    server(facts)?;
    if facts.intent.lab {
        return Err(Outcome::NotApplicable(
            "a lab server needs no protection".to_owned(),
        ));
    }
    let host = host(facts)?;
    if need(&host.container, "whether this is a container")? {
        return Err(Outcome::NotApplicable(
            "the container's runtime sets oom_score_adj".to_owned(),
        ));
    }
    let process = need_ref(&host.server_process, "the server's process")?;
    let adjustment = need(&process.oom_score_adj, "oom_score_adj")?;
    if adjustment < 0 {
        return Ok(Outcome::Ok);
    }
    // The files may be right already, and the process older than they are.
    let configured =
        directive(host, "OOMScoreAdjust").filter(|directive| directive.value.starts_with('-'));
    let finding = RULE
        .finding(format!(
            "the postmaster's oom_score_adj is {adjustment}: the out-of-memory killer may take the \
             whole server down"
        ))
        .keeps_running()
        .evidence("oom_score_adj", adjustment, &process.oom_score_adj.origin);
    let finding = match configured {
        Some(directive) => finding.host_action(
            format!(
                "restart the server: {}:{} sets OOMScoreAdjust={}, which this process does not have",
                directive.file, directive.line, directive.value
            ),
            Needs::Restart,
        ),
        None => finding
            .host_action(
                format!("in {}: {}", drop_in(host), WANTED.join(", ")),
                Needs::Restart,
            )
            .unit(host, WANTED)
            .costing("another process on the host is killed instead"),
    };
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, unknown, with_unit};
    use dbdyno_model::{Fact, Facts};

    fn adjusted(value: i64) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        let mut process = host.server_process.value().unwrap().clone();
        process.oom_score_adj = Fact::known(value, "/proc/4242/oom_score_adj");
        host.server_process = Fact::known(process, "postmaster.pid");
        facts
    }

    #[test]
    fn zero_is_found() {
        let finding = finding(&RULE, &healthy());
        insta::assert_snapshot!(finding.message, @"the postmaster's oom_score_adj is 0: the out-of-memory killer may take the whole server down");
        assert!(
            finding.host_actions[0]
                .action
                .contains("OOMScoreAdjust=-1000")
        );
    }

    #[test]
    fn the_units_own_drop_in_is_named_and_a_stale_process_told_from_it() {
        let mut facts = healthy();
        with_unit(&mut facts, &[]);
        assert!(finding(&RULE, &facts).host_actions[0].action.starts_with(
            "in [Service] of /etc/systemd/system/postgresql@15-main.service.d/zz-dbdyno.conf: \
             OOMScoreAdjust=-1000"
        ));
        with_unit(&mut facts, &[("OOMScoreAdjust", "-900")]);
        assert_eq!(
            finding(&RULE, &facts).host_actions[0].action,
            "restart the server: \
             /etc/systemd/system/postgresql@15-main.service.d/site.conf:2 sets \
             OOMScoreAdjust=-900, which this process does not have"
        );
    }

    #[test]
    fn debians_minus_900_is_fine() {
        ok(&RULE, &adjusted(-900));
    }

    #[test]
    fn a_lab_server_and_a_container_are_not_applicable() {
        let mut facts = healthy();
        facts.intent.lab = true;
        not_applicable(&RULE, &facts);
        facts.intent.lab = false;
        facts.host.as_mut().unwrap().container = Fact::known(true, "/proc/1/cgroup");
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn a_process_out_of_sight_is_unknown() {
        let mut facts = healthy();
        let unseen = Fact::unknown("permission denied", "/proc");
        facts.host.as_mut().unwrap().server_process = unseen;
        assert_eq!(
            unknown(&RULE, &facts),
            "the server's process: permission denied"
        );
    }
}
