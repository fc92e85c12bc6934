//! Too many connections allowed, too many used, or too few for the load.
//!
//! ## What it finds
//! More than 85 % of the connections in use that are not reserved; more than 300 allowed while fewer
//! than four a CPU work, which is warned of only where more than 300 are connected; or a declared load
//! with more connections than are allowed.
//!
//! ## Why it matters
//! Every connection is a process. Beyond a few a CPU they only wait for each other, take memory,
//! and lengthen the list that every snapshot walks.
//!
//! ## What to do
//! Put a pooler in transaction mode in front, with two to four server connections a CPU. Raise
//! `max_connections` only for a load that needs to connect.
//!
//! ## Risk
//! None to data. Raising it needs a restart and takes memory; on standbys, raise it there first.
//!
//! ## When it does not apply
//! Nowhere.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-connection.html>
//! - <https://www.postgresql.org/docs/current/connect-estab.html>
//! - <https://wiki.postgresql.org/wiki/Number_Of_Database_Connections>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::machine;
use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, need, need_ref, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.max_connections",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-connection.html",
        "https://www.postgresql.org/docs/current/connect-estab.html",
        "https://wiki.postgresql.org/wiki/Number_Of_Database_Connections",
    ],
    check,
    source_text: include_str!("max_connections.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const MANY: u64 = 300;
const USED_SHARE: f64 = 0.85;

/// Beside the load: monitoring, autovacuum's launcher, a person with psql.
const SPARE: u64 = 10;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let allowed = settings::number(postgres, "max_connections")? as u64;
    let reserved = reserved(postgres)?;
    if let Some(wanted) = wanted(facts, allowed, reserved) {
        let declared = facts.intent.active_connections.unwrap_or_default();
        return Ok(too_few(postgres, declared, wanted));
    }
    let activity = need_ref(&postgres.activity, "activity")?;
    let free_for_all = allowed.saturating_sub(reserved);
    let share = activity.connections as f64 / free_for_all.max(1) as f64;
    let cpus_fact = machine::cpus(facts);
    let (severity, why) = if share > USED_SHARE {
        let used = format!("{} of {free_for_all} are in use", activity.connections);
        (Severity::Warn, used)
    } else if allowed <= MANY {
        return Ok(Outcome::Ok);
    } else {
        let cpus = need(&cpus_fact, "CPUs")?;
        if activity.active >= u64::from(cpus) * 4 {
            return Ok(Outcome::Ok);
        }
        // What is merely allowed costs little: sessions that are there do.
        let severity = if activity.connections > MANY {
            Severity::Warn
        } else {
            Severity::Info
        };
        let few = format!(
            "only {} work at the same time on {cpus} CPUs",
            activity.active
        );
        (severity, few)
    };
    let size = cpus_fact.get().map_or(
        "two to four server connections for each CPU".to_owned(),
        |cpus| format!("{} to {} server connections", cpus * 2, cpus * 4),
    );
    let finding = RULE
        .finding(format!("max_connections is {allowed}: {why}"))
        .severity(severity);
    let finding = if share > USED_SHARE {
        finding.keeps_running()
    } else {
        finding
    };
    Ok(finding
        .shows(postgres, "max_connections")
        .evidence(
            "connections",
            activity.connections,
            postgres.activity.origin.clone(),
        )
        .evidence("active", activity.active, postgres.activity.origin.clone())
        .host_action(
            format!("a pooler in transaction mode with {size}"),
            Needs::Online,
        )
        .into_outcome())
}

/// Connections that are not for everybody; those for roles came with 16.
fn reserved(postgres: &Postgres) -> Result<u64, Outcome> {
    let of_superusers = settings::number(postgres, "superuser_reserved_connections")?;
    let of_roles = postgres.number("reserved_connections").unwrap_or(0.0);
    Ok((of_superusers + of_roles) as u64)
}

