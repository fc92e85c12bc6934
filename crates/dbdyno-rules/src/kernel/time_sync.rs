//! Nobody keeps the host's clock.
//!
//! ## What it finds
//! No program that sets the clock (chronyd, ntpd, systemd-timesyncd, ptp4l), or systemd-timesyncd
//! that has not reached a time server yet. It is warned of where the server replicates; else it is
//! only told.
//!
//! ## Why it matters
//! A clock that drifts makes the lag of a standby negative, ends point-in-time recovery at another
//! moment than was asked for, and keeps log files of two machines from being read together. Far
//! enough off, certificates are no longer or not yet valid. Clustered stores order writes by it.
//!
//! ## What to do
//! Run chrony, with one source for all machines of the cluster.
//!
//! ## Risk
//! A clock that is far off jumps when the program first sets it: chrony steps only at its start.
//!
//! ## When it does not apply
//! Containers, whose clock is their host's. How far off the clock is, is not read: chronyd and ntpd
//! tell it only when they are asked. Tools of a hypervisor that set the clock are not seen.
//!
//! ## Sources
//! - <https://man7.org/linux/man-pages/man8/systemd-timesyncd.service.8.html>
//! - Tuning Linux for MongoDB (2016-08-12)

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::ReplicationRole;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.time_sync",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://man7.org/linux/man-pages/man8/systemd-timesyncd.service.8.html",
        "Tuning Linux for MongoDB (2016-08-12)",
    ],
    check,
    source_text: include_str!("time_sync.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    if host.container.get() == Some(true) {
        return Err(Outcome::NotApplicable(
            "a container has its host's clock".to_owned(),
        ));
    }
    let sync = need_ref(&host.time_sync, "who keeps the clock")?;
    let (message, action) = match sync.daemons.first() {
        None => (
            "no program keeps the host's clock".to_owned(),
            "install and start chrony: apt install chrony; or dnf (zypper) install chrony && \
             systemctl enable --now chronyd"
                .to_owned(),
        ),
        Some(daemon) if sync.synchronised.get() == Some(false) => (
            format!("{daemon} runs but has not set the host's clock yet"),
            "look why: timedatectl timesync-status, journalctl -u systemd-timesyncd".to_owned(),
        ),
        Some(_) => return Ok(Outcome::Ok),
    };
    let severity = if replicates(facts) {
        Severity::Warn
    } else {
        Severity::Info
    };
    Ok(RULE
        .finding(message)
        .severity(severity)
        .evidence(
            "programs that keep the clock",
            sync.daemons.join(", "),
            &host.time_sync.origin,
        )
        .host_action(action, Needs::Online)
        .into_outcome())
}

fn replicates(facts: &Facts) -> bool {
    let Some(server) = &facts.postgres else {
        return false;
    };
    let is_standby = server.role.get() == Some(ReplicationRole::Standby);
    let has_standbys = server
        .activity
        .value()
        .is_some_and(|activity| activity.standbys > 0);
    is_standby || has_standbys
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, postgres, unknown};
    use dbdyno_model::host::TimeSync;
    use dbdyno_model::postgres::ReplicationRole;
    use dbdyno_model::{Fact, Facts, Severity};

    fn kept_by(daemons: &[&str], synchronised: Fact<bool>) -> Facts {
        let mut facts = healthy();
        let sync = TimeSync {
            daemons: daemons.iter().map(|name| (*name).to_owned()).collect(),
            synchronised,
        };
        host(&mut facts).time_sync = Fact::known(sync, "/proc/*/comm");
        facts
    }

    #[test]
    fn nobody_is_found_and_warned_of_where_the_server_replicates() {
        let mut facts = kept_by(&[], Fact::default());
        let alone = finding(&RULE, &facts);
        assert_eq!(alone.message, "no program keeps the host's clock");
        assert_eq!(alone.severity, Severity::Info);
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "pg_is_in_recovery()");
        assert_eq!(finding(&RULE, &facts).severity, Severity::Warn);
    }

    #[test]
    fn a_program_without_a_time_server_is_found() {
        let facts = kept_by(&["systemd-timesyncd"], Fact::known(false, "/run"));
        assert_eq!(
            finding(&RULE, &facts).message,
            "systemd-timesyncd runs but has not set the host's clock yet"
        );
    }

    #[test]
    fn chrony_is_fine() {
        ok(&RULE, &kept_by(&["chronyd"], Fact::default()));
        ok(
            &RULE,
            &kept_by(&["systemd-timesyncd"], Fact::known(true, "/run")),
        );
    }

    #[test]
    fn a_container_is_not_applicable_and_hidden_processes_are_unknown() {
        assert_eq!(
            unknown(&RULE, &healthy()),
            "who keeps the clock: not collected"
        );
        let mut facts = kept_by(&[], Fact::default());
        host(&mut facts).container = Fact::known(true, "/.dockerenv");
        not_applicable(&RULE, &facts);
    }
}
