//! Facts that rule tests start from, and the words they assert with.

use dbdyno_model::host::{BlockDevice, BlockDeviceKind, Host, Raid, Storage};
use dbdyno_model::postgres::{Promotion, Setting};
use dbdyno_model::{Fact, Facts, Finding, Outcome};

use crate::Rule;
use crate::paste::tests::assert_pasted;

/// Facts captured from a healthy 2-CPU virtual machine with PostgreSQL 15 at its defaults. It had no
/// tablespaces, for which nobody looked that day.
pub(crate) fn healthy() -> Facts {
    let mut facts: Facts = serde_json::from_str(include_str!(
        "../../../fixtures/facts/vm-2cpu-postgres15.json"
    ))
    .expect("the captured facts are of this schema");
    postgres(&mut facts).tablespaces = Fact::known(Vec::new(), "pg_tablespace");
    host(&mut facts).tablespaces = Fact::known(Vec::new(), "pg_tablespace");
    facts
}

pub(crate) fn finding(rule: &Rule, facts: &Facts) -> Finding {
    match (rule.check)(facts) {
        Outcome::Finding(finding) => {
            finding.host_actions.iter().for_each(assert_pasted);
            *finding
        }
        other => panic!("{}: expected a finding, got {other:?}", rule.id),
    }
}

pub(crate) fn ok(rule: &Rule, facts: &Facts) {
    assert_eq!((rule.check)(facts), Outcome::Ok, "{}", rule.id);
}

pub(crate) fn unknown(rule: &Rule, facts: &Facts) -> String {
    match (rule.check)(facts) {
        Outcome::Unknown(why) => why,
        other => panic!("{}: expected unknown, got {other:?}", rule.id),
    }
}

pub(crate) fn not_applicable(rule: &Rule, facts: &Facts) -> String {
    match (rule.check)(facts) {
        Outcome::NotApplicable(why) => why,
        other => panic!("{}: expected not applicable, got {other:?}", rule.id),
    }
}

/// Overrides one of pg_settings' values, in the setting's own unit; adds a setting that is new.
pub(crate) fn set(facts: &mut Facts, name: &str, value: &str) {
    let server = facts.postgres.as_mut().expect("the facts have a server");
    server.settings.entry(name.to_owned()).or_default().value = value.to_owned();
}

/// Declares TPC-C: short transactions that write.
pub(crate) fn declare_tpcc(facts: &mut Facts) {
    facts.intent.workload = Some(dbdyno_model::facts::DeclaredWorkload {
        name: "tpcc".to_owned(),
        writes: true,
    });
}

/// Makes the counters as old as that, of a server that was never a standby, which is what lets rules
/// trust them.
pub(crate) fn with_statistics_of_days(facts: &mut Facts, days: f64) {
    let postgres = postgres(facts);
    let aged = |mut database: dbdyno_model::postgres::Database| {
        database.stats_age_s = Some(days * 86_400.0);
        database
    };
    postgres.database.before = postgres.database.before.clone().map(aged);
    postgres.database.after = postgres.database.after.clone().map(aged);
    let age_s = Some(days * 86_400.0);
    for wal in [&mut postgres.wal.before, &mut postgres.wal.after] {
        *wal = wal.clone().map(|mut wal| {
            wal.stats_age_s = age_s;
            wal
        });
    }
    postgres.replication.promotion = Fact::known(Promotion::default(), "pg_ls_waldir()");
    let checkpoints = &mut postgres.checkpoints;
    for fact in [&mut checkpoints.before, &mut checkpoints.after] {
        *fact = fact.clone().map(|mut all| {
            all.stats_age_s = age_s;
            all.cleaning_age_s = age_s;
            all.backend_age_s = age_s;
            all
        });
    }
    let databases = &mut postgres.database_counters;
    for fact in [&mut databases.before, &mut databases.after] {
        *fact = fact.clone().map(|mut all| {
            for one in &mut all {
                one.stats_age_s = age_s;
            }
            all
        });
    }
}

