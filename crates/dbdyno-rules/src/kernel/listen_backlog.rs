//! Connections are turned away because a queue of a listening socket is full.
//!
//! ## What it finds
//! Overflows of listening sockets' queues in the window, which is warned of; or a
//! `net.core.somaxconn` below both 4096 and the queue that PostgreSQL asks for (twice
//! max_connections).
//!
//! ## Why it matters
//! The kernel keeps new connections until the postmaster takes them. When an application reconnects
//! all its sessions at once, the postmaster forks one backend after the other and the queue fills.
//! What does not fit is dropped without a word: the client tries again after one second, then two,
//! then four, and finally reports a timeout of a server that is idle.
//!
//! ## What to do
//! The queue is as long as the shorter of the two: what the server asks for, and
//! `net.core.somaxconn`. Where the kernel's is, raise it to 4096, its default since 5.4, or to what
//! the server asks for, and with it `net.ipv4.tcp_max_syn_backlog`, whose default follows the memory;
//! then restart the server: a socket keeps the queue that it was opened with. Where the server's is,
//! only a pool in front of it or more max_connections help. Neither is ever lowered.
//!
//! ## Risk
//! None to data.
//!
//! ## When it does not apply
//! The counters hold every listening socket of the network namespace, not only the server's.
//!
//! ## Sources
//! - <https://docs.kernel.org/networking/ip-sysctl.html>
//! - <https://github.com/postgres/postgres/blob/master/src/backend/libpq/pqcomm.c>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Host;
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, humane_number, server, setting_number, settle, sysctl};

pub(super) const RULE: Rule = Rule {
    id: "kernel.listen_backlog",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://docs.kernel.org/networking/ip-sysctl.html",
        "https://github.com/postgres/postgres/blob/master/src/backend/libpq/pqcomm.c",
    ],
    check,
    source_text: include_str!("listen_backlog.rs"),
};

const DEFAULT: u64 = 4096;
const LIMIT: &str = "net.core.somaxconn";
const HALF_OPEN: &str = "net.ipv4.tcp_max_syn_backlog";

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    let host = host(facts)?;
    let overflows = overflows_per_s(host);
    // PostgreSQL passes twice max_connections to listen().
    let asked = (setting_number(server, "max_connections")? * 2.0) as u64;
    if let Some(rate) = overflows.filter(|rate| *rate > 0.0) {
        let finding = RULE
            .finding(format!(
                "{} connections a second are dropped because a listening socket's queue is full",
                humane_number(rate)
            ))
            .severity(Severity::Warn)
            .keeps_running()
            .evidence(
                "ListenOverflows per second",
                humane_number(rate),
                &host.traffic.after.origin,
            );
        return Ok(lengthened(finding, host, asked).into_outcome());
    }
    if is_other_network(host) {
        return Err(Outcome::Unknown(format!(
            "{LIMIT}: the server has a network of its own, which is not visible here"
        )));
    }
    let (limit, origin) = sysctl(host, LIMIT)?;
    let least = asked.min(DEFAULT);
    if limit.unsigned_abs() < least {
        let finding = RULE
            .finding(format!(
                "{LIMIT} of {limit} cuts the queue of new connections below the {least} that the \
                 server asks for"
            ))
            .evidence(LIMIT, limit, origin);
        return Ok(raised(finding, host, asked).into_outcome());
    }
    match overflows {
        Some(_) => Ok(Outcome::Ok),
        None => Err(Outcome::Unknown(
            "ListenOverflows: no two samples of it".to_owned(),
        )),
    }
}

/// The queue is as long as the shorter of what the server asks for and the kernel's limit.
fn lengthened(finding: Finding, host: &Host, asked: u64) -> Finding {
    let limit = if is_other_network(host) {
        None
    } else {
        sysctl(host, LIMIT).ok()
    };
    match limit {
        // It may be higher than what would be written.
        None => finding.host_action(
            format!(
                "raise {LIMIT} to {} where the server's network is set up, if it is lower there \
                 (docker run --sysctl, securityContext.sysctls of the pod), and restart the server",
                asked.max(DEFAULT)
            ),
            Needs::Restart,
        ),
        Some((limit, origin)) if limit.unsigned_abs() >= asked => finding
            .evidence(LIMIT, limit, origin)
            .host_action(
                format!(
                    "see whose queue it is (ss -ltn: Recv-Q at Send-Q); for the server's, put a pool of \
                     connections in front of it or raise max_connections: its queue holds twice that, \
                     {asked}, and {LIMIT} of {limit} does not cut it"
                ),
                Needs::Restart,
            ),
        Some(_) => raised(finding, host, asked),
    }
}

/// What is higher already stays, and what was not read.
fn raised(finding: Finding, host: &Host, asked: u64) -> Finding {
    let wanted = asked.max(DEFAULT);
    let now = |name: &str| host.sysctl.get(name).and_then(|fact| fact.get());
    let mut settings = vec![(LIMIT, wanted)];
    if now(HALF_OPEN).is_some_and(|now| now.unsigned_abs() < wanted) {
        settings.push((HALF_OPEN, wanted));
    }
    finding.sysctl(&settings, Needs::Restart)
}

