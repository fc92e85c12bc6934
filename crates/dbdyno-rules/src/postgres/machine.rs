//! What the machine leaves to this server: memory, CPUs, sessions at work, storage.

use dbdyno_model::host::{BlockDevice, BlockDeviceKind, Host, Storage};
use dbdyno_model::{Fact, Facts};

use crate::neighbours;

/// Memory the server may use, in bytes: what the user capped it to, else what the host and the other
/// servers on it leave.
pub(crate) fn memory(facts: &Facts) -> Fact<u64> {
    if let Some(bytes) = facts.intent.memory_bytes {
        return Fact::known(bytes, "--memory");
    }
    let Some(host) = &facts.host else {
        return Fact::unknown("the server runs on another machine; give --memory", "host");
    };
    let alone = with_hint(&host.memory.effective_bytes);
    neighbours::left(facts, host, alone)
}

/// CPUs the server may use.
pub(crate) fn cpus(facts: &Facts) -> Fact<u32> {
    if let Some(cpus) = facts.intent.cpus {
        return Fact::known(cpus, "declared");
    }
    let Some(host) = &facts.host else {
        return Fact::unknown(
            "the server runs on another machine, and its CPUs are not known",
            "host",
        );
    };
    host.cpu.effective.clone()
}

fn with_hint(memory: &Fact<u64>) -> Fact<u64> {
    match memory.why_unknown() {
        None => memory.clone(),
        Some(why) => Fact::unknown(format!("{why}; give --memory"), memory.origin.clone()),
    }
}

/// Sessions that work at the same time: declared, else four a CPU (a pool of two to four keeps
/// the CPUs busy) but never fewer than were seen at work nor more than may connect.
pub(crate) fn active_backends(facts: &Facts) -> u64 {
    if let Some(active) = facts.intent.active_connections {
        return u64::from(active.max(1));
    }
    let Some(postgres) = &facts.postgres else {
        return 1;
    };
    let may_connect = postgres
        .number("max_connections")
        .map_or(100, |number| number as u64);
    let seen = postgres
        .activity
        .value()
        .map_or(0, |activity| activity.active);
    let pool = cpus(facts)
        .get()
        .map_or(may_connect, |cpus| u64::from(cpus) * 4);
    pool.max(seen).min(may_connect).max(1)
}

/// Storage under the write-ahead log; no other stands for it.
pub(crate) fn wal_storage(facts: &Facts) -> Result<&Storage, String> {
    let host = facts
        .host
        .as_ref()
        .ok_or("the server runs on another machine")?;
    host.wal
        .value()
        .ok_or_else(|| host.wal.why_unknown().unwrap_or("unknown").to_owned())
}

/// Whether the data lies on turning disks; unknown unless every disk under it says so. A virtual
/// disk that says it turns only shows what the hypervisor left at its default.
pub(crate) fn rotational(facts: &Facts) -> Fact<bool> {
    const NAME: &str = "rotational disks";
    let Some(host) = &facts.host else {
        return Fact::unknown("the server runs on another machine", NAME);
    };
    turns(host, &host.data)
}

