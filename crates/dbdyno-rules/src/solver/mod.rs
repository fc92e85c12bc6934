//! One value per setting under one memory model: Findings to Plan.

mod gate;
mod gather;
pub mod humane;
mod memory;
mod startable;
mod twin;

use std::collections::BTreeMap;

use dbdyno_model::finding::NotAssessed;
use dbdyno_model::plan::{Change, Rejected};
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Finding, HostAction, Needs, Plan};

use crate::Checked;
use gather::Candidate;

pub use gate::conf_value;
pub(crate) use gate::guards_data;
pub use twin::{current_settings, rescale};

/// The plan for what was found: every recommendation is either a change, already so, or rejected
/// with its reason. The same facts give the same plan, in whatever order the findings come.
pub fn plan(facts: &Facts, checked: &Checked) -> Plan {
    let mut rejected = Vec::new();
    let mut chosen = BTreeMap::new();
    if let Some(postgres) = &facts.postgres {
        let candidates = gather::gather(postgres, &checked.findings, &mut rejected);
        chosen = gather::settle(candidates, &mut rejected);
        memory::fit(facts, &mut chosen, &mut rejected);
        startable::keep(facts, postgres, &mut chosen, &mut rejected);
        keep_order(postgres, &mut chosen, &mut rejected);
        chosen.retain(|name, candidate| {
            postgres
                .setting(name)
                .is_some_and(|now| !gate::is_already(now, &candidate.value))
        });
    }
    rejected.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
    rejected.dedup();
    Plan {
        schema: Plan::SCHEMA.to_owned(),
        memory: memory::model(facts, &memory::values(&chosen)),
        changes: changes(facts, chosen),
        rejected,
        host_actions: host_actions(&checked.findings),
        not_assessed: not_assessed(checked),
    }
}

/// What the server's settings, with some replaced, may take from memory, in bytes.
pub(crate) fn memory_with(facts: &Facts, values: &BTreeMap<String, String>) -> Option<u64> {
    if facts.postgres.as_ref().and_then(memory_not_known).is_some() {
        return None;
    }
    memory::terms_with(facts, values).map(|terms| terms.sum())
}

/// Why nobody can say what the server's settings may take from memory, if so.
pub(crate) fn memory_not_known(postgres: &Postgres) -> Option<String> {
    memory::not_known(postgres)
}

/// What the plan sets, as lines of postgresql.conf.
pub fn as_conf(plan: &Plan) -> Vec<(String, String)> {
    plan.changes
        .iter()
        .map(|change| (change.setting.clone(), change.to.clone()))
        .collect()
}

/// Pairs of settings of which the first must not exceed the second, whatever was cut before.
const ORDERED: [(&str, &str); 3] = [
    ("min_wal_size", "max_wal_size"),
    ("shared_buffers", "effective_cache_size"),
    ("max_parallel_workers_per_gather", "max_parallel_workers"),
];

/// Drops a change that only makes sense beside another one which was cut.
fn keep_order(
    postgres: &Postgres,
    chosen: &mut BTreeMap<String, Candidate>,
    rejected: &mut Vec<Rejected>,
) {
    for (smaller, larger) in ORDERED {
        let after = |name: &str| startable::after(postgres, chosen, name)?.number();
        let (Some(low), Some(high)) = (after(smaller), after(larger)) else {
            continue;
        };
        if low <= high {
            continue;
        }
        // shared_buffers are real memory, effective_cache_size only tells the planner of it.
        let dropped = if smaller == "shared_buffers" {
            larger
        } else {
            smaller
        };
        if let Some(candidate) = chosen.remove(dropped) {
            rejected.push(candidate.reject(format!("{smaller} would exceed {larger}")));
        }
    }
}

fn sort_key(rejected: &Rejected) -> (&str, &str, &str, &str) {
    (
        &rejected.setting,
        &rejected.rule,
        &rejected.wanted,
        &rejected.why,
    )
}

fn changes(facts: &Facts, chosen: BTreeMap<String, Candidate>) -> Vec<Change> {
    let Some(postgres) = &facts.postgres else {
        return Vec::new();
    };
    chosen
        .into_values()
        .filter_map(|candidate| {
            let now = postgres.setting(&candidate.setting)?;
            Some(Change {
                from: humane::setting(now),
                to: candidate.value,
                why: candidate.why,
                class: candidate.class,
                needs: Needs::of_context(&now.context),
                gives_up: candidate.gives_up,
                rule: candidate.rule,
                setting: candidate.setting,
            })
        })
        .collect()
}

/// Advice in the order of its weight, each line once: what belongs to the host, then SQL.
fn host_actions(findings: &[Finding]) -> Vec<HostAction> {
    let mut findings: Vec<&Finding> = findings.iter().collect();
    findings.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| b.effect.cmp(&a.effect))
            .then_with(|| a.rule.cmp(&b.rule))
            .then_with(|| a.message.cmp(&b.message))
    });
    let mut actions: Vec<HostAction> = Vec::new();
    for finding in findings {
        let statements = finding
            .statements
            .iter()
            .map(|statement| HostAction::in_words(&finding.rule, &statement.sql, statement.needs));
        for action in finding.host_actions.iter().cloned().chain(statements) {
            if !actions.contains(&action) {
                actions.push(action);
            }
        }
    }
    actions
}

fn not_assessed(checked: &Checked) -> Vec<NotAssessed> {
    let mut all = checked.not_assessed.clone();
    all.sort_by(|a, b| (&a.rule, &a.why).cmp(&(&b.rule, &b.why)));
    all
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
