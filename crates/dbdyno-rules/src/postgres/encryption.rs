//! Sessions from other machines that travel readable.
//!
//! ## What it finds
//! `ssl` off on a server that listens beyond its own machine; or `ssl` on, and sessions from other
//! machines that do not use it.
//!
//! ## Why it matters
//! Queries and results cross the network as they are, and whoever sits between can change them.
//! Encryption that is merely offered is not used by clients that do not ask for it.
//!
//! ## What to do
//! Give the server a certificate and set `ssl` to on; then replace `host` by `hostssl` in
//! pg_hba.conf, and have clients verify the server (`sslmode=verify-full`).
//!
//! ## Risk
//! Clients without TLS are turned away once pg_hba.conf asks for it. Opening a session takes a
//! little longer.
//!
//! ## When it does not apply
//! Servers that only their own machine can reach; networks that encrypt below TCP. A session that
//! comes from the server's own machine by an address of the network counts as one of another machine,
//! but for the address that dbdyno itself connects to.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/ssl-tcp.html>
//! - <https://www.postgresql.org/docs/current/monitoring-stats.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, need, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.encryption",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/ssl-tcp.html",
        "https://www.postgresql.org/docs/current/monitoring-stats.html",
    ],
    check,
    source_text: include_str!("encryption.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if is_own_machine(settings::text(postgres, "listen_addresses")?) {
        return Err(Outcome::NotApplicable(
            "only its own machine can reach the server".to_owned(),
        ));
    }
    if !settings::flag(postgres, "ssl")? {
        return Ok(RULE
            .finding("ssl is off, and the server listens beyond its own machine")
            .shows(postgres, "ssl")
            .host_action(
                "set ssl_cert_file and ssl_key_file, then ssl = on; then hostssl instead of host in pg_hba.conf",
                Needs::Reload,
            )
            .into_outcome());
    }
    let fact = &postgres.access.plain_sessions;
    let plain = need(fact, "sessions that are not encrypted")?;
    if plain == 0 {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "{} from other machines {} not encrypted, although ssl is on",
            plural(plain, "session"),
            verb(plain, "is", "are")
        ))
        .shows(postgres, "ssl")
        .evidence("sessions without TLS", plain, fact.origin.clone())
        .host_action(
            "hostssl instead of host in pg_hba.conf, once the clients ask for TLS",
            Needs::Reload,
        )
        .into_outcome())
}

/// No address at all is a server on its socket alone.
fn is_own_machine(addresses: &str) -> bool {
    addresses
        .split(',')
        .map(str::trim)
        .filter(|address| !address.is_empty())
        .all(|address| address == "localhost" || address == "::1" || address.starts_with("127."))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::{Fact, Facts};

    fn listening(ssl: &str, plain: Fact<u64>) -> Facts {
        let mut facts = healthy();
        configure(&mut facts, "listen_addresses", "*");
        configure(&mut facts, "ssl", ssl);
        postgres(&mut facts).access.plain_sessions = plain;
        facts
    }

    #[test]
    fn off_is_found_whatever_sessions_there_are() {
        let finding = finding(&RULE, &listening("off", Fact::default()));
        assert_eq!(
            finding.message,
            "ssl is off, and the server listens beyond its own machine"
        );
    }

    #[test]
    fn sessions_that_do_without_are_found() {
        let finding = finding(&RULE, &listening("on", Fact::known(7, "pg_stat_ssl")));
        assert!(
            finding
                .message
                .starts_with("7 sessions from other machines are ")
        );
    }

    #[test]
    fn encrypted_sessions_are_fine_and_unseen_ones_unknown() {
        ok(&RULE, &listening("on", Fact::known(0, "pg_stat_ssl")));
        assert!(
            unknown(&RULE, &listening("on", Fact::default()))
                .starts_with("sessions that are not encrypted")
        );
    }

    #[test]
    fn a_server_for_its_own_machine_is_not_applicable() {
        not_applicable(&RULE, &healthy());
        for addresses in ["localhost", "127.0.0.1, ::1"] {
            let mut facts = listening("off", Fact::default());
            configure(&mut facts, "listen_addresses", addresses);
            not_applicable(&RULE, &facts);
        }
        let mut facts = listening("off", Fact::default());
        configure(&mut facts, "listen_addresses", "localhost, 10.0.0.5");
        finding(&RULE, &facts);
    }
}
