//! The server may not start as many processes as it is configured to.
//!
//! ## What it finds
//! A limit on processes below what PostgreSQL may start: the `Max processes` of its user, or the
//! `pids.max` of its cgroup or one above it (TasksMax= of its systemd unit).
//!
//! ## Why it matters
//! Each session and each worker is a process. At the limit fork fails: new connections are refused
//! with "could not fork new process for connection: Resource temporarily unavailable" while
//! max_connections is not reached, and autovacuum and parallel workers do not start.
//!
//! ## What to do
//! Raise `TasksMax=` (or `LimitNPROC=`) in a drop-in of the server's unit; services do not read
//! limits.d. Where the limit is that of a group above (`system.slice`), raise it there: no unit can
//! have more than those above it. Or lower max_connections. One number in `LimitNPROC=` is the soft and
//! the hard limit, so the advice writes both and leaves the hard one as high as it is.
//!
//! ## Risk
//! None to data.
//!
//! ## When it does not apply
//! Other engines than PostgreSQL. `Max processes` counts all processes of the user, so other
//! programs that run as the same user need room as well.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/kernel-resources.html>
//! - <https://man7.org/linux/man-pages/man5/systemd.resource-control.5.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::{Cgroup, Host};
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use super::unit::{drop_in, raise};
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, need_ref, server, setting_number, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.process_limit",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/kernel-resources.html",
        "https://man7.org/linux/man-pages/man5/systemd.resource-control.5.html",
    ],
    check,
    source_text: include_str!("process_limit.rs"),
};

const LIMIT: &str = "Max processes";
const GROUP_LIMIT: &str = "pids.max";
/// Postmaster, checkpointer, background writer, log writer, launchers, archiver, logger, startup.
const ALWAYS: u64 = 10;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    let host = host(facts)?;
    let wanted = processes(server)?;
    let groups = need_ref(&host.cgroups, "control groups of the server")?;
    let mut limits = group_limits(groups);
    let process = need_ref(&host.server_process, "the server's process")?;
    match process.limits.get(LIMIT) {
        Some(Some(most)) => limits.push(Limit {
            most: *most,
            name: format!("{LIMIT} of the server's user"),
            origin: format!("/proc/{}/limits", process.pid),
            group: None,
        }),
        Some(None) => {}
        None => {
            return Err(Outcome::Unknown(format!(
                "{LIMIT} of process {}: not collected",
                process.pid
            )));
        }
    }
    let lowest = limits.into_iter().min_by_key(|limit| limit.most);
    let Some(limit) = lowest.filter(|limit| limit.most < wanted) else {
        return match groups.iter().find(|group| group.is_unread(GROUP_LIMIT)) {
            Some(group) => Err(Outcome::Unknown(format!(
                "{GROUP_LIMIT} of cgroup {}: it could not be read",
                group.cgroup
            ))),
            None => Ok(Outcome::Ok),
        };
    };
    let finding = RULE
        .finding(format!(
            "{} is {}, and the server may start {wanted} processes: sessions and workers fail \
             before max_connections is reached",
            limit.name, limit.most
        ))
        .keeps_running()
        .evidence(&limit.name, limit.most, &limit.origin)
        .evidence(
            "max_connections",
            setting_number(server, "max_connections")?,
            "pg_settings",
        );
    Ok(raised(finding, host, &limit, wanted).into_outcome())
}

/// A unit's drop-in raises the limits of its own process and group, and none of a group above.
fn raised(finding: Finding, host: &Host, limit: &Limit, wanted: u64) -> Finding {
    let enough = wanted.saturating_mul(2);
    let Some(group) = &limit.group else {
        return raise(finding, host, ("LimitNPROC", LIMIT), enough);
    };
    let name = group.rsplit('/').next().unwrap_or(group);
    let unit = host
        .server_process
        .value()
        .and_then(|process| process.unit.value());
    if unit.is_some_and(|unit| unit.name == name) {
        let line = format!("TasksMax={enough}");
        return finding
            .host_action(format!("{line} in {}", drop_in(host)), Needs::Restart)
            .unit(host, [line]);
    }
    // Others take their share of it.
    let in_all = limit.most.saturating_add(enough);
    let action = if name.ends_with(".slice") || name.ends_with(".service") {
        format!("TasksMax={in_all} for {name}, which holds for all in it: systemctl edit {name}")
    } else {
        format!(
            "raise {GROUP_LIMIT} of {group} to {in_all} where it is set: docker run --pids-limit, \
             podPidsLimit of the kubelet"
        )
    };
    finding.host_action(action, Needs::Restart)
}

