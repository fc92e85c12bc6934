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
//! Raise `net.core.somaxconn` to 4096, the kernel's default since 5.4, and with it
//! `net.ipv4.tcp_max_syn_backlog`, whose default follows the memory; then restart the server: a
//! socket keeps the queue that it was opened with. Against storms of connections a pool helps more.
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
use dbdyno_model::{Facts, Needs, Outcome, Severity};

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

const DEFAULT: f64 = 4096.0;
const WANTED: [(&str, u32); 2] = [
    ("net.core.somaxconn", 4096),
    ("net.ipv4.tcp_max_syn_backlog", 4096),
];

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    let host = host(facts)?;
    let overflows = overflows_per_s(host);
    if let Some(rate) = overflows.filter(|rate| *rate > 0.0) {
        return Ok(RULE
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
            )
            .sysctl(&WANTED, Needs::Restart)
            .into_outcome());
    }
    if is_other_network(host) {
        return Err(Outcome::Unknown(
            "net.core.somaxconn: the server has a network of its own, which is not visible here"
                .to_owned(),
        ));
    }
    let (limit, origin) = sysctl(host, "net.core.somaxconn")?;
    let asked = (setting_number(server, "max_connections")? * 2.0).min(DEFAULT);
    if (limit as f64) < asked {
        return Ok(RULE
            .finding(format!(
                "net.core.somaxconn of {limit} cuts the queue of new connections below the \
                 {asked} that the server asks for"
            ))
            .evidence("net.core.somaxconn", limit, origin)
            .sysctl(&WANTED, Needs::Restart)
            .into_outcome());
    }
    match overflows {
        Some(_) => Ok(Outcome::Ok),
        None => Err(Outcome::Unknown(
            "ListenOverflows: no two samples of it".to_owned(),
        )),
    }
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
    use crate::testing::{finding, healthy, host, not_applicable, ok, process, unknown};
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
