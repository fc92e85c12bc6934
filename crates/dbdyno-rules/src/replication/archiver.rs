//! An archive that no longer grows.
//!
//! ## What it finds
//! Archiving that fails now, or that is on with nothing to do it (both critical, but a failure only
//! where it never succeeded, or where the last success is more than ten minutes old and more than one
//! segment waits); or more complete segments waiting than `max_wal_size` holds.
//!
//! ## Why it matters
//! What is not archived cannot be recovered to, and the server keeps every segment until it is: the
//! disk fills, and then the server stops.
//!
//! ## What to do
//! Read the failing command's own message in the server's log, and mend it. Where the archive is
//! not wanted any more, a restart with `archive_mode = off` ends it; a command that always succeeds
//! (`/bin/true`) ends it, too, but breaks the chain of the backups without a word.
//!
//! ## Risk
//! None in mending it. A backlog that is archived at once takes network and CPU.
//!
//! ## When it does not apply
//! Servers with `archive_mode` off; standbys, which archive only with `archive_mode = always`.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/continuous-archiving.html>
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Archiver, Postgres, ReplicationRole};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::state;
use crate::formulas::MIB;
use crate::postgres::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, humane_bytes, need_ref, server, settle};
use crate::scope::humane_time;

pub(super) const RULE: Rule = Rule {
    id: "replication.archiver",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/continuous-archiving.html",
        "https://www.postgresql.org/docs/current/runtime-config-wal.html",
    ],
    check,
    source_text: include_str!("archiver.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const LASTING_S: f64 = 600.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let mode = settings::text(postgres, "archive_mode")?;
    if mode == "off" {
        return Err(Outcome::NotApplicable("archive_mode is off".to_owned()));
    }
    if mode != "always" && state::role(postgres)? == ReplicationRole::Standby {
        return Err(Outcome::NotApplicable(
            "a standby archives only with archive_mode = always".to_owned(),
        ));
    }
    let fact = &postgres.replication.archiver;
    let archiver = need_ref(fact, "the archiver")?;
    let waiting = waiting_bytes(postgres, archiver);
    let (severity, message) = if has_no_method(postgres)? {
        (
            Severity::Critical,
            "archive_mode is on, and nothing archives: the log is kept until the disk is full"
                .to_owned(),
        )
    } else if is_failing(archiver) {
        // The server tries again after a minute, and most of what fails once is over by then. Where little
        // is written the last success is old anyway, and a single segment waits.
        let waits = archiver.waiting.is_none_or(|segments| segments > 1);
        let is_lasting = archiver
            .last_archived_s
            .is_none_or(|seconds| seconds > LASTING_S && waits);
        let severity = if is_lasting {
            Severity::Critical
        } else {
            Severity::Warn
        };
        (severity, failing(archiver))
    } else if let Some(waiting) = waiting.filter(|bytes| *bytes > room(postgres)) {
        (
            Severity::Warn,
            format!(
                "{} of complete log wait to be archived: the archive cannot keep up",
                humane_bytes(waiting)
            ),
        )
    } else {
        return Ok(Outcome::Ok);
    };
    let mut finding = RULE
        .finding(message)
        .severity(severity)
        .keeps_running()
        .shows(postgres, "archive_mode")
        .evidence("archived", archiver.archived, fact.origin.clone())
        .evidence("failed", archiver.failed, fact.origin.clone());
    if let Some(count) = archiver.waiting {
        finding = finding.evidence("waiting segments", count, "pg_ls_archive_statusdir()");
    }
    Ok(finding
        .host_action(
            "read what the archive command says in the server's log, and mend it before the disk is full",
            Needs::Online,
        )
        .into_outcome())
}

/// archive_library came with 15; before, there is the command alone.
fn has_no_method(postgres: &Postgres) -> Result<bool, Outcome> {
    let command = settings::text(postgres, "archive_command")?;
    let library = postgres
        .setting("archive_library")
        .map_or("", |setting| setting.value.as_str());
    Ok(command.is_empty() && library.is_empty())
}

