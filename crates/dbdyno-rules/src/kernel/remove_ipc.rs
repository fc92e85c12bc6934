//! systemd-logind removes the server's shared memory when somebody logs out.
//!
//! ## What it finds
//! `RemoveIPC=yes` (upstream's default) while the server runs as an ordinary user.
//!
//! ## Why it matters
//! When the last session of a user ends, logind removes the POSIX and System V shared memory that
//! belongs to that user. If the server runs as the same user, a DBA who logs out after looking at it
//! takes the memory of its parallel queries away: they fail with "could not open shared memory
//! segment", at a time that fits nothing in the log.
//!
//! ## What to do
//! Set `RemoveIPC=no`, or let a system user run the server: logind spares those.
//!
//! ## Risk
//! Users of the machine may leave shared memory behind.
//!
//! ## When it does not apply
//! System users (below 1000, as distributions have it), machines without systemd, containers.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/kernel-resources.html>
//! - <https://man7.org/linux/man-pages/man5/logind.conf.5.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, need, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.remove_ipc",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/kernel-resources.html",
        "https://man7.org/linux/man-pages/man5/logind.conf.5.html",
    ],
    check,
    source_text: include_str!("remove_ipc.rs"),
};

/// SYS_UID_MAX of /etc/login.defs, which systemd has compiled in.
const LAST_SYSTEM_USER: u32 = 999;

/// The last file's value counts, by names alone, whatever directory they lie in: behind all that begin
/// with digits, as those of packages and owners do.
const DROP_IN: &str = "/etc/systemd/logind.conf.d/zz-dbdyno.conf";

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    server(facts)?;
    if facts.intent.lab {
        return Err(Outcome::NotApplicable(
            "a lab server ends before anybody logs out".to_owned(),
        ));
    }
    let host = host(facts)?;
    if host.container.get() == Some(true) {
        return Err(Outcome::NotApplicable(
            "nobody logs in to a container".to_owned(),
        ));
    }
    let process = need_ref(&host.server_process, "the server's process")?;
    let user = need(&process.uid, "the server's user")?;
    if user <= LAST_SYSTEM_USER {
        return Ok(Outcome::Ok);
    }
    if !need(&host.removes_ipc, "RemoveIPC of systemd-logind")? {
        return Ok(Outcome::Ok);
    }
    let finding = RULE
        .finding(format!(
            "systemd-logind removes the server's shared memory when user {user} logs out"
        ))
        .keeps_running()
        .evidence("RemoveIPC", "yes", &host.removes_ipc.origin)
        .evidence("user of the server", user, &process.uid.origin)
        .host_action(
            format!("[Login] RemoveIPC=no in {DROP_IN}, then: systemctl restart systemd-logind"),
            Needs::Online,
        )
        .file(DROP_IN, ["[Login]", "RemoveIPC=no"])
        .run(["systemctl restart systemd-logind"])
        .costing("users of the machine may leave shared memory behind");
    let finding = match later(&host.removes_ipc.origin) {
        Some(file) => finding.host_action(
            format!("and take RemoveIPC=yes out of {file}, which is read after {DROP_IN}"),
            Needs::Online,
        ),
        None => finding,
    };
    Ok(finding.into_outcome())
}

/// The drop-in that says it now, where ours would not win over it.
fn later(origin: &str) -> Option<&str> {
    let file = origin.strip_suffix(" RemoveIPC")?;
    let (directory, name) = file.rsplit_once('/')?;
    let is_drop_in = directory.ends_with("/logind.conf.d");
    let (_, ours) = DROP_IN.rsplit_once('/')?;
    (is_drop_in && name > ours).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, process, unknown};
    use dbdyno_model::{Fact, Facts};

    fn run_by(user: u32, removes: bool) -> Facts {
        let mut facts = healthy();
        process(&mut facts, |process| {
            process.uid = Fact::known(user, "/proc/4242/status Uid");
        });
        host(&mut facts).removes_ipc = Fact::known(removes, "/etc/systemd/logind.conf RemoveIPC");
        facts
    }

    #[test]
    fn an_ordinary_user_is_found() {
        let finding = finding(&RULE, &run_by(1001, true));
        insta::assert_snapshot!(finding.message, @"systemd-logind removes the server's shared memory when user 1001 logs out");
    }

    #[test]
    fn our_file_is_read_after_the_one_that_says_it_now() {
        let said_by = |file: &str| {
            let mut facts = run_by(1001, true);
            host(&mut facts).removes_ipc = Fact::known(true, format!("{file} RemoveIPC"));
            finding(&RULE, &facts).host_actions
        };
        let actions = said_by("/etc/systemd/logind.conf.d/99-site.conf");
        assert_eq!(actions.len(), 1);
        let ours = actions[0].files[0].file.rsplit('/').next();
        assert!(ours > Some("99-site.conf"));
        assert_eq!(said_by("/etc/systemd/logind.conf").len(), 1);
        let actions = said_by("/usr/lib/systemd/logind.conf.d/zzz.conf");
        assert!(
            actions[1]
                .action
                .contains("out of /usr/lib/systemd/logind.conf.d/zzz.conf")
        );
    }

    #[test]
    fn a_system_user_and_a_logind_that_keeps_it_are_fine() {
        ok(&RULE, &run_by(115, true));
        ok(&RULE, &run_by(1001, false));
    }

    #[test]
    fn containers_and_labs_are_not_applicable() {
        let mut facts = run_by(1001, true);
        facts.intent.lab = true;
        not_applicable(&RULE, &facts);
        facts.intent.lab = false;
        host(&mut facts).container = Fact::known(true, "/.dockerenv");
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn an_unread_user_or_setting_is_unknown() {
        assert_eq!(
            unknown(&RULE, &healthy()),
            "the server's user: not collected"
        );
        let mut facts = run_by(1001, true);
        host(&mut facts).removes_ipc = Fact::default();
        assert_eq!(
            unknown(&RULE, &facts),
            "RemoveIPC of systemd-logind: not collected"
        );
    }
}
