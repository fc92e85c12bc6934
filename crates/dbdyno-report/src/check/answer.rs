//! From findings and plan to answers, in the order in which a reader should act on them.

use std::collections::BTreeSet;

use dbdyno_model::check::{Answer, Assessment, NextVacuum};
use dbdyno_model::finding::NotAssessed;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Check, Facts, Finding, Plan};

use super::step;

/// What the catalogue and the solver say of one server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    pub findings: Vec<Finding>,
    /// Made of those findings; what was not assessed stands in it.
    pub plan: Plan,
    pub passed: Vec<String>,
    pub not_applicable: Vec<NotAssessed>,
    pub next_vacuums: Option<Vec<NextVacuum>>,
}

/// Puts together what is said of the server in `facts`.
#[must_use]
pub fn assessment(facts: &Facts, said: &Said) -> Assessment {
    let server = facts.postgres.as_ref();
    let mut findings: Vec<Answer> = said
        .findings
        .iter()
        .map(|finding| answer(finding, server, &said.plan))
        .collect();
    findings.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| b.effect.cmp(&a.effect))
            .then_with(|| b.confidence.cmp(&a.confidence))
            .then_with(|| a.rule.cmp(&b.rule))
            .then_with(|| a.message.cmp(&b.message))
    });
    Assessment {
        name: name(server),
        findings,
        not_assessed: said.plan.not_assessed.clone(),
        passed: said.passed.clone(),
        not_applicable: said.not_applicable.clone(),
        missing_privileges: server
            .map(|server| server.missing_privileges.clone())
            .unwrap_or_default(),
        failures: facts.failures.clone(),
        databases_not_read: server.map(databases_not_read).unwrap_or_default(),
        next_vacuums: said.next_vacuums.clone(),
    }
}

/// Those beside the connected one.
fn databases_not_read(server: &Postgres) -> Vec<String> {
    let (Some(connected), Some(all)) = (server.database.latest(), server.databases.value()) else {
        return Vec::new();
    };
    all.iter()
        .filter(|one| one.is_connectable && one.name != connected.name)
        .map(|one| one.name.clone())
        .collect()
}

/// The whole document; two servers never have the same name in it.
#[must_use]
pub fn check_document(
    facts: Facts,
    mut assessments: Vec<Assessment>,
    dbdyno_version: &str,
) -> Check {
    let mut names = BTreeSet::new();
    let all = assessments.iter_mut().zip(facts.each()).enumerate();
    for (index, (assessment, facts)) in all {
        if names.insert(assessment.name.clone()) {
            continue;
        }
        let directory = facts
            .postgres
            .as_ref()
            .and_then(|server| server.setting("data_directory"))
            .map(|setting| setting.value.clone())
            .filter(|value| !value.is_empty());
        let marks = directory
            .into_iter()
            .chain([format!("number {}", index + 1)]);
        let name = marks
            .map(|mark| format!("{}, {mark}", assessment.name))
            .find(|name| !names.contains(name));
        if let Some(name) = name {
            names.insert(name.clone());
            assessment.name = name;
        }
    }
    Check {
        schema: Check::SCHEMA.to_owned(),
        dbdyno_version: dbdyno_version.to_owned(),
        collected_at: facts.collected_at.clone(),
        assessments,
        facts,
    }
}

/// Leaves in the document only what the chosen rules said. Values do not change by it: the solver
/// has heard every rule.
pub fn keep_rules(check: &mut Check, is_chosen: &dyn Fn(&str) -> bool) {
    for assessment in &mut check.assessments {
        if !rules(assessment).any(|rule| is_of_database(rule) && is_chosen(rule)) {
            assessment.databases_not_read.clear();
        }
        assessment.findings.retain(|answer| is_chosen(&answer.rule));
        assessment.not_assessed.retain(|item| is_chosen(&item.rule));
        assessment.passed.retain(|rule| is_chosen(rule));
        assessment
            .not_applicable
            .retain(|item| is_chosen(&item.rule));
    }
}

