//! A running lab server: started as our direct child, stopped when dropped.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use dbdyno_model::{Address, Connection, Engine, SslMode};
use rustix::process::Signal;

use super::instance::Shared;
use super::{Account, LabError};
use crate::process;

const PORT: u16 = 5432;
/// Crash recovery of a large WAL takes its time; a hanging start has to end some time.
const LONGEST_START: Duration = Duration::from_secs(600);
const LONGEST_STOP: Duration = Duration::from_secs(120);

/// How to stop a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Clients are disconnected and a checkpoint is written.
    Fast,
    /// No checkpoint: the next start recovers.
    Immediate,
    /// SIGKILL to every process, as a crash does.
    Kill,
}

#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    child: Child,
    data: PathBuf,
    log: PathBuf,
    started_in: Duration,
}

impl Server {
    pub(super) fn start(
        shared: Arc<Shared>,
        data: &Path,
        settings: &BTreeMap<String, String>,
    ) -> Result<Self, LabError> {
        write_settings(&shared, data, settings)?;
        let log = shared.directory.join("server.log");
        let output = File::create(&log).map_err(LabError::io("create", &log))?;
        let copy = output.try_clone().map_err(LabError::io("open", &log))?;
        let begin = Instant::now();
        // The shell waits until it is in its cgroup, and then becomes the server.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", r#"read -r go && exec "$0" "$@""#]);
        command.arg(shared.binaries.program("postgres"));
        command.arg("-D").arg(data).arg("-k").arg(&shared.sockets);
        command.args(["-c", "listen_addresses=", "-c", "logging_collector=off"]);
        command
            .args(["-c", "log_destination=stderr", "-c"])
            .arg(format!("port={PORT}"));
        Account::prepare(shared.account.as_ref(), &mut command);
        command.stdin(Stdio::piped()).stdout(copy).stderr(output);
        let mut child = command.spawn().map_err(|error| LabError::Start {
            reason: error.to_string(),
            log: String::new(),
        })?;
        shared.running.store(child.id(), Ordering::SeqCst);
        if let Some(cap) = &shared.cap {
            // Sizing holds to the cap even where the kernel does not enforce it.
            let _ = cap.admit(child.id());
        }
        if let Some(mut stdin) = child.stdin.take() {
            // Fails only if the shell is gone, which the wait below reports.
            let _ = stdin.write_all(b"go\n");
        }
        let mut server = Self {
            shared,
            child,
            data: data.to_path_buf(),
            log,
            started_in: Duration::ZERO,
        };
        server.wait_until_ready(begin)?;
        server.started_in = begin.elapsed();
        Ok(server)
    }

    fn wait_until_ready(&mut self, begin: Instant) -> Result<(), LabError> {
        let pid_file = self.data.join("postmaster.pid");
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                let reason = format!("it ended with {status}");
                return Err(LabError::Start {
                    reason,
                    log: self.log_tail(),
                });
            }
            // Line 8 says `ready` once connections are accepted. Line 1 must be ours: a killed
            // server's file may still be there.
            let text = fs::read_to_string(&pid_file).unwrap_or_default();
            let mut lines = text.lines();
            let ours = lines.next() == Some(&self.child.id().to_string());
            if ours && lines.nth(6).is_some_and(|status| status.trim() == "ready") {
                return Ok(());
            }
            if begin.elapsed() > LONGEST_START {
                let reason = format!("it was not ready after {} s", LONGEST_START.as_secs());
                return Err(LabError::Start {
                    reason,
                    log: self.log_tail(),
                });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn connection(&self) -> Connection {
        Connection {
            engine: Engine::Postgres,
            address: Address::Socket(self.shared.sockets.clone()),
            port: PORT,
            user: "postgres".into(),
            password: None,
            database: "postgres".into(),
            ssl_mode: SslMode::Disable,
            ssl_root_cert: None,
            connect_timeout_s: 30,
            options: None,
            client_certificate: None,
        }
    }

    /// Process id of the postmaster.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    /// From the start of the process until connections were accepted; includes crash recovery.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// Whether the postmaster is still there.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The last lines of the server's own log.
    pub fn log_tail(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }

    /// Stops the server and waits until all of its processes are gone.
    pub fn stop(mut self, how: Stop) {
        self.end(how);
    }

    fn end(&mut self, how: Stop) {
        if !self.is_running() {
            self.shared.running.store(0, Ordering::SeqCst);
            return;
        }
        let tree = process::tree(self.child.id());
        match how {
            Stop::Fast => {
                process::signal(self.child.id(), Signal::INT);
            }
            Stop::Immediate => {
                process::signal(self.child.id(), Signal::QUIT);
            }
            Stop::Kill => {
                for pid in &tree {
                    process::signal(*pid, Signal::KILL);
                }
            }
        }
        let begin = Instant::now();
        while self.is_running() {
            if begin.elapsed() > LONGEST_STOP {
                for pid in process::tree(self.child.id()) {
                    process::signal(pid, Signal::KILL);
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // Children of a killed postmaster end by themselves; the data is theirs until then.
        while tree.iter().any(|pid| process::is_alive(*pid)) && begin.elapsed() < LONGEST_STOP {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.shared.running.store(0, Ordering::SeqCst);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(Stop::Immediate);
    }
}

/// Writes the arm's settings where the template's postgresql.conf includes them.
fn write_settings(
    shared: &Shared,
    data: &Path,
    settings: &BTreeMap<String, String>,
) -> Result<(), LabError> {
    let path = data.join("dbdyno.conf");
    let mut text = String::new();
    for (name, value) in settings {
        text.push_str(&format!(
            "{name} = '{}'\n",
            value.replace('\\', "\\\\").replace('\'', "''")
        ));
    }
    fs::write(&path, text).map_err(LabError::io("write", &path))?;
    shared
        .account
        .as_ref()
        .map_or(Ok(()), |account| account.own(&path))
}