/// The last attempt failed: nothing succeeded since.
fn is_failing(archiver: &Archiver) -> bool {
    match (archiver.last_failed_s, archiver.last_archived_s) {
        (Some(failed), Some(archived)) => failed < archived,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn failing(archiver: &Archiver) -> String {
    let segment = archiver.last_failed_wal.as_deref().unwrap_or("a segment");
    let since = match archiver.last_archived_s {
        Some(seconds) => format!("the last success was {} ago", humane_time(seconds)),
        None => "it never succeeded".to_owned(),
    };
    format!("archiving fails at {segment}, and {since}")
}

fn waiting_bytes(postgres: &Postgres, archiver: &Archiver) -> Option<u64> {
    let segment = postgres.bytes("wal_segment_size").unwrap_or(16 * MIB);
    Some(archiver.waiting?.saturating_mul(segment))
}

/// What the server keeps of the log by itself.
fn room(postgres: &Postgres) -> u64 {
    postgres.bytes("max_wal_size").unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::standby;
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::postgres::Archiver;
    use dbdyno_model::{Effect, Fact, Facts, Severity};

    fn archiving(command: &str, archiver: Archiver) -> Facts {
        let mut facts = healthy();
        configure(&mut facts, "archive_mode", "on");
        configure(&mut facts, "archive_command", command);
        postgres(&mut facts).replication.archiver = Fact::known(archiver, "pg_stat_archiver");
        facts
    }

    fn last(archived_s: Option<f64>, failed_s: Option<f64>) -> Archiver {
        Archiver {
            archived: 100,
            failed: 7,
            last_archived_s: archived_s,
            last_failed_s: failed_s,
            last_failed_wal: Some("00000001000000000000002A".into()),
            waiting: Some(3),
        }
    }

    #[test]
    fn an_archive_that_fails_now_is_critical() {
        let found = finding(&RULE, &archiving("(hidden)", last(Some(3600.0), Some(5.0))));
        assert_eq!(
            found.message,
            "archiving fails at 00000001000000000000002A, and the last success was 60 minutes ago"
        );
        assert_eq!(found.severity, Severity::Critical);
        assert_eq!(found.effect, Effect::Availability);
        let never = finding(&RULE, &archiving("(hidden)", last(None, Some(5.0))));
        assert!(never.message.ends_with("it never succeeded"));
        assert_eq!(never.severity, Severity::Critical);
        let once = finding(&RULE, &archiving("(hidden)", last(Some(90.0), Some(5.0))));
        assert_eq!(once.severity, Severity::Warn, "it may be over in a minute");
        assert!(once.message.ends_with("was 90 seconds ago"));
        let quiet = Archiver {
            waiting: Some(1),
            ..last(Some(36_000.0), Some(5.0))
        };
        let quiet = finding(&RULE, &archiving("(hidden)", quiet));
        assert_eq!(quiet.severity, Severity::Warn);
    }

    #[test]
    fn archiving_without_a_command_is_critical() {
        let found = finding(&RULE, &archiving("", Archiver::default()));
        assert!(found.message.contains("nothing archives"));
        assert_eq!(found.severity, Severity::Critical);
    }

    #[test]
    fn a_backlog_larger_than_the_log_is_a_warning() {
        let late = Archiver {
            waiting: Some(200),
            ..last(Some(5.0), None)
        };
        let found = finding(&RULE, &archiving("(hidden)", late));
        assert_eq!(
            found.message,
            "3.1 GiB of complete log wait to be archived: the archive cannot keep up"
        );
        assert_eq!(found.severity, Severity::Warn);
    }

    #[test]
    fn a_failure_that_was_overcome_and_a_library_are_fine() {
        ok(&RULE, &archiving("(hidden)", last(Some(5.0), Some(3600.0))));
        let mut facts = archiving("", last(Some(5.0), None));
        configure(&mut facts, "archive_library", "basic_archive");
        ok(&RULE, &facts);
    }

    #[test]
    fn servers_that_do_not_archive_are_not_applicable() {
        not_applicable(&RULE, &healthy());
        let mut facts = standby();
        configure(&mut facts, "archive_mode", "on");
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn an_unread_archiver_is_unknown() {
        let mut facts = archiving("(hidden)", Archiver::default());
        postgres(&mut facts).replication.archiver = Fact::default();
        assert!(unknown(&RULE, &facts).starts_with("the archiver"));
    }
}
