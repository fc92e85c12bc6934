//! Loads the data once, checks it, and leaves it as the template of every run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use dbdyno_bench::workload::{Progress, When, Workload};
use dbdyno_model::Connection;
use dbdyno_model::run::Check;
use dbdyno_model::tune::Load;
use dbdyno_target::connection;
use dbdyno_target::lab::{Lab, Stop};

use crate::disk::full_or;
use crate::error::TrialError;

/// What the load left behind.
#[derive(Debug, Clone)]
pub struct Template {
    pub load: Load,
    pub checks: Vec<Check>,
}

/// How the data is loaded: durability would only cost time, since a load that is cut off is thrown
/// away, and write-ahead log that is not kept need not be copied into every clone.
pub fn load_settings(memory_bytes: u64) -> BTreeMap<String, String> {
    let mib = |bytes: u64| format!("{}MB", (bytes >> 20).max(16));
    let settings = [
        ("fsync", "off".to_owned()),
        ("full_page_writes", "off".to_owned()),
        ("synchronous_commit", "off".to_owned()),
        ("wal_level", "minimal".to_owned()),
        ("max_wal_senders", "0".to_owned()),
        ("wal_recycle", "off".to_owned()),
        ("max_wal_size", "4GB".to_owned()),
        ("checkpoint_timeout", "1h".to_owned()),
        ("autovacuum", "off".to_owned()),
        ("shared_buffers", mib((memory_bytes / 4).min(2 << 30))),
        (
            "maintenance_work_mem",
            mib((memory_bytes / 32).min(512 << 20)),
        ),
    ];
    settings
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Loads the workload into the lab's template, which initdb has made, and checks it.
pub fn load_template(
    lab: &Lab,
    workload: &Workload,
    threads: usize,
    memory_bytes: u64,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Template, TrialError> {
    load(lab, workload, threads, memory_bytes, progress, stop).map_err(|error| full_or(lab, error))
}

fn load(
    lab: &Lab,
    workload: &Workload,
    threads: usize,
    memory_bytes: u64,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Template, TrialError> {
    let data = lab.template();
    let server = lab.start(&data, &load_settings(memory_bytes))?;
    let connection = server.connection();
    let loaded = workload
        .load(&connection, threads, progress, stop)
        .map_err(|error| {
            let interrupted = stop.load(std::sync::atomic::Ordering::Relaxed);
            if interrupted {
                return TrialError::Interrupted;
            }
            let hint = error.hint().map(|hint| hint.to_string());
            TrialError::Load {
                message: with_causes(&error),
                hint,
            }
        })?;
    progress(Progress {
        phase: "check",
        rows: loaded.rows,
        rows_total: loaded.rows,
    });
    let checks = workload
        .check(&connection, When::AfterLoad)
        .map_err(|error| {
            if stop.load(std::sync::atomic::Ordering::Relaxed) {
                return TrialError::Interrupted;
            }
            TrialError::Server {
                operation: "check the loaded data",
                message: with_causes(&error),
            }
        })?;
    if let Some(broken) = checks.iter().find(|check| !check.passed) {
        return Err(TrialError::Inconsistent {
            arm: "template".into(),
            check: broken.name.clone(),
            run: 0,
            detail: broken.detail.clone().unwrap_or_default(),
        });
    }
    make_prewarm(&connection)?;
    server.stop(Stop::Fast);
    let load = Load {
        seconds: loaded.seconds,
        rows: loaded.rows,
        rows_per_s: if loaded.seconds > 0.0 {
            loaded.rows as f64 / loaded.seconds
        } else {
            0.0
        },
        bytes: Some(size_of_tree(&data)),
        threads: u32::try_from(threads).unwrap_or(u32::MAX),
    };
    Ok(Template { load, checks })
}

/// The extension that reads data into the cache belongs to the server's contrib programs, which
/// some builds lack; runs then start with a cold cache.
fn make_prewarm(to: &Connection) -> Result<(), TrialError> {
    let failed = |error: &dyn std::error::Error| TrialError::Server {
        operation: "prepare the template",
        message: with_causes(error),
    };
    let mut client = connection::connect(to).map_err(|error| failed(&error))?;
    let known = "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_prewarm'";
    if client
        .query_one(known, &[])
        .map_err(|error| failed(&error))?
        .get::<_, i64>(0)
        > 0
    {
        let create = client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm");
        create.map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// An error with what caused it, on one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

fn size_of_tree(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return 0;
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some(if metadata.is_dir() {
                size_of_tree(&entry.path())
            } else {
                metadata.len()
            })
        })
        .sum()
}
