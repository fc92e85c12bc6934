//! What beside the settings is not the same in all groups.

use dbdyno_model::comparison::{Group, Unlike};
use dbdyno_model::tune::{Machine, Workload};

use crate::number;

/// Memory that differs by less is the same size: one kernel reserves a little more than another.
const SAME_MEMORY: f64 = 1.02;
/// What is free on one machine varies by less than that from day to day.
const SAME_FREE_MEMORY: f64 = 1.25;

/// Subjects of which the groups do not all have the same, those that confound first.
pub(super) fn of(groups: &[Group]) -> Vec<Unlike> {
    let text = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
    let confounding = [
        workload(groups),
        subject("connections", groups, |group| {
            Some(group.connections?.to_string())
        }),
        subject_by("machine", groups, same_machine, |group| {
            text(&hardware(&group.machine))
        }),
        subject_by("memory for the server", groups, same_free_memory, |group| {
            Some(number::bytes(group.memory_bytes?))
        }),
        subject("database engine", groups, |group| {
            text(&group.server.engine)
        }),
    ];
    let others = [
        subject("server version", groups, |group| {
            text(&group.server.version)
        }),
        subject("transport", groups, |group| text(&group.server.transport)),
        subject("kernel", groups, |group| group.machine.kernel.clone()),
        subject("virtualisation", groups, |group| {
            group.machine.virtualisation.clone()
        }),
        subject("dbdyno version", groups, |group| {
            text(&group.dbdyno_version)
        }),
        subject("budget", groups, |group| group.budget.clone()),
        subject("seed", groups, |group| {
            Some(group.workload.as_ref()?.seed.to_string())
        }),
    ];
    let confounding = confounding.into_iter().flatten().map(|unlike| Unlike {
        confounds: true,
        ..unlike
    });
    confounding.chain(others.into_iter().flatten()).collect()
}

/// Confounding subjects in which the group of that index is known to differ from the base.
pub(super) fn confounding(unlike: &[Unlike], index: usize) -> Vec<String> {
    let differs = |unlike: &&Unlike| match (&unlike.values[0], &unlike.values[index]) {
        (Some(base), Some(other)) => base != other,
        _ => false,
    };
    let confounds = unlike.iter().filter(|unlike| unlike.confounds);
    confounds
        .filter(differs)
        .map(|unlike| unlike.subject.clone())
        .collect()
}

/// None where the texts of all groups are the same.
fn subject(
    name: &str,
    groups: &[Group],
    text: impl Fn(&Group) -> Option<String>,
) -> Option<Unlike> {
    subject_by(name, groups, |a, b| text(a) == text(b), &text)
}

/// The same for what is not told apart by its text: groups that are the same take the text of the
/// first of them.
fn subject_by(
    name: &str,
    groups: &[Group],
    same: impl Fn(&Group, &Group) -> bool,
    text: impl Fn(&Group) -> Option<String>,
) -> Option<Unlike> {
    let text_of = |group: &Group| {
        text(group).and_then(|own| {
            let mut alike = groups.iter().filter(|first| same(first, group));
            alike.find_map(&text).or(Some(own))
        })
    };
    let values: Vec<Option<String>> = groups.iter().map(text_of).collect();
    values
        .iter()
        .any(|value| *value != values[0])
        .then(|| Unlike {
            subject: name.to_owned(),
            values,
            confounds: false,
        })
}

/// The load but for its connections, which stand for themselves.
fn workload(groups: &[Group]) -> Option<Unlike> {
    let known = groups.iter().filter_map(|group| group.workload.as_ref());
    let mut known = known.peekable();
    let first = known.peek().map(|workload| workload.name.clone());
    let one_name = known.all(|workload| Some(&workload.name) == first.as_ref());
    let scales: Option<Vec<u32>> = groups
        .iter()
        .map(|group| group.workload.as_ref()?.warehouses)
        .collect();
    let other_scale = scales.is_some_and(|scales| scales.iter().any(|scale| *scale != scales[0]));
    let name = if one_name && other_scale {
        "scale"
    } else {
        "workload"
    };
    let scripts: Vec<Option<&str>> = groups
        .iter()
        .map(|group| group.workload.as_ref()?.script.as_deref())
        .collect();
    let other_script = scripts.iter().any(|script| *script != scripts[0]);
    subject(name, groups, |group| {
        let workload = group.workload.as_ref()?;
        // Two files of one name need not hold the same.
        let same = scripts
            .iter()
            .position(|script| *script == workload.script.as_deref());
        Some(
            match same.filter(|_| other_script && workload.script.is_some()) {
                Some(index) => format!("{}, script {}", load(workload), index + 1),
                None => load(workload),
            },
        )
    })
}

/// The load in words, without its connections.
pub(super) fn load(workload: &Workload) -> String {
    let Workload {
        name,
        description,
        connections,
        ..
    } = workload;
    let load = description.replace(&format!(", {connections} connections"), "");
    if load.is_empty() {
        name.clone()
    } else if load.starts_with(name.as_str()) {
        load
    } else {
        format!("{name}: {load}")
    }
}

/// Processors, memory and storage; kernel and virtualisation stand for themselves.
pub(super) fn hardware(machine: &Machine) -> String {
    let processors = match (machine.cpus, &machine.cpu_model) {
        (Some(cpus), Some(model)) => Some(format!("{cpus} × {model}")),
        (Some(cpus), None) => Some(format!("{cpus} CPUs")),
        (None, model) => model.clone(),
    };
    let parts = [
        processors,
        machine.memory_bytes.map(number::bytes),
        machine.storage.clone(),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        machine.summary.clone()
    } else {
        parts.join(", ")
    }
}

/// Nothing that both know tells them apart.
fn same_machine(a: &Group, b: &Group) -> bool {
    let (a, b) = (&a.machine, &b.machine);
    let differ = [
        a.cpus.zip(b.cpus).is_some_and(|(a, b)| a != b),
        a.cpu_model
            .as_ref()
            .zip(b.cpu_model.as_ref())
            .is_some_and(|(a, b)| a != b),
        a.storage
            .as_ref()
            .zip(b.storage.as_ref())
            .is_some_and(|(a, b)| a != b),
        !same_size(a.memory_bytes, b.memory_bytes, SAME_MEMORY),
    ];
    let nothing_known = a.cpus.or(b.cpus).is_none() && a.memory_bytes.or(b.memory_bytes).is_none();
    !differ.contains(&true) && (!nothing_known || a.summary == b.summary)
}

fn same_free_memory(a: &Group, b: &Group) -> bool {
    same_size(a.memory_bytes, b.memory_bytes, SAME_FREE_MEMORY)
}

/// Sizes within a factor of each other; what is not known tells nothing apart.
fn same_size(a: Option<u64>, b: Option<u64>, factor: f64) -> bool {
    let Some((a, b)) = a.zip(b) else {
        return true;
    };
    a.max(b) as f64 <= a.min(b) as f64 * factor
}