fn overflows_per_s(host: &Host) -> Option<f64> {
    host.traffic.rate(|traffic| {
        traffic
            .listening
            .get()
            .map(|counters| counters.overflows as f64)
    })
}

/// Whether the `net.*` sysctls that were read are not the server's.
pub(super) fn is_other_network(host: &Host) -> bool {
    host.server_process
        .value()
        .is_some_and(|process| process.same_network.get() == Some(false))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, process, set, unknown};
    use dbdyno_model::host::{ListenCounters, Sampled, Traffic};
    use dbdyno_model::{Fact, Facts, Severity};

    fn with(overflows: u64, somaxconn: i64) -> Facts {
        let mut facts = healthy();
        let host = host(&mut facts);
        let sample = |overflows| {
            let counters = ListenCounters {
                overflows,
                drops: overflows,
            };
            let traffic = Traffic {
                listening: Fact::known(counters, "/proc/4242/net/netstat"),
                ..Traffic::default()
            };
            Fact::known(traffic, "/proc/4242/net/netstat")
        };
        host.traffic = Sampled {
            before: sample(10),
            after: sample(10 + overflows),
            seconds: 2.0,
        };
        let somaxconn = Fact::known(somaxconn, "/proc/sys/net/core/somaxconn");
        host.sysctl
            .insert("net.core.somaxconn".to_owned(), somaxconn);
        facts
    }

    #[test]
    fn overflows_in_the_window_are_warned_of() {
        let finding = finding(&RULE, &with(5, 4096));
        insta::assert_snapshot!(finding.message, @"2.5 connections a second are dropped because a listening socket's queue is full");
        assert_eq!(finding.severity, Severity::Warn);
    }

    fn lines(facts: &Facts) -> Vec<String> {
        let files = &finding(&RULE, facts).host_actions[0].files;
        files.iter().flat_map(|file| file.lines.clone()).collect()
    }

    #[test]
    fn a_limit_of_the_kernel_s_is_raised_where_it_is_the_shorter_one() {
        let mut facts = with(5, 128);
        assert_eq!(lines(&facts)[0], "net.core.somaxconn = 4096");
        let half_open = |limit| Fact::known(limit, "/proc/sys/net/ipv4/tcp_max_syn_backlog");
        let name = "net.ipv4.tcp_max_syn_backlog";
        host(&mut facts)
            .sysctl
            .insert(name.to_owned(), half_open(8192));
        assert_eq!(lines(&facts), ["net.core.somaxconn = 4096"]);
        // As many as the server asks for.
        set(&mut facts, "max_connections", "5000");
        assert_eq!(
            lines(&facts),
            [
                "net.core.somaxconn = 10000",
                "net.ipv4.tcp_max_syn_backlog = 10000"
            ]
        );
    }

    #[test]
    fn a_queue_that_the_server_keeps_short_is_not_the_kernel_s_to_mend() {
        for limit in [4096, 65_535] {
            let facts = with(5, limit);
            assert!(lines(&facts).is_empty());
            let action = finding(&RULE, &facts).host_actions.remove(0).action;
            assert!(
                action.contains("its queue holds twice that, 200"),
                "{action}"
            );
        }
        let mut facts = with(5, 65_535);
        process(&mut facts, |process| {
            process.same_network = Fact::known(false, "/proc/4242/ns/net");
        });
        let action = finding(&RULE, &facts).host_actions.remove(0);
        assert!(action.action.contains("docker run --sysctl"));
        assert!(action.files.is_empty());
        // Nor is a limit written over that was not read.
        let mut facts = with(5, 128);
        host(&mut facts).sysctl.remove("net.core.somaxconn");
        assert!(lines(&facts).is_empty());
    }

    #[test]
    fn a_short_queue_is_told() {
        let finding = finding(&RULE, &with(0, 128));
        insta::assert_snapshot!(finding.message, @"net.core.somaxconn of 128 cuts the queue of new connections below the 200 that the server asks for");
        assert_eq!(finding.severity, Severity::Info);
    }

    #[test]
    fn a_long_queue_without_overflows_is_fine() {
        ok(&RULE, &with(0, 4096));
    }

    #[test]
    fn another_engine_is_not_applicable() {
        let mut facts = with(5, 128);
        facts.postgres = None;
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn one_sample_and_another_network_are_unknown() {
        assert_eq!(
            unknown(&RULE, &healthy()),
            "ListenOverflows: no two samples of it"
        );
        let mut facts = with(0, 128);
        process(&mut facts, |process| {
            process.same_network = Fact::known(false, "/proc/4242/ns/net");
        });
        assert!(unknown(&RULE, &facts).contains("a network of its own"));
    }
}
