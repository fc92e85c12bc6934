//! Commits that wait for standbys which are not there.
//!
//! ## What it finds
//! Fewer synchronous standbys connected and streaming than `synchronous_standby_names` asks for; or
//! exactly as many, with none to spare.
//!
//! ## Why it matters
//! A commit returns only when that many standbys have confirmed it. With one too few, every commit
//! waits until one comes back, and the server looks hung while it answers every query. With none to
//! spare, the next failure of a standby stops all writing.
//!
//! ## What to do
//! Bring the standby back. Where writing has to go on meanwhile, take it out of
//! `synchronous_standby_names` and reload, knowing that commits are then on one machine less. Have
//! one standby more than are required.
//!
//! ## Risk
//! Asking for fewer standbys gives up that each commit survives the loss of the primary.
//!
//! ## When it does not apply
//! Servers without synchronous standbys; `synchronous_commit` at off or local, whose commits wait
//! for none. Patroni and CloudNativePG write the names anew when a standby fails: where they are at
//! work and another standby streams, it is the one to spare.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-replication.html>
//! - <https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Postgres, Sender, standby_names};
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::state;
use crate::cloud::{CLOUD_NATIVE_PG, PATRONI};
use crate::postgres::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "replication.synchronous_standbys",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-replication.html",
        "https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION",
    ],
    check,
    source_text: include_str!("synchronous_standbys.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    state::primary(postgres)?;
    let setting = settings::text(postgres, "synchronous_standby_names")?;
    if setting.trim().is_empty() {
        return Err(Outcome::NotApplicable(
            "no synchronous standbys are asked for".to_owned(),
        ));
    }
    let commit = settings::text(postgres, "synchronous_commit")?;
    if matches!(commit, "off" | "local") {
        return Err(Outcome::NotApplicable(format!(
            "synchronous_commit is {commit}: commits wait for no standby"
        )));
    }
    let Some(wanted) = standby_names::parse(setting) else {
        return Err(Outcome::Unknown(
            "synchronous_standby_names: not understood".to_owned(),
        ));
    };
    let senders = state::senders(postgres)?;
    let connected = senders.iter().filter(|sender| counts(sender)).count();
    let spare = if names_are_kept(postgres) {
        senders.iter().filter(|sender| is_other(sender)).count()
    } else {
        0
    };
    let is_enough = connected >= wanted.required;
    if is_enough && connected + spare > wanted.required {
        return Ok(Outcome::Ok);
    }
    let (severity, message) = if connected < wanted.required {
        (
            Severity::Critical,
            format!(
                "every commit waits for {}, and {connected} {} streaming",
                plural(wanted.required as u64, "synchronous standby"),
                verb(connected as u64, "is", "are")
            ),
        )
    } else {
        (
            Severity::Info,
            format!(
                "commits wait for {}, and none is to spare: if one fails, writing stops",
                plural(connected as u64, "synchronous standby")
            ),
        )
    };
    let mut finding = RULE
        .finding(message)
        .severity(severity)
        .keeps_running()
        .shows(postgres, "synchronous_standby_names")
        .shows(postgres, "synchronous_commit");
    for sender in senders {
        finding = finding.evidence(
            format!("standby {}", state::name(sender)),
            format!("{}, {}", sender.state, sender.sync_state),
            postgres.replication.senders.origin.clone(),
        );
    }
    for name in missing(&wanted.names, senders) {
        finding = finding.host_action(format!("bring the standby {name} back"), Needs::Online);
    }
    let action = if connected < wanted.required {
        "if writing has to go on meanwhile: ask for fewer in synchronous_standby_names and reload; \
         commits are then on one machine less"
    } else {
        "add a standby more than are required"
    };
    Ok(finding.host_action(action, Needs::Reload).into_outcome())
}

/// The server says itself which of those that are connected it may wait for.
fn counts(sender: &Sender) -> bool {
    sender.state == "streaming"
        && matches!(sender.sync_state.as_str(), "sync" | "quorum" | "potential")
}

