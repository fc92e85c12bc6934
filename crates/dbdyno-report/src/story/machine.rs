//! The machine and the server as the document knows them, each fact with its origin.

use dbdyno_model::Fact;
use dbdyno_model::Tune;
use dbdyno_model::host::{BlockDevice, Host, Storage};

use crate::number;

/// One fact: what it is, its value, and where it was read; an unknown one says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) origin: String,
}

/// Versions of everything that took part.
pub(crate) fn versions(tune: &Tune) -> Vec<(&'static str, String)> {
    let known = |text: &str| {
        let text = text.trim();
        if text.is_empty() {
            number::MISSING
        } else {
            text
        }
        .to_owned()
    };
    let mut rows = vec![
        ("report of", super::name(tune)),
        ("dbdyno", known(&tune.dbdyno_version)),
        ("document", known(&tune.schema)),
        ("server", known(&super::server(tune))),
    ];
    if let Some(binaries) = &tune.server.binaries {
        rows.push(("server programs", known(binaries)));
    }
    if !tune.runs.is_empty() {
        rows.push(("connected by", known(&tune.server.transport)));
    }
    if let Some(target) = &tune.target {
        rows.push(("planned for", known(target)));
    }
    rows.push(("started", known(&tune.started_at)));
    let finished = tune.finished_at.as_deref();
    rows.push(("finished", number::or_missing(finished, known)));
    if let Some(budget) = &tune.budget {
        rows.push(("budget", known(budget)));
    }
    rows
}

/// Workload and load, as names and values.
pub(crate) fn workload(tune: &Tune) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    if let Some(workload) = &tune.workload {
        rows.push(("workload", workload.name.clone()));
        if !workload.description.is_empty() {
            rows.push(("description", workload.description.clone()));
        }
        rows.push(("seed", number::count(workload.seed)));
        if let (Some(load), Some(run)) = (workload.c_load, workload.c_run) {
            let [a, b, c] = load;
            rows.push(("NURand C, load", format!("{a}, {b}, {c}")));
            let [a, b, c] = run;
            rows.push(("NURand C, runs", format!("{a}, {b}, {c}")));
        }
    }
    if let Some(load) = &tune.load {
        rows.push((
            "loaded",
            format!(
                "{} rows in {}, {} rows/s by {}",
                number::count(load.rows),
                number::duration(load.seconds),
                number::measured(load.rows_per_s),
                crate::text::plural(load.threads.into(), "thread")
            ),
        ));
        rows.push((
            "size after the load",
            number::or_missing(load.bytes, number::bytes),
        ));
    }
    rows
}

/// The host's facts that a trial's result leans on; a summary where the host was not read.
pub(crate) fn host(tune: &Tune) -> Vec<Row> {
    let Some(host) = &tune.facts.host else {
        return summary(tune);
    };
    let mut rows = vec![
        row("processor", &host.cpu.model, String::clone),
        row("CPUs, effective", &host.cpu.effective, u32::to_string),
        row("memory", &host.memory.total_bytes, |bytes| {
            number::bytes(*bytes)
        }),
        row("memory, effective", &host.memory.effective_bytes, |bytes| {
            number::bytes(*bytes)
        }),
        row("swap", &host.memory.swap_total_bytes, |bytes| {
            if *bytes == 0 {
                "none".to_owned()
            } else {
                number::bytes(*bytes)
            }
        }),
        row("kernel", &host.kernel_release, |release| {
            format!("Linux {release}")
        }),
        row("virtualisation", &host.virtualisation, |it| it.kind.clone()),
        row("container", &host.container, |it| yes_no(*it)),
        row("clock source", &host.clocksource, String::clone),
        row("NUMA nodes", &host.numa_nodes, u32::to_string),
        row("CPU governors", &host.governors, |it| it.join(", ")),
        row(
            "transparent huge pages",
            &host.transparent_huge_pages.enabled,
            String::clone,
        ),
    ];
    rows.extend(storage(host));
    rows
}

fn summary(tune: &Tune) -> Vec<Row> {
    if tune.machine.summary.is_empty() {
        return vec![Row {
            name: "host".to_owned(),
            value: format!(
                "{} (its facts were not read: the server may run elsewhere)",
                number::MISSING
            ),
            origin: String::new(),
        }];
    }
    vec![Row {
        name: "machine".to_owned(),
        value: tune.machine.summary.clone(),
        origin: String::new(),
    }]
}

fn storage(host: &Host) -> Vec<Row> {
    let mut rows = vec![row("data directory's storage", &host.data, mounted)];
    let apart = match (host.data.value(), host.wal.value()) {
        (Some(data), Some(wal)) => data.mount_point != wal.mount_point,
        _ => host.wal.value().is_some(),
    };
    if apart {
        rows.push(row("WAL's storage", &host.wal, mounted));
    }
    let storages = [host.data.value(), host.wal.value().filter(|_| apart)];
    for storage in storages.into_iter().flatten() {
        for found in storage.devices.value().into_iter().flatten() {
            rows.extend(device(found));
        }
    }
    rows
}

fn mounted(storage: &Storage) -> String {
    format!(
        "{} on {} ({})",
        storage.filesystem,
        storage.source,
        storage.mount_options.join(",")
    )
}

fn device(device: &BlockDevice) -> [Row; 3] {
    let name = |what: &str| format!("{}: {what}", device.name);
    [
        row(&name("I/O scheduler"), &device.scheduler, String::clone),
        row(&name("write cache"), &device.write_cache, String::clone),
        row(&name("rotational"), &device.rotational, |it| yes_no(*it)),
    ]
}

fn yes_no(it: bool) -> String {
    if it { "yes" } else { "no" }.to_owned()
}

fn row<T>(name: &str, fact: &Fact<T>, show: impl FnOnce(&T) -> String) -> Row {
    let value = match (fact.value(), fact.why_unknown()) {
        (Some(value), _) => show(value),
        (None, why) => format!("{} ({})", number::MISSING, why.unwrap_or("unknown")),
    };
    Row {
        name: name.to_owned(),
        value,
        origin: fact.origin.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn unknown_facts_say_why() {
        let mut tune = testing::tune();
        assert!(host(&tune)[0].value.starts_with("2 × Intel"));
        tune.machine.summary.clear();
        assert!(host(&tune)[0].value.contains("were not read"));
        tune.facts.host = Some(Host::default());
        let rows = host(&tune);
        assert!(
            rows.iter().all(|row| row.value == "– (not collected)"),
            "{rows:?}"
        );
    }

    #[test]
    fn an_older_document_is_known_by_its_beginning() {
        let mut tune = testing::tune();
        tune.name.clear();
        tune.finished_at = None;
        let rows = versions(&tune);
        assert_eq!(rows[0].1, "tune of 2026-03-14T09:26:53Z");
        assert!(rows.contains(&("finished", "–".to_owned())));
    }
}
