//! The files of a run, written as soon as it has ended.

use std::path::{Path, PathBuf};

use dbdyno_model::Bench;
use dbdyno_report::bench_csv;

use crate::cli::BenchRun;
use crate::exit::{Exit, Failure};
use crate::files;

/// The seconds of all runs so far, and the log of the last one.
pub(super) fn write(arguments: &BenchRun, runs: &[Bench], hdr_log: &str) -> Result<(), Failure> {
    let csv = match &arguments.csv {
        Some(path) => put(path, &bench_csv(runs)),
        None => Ok(()),
    };
    let hdr = match (&arguments.hdr, runs.split_last()) {
        (Some(path), Some((last, earlier))) if arguments.connections.len() > 1 => {
            let same = |run: &&Bench| run.connections == last.connections;
            let before = earlier.iter().filter(same).count();
            put(&numbered(path, last.connections, before), hdr_log)
        }
        (Some(path), _) => put(path, hdr_log),
        (None, _) => Ok(()),
    };
    csv.and(hdr)
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    files::write(path, text.as_bytes()).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        Failure::new(Exit::Surroundings, message, None)
    })
}

/// `run.hdr` becomes `run-8.hdr`, and `run-8-2.hdr` for a second run of as many connections.
fn numbered(path: &Path, connections: u32, before: usize) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{connections}"));
    if before > 0 {
        name.push(format!("-{}", before + 1));
    }
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_of_several_has_its_own_log() {
        let named = |path: &str, connections, before| {
            let path = numbered(Path::new(path), connections, before);
            path.display().to_string()
        };
        assert_eq!(named("a/run.hdr", 8, 0), "a/run-8.hdr");
        assert_eq!(named("a/run.hdr", 8, 1), "a/run-8-2.hdr");
        assert_eq!(named("log", 16, 0), "log-16");
        assert_eq!(named("log", 16, 2), "log-16-3");
    }
}