/// Every rule is in one of the lists.
fn rules(assessment: &Assessment) -> impl Iterator<Item = &str> {
    let found = assessment
        .findings
        .iter()
        .map(|answer| answer.rule.as_str());
    let unsure = assessment
        .not_assessed
        .iter()
        .chain(&assessment.not_applicable);
    let passed = assessment.passed.iter().map(String::as_str);
    found
        .chain(unsure.map(|item| item.rule.as_str()))
        .chain(passed)
}

/// Its subject lies in the connected database.
fn is_of_database(rule: &str) -> bool {
    let family = rule.split('.').next();
    matches!(family, Some("maintenance" | "query" | "schema"))
}

/// `PostgreSQL 15.18, port 5432`.
pub(crate) fn name(server: Option<&Postgres>) -> String {
    let Some(server) = server else {
        return "host".to_owned();
    };
    // Behind the first word stands what the packager calls it.
    let version = server.version.split_whitespace().next().unwrap_or("?");
    match server.setting("port") {
        Some(port) => format!("PostgreSQL {version}, port {}", port.value),
        None => format!("PostgreSQL {version}"),
    }
}

fn answer(finding: &Finding, server: Option<&Postgres>, plan: &Plan) -> Answer {
    let set_aside = plan
        .rejected
        .iter()
        .filter(|rejected| rejected.rule == finding.rule)
        .cloned()
        .collect();
    Answer {
        rule: finding.rule.clone(),
        severity: finding.severity,
        effect: finding.effect,
        message: finding.message.clone(),
        evidence: finding.evidence.clone(),
        steps: step::steps(finding, server, plan),
        set_aside,
        confidence: finding.confidence,
        sources: finding.sources.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing;
    use dbdyno_model::{Effect, Severity};

    #[test]
    fn what_is_at_stake_ranks_within_a_severity() {
        let check = testing::check();
        let order: Vec<(Severity, Effect)> = check
            .findings()
            .map(|answer| (answer.severity, answer.effect))
            .collect();
        let mut sorted = order.clone();
        sorted.sort_by(|a, b| b.cmp(a));
        assert_eq!(order, sorted);
        assert_eq!(
            check.assessments[0].findings[0].rule,
            "postgres.full_page_writes"
        );
    }

    #[test]
    fn two_servers_alike_are_told_apart() {
        let mut facts = testing::facts();
        facts.others = vec![testing::facts(), testing::facts()];
        let one = assessment(&facts, &Said::default());
        let check = check_document(facts, vec![one.clone(), one.clone(), one], "0.1.0");
        let names: BTreeSet<&str> = check
            .assessments
            .iter()
            .map(|assessment| assessment.name.as_str())
            .collect();
        for mark in ["", ", /var/lib/dbdyno/lab/data", ", number 3"] {
            let name = format!("PostgreSQL 15.18, port 5432{mark}");
            assert!(names.contains(name.as_str()), "{names:?}");
        }
    }

    #[test]
    fn what_was_not_chosen_is_not_told() {
        let mut check = testing::check();
        keep_rules(&mut check, &|rule| rule.starts_with("kernel."));
        let assessment = &check.assessments[0];
        assert!(!assessment.findings.is_empty());
        let told = assessment
            .findings
            .iter()
            .map(|answer| &answer.rule)
            .chain(assessment.not_assessed.iter().map(|item| &item.rule))
            .chain(&assessment.passed)
            .chain(assessment.not_applicable.iter().map(|item| &item.rule));
        for rule in told {
            assert!(rule.starts_with("kernel."), "{rule}");
        }
    }

    #[test]
    fn other_databases_are_named_where_a_rule_on_tables_is_told() {
        let others = |is_chosen: &dyn Fn(&str) -> bool| {
            let mut check = testing::check();
            keep_rules(&mut check, is_chosen);
            check.assessments.swap_remove(0).databases_not_read
        };
        assert_eq!(others(&|rule| rule.starts_with("schema.")), ["crm"]);
        assert!(others(&|rule| !rule.starts_with("schema.")).is_empty());
    }

    #[test]
    fn a_host_without_a_server_is_called_so() {
        assert_eq!(name(None), "host");
    }
}
