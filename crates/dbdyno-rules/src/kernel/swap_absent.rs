//! Strict overcommit without swap leaves part of the memory unusable.
//!
//! ## What it finds
//! `vm.overcommit_memory = 2` on a host without swap whose commit limit is below 80 % of the memory
//! that is not reserved for huge pages.
//!
//! ## Why it matters
//! In mode 2 the limit is swap plus a share of memory, 50 % by default. Without swap half of the
//! memory can never be promised to a process: allocations fail while it lies free.
//!
//! ## What to do
//! Raise `vm.overcommit_ratio`, or add a little swap.
//!
//! ## Risk
//! None to data. A higher limit brings the out-of-memory killer nearer.
//!
//! ## When it does not apply
//! Modes 0 and 1, and hosts with swap.
//!
//! ## Sources
//! - <https://docs.kernel.org/mm/overcommit-accounting.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::overcommit::Commit;
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, humane_bytes, need, settle, sysctl};

pub(super) const RULE: Rule = Rule {
    id: "kernel.swap_absent",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &["https://docs.kernel.org/mm/overcommit-accounting.html"],
    check,
    source_text: include_str!("swap_absent.rs"),
};

const LEAST_SHARE: f64 = 0.8;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let (mode, _) = sysctl(host, "vm.overcommit_memory")?;
    if mode != 2 {
        return Err(Outcome::NotApplicable(format!(
            "vm.overcommit_memory is {mode}: there is no commit limit"
        )));
    }
    let memory = &host.memory;
    let commit = Commit::read(memory)?;
    if commit.swap > 0 {
        return Err(Outcome::NotApplicable("the host has swap".to_owned()));
    }
    let limit = need(&memory.commit_limit_bytes, "CommitLimit")?;
    if limit as f64 >= commit.ordinary as f64 * LEAST_SHARE {
        return Ok(Outcome::Ok);
    }
    let finding = RULE
        .finding(format!(
            "without swap vm.overcommit_memory = 2 lets processes have {} of {} memory, and {} are \
             committed",
            humane_bytes(limit),
            humane_bytes(commit.ordinary),
            humane_bytes(commit.committed),
        ))
        .keeps_running()
        .evidence("CommitLimit", limit, &memory.commit_limit_bytes.origin)
        .evidence("SwapTotal", 0, &memory.swap_total_bytes.origin);
    let finding = match commit.ratio() {
        Some(ratio) => finding.sysctl(&[("vm.overcommit_ratio", ratio)], Needs::Online),
        None => finding.host_action(
            "add swap: what is committed does not fit into memory",
            Needs::Online,
        ),
    };
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::{Fact, Facts};

    fn strict(limit_gib: u64) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        host.sysctl.insert(
            "vm.overcommit_memory".to_owned(),
            Fact::known(2, "/proc/sys/vm"),
        );
        host.memory.commit_limit_bytes = Fact::known(limit_gib << 30, "/proc/meminfo CommitLimit");
        facts
    }

    #[test]
    fn half_of_the_memory_is_found() {
        let finding = finding(&RULE, &strict(12));
        insta::assert_snapshot!(finding.message, @"without swap vm.overcommit_memory = 2 lets processes have 12 GiB of 23.7 GiB memory, and 1 GiB are committed");
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("vm.overcommit_ratio = 90 in")
        );
    }

    #[test]
    fn a_ratio_that_was_raised_is_fine() {
        ok(&RULE, &strict(20));
    }

    #[test]
    fn the_heuristic_and_swap_are_not_applicable() {
        not_applicable(&RULE, &healthy());
        let mut facts = strict(12);
        let memory = &mut facts.host.as_mut().unwrap().memory;
        memory.swap_total_bytes = Fact::known(4 << 30, "/proc/meminfo SwapTotal");
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn a_limit_that_was_not_read_is_unknown() {
        let mut facts = strict(12);
        facts.host.as_mut().unwrap().memory.commit_limit_bytes = Fact::default();
        assert_eq!(unknown(&RULE, &facts), "CommitLimit: not collected");
    }
}
