//! The storage under a database, as far as it was read: what passes on a part says nothing of the rest.

use std::ops::Deref;

use dbdyno_model::Outcome;
use dbdyno_model::host::{BlockDevice, Host, Storage};

use crate::rule::need_ref;

/// What was read, and the outcome that names what was not.
#[derive(Debug)]
pub(crate) struct Seen<T> {
    pub(crate) all: Vec<T>,
    unread: Option<Outcome>,
}

impl<T> Seen<T> {
    /// What is said of all that was read holds for the whole only where the whole was read.
    pub(crate) fn or_unread(&self, outcome: Outcome) -> Result<Outcome, Outcome> {
        match &self.unread {
            Some(unread) => Err(unread.clone()),
            None => Ok(outcome),
        }
    }

    /// The same with something more that was not read.
    pub(crate) fn lacking(self, unread: Option<Outcome>) -> Self {
        Self {
            all: self.all,
            unread: self.unread.or(unread),
        }
    }

    pub(crate) fn filter_map<U>(self, choose: impl FnMut(T) -> Option<U>) -> Seen<U> {
        Seen {
            all: self.all.into_iter().filter_map(choose).collect(),
            unread: self.unread,
        }
    }
}

/// A storage, and where its mount was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mounted<'a> {
    storage: &'a Storage,
    pub(crate) origin: &'a str,
    of: &'static str,
    /// Whether the write-ahead log lies here.
    pub(crate) holds_log: bool,
}

impl Deref for Mounted<'_> {
    type Target = Storage;

    fn deref(&self) -> &Storage {
        self.storage
    }
}

/// The data directory's storage, and those of the write-ahead log and of tablespaces where they are
/// others.
pub(crate) fn storages(host: &Host) -> Result<Seen<Mounted<'_>>, Outcome> {
    let data = need_ref(&host.data, "storage of the data directory")?;
    let mut all = vec![Mounted {
        storage: data,
        origin: &host.data.origin,
        of: "data directory",
        holds_log: false,
    }];
    let mut unread = match need_ref(&host.wal, "storage of the write-ahead log") {
        Ok(wal) => {
            if is_same(wal, data) {
                all[0].holds_log = true;
            } else {
                all.push(Mounted {
                    storage: wal,
                    origin: &host.wal.origin,
                    of: "write-ahead log",
                    holds_log: true,
                });
            }
            None
        }
        Err(unread) => Some(unread),
    };
    let (tablespaces, unnamed) = match need_ref(&host.tablespaces, "tablespaces of the server") {
        Ok(all) => (all.as_slice(), None),
        Err(why) => (&[][..], Some(why)),
    };
    for tablespace in tablespaces {
        let name = format!("storage of the tablespace at {}", tablespace.location);
        match need_ref(&tablespace.storage, &name) {
            Ok(storage) if all.iter().any(|known| is_same(known, storage)) => {}
            Ok(storage) => all.push(Mounted {
                storage,
                origin: &tablespace.storage.origin,
                of: "tablespace",
                holds_log: false,
            }),
            Err(why) => unread = unread.or(Some(why)),
        }
    }
    Ok(Seen {
        all,
        unread: unread.or(unnamed),
    })
}

/// Whether two directories lie in one file system.
fn is_same(one: &Storage, other: &Storage) -> bool {
    one.mount_point == other.mount_point && one.source == other.source
}