/// Processes that the server may have at once; settings that this version lacks count as none.
fn processes(server: &Postgres) -> Result<u64, Outcome> {
    let connections = setting_number(server, "max_connections")?;
    let optional = |name: &str| server.number(name).unwrap_or(0.0).max(0.0);
    // From 18 on the slots bound the workers.
    let autovacuum = optional("autovacuum_max_workers").max(optional("autovacuum_worker_slots"));
    let sum = connections
        + autovacuum
        + optional("max_worker_processes")
        + optional("max_wal_senders")
        + optional("io_workers");
    Ok(sum as u64 + ALWAYS)
}

/// How many processes there may be, and who says so.
struct Limit {
    most: u64,
    name: String,
    origin: String,
    /// The control group that has it; none is the user's.
    group: Option<String>,
}

fn group_limits(groups: &[Cgroup]) -> Vec<Limit> {
    groups
        .iter()
        .filter_map(|group| {
            Some(Limit {
                most: group.tasks_max?,
                name: format!("{GROUP_LIMIT} of cgroup {}", group.cgroup),
                origin: format!("{}/{GROUP_LIMIT}", group.cgroup),
                group: Some(group.cgroup.clone()),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        finding, healthy, host, not_applicable, ok, process, set, unknown, with_unit,
    };
    use dbdyno_model::host::Cgroup;
    use dbdyno_model::{Effect, Fact, Facts};

    fn with_limits(tasks_max: Option<u64>, processes: Option<u64>) -> Facts {
        let mut facts = healthy();
        let group = Cgroup {
            cgroup: "/sys/fs/cgroup/system.slice/postgresql.service".to_owned(),
            tasks_max,
            ..Cgroup::default()
        };
        host(&mut facts).cgroups = Fact::known(vec![group], "control groups");
        process(&mut facts, |process| {
            process.limits.insert("Max processes".to_owned(), processes);
        });
        facts
    }

    #[test]
    fn a_group_with_too_few_tasks_is_found() {
        let mut facts = with_limits(Some(120), None);
        set(&mut facts, "max_connections", "300");
        let finding = finding(&RULE, &facts);
        assert_eq!(finding.effect, Effect::Availability);
        assert!(finding.message.starts_with(
            "pids.max of cgroup /sys/fs/cgroup/system.slice/postgresql.service is 120, and the \
             server may start 3"
        ));
        let action = &finding.host_actions[0].action;
        assert!(action.starts_with("TasksMax="), "{action}");
    }

    #[test]
    fn only_the_units_own_limit_is_raised_in_its_drop_in() {
        let limited = |group: &str| {
            let mut facts = with_limits(Some(64), None);
            with_unit(&mut facts, &[]);
            let groups = &mut host(&mut facts).cgroups;
            *groups = groups.clone().map(|mut groups| {
                groups[0].cgroup = format!("/sys/fs/cgroup/{group}");
                groups
            });
            finding(&RULE, &facts).host_actions.remove(0)
        };
        let own = limited("system.slice/postgresql@15-main.service");
        assert_eq!(own.commands, ["systemctl daemon-reload"]);
        assert!(own.files[0].lines[1].starts_with("TasksMax="));
        for (group, words) in [
            ("system.slice", "for system.slice, which holds for all"),
            (
                "docker/0a1b",
                "raise pids.max of /sys/fs/cgroup/docker/0a1b to ",
            ),
        ] {
            let above = limited(group);
            assert!(above.action.contains(words), "{}", above.action);
            assert!(above.files.is_empty() && above.commands.is_empty());
        }
    }

    #[test]
    fn the_users_limit_counts_too() {
        let finding = finding(&RULE, &with_limits(Some(4096), Some(64)));
        assert!(
            finding
                .message
                .starts_with("Max processes of the server's user is 64")
        );
        assert!(finding.host_actions[0].action.starts_with("LimitNPROC="));
    }

    #[test]
    fn room_and_no_limit_are_fine() {
        ok(&RULE, &with_limits(None, None));
        ok(&RULE, &with_limits(Some(4096), Some(96_000)));
    }

    #[test]
    fn another_engine_is_not_applicable() {
        let mut facts = with_limits(Some(1), Some(1));
        facts.postgres = None;
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn groups_and_limits_that_were_not_read_are_unknown() {
        assert_eq!(
            unknown(&RULE, &healthy()),
            "control groups of the server: not collected"
        );
        let mut facts = with_limits(None, None);
        let groups = &mut host(&mut facts).cgroups;
        *groups = groups.clone().map(|mut groups| {
            groups[0].unread.push("pids.max".to_owned());
            groups
        });
        assert_eq!(
            unknown(&RULE, &facts),
            "pids.max of cgroup /sys/fs/cgroup/system.slice/postgresql.service: it could not be read"
        );
        let mut facts = with_limits(None, None);
        process(&mut facts, |process| process.limits.clear());
        assert_eq!(
            unknown(&RULE, &facts),
            "Max processes of process 4242: not collected"
        );
    }
}