/// Connections that the declared load needs, where they are more than it gets.
fn wanted(facts: &Facts, allowed: u64, reserved: u64) -> Option<u64> {
    let declared = u64::from(facts.intent.active_connections?);
    let wanted = declared.saturating_add(reserved).saturating_add(SPARE);
    (declared > allowed.saturating_sub(reserved)).then_some(wanted)
}

/// What max_connections will be once the plan is carried out.
pub(super) fn planned(facts: &Facts, postgres: &Postgres) -> Result<u64, Outcome> {
    let allowed = settings::number(postgres, "max_connections")? as u64;
    let reserved = reserved(postgres)?;
    Ok(wanted(facts, allowed, reserved).unwrap_or(allowed))
}

fn too_few(postgres: &Postgres, declared: u32, wanted: u64) -> Outcome {
    RULE.finding(format!(
        "max_connections is {}, too few for the {declared} connections of the declared load",
        settings::humane(postgres, "max_connections")
    ))
    .keeps_running()
    .shows(postgres, "max_connections")
    .recommend(
        safe(
            "max_connections",
            value(wanted.to_string()),
            "the declared load can connect",
        )
        .giving_up("a restart, and memory for each connection"),
    )
    .into_outcome()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, postgres, set, unknown};
    use dbdyno_model::finding::Want;
    use dbdyno_model::{Effect, Fact, Facts, Severity};

    fn with_activity(connections: u64, active: u64) -> Facts {
        let mut facts = healthy();
        let server = postgres(&mut facts);
        server.activity = server.activity.clone().map(|mut activity| {
            (activity.connections, activity.active) = (connections, active);
            activity
        });
        facts
    }

    #[test]
    fn nearly_used_up_is_found() {
        let finding = finding(&RULE, &with_activity(90, 5));
        insta::assert_snapshot!(finding.message, @"max_connections is 100: 90 of 97 are in use");
        assert_eq!(finding.recommendations, [], "more connections are no cure");
        assert!(
            finding.host_actions[0]
                .action
                .contains("4 to 8 server connections")
        );
    }

    #[test]
    fn what_is_reserved_for_roles_is_not_there_for_everybody() {
        let mut facts = with_activity(70, 5);
        ok(&RULE, &facts);
        set(&mut facts, "reserved_connections", "20");
        let finding = finding(&RULE, &facts);
        assert_eq!(
            finding.message,
            "max_connections is 100: 70 of 77 are in use"
        );
    }

    #[test]
    fn many_allowed_and_few_at_work_is_found() {
        let mut facts = with_activity(200, 3);
        configure(&mut facts, "max_connections", "1000");
        let allowed = finding(&RULE, &facts);
        assert!(allowed.message.contains("only 3 work"));
        assert_eq!(allowed.severity, Severity::Info);
        let mut facts = with_activity(400, 3);
        configure(&mut facts, "max_connections", "1000");
        assert_eq!(finding(&RULE, &facts).severity, Severity::Warn);
    }

    #[test]
    fn connections_run_out_on_a_server_whose_cpus_nobody_knows() {
        let mut facts = with_activity(95, 5);
        facts.host = None;
        let finding = finding(&RULE, &facts);
        assert_eq!(finding.severity, Severity::Warn);
        assert_eq!(finding.effect, Effect::Availability);
        assert!(
            finding.host_actions[0]
                .action
                .contains("two to four server connections for each CPU")
        );
    }

    #[test]
    fn a_load_that_cannot_connect_is_found() {
        let mut facts = healthy();
        facts.intent.active_connections = Some(200);
        let finding = finding(&RULE, &facts);
        assert!(
            finding
                .message
                .ends_with("too few for the 200 connections of the declared load")
        );
        assert_eq!(finding.recommendations[0].want, Want::Value("213".into()));
    }

    #[test]
    fn the_default_at_rest_is_fine_and_unread_activity_unknown() {
        let mut facts = healthy();
        ok(&RULE, &facts);
        postgres(&mut facts).activity = Fact::default();
        assert!(unknown(&RULE, &facts).starts_with("activity"));
    }
}
