//! The server may not open as many files as it is configured to.
//!
//! ## What it finds
//! A soft limit on open files of the server's process below `max_files_per_process`, or
//! max_files_per_process × max_connections above `fs.file-max`.
//!
//! ## Why it matters
//! Below its own setting the server closes and opens files all the time, or fails a statement with
//! "too many open files". Where the sum over all backends passes the kernel's limit, every program
//! on the host fails to open files.
//!
//! ## What to do
//! Raise the limit in the server's systemd unit (services do not read limits.d), or `fs.file-max`;
//! or lower max_files_per_process. One number in `LimitNOFILE=` is the soft and the hard limit, so the
//! advice writes both and leaves the hard one as high as it is.
//!
//! ## Risk
//! None to data.
//!
//! ## When it does not apply
//! Other engines than PostgreSQL.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/kernel-resources.html>
//! - <https://man7.org/linux/man-pages/man5/systemd.exec.5.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Host;
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use super::unit::{directive, raise};
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, need_ref, server, setting_number, settle, sysctl};

pub(super) const RULE: Rule = Rule {
    id: "kernel.open_files",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/kernel-resources.html",
        "https://man7.org/linux/man-pages/man5/systemd.exec.5.html",
    ],
    check,
    source_text: include_str!("open_files.rs"),
};

const LIMIT: &str = "Max open files";

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    let host = host(facts)?;
    let per_process = setting_number(server, "max_files_per_process")? as u64;
    let connections = setting_number(server, "max_connections")? as u64;
    let wanted = per_process.saturating_mul(connections);
    // The kernel-wide limit first: it fails every program, and it can be judged alone.
    let file_max = sysctl(host, "fs.file-max");
    if let Ok((file_max, origin)) = &file_max
        && wanted > file_max.unsigned_abs()
    {
        return Ok(RULE
            .finding(format!(
                "{connections} connections with {per_process} files each may open {wanted} files, \
                 and fs.file-max is {file_max}"
            ))
            .keeps_running()
            .evidence("fs.file-max", file_max, origin)
            .evidence("max_files_per_process", per_process, "pg_settings")
            .sysctl(&[("fs.file-max", wanted.saturating_mul(2))], Needs::Online)
            .into_outcome());
    }
    let process = need_ref(&host.server_process, "the server's process")?;
    let limit = process.limits.get(LIMIT).ok_or_else(|| {
        Outcome::Unknown(format!("{LIMIT} of process {}: not collected", process.pid))
    })?;
    match limit {
        Some(limit) if *limit < per_process => {
            let finding = RULE
                .finding(format!(
                    "the server's process may open {limit} files, fewer than its \
                     max_files_per_process of {per_process}"
                ))
                .keeps_running()
                .evidence(LIMIT, limit, format!("/proc/{}/limits", process.pid));
            Ok(with_action(finding, host, per_process).into_outcome())
        }
        _ => file_max.map(|_| Outcome::Ok),
    }
}

fn with_action(finding: Finding, host: &Host, per_process: u64) -> Finding {
    // The files may be right already, and the process older than they are.
    let configured = directive(host, "LimitNOFILE").filter(|directive| {
        let soft = directive.value.split(':').next().unwrap_or_default();
        soft == "infinity" || soft.parse::<u64>().is_ok_and(|soft| soft >= per_process)
    });
    match configured {
        Some(directive) => finding.host_action(
            format!(
                "restart the server: {}:{} sets LimitNOFILE={}, which this process does not have",
                directive.file, directive.line, directive.value
            ),
            Needs::Restart,
        ),
        None => {
            let enough = per_process.saturating_mul(2);
            raise(finding, host, ("LimitNOFILE", LIMIT), enough)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, set, unknown, with_unit};
    use dbdyno_model::{Fact, Facts};

    fn limited(limit: Option<u64>) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        let mut process = host.server_process.value().unwrap().clone();
        process.limits.insert("Max open files".to_owned(), limit);
        let hard = Some(524_288);
        process
            .hard_limits
            .insert("Max open files".to_owned(), hard);
        host.server_process = Fact::known(process, "postmaster.pid");
        facts
    }

    #[test]
    fn a_low_limit_of_the_process_is_found() {
        let mut facts = limited(Some(1024));
        set(&mut facts, "max_files_per_process", "4000");
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"the server's process may open 1024 files, fewer than its max_files_per_process of 4000");
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("LimitNOFILE=8000:524288 in")
        );
    }

    #[test]
    fn a_unit_that_is_right_already_asks_for_a_restart() {
        let mut facts = limited(Some(1024));
        set(&mut facts, "max_files_per_process", "4000");
        with_unit(&mut facts, &[("LimitNOFILE", "65536:524288")]);
        assert!(
            finding(&RULE, &facts).host_actions[0]
                .action
                .starts_with("restart the server: /etc/systemd/system/")
        );
        with_unit(&mut facts, &[("LimitNOFILE", "2048")]);
        assert!(
            finding(&RULE, &facts).host_actions[0]
                .action
                .starts_with("LimitNOFILE=8000:524288 in [Service] of")
        );
    }

    #[test]
    fn a_low_limit_of_the_kernel_is_found_without_the_process() {
        let mut facts = healthy();
        set(&mut facts, "max_connections", "5000");
        facts.host.as_mut().unwrap().server_process = Fact::default();
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"5000 connections with 1000 files each may open 5000000 files, and fs.file-max is 2000000");
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("fs.file-max = 10000000 in")
        );
    }

    #[test]
    fn enough_and_unlimited_are_fine() {
        ok(&RULE, &healthy());
        ok(&RULE, &limited(None));
    }

    #[test]
    fn each_missing_limit_is_unknown() {
        let mut facts = healthy();
        facts.host.as_mut().unwrap().sysctl.remove("fs.file-max");
        assert_eq!(unknown(&RULE, &facts), "fs.file-max: not collected");
        facts.host.as_mut().unwrap().server_process = Fact::default();
        assert_eq!(
            unknown(&RULE, &facts),
            "the server's process: not collected"
        );
    }
}
