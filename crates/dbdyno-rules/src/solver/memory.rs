//! The memory model over a plan: what its settings may use, cut until it fits.

use std::collections::BTreeMap;

use dbdyno_model::Facts;
use dbdyno_model::plan::{MemoryModel, Rejected};
use dbdyno_model::postgres::{Postgres, Setting};

use super::gather::Candidate;
use super::humane;
use crate::formulas::MIB;
use crate::formulas::memory::{Sizes, Terms, automatic_wal_buffers_bytes, budget_bytes, terms};
use crate::postgres::machine;
use crate::rule::humane_bytes;

/// What a plan gives up first when memory is short: what helps maintenance, then what helps
/// single queries, and last what every query uses.
pub(super) const CUT_ORDER: [&str; 8] = [
    "maintenance_work_mem",
    "autovacuum_work_mem",
    "autovacuum_max_workers",
    "hash_mem_multiplier",
    "max_parallel_workers",
    "work_mem",
    "wal_buffers",
    "shared_buffers",
];

/// The first setting of the model of which only what our own role or database has is known, and why.
pub(super) fn not_known(postgres: &Postgres) -> Option<String> {
    CUT_ORDER.iter().find_map(|name| {
        let why = postgres.why_hidden(name)?;
        Some(format!("{name}: {why}"))
    })
}

/// A setting as it would be with the plan's values; what only our own role has stands for itself here,
/// and `not_known` says so.
fn planned(postgres: &Postgres, values: &BTreeMap<String, String>, name: &str) -> Option<Setting> {
    let setting = postgres.settings.get(name)?;
    match values.get(name) {
        Some(value) => humane::with_value(setting, value),
        None => Some(setting.clone()),
    }
}

/// What the server's settings, with some replaced, take from memory.
pub(super) fn sizes(facts: &Facts, values: &BTreeMap<String, String>) -> Option<Sizes> {
    let postgres = facts.postgres.as_ref()?;
    let bytes = |name: &str| planned(postgres, values, name).and_then(|setting| setting.bytes());
    let number = |name: &str| planned(postgres, values, name).and_then(|setting| setting.number());
    let count = |name: &str| number(name).map_or(0, |number| number.max(0.0) as u64);
    let shared_buffers = bytes("shared_buffers").unwrap_or(0);
    Some(Sizes {
        shared_buffers,
        wal_buffers: wal_buffers(postgres, values, shared_buffers),
        autovacuum_workers: count("autovacuum_max_workers"),
        autovacuum_work_mem: bytes("autovacuum_work_mem")
            .or_else(|| bytes("maintenance_work_mem"))
            .unwrap_or(0),
        active_backends: machine::active_backends(facts),
        work_mem: bytes("work_mem").unwrap_or(0),
        hash_mem_multiplier: number("hash_mem_multiplier").unwrap_or(1.0),
        parallel_workers: count("max_parallel_workers"),
    })
}

/// The server shows what −1 came to at its start; a plan that changes shared_buffers changes it.
fn wal_buffers(postgres: &Postgres, values: &BTreeMap<String, String>, shared: u64) -> u64 {
    let segment = postgres.bytes("wal_segment_size").unwrap_or(16 * MIB);
    let set_by_user = postgres
        .setting("wal_buffers")
        .is_some_and(Setting::is_set_by_user);
    let fixed = values.contains_key("wal_buffers") || set_by_user;
    planned(postgres, values, "wal_buffers")
        .filter(|_| fixed)
        .and_then(|setting| setting.bytes())
        .unwrap_or_else(|| automatic_wal_buffers_bytes(shared, segment))
}

pub(super) fn terms_with(facts: &Facts, values: &BTreeMap<String, String>) -> Option<Terms> {
    sizes(facts, values).map(|sizes| terms(&sizes))
}

/// The document's form of the model.
pub(super) fn model(facts: &Facts, values: &BTreeMap<String, String>) -> MemoryModel {
    let is_known = facts
        .postgres
        .as_ref()
        .is_some_and(|postgres| not_known(postgres).is_none());
    let Some(terms) = terms_with(facts, values).filter(|_| is_known) else {
        return MemoryModel::default();
    };
    MemoryModel {
        memory_bytes: machine::memory(facts).get(),
        shared_buffers_bytes: terms.shared_buffers,
        wal_buffers_bytes: terms.wal_buffers,
        autovacuum_bytes: terms.autovacuum,
        active_bytes: terms.active,
        parallel_bytes: terms.parallel,
    }
}

