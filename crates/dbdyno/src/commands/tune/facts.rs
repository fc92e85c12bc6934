//! Reads one server and, where it runs here, the host under it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use dbdyno_model::facts::{Facts, Intent};
use dbdyno_model::host::Sampled;
use dbdyno_model::{Connection, Fact};
use dbdyno_target::connection;
use dbdyno_target::host::{self, HostOptions, Root};
use dbdyno_target::postgres::{self, CollectOptions};

use crate::clock;
use crate::exit::{Exit, Failure};
use crate::target::postmaster;

/// Long enough for rates, short enough that the plan is on the screen at once.
const WINDOW: Duration = Duration::from_secs(1);

/// Everything about the server behind the connection; it is only read.
pub(super) fn collect(to: &Connection, intent: Intent) -> Result<Facts, Failure> {
    let mut client = connection::connect(to)
        .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))?;
    let postmaster = postmaster(&mut client);
    let root = Root::host();
    let begun = Instant::now();
    let watched = HostOptions {
        server_pid: postmaster,
        ..HostOptions::default()
    };
    let before = (host::sample(&root), host::traffic(&root, &watched));
    let collected = postgres::collect(&mut client, &CollectOptions { window: WINDOW })
        .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))?;
    let after = (host::sample(&root), host::traffic(&root, &watched));
    let seconds = begun.elapsed().as_secs_f64();
    let host = postmaster.map(|pid| {
        let data = data_directory(&collected.postgres, pid);
        let options = HostOptions {
            wal_directory: data.as_ref().map(|data| data.join("pg_wal")),
            data_directory: data,
            server_pid: Some(pid),
        };
        let mut host = host::collect(&root, &options);
        host.vmstat = Sampled {
            before: before.0.0,
            after: after.0.0,
            seconds,
        };
        host.cpu_time = Sampled {
            before: before.0.1,
            after: after.0.1,
            seconds,
        };
        host.traffic = Sampled {
            before: before.1,
            after: after.1,
            seconds,
        };
        host
    });
    Ok(Facts {
        schema: Facts::SCHEMA.to_owned(),
        collected_at: clock::now(),
        host,
        postgres: Some(collected.postgres),
        intent,
        failures: collected.failures,
    })
}

/// The host's facts alone, before any server runs.
pub(super) fn of_host() -> dbdyno_model::host::Host {
    host::collect(&Root::host(), &HostOptions::default())
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
pub(super) fn memory_here(
    host: &dbdyno_model::host::Host,
    cap: Option<u64>,
) -> Result<u64, Failure> {
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
    if available < super::options::LEAST_MEMORY {
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
