//! A standby that receives nothing.
//!
//! ## What it finds
//! A standby with `primary_conninfo` whose WAL receiver does not run, or has not heard of the
//! sending server for a minute and for as long as `wal_receiver_timeout`.
//!
//! ## Why it matters
//! It stays where it is: its answers grow old, and it is no longer the spare that everyone counts
//! on. The sending server keeps log for its slot meanwhile, or has removed what it needs.
//!
//! ## What to do
//! The standby's log says why: a password, a certificate, pg_hba.conf or the network; or a segment
//! that was removed already, in which case it has to be made anew or fed from the archive.
//!
//! ## Risk
//! None in looking.
//!
//! ## When it does not apply
//! Standbys that are fed from an archive alone. Where `restore_command` is set, the receiver may
//! rest while segments come from there: that is a warning only. With `wal_receiver_timeout` at 0 the
//! standby never asks a silent server for a sign of life, and silence tells nothing.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/monitoring-stats.html>
//! - <https://www.postgresql.org/docs/current/warm-standby.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::state;
use crate::postgres::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "replication.receiver",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/monitoring-stats.html",
        "https://www.postgresql.org/docs/current/warm-standby.html",
    ],
    check,
    source_text: include_str!("receiver.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// The server's own default for wal_receiver_timeout.
const SILENT_S: f64 = 60.0;

/// Seconds of silence that mean something: the receiver asks for an answer after half of its
/// timeout, so that a server with nothing to send is silent for that long. None where it never asks.
fn longest_silence_s(postgres: &Postgres) -> Result<Option<f64>, Outcome> {
    let timeout = settings::number(postgres, "wal_receiver_timeout")?;
    Ok((timeout > 0.0).then(|| timeout.max(SILENT_S)))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    state::standby(postgres)?;
    if settings::text(postgres, "primary_conninfo")?.is_empty() {
        return Err(Outcome::NotApplicable(
            "the standby is fed from an archive alone".to_owned(),
        ));
    }
    let fact = &postgres.replication.receiver;
    let receiver = need_ref(fact, "the WAL receiver")?;
    let longest = longest_silence_s(postgres)?;
    let silent = receiver
        .silent_s
        .filter(|silent| longest.is_some_and(|longest| *silent > longest));
    let (severity, message) = match (&receiver.status, silent) {
        (None, _) => (
            if settings::text(postgres, "restore_command")?.is_empty() {
                Severity::Critical
            } else {
                Severity::Warn
            },
            "the standby receives nothing: no WAL receiver runs".to_owned(),
        ),
        (Some(status), Some(silent)) => (
            Severity::Warn,
            format!(
                "the standby has not heard of its sending server for {silent:.0} s (status {status})"
            ),
        ),
        _ => return Ok(Outcome::Ok),
    };
    Ok(RULE
        .finding(message)
        .severity(severity)
        .keeps_running()
        .evidence(
            "WAL receiver",
            receiver.status.as_deref().unwrap_or("none"),
            fact.origin.clone(),
        )
        .shows(postgres, "wal_receiver_timeout")
        .host_action(
            "read why in the standby's log; if a segment was removed, make the standby anew or feed it from the archive",
            Needs::Online,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::standby;
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::postgres::Receiver;
    use dbdyno_model::{Fact, Facts, Severity};

    fn receiving(status: Option<&str>, silent_s: Option<f64>) -> Facts {
        let mut facts = standby();
        configure(&mut facts, "primary_conninfo", "(hidden)");
        postgres(&mut facts).replication.receiver = Fact::known(
            Receiver {
                status: status.map(str::to_owned),
                slot: None,
                silent_s,
            },
            "pg_stat_wal_receiver",
        );
        facts
    }

    #[test]
    fn no_receiver_is_critical_unless_an_archive_feeds_it() {
        let mut facts = receiving(None, None);
        let none = finding(&RULE, &facts);
        assert_eq!(
            none.message,
            "the standby receives nothing: no WAL receiver runs"
        );
        assert_eq!(none.severity, Severity::Critical);
        configure(&mut facts, "restore_command", "(hidden)");
        assert_eq!(finding(&RULE, &facts).severity, Severity::Warn);
    }

    #[test]
    fn a_silent_sender_is_found() {
        let found = finding(&RULE, &receiving(Some("streaming"), Some(300.0)));
        assert_eq!(
            found.message,
            "the standby has not heard of its sending server for 300 s (status streaming)"
        );
    }

    #[test]
    fn streaming_is_fine() {
        ok(&RULE, &receiving(Some("streaming"), Some(2.0)));
    }

    #[test]
    fn a_server_with_nothing_to_send_is_silent_until_it_is_asked() {
        let mut facts = receiving(Some("streaming"), Some(300.0));
        configure(&mut facts, "wal_receiver_timeout", "600000");
        ok(&RULE, &facts);
        configure(&mut facts, "wal_receiver_timeout", "0");
        ok(&RULE, &facts);
        configure(&mut facts, "wal_receiver_timeout", "10000");
        finding(&RULE, &facts);
    }

    #[test]
    fn primaries_and_standbys_of_an_archive_are_not_applicable() {
        not_applicable(&RULE, &healthy());
        not_applicable(&RULE, &standby());
    }

    #[test]
    fn an_unseen_receiver_is_unknown() {
        let mut facts = receiving(None, None);
        postgres(&mut facts).replication.receiver = Fact::default();
        assert!(unknown(&RULE, &facts).starts_with("the WAL receiver"));
    }
}