pub(crate) fn postgres(facts: &mut Facts) -> &mut dbdyno_model::postgres::Postgres {
    facts
        .postgres
        .as_mut()
        .expect("the captured facts have a server")
}

/// Like `set`, as the owner's configuration file would: such a setting must exist.
pub(crate) fn configure(facts: &mut Facts, name: &str, value: &str) {
    let setting = setting(facts, name);
    setting.value = value.to_owned();
    setting.source = "configuration file".to_owned();
}

/// One of pg_settings, to be changed in what `set` and `configure` leave alone.
pub(crate) fn setting<'a>(facts: &'a mut Facts, name: &str) -> &'a mut Setting {
    postgres(facts)
        .settings
        .get_mut(name)
        .unwrap_or_else(|| panic!("no setting {name}"))
}

pub(crate) fn host(facts: &mut Facts) -> &mut Host {
    facts.host.as_mut().expect("the captured facts have a host")
}

/// Nothing but the machine itself is below the facts.
pub(crate) fn on_bare_metal(facts: &mut Facts) {
    let kind = "none".to_owned();
    let virtualisation = dbdyno_model::host::Virtualisation { kind };
    host(facts).virtualisation = Fact::known(virtualisation, "/proc/cpuinfo");
}

/// Changes the storage under data and write-ahead log.
pub(crate) fn storage(facts: &mut Facts, change: impl Fn(&mut Storage)) {
    let host = host(facts);
    for fact in [&mut host.data, &mut host.wal] {
        *fact = fact.clone().map(|mut storage| {
            change(&mut storage);
            storage
        });
    }
}

/// Changes the devices under data and write-ahead log, top first.
pub(crate) fn devices(facts: &mut Facts, change: impl Fn(&mut Vec<BlockDevice>)) {
    storage(facts, |storage| {
        storage.devices = storage.devices.clone().map(|mut devices| {
            change(&mut devices);
            devices
        });
    });
}

/// The captured machine with its data on an md array, in chunks of 512 KiB.
pub(crate) fn with_array(level: &str, disks: u64) -> Facts {
    let mut facts = healthy();
    let raid = Raid {
        level: Fact::known(level.to_owned(), "/sys/block/md0/md/level"),
        disks: Fact::known(disks, "/sys/block/md0/md/raid_disks"),
        chunk_bytes: Fact::known(512 << 10, "/sys/block/md0/md/chunk_size"),
        ..Raid::default()
    };
    devices(&mut facts, |devices| {
        let array = BlockDevice {
            name: "md0".to_owned(),
            kind: BlockDeviceKind::MdRaid,
            raid: Some(raid.clone()),
            ..devices[0].clone()
        };
        devices.insert(0, array);
    });
    facts
}

/// Changes what the array says of itself.
pub(crate) fn array(facts: &mut Facts, change: impl Fn(&mut Raid)) {
    devices(facts, |devices| {
        let raid = devices[0].raid.as_mut();
        change(raid.expect("the facts have an array"));
    });
}

/// Changes what is known of the server's process.
pub(crate) fn process(
    facts: &mut Facts,
    change: impl FnOnce(&mut dbdyno_model::host::ServerProcess),
) {
    let fact = &mut host(facts).server_process;
    *fact = fact.clone().map(|mut process| {
        change(&mut process);
        process
    });
}

/// Gives the server's process a systemd unit whose file sets these.
pub(crate) fn with_unit(facts: &mut Facts, directives: &[(&str, &str)]) {
    let directives = (2_u32..)
        .zip(directives)
        .map(|(line, (name, value))| dbdyno_model::host::UnitDirective {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            file: "/etc/systemd/system/postgresql@15-main.service.d/site.conf".to_owned(),
            line,
        })
        .collect();
    let unit = dbdyno_model::host::Unit {
        name: "postgresql@15-main.service".to_owned(),
        directives,
    };
    process(facts, |process| {
        process.unit = Fact::known(unit, "systemd unit");
    });
}