/// The block devices under data, write-ahead log and tablespaces, each once, from the top down.
pub(crate) fn block_devices(host: &Host) -> Result<Seen<&BlockDevice>, Outcome> {
    let storages = storages(host)?;
    let mut all: Vec<&BlockDevice> = Vec::new();
    let mut unread = storages.unread;
    for mounted in &storages.all {
        let name = format!("block devices under the {}", mounted.of);
        match need_ref(&mounted.storage.devices, &name) {
            Ok(devices) => {
                for device in devices {
                    if !all.iter().any(|known| known.name == device.name) {
                        all.push(device);
                    }
                }
            }
            Err(why) => unread = unread.or(Some(why)),
        }
    }
    if all.is_empty() {
        let kind = storages
            .all
            .first()
            .map_or("its storage", |storage| &storage.storage.filesystem);
        return Err(unread.unwrap_or_else(|| {
            Outcome::NotApplicable(format!("{kind} shows no block device of its own"))
        }));
    }
    Ok(Seen { all, unread })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{healthy, host};
    use crate::{catalogue, check};
    use dbdyno_model::{Fact, Facts};

    const WHY: &str = "permission denied; only root or its owner may look into it";

    fn without_the_log() -> Facts {
        let mut facts = healthy();
        host(&mut facts).wal = Fact::unknown(WHY, "/proc/self/mountinfo");
        facts
    }

    #[test]
    fn a_log_beside_the_data_is_the_same_storage_and_an_unread_one_is_none() {
        let facts = healthy();
        let seen = storages(facts.host.as_ref().unwrap()).unwrap();
        assert!(seen.unread.is_none() && seen.all.len() == 1);
        assert_eq!(seen.or_unread(Outcome::Ok), Ok(Outcome::Ok));

        let facts = without_the_log();
        let seen = storages(facts.host.as_ref().unwrap()).unwrap();
        assert!(seen.unread.is_some() && seen.all.len() == 1);
        let why = format!("storage of the write-ahead log: {WHY}");
        assert_eq!(seen.or_unread(Outcome::Ok), Err(Outcome::Unknown(why)));
    }

    #[test]
    fn a_tablespace_elsewhere_is_judged_and_an_unread_one_passes_nothing() {
        use dbdyno_model::host::TablespaceStorage;
        let mut facts = healthy();
        let host = host(&mut facts);
        let beside = TablespaceStorage {
            location: "/fast".to_owned(),
            storage: host.data.clone(),
        };
        let mut elsewhere = beside.clone();
        elsewhere.storage = elsewhere.storage.map(|mut storage| {
            storage.mount_point = "/fast".to_owned();
            storage.filesystem = "tmpfs".to_owned();
            storage
        });
        let known = |all: &[&TablespaceStorage]| {
            let all: Vec<TablespaceStorage> = all.iter().copied().cloned().collect();
            Fact::known(all, "pg_tablespace")
        };
        host.tablespaces = known(&[&beside]);
        assert_eq!(storages(host).unwrap().all.len(), 1);
        host.tablespaces = known(&[&beside, &elsewhere]);
        let seen = storages(host).unwrap();
        assert_eq!(seen.all.len(), 2);
        let of_log: Vec<bool> = seen.all.iter().map(|one| one.holds_log).collect();
        assert_eq!(of_log, [true, false]);
        elsewhere.storage = Fact::unknown(WHY, "/proc/self/mountinfo");
        host.tablespaces = known(&[&beside, &elsewhere]);
        let seen = storages(host).unwrap();
        assert!(seen.unread.is_some());
        let why = format!("storage of the tablespace at /fast: {WHY}");
        assert_eq!(seen.or_unread(Outcome::Ok), Err(Outcome::Unknown(why)));
    }

    #[test]
    fn where_the_server_did_not_name_its_tablespaces_no_rule_on_storage_passes() {
        let mut facts = healthy();
        host(&mut facts).tablespaces = Fact::unknown("permission denied", "pg_tablespace");
        let seen = storages(facts.host.as_ref().unwrap()).unwrap();
        assert_eq!(seen.all.len(), 1);
        let why = "tablespaces of the server: permission denied".to_owned();
        assert_eq!(seen.or_unread(Outcome::Ok), Err(Outcome::Unknown(why)));
        let passed = check(&facts).passed;
        assert!(!passed.iter().any(|rule| rule.starts_with("filesystem.")));
    }

    #[test]
    fn a_file_system_in_memory_under_a_tablespace_is_found() {
        use dbdyno_model::host::TablespaceStorage;
        let mut facts = healthy();
        let host = host(&mut facts);
        let storage = host.data.clone().map(|mut storage| {
            storage.path = "/fast".to_owned();
            storage.mount_point = "/fast".to_owned();
            storage.filesystem = "tmpfs".to_owned();
            storage
        });
        let tablespace = TablespaceStorage {
            location: "/fast".to_owned(),
            storage,
        };
        host.tablespaces = Fact::known(vec![tablespace], "pg_tablespace");
        let found = check(&facts).findings;
        let found = found.iter().find(|one| one.rule == "filesystem.type");
        assert!(found.unwrap().message.starts_with("/fast lies on tmpfs"));
    }

    #[test]
    fn devices_of_the_one_do_not_stand_for_those_of_the_other() {
        let mut facts = healthy();
        let host = host(&mut facts);
        host.wal = host.wal.clone().map(|mut wal| {
            wal.mount_point = "/wal".to_owned();
            wal.devices = Fact::unknown("no such file", "/sys/dev/block");
            wal
        });
        let seen = block_devices(host).unwrap();
        assert_eq!(seen.all.len(), 1);
        let why = "block devices under the write-ahead log: no such file".to_owned();
        assert_eq!(seen.or_unread(Outcome::Ok), Err(Outcome::Unknown(why)));
    }

    /// What an ordinary user is told: the server's directory lets nobody else look for the log.
    #[test]
    fn no_rule_on_storage_passes_a_log_that_nobody_saw() {
        let passes = |facts: &Facts| check(facts).passed;
        let of_storage = |rule: &&str| rule.starts_with("filesystem.");
        let whole: Vec<&str> = passes(&healthy()).into_iter().filter(of_storage).collect();
        assert!(whole.contains(&"filesystem.type") && whole.contains(&"filesystem.space"));
        let part = passes(&without_the_log());
        assert_eq!(part.iter().copied().find(of_storage), None);
        assert!(!part.contains(&"kernel.scheduler"));
        // Nor does any say that there is nothing that it could be about.
        let about_storage = [
            "hardware.lvm_alignment",
            "hardware.parity_raid",
            "hardware.partition_alignment",
            "hardware.raid_degraded",
            "hardware.raid_stripe_cache",
            "hardware.raid_write_hole",
        ];
        let rules = catalogue();
        for id in about_storage {
            let rule = rules.iter().find(|rule| rule.id == id).unwrap();
            match (rule.check)(&without_the_log()) {
                Outcome::Unknown(why) => assert!(why.ends_with(WHY), "{id}: {why}"),
                other => panic!("{id}: {other:?}"),
            }
        }
    }
}
