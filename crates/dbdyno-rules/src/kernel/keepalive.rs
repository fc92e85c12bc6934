//! Sessions whose client is gone stay for hours, and idle ones are forgotten on the way.
//!
//! ## What it finds
//! A server in a cloud or a container that listens on the network and leaves TCP keepalives to the
//! kernel, where the first is sent after more than five minutes of silence.
//!
//! ## Why it matters
//! Load balancers and address translators forget a silent connection after minutes, without telling
//! either end. The client finds out at its next statement, the server two hours later: until then
//! the session keeps its locks, its snapshot and its place among max_connections.
//!
//! ## What to do
//! Set `tcp_keepalives_idle` in the server to less than the shortest such time limit on the way, two
//! minutes where none is known. From 14 on `client_connection_check_interval` also ends statements
//! whose client is gone.
//!
//! ## Risk
//! A small packet for each idle session every two minutes.
//!
//! ## When it does not apply
//! Servers that listen on the local machine only, and those outside of clouds and containers. A
//! session over a Unix socket does not show the value in force, only whether it was configured.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-connection.html>
//! - Tuning Linux for MongoDB (2016-08-12)

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::host::Host;
use dbdyno_model::{Facts, Outcome, Severity};

use super::listen_backlog::is_other_network;
use crate::cloud::is_rented;
use crate::rule::{FindingExt, Rule, host, humane_number, safe, server, setting, settle, sysctl};

pub(super) const RULE: Rule = Rule {
    id: "kernel.keepalive",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-connection.html",
        "Tuning Linux for MongoDB (2016-08-12)",
    ],
    check,
    source_text: include_str!("keepalive.rs"),
};

const SETTING: &str = "tcp_keepalives_idle";
const OF_THE_KERNEL: &str = "net.ipv4.tcp_keepalive_time";
const LONGEST_S: f64 = 300.0;
const WANTED_S: u32 = 120;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    let addresses = server.setting("listen_addresses");
    let is_local = addresses.is_some_and(|setting| {
        let mut names = setting.value.split(',').map(str::trim);
        names.all(|name| matches!(name, "" | "localhost" | "127.0.0.1" | "::1"))
    });
    if is_local {
        return Err(Outcome::NotApplicable(
            "the server listens on the local machine only".to_owned(),
        ));
    }
    let host = host(facts)?;
    if !is_rented(host) && host.container.get() != Some(true) {
        return Err(Outcome::NotApplicable(
            "neither a cloud nor a container: nothing on the way is known to forget connections"
                .to_owned(),
        ));
    }
    let setting = setting(server, SETTING)?;
    let (idle, name, origin) = match setting.number() {
        Some(seconds) if seconds > 0.0 => (seconds, SETTING, "pg_settings".to_owned()),
        _ if setting.is_set_by_user() => return Ok(Outcome::Ok),
        _ => of_the_kernel(host)?,
    };
    if idle <= LONGEST_S {
        return Ok(Outcome::Ok);
    }
    let minutes = humane_number(idle / 60.0);
    Ok(RULE
        .finding(format!(
            "the first TCP keepalive is sent after {minutes} minutes of silence: sessions whose \
             connection was forgotten on the way keep their locks for that long"
        ))
        .evidence(format!("{name} in seconds"), idle, origin)
        .recommend(safe(
            SETTING,
            Want::Value(format!("{WANTED_S}s")),
            "load balancers and address translators forget silent connections after minutes",
        ))
        .into_outcome())
}

/// Seconds, the setting and where it was read.
fn of_the_kernel(host: &Host) -> Result<(f64, &'static str, String), Outcome> {
    if is_other_network(host) {
        return Err(Outcome::Unknown(format!(
            "{OF_THE_KERNEL}: the server has a network of its own, which is not visible here"
        )));
    }
    let (seconds, origin) = sysctl(host, OF_THE_KERNEL)?;
    Ok((seconds as f64, OF_THE_KERNEL, origin))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        configure, finding, healthy, host, not_applicable, ok, process, set, unknown,
    };
    use dbdyno_model::host::Virtualisation;
    use dbdyno_model::{Fact, Facts};

    fn in_a_cloud(kernel_s: i64) -> Facts {
        let mut facts = healthy();
        set(&mut facts, "listen_addresses", "*");
        let host = host(&mut facts);
        let kind = "amazon".to_owned();
        host.virtualisation = Fact::known(Virtualisation { kind }, "/sys/class/dmi/id");
        host.sysctl.insert(
            "net.ipv4.tcp_keepalive_time".to_owned(),
            Fact::known(kernel_s, "/proc/sys/net/ipv4/tcp_keepalive_time"),
        );
        facts
    }

    #[test]
    fn two_hours_in_a_cloud_are_found() {
        let finding = finding(&RULE, &in_a_cloud(7200));
        insta::assert_snapshot!(finding.message, @"the first TCP keepalive is sent after 120 minutes of silence: sessions whose connection was forgotten on the way keep their locks for that long");
        assert_eq!(finding.recommendations[0].setting, "tcp_keepalives_idle");
    }

    #[test]
    fn the_evidence_names_what_gave_the_time() {
        let mut facts = in_a_cloud(7200);
        let kernel = finding(&RULE, &facts).evidence.remove(0);
        assert_eq!(kernel.origin, "/proc/sys/net/ipv4/tcp_keepalive_time");
        assert_eq!(kernel.fact, "net.ipv4.tcp_keepalive_time in seconds");
        set(&mut facts, "tcp_keepalives_idle", "3600");
        let own = finding(&RULE, &facts).evidence.remove(0);
        assert_eq!(own.origin, "pg_settings");
    }

    #[test]
    fn a_setting_or_a_short_kernel_time_are_fine() {
        ok(&RULE, &in_a_cloud(300));
        let mut facts = in_a_cloud(7200);
        set(&mut facts, "tcp_keepalives_idle", "60");
        ok(&RULE, &facts);
        // As a session over a Unix socket sees it.
        configure(&mut facts, "tcp_keepalives_idle", "0");
        ok(&RULE, &facts);
    }

    #[test]
    fn local_servers_and_own_machines_are_not_applicable() {
        assert!(not_applicable(&RULE, &healthy()).contains("local machine"));
        let mut facts = healthy();
        set(&mut facts, "listen_addresses", "*");
        assert!(not_applicable(&RULE, &facts).contains("neither"));
    }

    #[test]
    fn a_network_of_its_own_is_unknown() {
        let mut facts = in_a_cloud(7200);
        process(&mut facts, |process| {
            process.same_network = Fact::known(false, "/proc/4242/ns/net");
        });
        assert!(unknown(&RULE, &facts).contains("a network of its own"));
    }
}