/// Whether a cluster manager puts another standby in the place of one that fails.
fn names_are_kept(postgres: &Postgres) -> bool {
    matches!(
        postgres.managed_by.as_deref(),
        Some(CLOUD_NATIVE_PG | PATRONI)
    )
}

/// A standby that streams and for which no commit waits yet.
fn is_other(sender: &Sender) -> bool {
    sender.state == "streaming" && sender.sync_state == "async" && !sender.logical
}

/// Names that nobody streams under; the server compares them without regard to case.
fn missing<'a>(names: &'a [String], senders: &[Sender]) -> Vec<&'a str> {
    names
        .iter()
        .filter(|name| *name != "*")
        .filter(|name| {
            !senders
                .iter()
                .any(|sender| counts(sender) && sender.application_name.eq_ignore_ascii_case(name))
        })
        .map(String::as_str)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::{primary_with, standby, streaming};
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::postgres::Sender;
    use dbdyno_model::{Facts, Severity};

    fn asking(setting: &str, connected: &[&str]) -> Facts {
        let senders = connected
            .iter()
            .map(|name| Sender {
                sync_state: "quorum".into(),
                ..streaming(name)
            })
            .collect();
        let mut facts = primary_with(senders);
        configure(&mut facts, "synchronous_standby_names", setting);
        facts
    }

    #[test]
    fn commits_that_cannot_return_are_critical_and_who_is_missing_is_named() {
        let finding = finding(&RULE, &asking("ANY 2 (s1, S2, \"s 3\")", &["s2"]));
        assert_eq!(
            finding.message,
            "every commit waits for 2 synchronous standbys, and 1 is streaming"
        );
        assert_eq!(finding.severity, Severity::Critical);
        let actions: Vec<&str> = finding
            .host_actions
            .iter()
            .map(|one| one.action.as_str())
            .collect();
        assert_eq!(
            actions[..2],
            ["bring the standby s1 back", "bring the standby s 3 back"]
        );
    }

    #[test]
    fn none_to_spare_is_a_word() {
        let finding = finding(&RULE, &asking("FIRST 1 (s1, s2)", &["s1"]));
        assert_eq!(
            finding.message,
            "commits wait for 1 synchronous standby, and none is to spare: if one fails, writing stops"
        );
        assert_eq!(finding.severity, Severity::Info);
        assert_eq!(finding.recommendations, []);
    }

    #[test]
    fn a_cluster_manager_spares_any_standby_that_streams() {
        let mut facts = asking("s1", &["s1"]);
        let server = postgres(&mut facts);
        server.replication.senders = server.replication.senders.clone().map(|mut all| {
            all.push(streaming("s2"));
            all
        });
        assert_eq!(finding(&RULE, &facts).severity, Severity::Info);
        postgres(&mut facts).managed_by = Some("Patroni".into());
        ok(&RULE, &facts);
        let mut alone = asking("s1", &["s1"]);
        postgres(&mut alone).managed_by = Some("Patroni".into());
        assert_eq!(finding(&RULE, &alone).severity, Severity::Info);
    }

    #[test]
    fn one_to_spare_is_fine() {
        ok(&RULE, &asking("ANY 1 (s1, s2)", &["s1", "s2"]));
    }

    #[test]
    fn one_that_still_catches_up_does_not_count() {
        let mut facts = asking("s1", &["s1"]);
        let senders = &mut postgres(&mut facts).replication.senders;
        *senders = senders.clone().map(|mut all| {
            all[0].state = "catchup".into();
            all
        });
        assert_eq!(finding(&RULE, &facts).severity, Severity::Critical);
    }

    #[test]
    fn without_synchronous_commits_it_is_not_applicable() {
        not_applicable(&RULE, &healthy());
        let mut facts = asking("s1", &[]);
        configure(&mut facts, "synchronous_commit", "local");
        not_applicable(&RULE, &facts);
        not_applicable(&RULE, &standby());
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        assert!(unknown(&RULE, &asking("ANY 2 (s1", &[])).ends_with("not understood"));
        let mut facts = healthy();
        configure(&mut facts, "synchronous_standby_names", "s1");
        assert!(unknown(&RULE, &facts).starts_with("who the log is sent to"));
    }
}
