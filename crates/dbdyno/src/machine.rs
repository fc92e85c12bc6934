//! The machine in one line, for verdicts and documents.

use dbdyno_model::host::Host;
use dbdyno_model::tune::Machine;
use dbdyno_report::number;

pub(crate) fn of(host: &Host) -> Machine {
    let cpus = host.cpu.effective.get();
    let memory = host.memory.effective_bytes.get();
    let storage = storage(host);
    let virtualisation = host
        .virtualisation
        .value()
        .map(|virtualisation| virtualisation.kind.clone());
    let parts = [
        match (cpus, host.cpu.model.value()) {
            (Some(cpus), Some(model)) => Some(format!("{cpus} × {model}")),
            (Some(cpus), None) => Some(format!("{cpus} CPUs")),
            (None, model) => model.cloned(),
        },
        memory.map(number::bytes),
        storage.clone(),
        host.kernel_release
            .value()
            .map(|release| format!("Linux {release}")),
        virtualisation.clone().filter(|kind| kind != "none"),
    ];
    Machine {
        summary: parts.into_iter().flatten().collect::<Vec<_>>().join(", "),
        cpus,
        cpu_model: host.cpu.model.value().cloned(),
        memory_bytes: memory,
        kernel: host.kernel_release.value().cloned(),
        storage,
        virtualisation,
    }
}

/// `ext4 on vda`.
fn storage(host: &Host) -> Option<String> {
    let data = host.data.value()?;
    let devices = data.devices.value().map(Vec::as_slice).unwrap_or_default();
    Some(match devices.last() {
        Some(device) => format!("{} on {}", data.filesystem, device.name),
        None => data.filesystem.clone(),
    })
}
