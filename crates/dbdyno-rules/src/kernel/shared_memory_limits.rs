//! Files raise System V shared memory limits that the server does not use.
//!
//! ## What it finds
//! `kernel.shmmax`, `kernel.shmall`, `kernel.shmmni` or `kernel.sem` set by a file of the machine's
//! owner, while `shared_memory_type` is not `sysv`.
//!
//! ## Why it matters
//! Since 9.3 PostgreSQL maps its shared memory anonymously and keeps only a few bytes of System V
//! memory, to notice a second server. The limits change nothing, but they are copied from one old
//! guide to the next, and the next reader looks there for what is wrong.
//!
//! ## What to do
//! Remove the lines: the kernel's defaults are as good as unlimited.
//!
//! ## Risk
//! Other programs on the host (Oracle, DB2) may need them.
//!
//! ## When it does not apply
//! Servers with `shared_memory_type = sysv`, and files of the distribution.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/kernel-resources.html>
//! - Tune Linux Kernel Parameters For PostgreSQL Optimization (2018-08-29)

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::owners::{Assignment, assignments, commented};
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, server, setting_text, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.shared_memory_limits",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/kernel-resources.html",
        "Tune Linux Kernel Parameters For PostgreSQL Optimization (2018-08-29)",
    ],
    check,
    source_text: include_str!("shared_memory_limits.rs"),
};

const LIMITS: [&str; 4] = [
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
];

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    let kind = setting_text(server, "shared_memory_type")?;
    if kind == "sysv" {
        return Err(Outcome::NotApplicable(
            "shared_memory_type is sysv: the limits count".to_owned(),
        ));
    }
    let host = host(facts)?;
    let all = assignments(host)?;
    let set: Vec<&Assignment> = all
        .iter()
        .filter(|one| LIMITS.contains(&one.name.as_str()) && one.place.starts_with("/etc/"))
        .collect();
    let mut places: Vec<String> = set
        .iter()
        .map(|one| format!("{} ({})", one.name, one.place))
        .collect();
    places.sort();
    places.dedup();
    if places.is_empty() {
        return Ok(Outcome::Ok);
    }
    let all = places.join(", ");
    Ok(RULE
        .finding(format!(
            "limits on System V shared memory are set, which shared_memory_type = {kind} does not \
             use: {all}"
        ))
        .evidence("shared_memory_type", kind, "pg_settings")
        .host_action(
            format!("remove {all}, unless another program needs it"),
            Needs::Online,
        )
        .run(commented(&set))
        .costing("a program that uses System V shared memory may need it")
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::kernel::owners::tests::configured;
    use crate::testing::{finding, healthy, not_applicable, ok, set, unknown};

    #[test]
    fn a_limit_without_use_is_found() {
        let facts = configured(&[("kernel.shmmax", "68719476736")], &[], true);
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"limits on System V shared memory are set, which shared_memory_type = mmap does not use: kernel.shmmax (/etc/sysctl.d/50-site.conf:1)");
    }

    #[test]
    fn other_lines_are_fine() {
        ok(&RULE, &configured(&[("vm.swappiness", "1")], &[], true));
    }

    #[test]
    fn system_v_memory_is_not_applicable_and_unread_files_are_unknown() {
        let mut facts = configured(&[("kernel.shmmax", "1")], &[], true);
        set(&mut facts, "shared_memory_type", "sysv");
        not_applicable(&RULE, &facts);
        assert_eq!(
            unknown(&RULE, &healthy()),
            "files of sysctl.d: not collected"
        );
    }
}
