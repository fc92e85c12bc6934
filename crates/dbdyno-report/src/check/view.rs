//! The sentences of a check, the same on a terminal and in Markdown.

use std::collections::BTreeMap;

use dbdyno_model::check::{Answer, Assessment, Place, Step, WayKind};
use dbdyno_model::facts::Unreached;
use dbdyno_model::{Check, Evidence, Needs, Severity};

use super::hidden;
use crate::number;
use crate::plan::{class_words, needs_words, shown};
use crate::text::{list, plural};

/// Families whose rules look at the host: what they say holds for every server on it.
const HOST_FAMILIES: [&str; 5] = ["cloud", "container", "filesystem", "hardware", "kernel"];

/// Behind the names of a server's databases that nobody looked into.
pub(super) const OTHER_DATABASES: &str = "Tables, indexes and sequences were looked at in the \
    connected database alone. `dbdyno check --database NAME` looks into another one of a server that \
    was found here; of a server that was named, change the name in its address.";

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
    let engine = server.engine.as_deref().unwrap_or("PostgreSQL");
    let port = server.port.map(|port| format!("port {port}"));
    let parts = [engine.to_owned()]
        .into_iter()
        .chain(port)
        .chain(server.data_directory.clone());
    parts.collect::<Vec<_>>().join(", ")
}

/// Said where no server was there to be read, and none was found that could not be.
pub(super) fn without_server(check: &Check) -> Option<String> {
    let facts = &check.facts;
    let is_found = |server: &Unreached| server.engine.is_none();
    if facts.postgres.is_some() || facts.unreached.iter().any(is_found) {
        return None;
    }
    let unseen = facts
        .host
        .as_ref()
        // Facts of an older dbdyno have none.
        .filter(|host| !host.engines.origin.is_empty())
        .and_then(|host| host.engines.why_unknown());
    Some(match unseen {
        Some(why) => format!(
            "No PostgreSQL server can be seen from here ({why}): this is the host alone. Run \
             dbdyno as root, or name the server: dbdyno check postgres://user@host/database"
        ),
        None => "No PostgreSQL server was found running here: this is the host alone.".to_owned(),
    })
}

/// `free bytes = 1.2 GiB (statvfs)`, with the value as it is set where the fact is a setting.
pub(super) fn evidence_value(item: &Evidence) -> String {
    let bytes = item.value.parse().ok();
    match bytes.filter(|_| item.fact.ends_with(" bytes")) {
        Some(bytes) => number::bytes(bytes),
        None => item.value.clone(),
    }
}

/// What is critical, by its rules: the end of a page is what a terminal shows.
pub(super) fn critical(check: &Check) -> Option<String> {
    let mut rules: Vec<String> = Vec::new();
    let is_critical = |answer: &&Answer| answer.severity == Severity::Critical;
    for answer in check.findings().filter(is_critical) {
        if !rules.contains(&answer.rule) {
            rules.push(answer.rule.clone());
        }
    }
    (!rules.is_empty()).then(|| format!("Critical, to be mended first: {}.", list(&rules)))
}

/// `kernel 12, postgres 20`.
pub(super) fn families<R: AsRef<str>>(rules: &[R]) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for rule in rules {
        *counts.entry(family(rule.as_ref())).or_default() += 1;
    }
    let parts: Vec<String> = counts
        .into_iter()
        .map(|(family, count)| format!("{family} {}", number::count(count)))
        .collect();
    parts.join(", ")
}

/// The grants that are missing, each once and as a statement, with what they open.
pub(super) fn grants(assessment: &Assessment) -> (Vec<&str>, Vec<String>) {
    let missing = &assessment.missing_privileges;
    let objects = missing.iter().map(|missing| missing.object.as_str());
    let mut grants: Vec<String> = missing
        .iter()
        .map(|missing| hidden::grant(format!("{};", missing.grant.trim_end_matches(';'))))
        .collect();
    grants.sort_unstable();
    grants.dedup();
    (objects.collect(), grants)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing;
    use dbdyno_model::Fact;

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
    fn a_server_of_another_engine_is_named_and_no_postgresql_is_missed() {
        let mut check = testing::check();
        check.facts.postgres = None;
        check.facts.unreached = vec![Unreached {
            engine: Some("MariaDB".to_owned()),
            port: Some(3307),
            ..Unreached::default()
        }];
        assert_eq!(unreached(&check.facts.unreached[0]), "MariaDB, port 3307");
        let host = check.facts.host.as_mut().unwrap();
        host.engines = Fact::known(vec!["mariadbd".to_owned()], "/proc/*/comm");
        let told = without_server(&check).unwrap();
        assert!(told.contains("was found running here"), "{told}");
        let host = check.facts.host.as_mut().unwrap();
        host.engines = Fact::unknown("hidden", "/proc/*/comm");
        let told = without_server(&check).unwrap();
        assert!(
            told.contains("(hidden)") && told.contains("as root"),
            "{told}"
        );
        check.facts.unreached[0].engine = None;
        assert_eq!(without_server(&check), None);
    }

    #[test]
    fn sizes_are_humane_and_settings_stay_as_they_are_written() {
        let shown = |fact: &str, value: &str| {
            evidence_value(&Evidence {
                fact: fact.to_owned(),
                value: value.to_owned(),
                origin: String::new(),
            })
        };
        assert_eq!(shown("free bytes", "1288490188"), "1.2 GiB");
        assert_eq!(shown("free bytes", "unknown"), "unknown");
        assert_eq!(shown("vm.dirty_bytes", "268435456"), "268435456");
    }

    #[test]
    fn each_grant_is_one_statement() {
        let check = testing::check();
        let (_, grants) = grants(&check.assessments[0]);
        assert_eq!(
            grants,
            [
                "-- with --with-names, which shows the name: GRANT SELECT ON pg_file_settings TO (user);"
            ]
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
