//! Reads one server and, where it runs here, the host under it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ::postgres::Client;
use dbdyno_model::facts::{Facts, Intent};
use dbdyno_model::host::{CpuTime, Host, Sampled, Traffic, VmStat};
use dbdyno_model::{Connection, Fact};
use dbdyno_target::connection;
use dbdyno_target::host::{self, HostOptions, Root};
use dbdyno_target::postgres::{self, CollectOptions};

use crate::clock;
use crate::collecting::{PATIENCE, within};
use crate::exit::{Exit, Failure};
use crate::memory::LEAST_MEMORY;
use crate::neighbours;
use crate::target::postmaster;

/// Long enough for rates, short enough that the plan is on the screen at once.
const WINDOW: Duration = Duration::from_secs(1);

/// Everything about the server behind the connection; it is only read. Where it runs here, what other
/// servers hold of the host stands beside it.
pub(crate) fn collect(to: &Connection, intent: Intent) -> Result<Facts, Failure> {
    let mut client = connection::connect(to)
        .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))?;
    let (facts, postmaster) = within(WINDOW + PATIENCE, &to.display(), move || {
        let postmaster = postmaster(&mut client);
        let facts = read(&mut client, postmaster, WINDOW)?;
        Ok((facts, postmaster))
    })?;
    // A lab server has the memory that it was given.
    let unreached = postmaster
        .filter(|_| !intent.lab)
        .map(|named| neighbours::of(named, None));
    Ok(Facts {
        intent,
        unreached: unreached.unwrap_or_default(),
        ..facts
    })
}

/// The same of an open session, and of the host where the server's main process is known.
pub(crate) fn read(
    client: &mut Client,
    postmaster: Option<u32>,
    window: Duration,
) -> Result<Facts, Failure> {
    let root = Root::host();
    let begun = Instant::now();
    let watched = HostOptions {
        server_pid: postmaster,
        ..HostOptions::default()
    };
    let before = Counters::read(&root, &watched);
    let collected = postgres::collect(client, &CollectOptions { window })
        .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))?;
    let after = Counters::read(&root, &watched);
    let seconds = begun.elapsed().as_secs_f64();
    let host = postmaster.map(|pid| {
        let data = data_directory(&collected.postgres, pid);
        let options = HostOptions {
            wal_directory: data.as_ref().map(|data| data.join("pg_wal")),
            data_directory: data,
            server_pid: Some(pid),
            tablespaces: locations(&collected.postgres),
        };
        windowed(host::collect(&root, &options), before, after, seconds)
    });
    Ok(Facts {
        host,
        postgres: Some(collected.postgres),
        failures: collected.failures,
        ..empty(window)
    })
}

/// Facts of which nothing was read yet.
pub(crate) fn empty(window: Duration) -> Facts {
    Facts {
        schema: Facts::SCHEMA.to_owned(),
        dbdyno_version: env!("CARGO_PKG_VERSION").to_owned(),
        collected_at: clock::now(),
        window_s: window.as_secs_f64(),
        ..Facts::default()
    }
}

/// The host's facts alone, with its counters over the window.
pub(crate) fn of_host_over(root: &Root, options: &HostOptions, window: Duration) -> Facts {
    let begun = Instant::now();
    let before = Counters::read(root, options);
    std::thread::sleep(window);
    let after = Counters::read(root, options);
    let seconds = begun.elapsed().as_secs_f64();
    let host = host::collect(root, options);
    Facts {
        host: Some(windowed(host, before, after, seconds)),
        ..empty(window)
    }
}

/// The host's counters at one moment.
struct Counters {
    vmstat: Fact<VmStat>,
    cpu_time: Fact<CpuTime>,
    traffic: Fact<Traffic>,
}

impl Counters {
    fn read(root: &Root, options: &HostOptions) -> Self {
        let (vmstat, cpu_time) = host::sample(root);
        Self {
            vmstat,
            cpu_time,
            traffic: host::traffic(root, options),
        }
    }
}

fn windowed(mut host: Host, before: Counters, after: Counters, seconds: f64) -> Host {
    host.vmstat = Sampled {
        before: before.vmstat,
        after: after.vmstat,
        seconds,
    };
    host.cpu_time = Sampled {
        before: before.cpu_time,
        after: after.cpu_time,
        seconds,
    };
    host.traffic = Sampled {
        before: before.traffic,
        after: after.traffic,
        seconds,
    };
    host
}

/// The host's facts alone, before any server runs.
pub(crate) fn of_host() -> Host {
    host::collect(&Root::host(), &HostOptions::default())
}

/// Where tablespaces lie; a server that was not asked, or did not answer, may have any.
fn locations(server: &dbdyno_model::postgres::Postgres) -> Fact<Vec<String>> {
    let tablespaces = server.tablespaces.clone();
    tablespaces.map(|all| all.into_iter().map(|one| one.location).collect())
}

fn data_directory(server: &dbdyno_model::postgres::Postgres, pid: u32) -> Option<PathBuf> {
    let setting = server
        .setting("data_directory")
        .map(|setting| setting.value.as_str());
    match setting.filter(|value| !value.is_empty()) {
        Some(directory) => Some(PathBuf::from(directory)),
        // The server works in its data directory.
        None => std::fs::read_link(format!("/proc/{pid}/cwd")).ok(),
    }
}

/// Memory that a lab server may have here: what is free, within the machine's and the user's limit.
pub(crate) fn memory_here(host: &Host, cap: Option<u64>) -> Result<u64, Failure> {
    let effective = known(&host.memory.effective_bytes)?;
    let available = known(&host.memory.available_bytes)?.min(effective);
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64);
    if let Some(cap) = cap {
        return if cap <= effective {
            Ok(cap)
        } else {
            Err(Failure::usage(
                format!(
                    "--memory {} is more than this machine's {}",
                    gib(cap),
                    gib(effective)
                ),
                format!("{} are free now", gib(available)),
            ))
        };
    }
    if available < LEAST_MEMORY {
        return Err(Failure::new(
            Exit::Surroundings,
            format!(
                "only {} MiB of memory are free, too little for a lab server",
                available >> 20
            ),
            Some("stop something else first".into()),
        ));
    }
    // A round figure, so that the same machine gives the same plan the next time.
    Ok(available & !((256 << 20) - 1))
}

fn known(fact: &Fact<u64>) -> Result<u64, Failure> {
    fact.get().ok_or_else(|| {
        Failure::new(
            Exit::Surroundings,
            format!(
                "cannot read {}: {}",
                fact.origin,
                fact.why_unknown().unwrap_or("unknown")
            ),
            Some("pass --memory to say how much the server may have".into()),
        )
    })
}
