//! What differs between two sets of facts: a walk over both documents, whatever facts they hold.

mod facts;
mod momentary;
mod page;

use std::collections::{BTreeMap, BTreeSet};

use dbdyno_model::diff::{Difference, FindingChange, Group, Side};
use dbdyno_model::{Diff, Facts, Finding, Severity};

use crate::check::server_name;
use crate::number;

pub use page::diff_page;

/// One of the two sets of facts, with what this dbdyno says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The file, as it was typed.
    pub name: String,
    pub facts: Facts,
    /// One for each of `facts.each()`, in that order.
    pub servers: Vec<JudgedServer>,
}

/// One server of a set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JudgedServer {
    /// Values as in postgresql.conf.
    pub settings: BTreeMap<String, String>,
    pub findings: Vec<Finding>,
}

/// Compares the facts, the settings and the findings of both.
#[must_use]
pub fn diff(a: &Judged, b: &Judged, dbdyno_version: &str) -> Diff {
    let mut diff = Diff {
        schema: Diff::SCHEMA.to_owned(),
        dbdyno_version: dbdyno_version.to_owned(),
        a: side(a),
        b: side(b),
        ..Diff::default()
    };
    let mut left_out = BTreeSet::new();
    let pairs = pairs(a, b, &mut diff.groups);
    let is_alone = a.servers.len() == 1 && b.servers.len() == 1;
    for (index, pair) in pairs.iter().enumerate() {
        let name = server_name(pair.b.0.postgres.as_ref());
        let title = if is_alone { "server" } else { name.as_str() };
        let (hosts, servers) = (facts::hosts(*pair), facts::servers(*pair));
        for (group, compared) in hosts.into_iter().chain(servers) {
            // The host is the same under each of its servers, but for what is theirs.
            if index > 0 && group.is_of_host() && !group.is_of_server() {
                continue;
            }
            left_out.extend(compared.left_out);
            push(
                &mut diff.groups,
                group.title(title, is_alone),
                compared.differences,
            );
        }
        let settings = differences(&pair.a.1.settings, &pair.b.1.settings);
        push(&mut diff.groups, format!("{title}: settings"), settings);
        let given = differences(&given(pair.a.0), &given(pair.b.0));
        push(&mut diff.groups, format!("{title}: given"), given);
        diff.findings.extend(findings(&name, *pair));
    }
    diff.left_out = left_out.into_iter().collect();
    diff
}

fn side(judged: &Judged) -> Side {
    Side {
        name: judged.name.clone(),
        collected_at: judged.facts.collected_at.clone(),
        dbdyno_version: judged.facts.dbdyno_version.clone(),
    }
}

/// The same server on both sides.
#[derive(Debug, Clone, Copy)]
struct Pair<'a> {
    a: (&'a Facts, &'a JudgedServer),
    b: (&'a Facts, &'a JudgedServer),
}

/// A single server of each side is the same one; of several, those on the same port are. What only
/// one side has goes into a group of its own.
fn pairs<'a>(a: &'a Judged, b: &'a Judged, groups: &mut Vec<Group>) -> Vec<Pair<'a>> {
    let of = |judged: &'a Judged| -> Vec<(&'a Facts, &'a JudgedServer)> {
        judged.facts.each().zip(&judged.servers).collect()
    };
    let (ours, mut theirs) = (of(a), of(b));
    if let ([a], [b]) = (ours.as_slice(), theirs.as_slice()) {
        return vec![Pair { a: *a, b: *b }];
    }
    let mut pairs = Vec::new();
    let mut alone = Vec::new();
    for a in ours {
        match theirs.iter().position(|b| port(b.0) == port(a.0)) {
            Some(at) => pairs.push(Pair {
                a,
                b: theirs.remove(at),
            }),
            None => alone.push(only(a.0, true)),
        }
    }
    alone.extend(theirs.into_iter().map(|b| only(b.0, false)));
    push(groups, "servers".to_owned(), alone);
    pairs
}

/// What nobody read and findings follow from all the same.
fn given(facts: &Facts) -> BTreeMap<String, String> {
    let memory = facts.intent.memory_bytes.map(number::bytes);
    let memory = memory.map(|bytes| ("memory to size for".to_owned(), bytes));
    memory.into_iter().collect()
}

fn port(facts: &Facts) -> Option<&str> {
    let port = facts.postgres.as_ref()?.setting("port")?;
    Some(port.value.as_str())
}

fn only(facts: &Facts, in_a: bool) -> Difference {
    let there = Some("read".to_owned());
    let (a, b) = if in_a { (there, None) } else { (None, there) };
    Difference {
        what: server_name(facts.postgres.as_ref()),
        a,
        b,
    }
}

fn push(groups: &mut Vec<Group>, name: String, differences: Vec<Difference>) {
    if !differences.is_empty() {
        groups.push(Group { name, differences });
    }
}

/// Entries that are not the same on both sides, in the order of their names.
fn differences(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<Difference> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    names
        .into_iter()
        .filter(|name| a.get(*name) != b.get(*name))
        .map(|name| Difference {
            what: name.clone(),
            a: a.get(name).cloned(),
            b: b.get(name).cloned(),
        })
        .collect()
}

/// Rules that appeared, vanished or changed their severity, the gravest of either side first.
fn findings(server: &str, pair: Pair<'_>) -> Vec<FindingChange> {
    // Of several of one rule the gravest speaks for it.
    let by_rule = |findings: &[Finding]| -> BTreeMap<String, (Severity, String)> {
        let mut gravest: BTreeMap<String, (Severity, String)> = BTreeMap::new();
        for finding in findings {
            let known = gravest.get(&finding.rule);
            if known.is_none_or(|(severity, _)| finding.severity > *severity) {
                let said = (finding.severity, finding.message.clone());
                gravest.insert(finding.rule.clone(), said);
            }
        }
        gravest
    };
    let (a, b) = (by_rule(&pair.a.1.findings), by_rule(&pair.b.1.findings));
    let rules: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let mut changes: Vec<FindingChange> = rules
        .into_iter()
        .filter_map(|rule| {
            let (was, is) = (a.get(rule), b.get(rule));
            let severity = |said: Option<&(Severity, String)>| said.map(|(severity, _)| *severity);
            let change = FindingChange {
                server: server.to_owned(),
                rule: rule.clone(),
                a: severity(was),
                b: severity(is),
                message: is.or(was)?.1.clone(),
            };
            (change.a != change.b).then_some(change)
        })
        .collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.a.max(change.b)));
    changes
}

#[cfg(test)]
mod tests;