pub(super) fn values(chosen: &BTreeMap<String, Candidate>) -> BTreeMap<String, String> {
    chosen
        .iter()
        .map(|(name, candidate)| (name.clone(), candidate.value.clone()))
        .collect()
}

/// Cuts what the plan would raise until the model fits into the memory there is. What the server
/// has now is kept: taking memory away is a rule's business, with its own reason.
pub(super) fn fit(
    facts: &Facts,
    chosen: &mut BTreeMap<String, Candidate>,
    rejected: &mut Vec<Rejected>,
) {
    let (Some(memory), Some(postgres)) = (machine::memory(facts).get(), &facts.postgres) else {
        return;
    };
    if let Some(why) = not_known(postgres) {
        for name in CUT_ORDER {
            if let Some(candidate) = chosen.remove(name) {
                let why = format!("what memory is taken is not known: {why}");
                rejected.push(candidate.reject(why));
            }
        }
        return;
    }
    let budget = budget_bytes(memory);
    let sum = |chosen: &BTreeMap<String, Candidate>| {
        terms_with(facts, &values(chosen)).map_or(0, |terms| terms.sum())
    };
    for name in CUT_ORDER {
        let Some(wanted) = chosen.get(name).cloned() else {
            continue;
        };
        while sum(chosen) > budget {
            let mut cut = chosen.clone();
            match one_step_down(postgres, name, &chosen[name].value) {
                Some(value) => {
                    cut.entry(name.to_owned())
                        .and_modify(|candidate| candidate.value = value);
                }
                None => {
                    cut.remove(name);
                }
            }
            // Where cutting gives nothing back, this setting is not what the memory lacks.
            if sum(&cut) >= sum(chosen) {
                break;
            }
            *chosen = cut;
            if !chosen.contains_key(name) {
                break;
            }
        }
        let taken = chosen.get(name).map(|candidate| candidate.value.clone());
        if taken.as_ref() != Some(&wanted.value) {
            rejected.push(wanted.reject(format!(
                "all of it would be more than {} of {}: {}",
                humane_bytes(budget),
                humane_bytes(memory),
                taken.map_or("left as it is".to_owned(), |value| format!(
                    "{value} is taken"
                )),
            )));
        }
    }
    if sum(chosen) > budget {
        rejected.push(over_budget(sum(chosen), budget));
    }
}

/// The next smaller value that is still above the server's own; none when there is none.
fn one_step_down(postgres: &Postgres, name: &str, value: &str) -> Option<String> {
    let setting = postgres.setting(name)?;
    let now = humane::with_value(setting, value)?;
    let lower = match now.bytes() {
        Some(bytes) => {
            let below = bytes.saturating_sub(setting.unit_factor()?.max(1.0) as u64);
            humane::with_value(setting, &humane::bytes(humane::round_down(below)))?
        }
        None => halfway(setting, &now)?,
    };
    match setting.number()? {
        // −1 stands for maintenance_work_mem, which the plan may raise: going back to −1 would
        // take that instead, so the cut ends at what the server has now.
        automatic if automatic < 0.0 => {
            let floor = postgres.bytes("maintenance_work_mem")?;
            let lower = lower.bytes()?.max(floor);
            (now.bytes()? > floor).then(|| humane::bytes(lower))
        }
        current => (lower.number()? > current).then(|| humane::setting(&lower)),
    }
}

/// Counts go down by half of what the plan would add: a limit may lie thousands above.
fn halfway(setting: &Setting, now: &Setting) -> Option<Setting> {
    let (own, planned) = (
        setting.value.parse::<f64>().ok()?,
        now.value.parse::<f64>().ok()?,
    );
    humane::with_value(
        setting,
        &(own + ((planned - own) / 2.0).floor()).to_string(),
    )
}

fn over_budget(sum: u64, budget: u64) -> Rejected {
    Rejected {
        setting: "memory".to_owned(),
        wanted: humane_bytes(budget),
        rule: "solver.memory".to_owned(),
        why: format!(
            "the server's own settings may use {} already: nothing was cut that the plan did not ask for",
            humane_bytes(sum)
        ),
    }
}