/// The same of what lies under another directory.
pub(crate) fn turns(host: &Host, storage: &Fact<Storage>) -> Fact<bool> {
    const NAME: &str = "rotational disks";
    let Some(storage) = storage.value() else {
        return Fact::unknown(storage.why_unknown().unwrap_or("unknown"), NAME);
    };
    let Some(devices) = storage
        .devices
        .value()
        .filter(|devices| !devices.is_empty())
    else {
        let why = format!("no block device is known under {}", storage.mount_point);
        return Fact::unknown(why, NAME);
    };
    // A partition has no medium of its own: its disk stands in the list, too.
    let disks: Vec<&BlockDevice> = devices
        .iter()
        .filter(|device| device.kind != BlockDeviceKind::Partition)
        .collect();
    let known: Vec<bool> = disks
        .iter()
        .filter_map(|device| device.rotational.get())
        .collect();
    if known.contains(&true) {
        let virtualisation = host.virtualisation.value();
        if virtualisation.is_none_or(|found| found.kind != "none") {
            let why = virtualisation.map_or("is not known to be a real one", |_| "is virtual");
            return Fact::unknown(
                format!("a disk says that it turns, but the machine {why}: its host decides"),
                NAME,
            );
        }
        return Fact::known(true, "/sys/block/*/queue/rotational");
    }
    if known.is_empty() || known.len() < disks.len() {
        return Fact::unknown("a disk does not say whether it turns", NAME);
    }
    Fact::known(false, "/sys/block/*/queue/rotational")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formulas::GIB;
    use crate::testing::{healthy, on_bare_metal};

    #[test]
    fn the_user_s_cap_wins_over_the_host() {
        let mut facts = healthy();
        assert_eq!(memory(&facts).get(), Some(25_455_230_976));
        assert_eq!(cpus(&facts).get(), Some(2));
        facts.intent.memory_bytes = Some(GIB);
        facts.intent.cpus = Some(1);
        assert_eq!(memory(&facts).get(), Some(GIB));
        assert_eq!(cpus(&facts).get(), Some(1));
    }

    #[test]
    fn a_server_elsewhere_asks_for_the_flag() {
        let mut facts = healthy();
        facts.host = None;
        assert_eq!(
            memory(&facts).why_unknown(),
            Some("the server runs on another machine; give --memory")
        );
        assert!(
            cpus(&facts)
                .why_unknown()
                .is_some_and(|why| why.ends_with("its CPUs are not known"))
        );
    }

    #[test]
    fn sessions_at_work_are_declared_or_four_a_cpu() {
        let mut facts = healthy();
        assert_eq!(active_backends(&facts), 8);
        facts.intent.active_connections = Some(50);
        assert_eq!(active_backends(&facts), 50);
        facts.intent.active_connections = None;
        facts.intent.cpus = Some(64);
        assert_eq!(active_backends(&facts), 100, "never more than may connect");
    }

    #[test]
    fn the_datas_volume_does_not_stand_for_the_logs() {
        let mut facts = healthy();
        assert!(wal_storage(&facts).is_ok());
        let unseen = Fact::unknown("permission denied", "/proc/self/mountinfo");
        facts.host.as_mut().unwrap().wal = unseen;
        assert_eq!(wal_storage(&facts), Err("permission denied".to_owned()));
    }

    #[test]
    fn one_silent_disk_leaves_the_medium_unknown_and_one_turning_disk_decides() {
        let mut facts = healthy();
        assert_eq!(rotational(&facts).get(), Some(false));
        let edit = |facts: &mut Facts, fact: Fact<bool>| {
            let host = facts.host.as_mut().unwrap();
            host.data = host.data.clone().map(|mut storage| {
                storage.devices = storage.devices.map(|mut devices| {
                    devices.push(devices[0].clone());
                    devices[1].rotational = fact;
                    devices
                });
                storage
            });
        };
        let mut silent = facts.clone();
        edit(&mut silent, Fact::default());
        assert_eq!(rotational(&silent).get(), None);
        edit(&mut facts, Fact::known(true, "test"));
        let why = rotational(&facts);
        assert!(why.why_unknown().is_some_and(|why| why.contains("virtual")));
        on_bare_metal(&mut facts);
        assert_eq!(rotational(&facts).get(), Some(true));
    }

    #[test]
    fn a_partition_leaves_the_medium_to_its_disk() {
        let with_partition = |beside_disk: bool| {
            let mut facts = healthy();
            let host = facts.host.as_mut().unwrap();
            host.data = host.data.clone().map(|mut storage| {
                storage.devices = storage.devices.map(|mut devices| {
                    let mut partition = devices[0].clone();
                    partition.kind = BlockDeviceKind::Partition;
                    partition.rotational = Fact::unknown("see its disk", "test");
                    if !beside_disk {
                        devices.clear();
                    }
                    devices.insert(0, partition);
                    devices
                });
                storage
            });
            rotational(&facts).get()
        };
        assert_eq!(with_partition(true), Some(false));
        assert_eq!(with_partition(false), None);
    }
}
