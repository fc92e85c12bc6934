//! Lines of pg_hba.conf that let anyone in, or that the server will refuse.
//!
//! ## What it finds
//! A line that cannot be read; `trust` for addresses of the network; `password`, `ldap`, `pam`, `radius`
//! or `bsd` on connections that need not be encrypted; and, for information, `trust` for the machine
//! itself.
//!
//! ## Why it matters
//! With `trust`, whoever reaches the port is whoever they say they are, a superuser included. With
//! `password`, and with every method that hands the password on to another service, it crosses the
//! network unencrypted; whoever reads it there can use that service, too. A line that cannot be read is
//! skipped by a reload, which keeps the old file; at the next start the server gives up because of it.
//!
//! ## What to do
//! Replace `trust` and `password` by `scram-sha-256`, and `host` by `hostssl` for what needs the password
//! itself; mend the line that is named; then `SELECT pg_reload_conf()`.
//!
//! ## Risk
//! Clients that never had a password cannot log in until they have one.
//!
//! ## When it does not apply
//! Lab servers, which listen on a private socket only. Databases, roles and addresses of a line are
//! not collected: a later line that never matches is reported like any other.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/auth-pg-hba-conf.html>
//! - <https://www.postgresql.org/docs/current/auth-trust.html>
//! - <https://www.postgresql.org/docs/current/auth-ldap.html>
//! - <https://www.postgresql.org/docs/current/view-pg-hba-file-rules.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{AccessRule, Reach};
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.client_authentication",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/auth-pg-hba-conf.html",
        "https://www.postgresql.org/docs/current/auth-trust.html",
        "https://www.postgresql.org/docs/current/auth-ldap.html",
        "https://www.postgresql.org/docs/current/view-pg-hba-file-rules.html",
    ],
    check,
    source_text: include_str!("client_authentication.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// Methods for which the client sends the password itself.
const READABLE: [&str; 5] = ["bsd", "ldap", "pam", "password", "radius"];

/// Lines that hold for encrypted connections alone.
const ENCRYPTED: [&str; 2] = ["hostgssenc", "hostssl"];

/// How bad, what is told, and whether a line is so.
type Fault = (Severity, &'static str, fn(&AccessRule) -> bool);

/// What a line can be found for, the gravest first.
const FAULTS: [Fault; 4] = [
    (
        Severity::Critical,
        "cannot be read, and will keep the server from starting",
        |rule| rule.error.is_some(),
    ),
    (
        Severity::Critical,
        "lets anyone in from the network without a password (trust)",
        |rule| rule.method == "trust" && rule.reach == Reach::Network,
    ),
    (
        Severity::Warn,
        "lets passwords cross the network unencrypted",
        |rule| {
            rule.reach == Reach::Network
                && READABLE.contains(&rule.method.as_str())
                && !ENCRYPTED.contains(&rule.kind.as_str())
        },
    ),
    (
        Severity::Info,
        "lets every account of this machine in without a password (trust)",
        |rule| rule.method == "trust",
    ),
];

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if facts.intent.lab {
        return Err(Outcome::NotApplicable(
            "a lab server listens on a private socket only".to_owned(),
        ));
    }
    let fact = &postgres.access.rules;
    let rules = need_ref(fact, "lines of pg_hba.conf")?;
    let found: Vec<(&AccessRule, Severity, &str)> = rules
        .iter()
        .filter_map(|rule| {
            let (severity, what, _) = FAULTS
                .iter()
                .find(|(_, _, is_at_fault)| is_at_fault(rule))?;
            Some((rule, *severity, *what))
        })
        .collect();
    let Some((worst, severity, what)) = found
        .iter()
        .rev()
        .max_by_key(|(_, severity, _)| *severity)
        .copied()
    else {
        return Ok(Outcome::Ok);
    };
    let more = match found.len() - 1 {
        0 => String::new(),
        more => format!(
            "; {} {} listed",
            plural(more as u64, "more line"),
            verb(more as u64, "is", "are")
        ),
    };
    let mut finding = RULE
        .finding(format!("{} {what}{more}", worst.place))
        .severity(severity);
    if found.iter().any(|(rule, ..)| rule.error.is_some()) {
        finding = finding.keeps_running();
    }
    for (rule, _, what) in &found {
        let shown = rule.error.as_deref().unwrap_or(what);
        finding = finding.evidence(&rule.place, shown, fact.origin.clone());
    }
    Ok(finding
        .host_action(
            "mend these lines (scram-sha-256 instead of trust and password, hostssl for what needs the password itself), then SELECT pg_reload_conf()",
            Needs::Reload,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::postgres::{AccessRule, Reach};
    use dbdyno_model::{Effect, Fact, Facts, Severity};

    fn rule(line: u32, kind: &str, reach: Reach, method: &str) -> AccessRule {
        AccessRule {
            place: format!("pg_hba.conf:{line}"),
            kind: kind.into(),
            reach,
            method: method.into(),
            error: None,
        }
    }

    fn with(rules: Vec<AccessRule>) -> Facts {
        let mut facts = healthy();
        postgres(&mut facts).access.rules = Fact::known(rules, "pg_hba_file_rules");
        facts
    }

    #[test]
    fn trust_for_the_network_is_critical_and_comes_before_what_is_less() {
        let finding = finding(
            &RULE,
            &with(vec![
                rule(3, "local", Reach::Socket, "trust"),
                rule(7, "host", Reach::Network, "trust"),
                rule(8, "host", Reach::Network, "password"),
            ]),
        );
        assert_eq!(
            finding.message,
            "pg_hba.conf:7 lets anyone in from the network without a password (trust); 2 more lines are listed"
        );
        assert_eq!(finding.severity, Severity::Critical);
        assert_eq!(finding.evidence.len(), 3);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_critical() {
        let broken = AccessRule {
            error: Some("invalid authentication method \"…\"".into()),
            ..rule(9, "", Reach::Network, "")
        };
        let finding = finding(&RULE, &with(vec![broken]));
        assert_eq!(
            finding.message,
            "pg_hba.conf:9 cannot be read, and will keep the server from starting"
        );
        assert_eq!(
            finding.evidence[0].value,
            "invalid authentication method \"…\""
        );
        assert_eq!(finding.effect, Effect::Availability);
    }

    #[test]
    fn a_readable_password_is_a_warning_and_trust_within_the_machine_a_word() {
        for method in ["password", "ldap", "pam", "radius"] {
            let readable = with(vec![rule(1, "host", Reach::Network, method)]);
            assert_eq!(finding(&RULE, &readable).severity, Severity::Warn);
        }
        let own = with(vec![rule(1, "host", Reach::Loopback, "trust")]);
        assert_eq!(finding(&RULE, &own).severity, Severity::Info);
    }

    #[test]
    fn scram_peer_and_encrypted_passwords_are_fine() {
        ok(
            &RULE,
            &with(vec![
                rule(1, "local", Reach::Socket, "peer"),
                rule(2, "host", Reach::Network, "scram-sha-256"),
                rule(3, "hostssl", Reach::Network, "password"),
                rule(4, "hostgssenc", Reach::Network, "ldap"),
                rule(5, "host", Reach::Loopback, "ldap"),
                rule(6, "host", Reach::Network, "reject"),
            ]),
        );
    }

    #[test]
    fn an_unread_file_is_unknown_and_a_lab_not_applicable() {
        let mut facts = healthy();
        assert!(unknown(&RULE, &facts).starts_with("lines of pg_hba.conf"));
        facts.intent.lab = true;
        not_applicable(&RULE, &facts);
    }
}
