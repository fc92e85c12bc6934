//! The sentences of a check, the same on a terminal and in Markdown.

use std::collections::BTreeMap;

use dbdyno_model::check::{Answer, Assessment, Place, Step, WayKind};
use dbdyno_model::facts::Unreached;
use dbdyno_model::{Check, Needs, Severity};

use crate::number;
use crate::plan::{class_words, needs_words, shown};
use crate::text::{list, plural};

/// Families whose rules look at the host: what they say holds for every server on it.
const HOST_FAMILIES: [&str; 5] = ["cloud", "container", "filesystem", "hardware", "kernel"];

/// `PostgreSQL 15.18, port 5432: 4 findings (1 critical, 2 warn, 1 info)`.
pub(super) fn headline(assessment: &Assessment) -> String {
    let findings = &assessment.findings;
    if findings.is_empty() {
        return format!("{}: no findings", assessment.name);
    }
    let parts: Vec<String> = [Severity::Critical, Severity::Warn, Severity::Info]
        .into_iter()
        .map(|severity| {
            let of_it = findings.iter().filter(|answer| answer.severity == severity);
            (of_it.count() as u64, severity)
        })
        .filter(|(count, _)| *count > 0)
        .map(|(count, severity)| format!("{} {}", number::count(count), severity.as_str()))
        .collect();
    let all = plural(findings.len() as u64, "finding");
    format!("{}: {all} ({})", assessment.name, parts.join(", "))
}

/// What was said of the first server already, word for word, and what is new.
pub(super) fn told(check: &Check, index: usize) -> (Vec<&Answer>, Vec<&Answer>) {
    let (Some(first), Some(this)) = (check.assessments.first(), check.assessments.get(index))
    else {
        return (Vec::new(), Vec::new());
    };
    this.findings.iter().partition(|answer| {
        index > 0 && is_of_host(&answer.rule) && first.findings.contains(answer)
    })
}

pub(super) fn is_of_host(rule: &str) -> bool {
    HOST_FAMILIES.contains(&family(rule))
}

fn family(rule: &str) -> &str {
    rule.split('.').next().unwrap_or(rule)
}

/// `shared_buffers: 128MB → 6016MB`.
pub(super) fn change(step: &Step) -> Option<String> {
    let (subject, recommended) = (step.subject.as_ref()?, step.recommended.as_ref()?);
    let current = step.current.as_deref().unwrap_or(number::MISSING);
    Some(format!(
        "{subject}: {} → {}",
        shown(current),
        shown(recommended)
    ))
}

/// `safe · needs a restart · decided by postgres.shared_buffers`.
pub(super) fn conditions(step: &Step) -> String {
    let class = step.class.map(|class| match class_words(class) {
        Some(words) => format!("{}: {words}", class.as_str()),
        None => class.as_str().to_owned(),
    });
    let decided = step
        .decided_by
        .as_ref()
        .map(|rule| format!("value decided by {rule}"));
    let parts = class
        .into_iter()
        .chain([needs_words(step.needs).to_owned()])
        .chain(decided);
    parts.collect::<Vec<_>>().join(" · ")
}

/// `durability at stake · confidence high`.
pub(super) fn weight(answer: &Answer) -> String {
    format!(
        "{} at stake · confidence {}",
        answer.effect.as_str(),
        answer.confidence.as_str()
    )
}

pub(super) fn set_aside(answer: &Answer) -> Vec<String> {
    answer
        .set_aside
        .iter()
        .map(|item| format!("{} = {}: {}", item.setting, shown(&item.wanted), item.why))
        .collect()
}

pub(super) fn place(place: &Place) -> String {
    format!("{}:{}", place.file, place.line)
}

/// What follows the ALTER SYSTEM statements; none where there are none.
pub(super) fn afterwards(answers: &[&Answer]) -> Option<String> {
    let steps: Vec<&Step> = answers
        .iter()
        .flat_map(|answer| &answer.steps)
        .filter(|step| step.ways.iter().any(|way| way.kind == WayKind::AlterSystem))
        .collect();
    if steps.is_empty() {
        return None;
    }
    let mut waiting: Vec<String> = steps
        .iter()
        .filter(|step| step.needs >= Needs::Restart)
        .filter_map(|step| step.subject.clone())
        .collect();
    waiting.sort();
    waiting.dedup();
    let reload = "After ALTER SYSTEM: SELECT pg_reload_conf();";
    Some(if waiting.is_empty() {
        reload.to_owned()
    } else {
        format!("{reload} A restart is needed for {}.", list(&waiting))
    })
}

/// `PostgreSQL, port 5433, /srv/pg/data`.
pub(super) fn unreached(server: &Unreached) -> String {
    let port = server.port.map(|port| format!("port {port}"));
    let parts = ["PostgreSQL".to_owned()]
        .into_iter()
        .chain(port)
        .chain(server.data_directory.clone());
    parts.collect::<Vec<_>>().join(", ")
}

/// Said where no server was there to be read, and none was found that could not be.
pub(super) fn without_server(check: &Check) -> Option<&'static str> {
    let is_alone = check.facts.postgres.is_none() && check.facts.unreached.is_empty();
    is_alone.then_some("No PostgreSQL server was found running here: this is the host alone.")
}

/// `kernel 12, postgres 20`.
pub(super) fn families(rules: &[String]) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for rule in rules {
        *counts.entry(family(rule)).or_default() += 1;
    }
    let parts: Vec<String> = counts
        .into_iter()
        .map(|(family, count)| format!("{family} {}", number::count(count)))
        .collect();
    parts.join(", ")
}

/// The grants that are missing, each once, with what they open.
pub(super) fn grants(assessment: &Assessment) -> (Vec<&str>, Vec<&str>) {
    let missing = &assessment.missing_privileges;
    let objects = missing.iter().map(|missing| missing.object.as_str());
    let mut grants: Vec<&str> = missing
        .iter()
        .map(|missing| missing.grant.as_str())
        .collect();
    grants.sort_unstable();
    grants.dedup();
    (objects.collect(), grants)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing;

    #[test]
    fn the_host_is_told_once_and_each_server_for_itself() {
        let check = testing::two_servers();
        assert!(told(&check, 0).0.is_empty());
        let (before, new) = told(&check, 1);
        let rules = |answers: &[&Answer]| -> Vec<String> {
            answers.iter().map(|answer| answer.rule.clone()).collect()
        };
        assert!(rules(&before).contains(&"kernel.swappiness".to_owned()));
        assert!(rules(&new).contains(&"postgres.full_page_writes".to_owned()));
        assert_eq!(
            before.len() + new.len(),
            check.assessments[1].findings.len()
        );
    }

    #[test]
    fn a_restart_is_named_once() {
        let check = testing::check();
        let answers: Vec<&Answer> = check.findings().collect();
        assert_eq!(
            afterwards(&answers).unwrap(),
            "After ALTER SYSTEM: SELECT pg_reload_conf(); A restart is needed for shared_buffers."
        );
        assert_eq!(afterwards(&[]), None);
    }
}
