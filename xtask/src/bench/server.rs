//! A server of the benchmark's own, with its data below target/: started, stopped and removed here.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use dbdyno_target::lab::Account;
use dbdyno_target::process::{self, Signal};

use super::guard::Guard;
use crate::command;

/// Whatever takes longer hangs.
const LONGEST_START: Duration = Duration::from_secs(120);
const LONGEST_STOP: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(20);

/// Where a server and its files are to be. Dropping it removes them.
#[derive(Debug)]
pub(super) struct Place {
    /// The account that a server runs as, where this process is root's.
    account: Option<Account>,
    /// Of its data and its log.
    pub(super) home: PathBuf,
    /// Of its socket, whose path has to be short.
    pub(super) sockets: PathBuf,
}

impl Place {
    /// Fresh directories, which the server's account owns.
    pub(super) fn make(name: &str) -> Result<Self, String> {
        let account = Account::for_server().map_err(|error| error.to_string())?;
        let above = command::root().join("target/bench/servers");
        make_passable(&above)?;
        let own = format!("{name}-{}", std::process::id());
        let place = Self {
            account,
            home: above.join(&own),
            sockets: std::env::temp_dir().join(format!("dbdyno-{own}")),
        };
        for directory in [&place.home, &place.sockets] {
            fs::create_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
            place.own(directory)?;
        }
        Ok(place)
    }

    pub(super) fn own(&self, path: &Path) -> Result<(), String> {
        let Some(account) = &self.account else {
            return Ok(());
        };
        lchown(path, Some(account.uid), Some(account.gid))
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(super) fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    /// What the server and its programs say.
    pub(super) fn log(&self) -> PathBuf {
        self.home.join("log")
    }

    /// Account, environment and log of a program of the server's.
    fn prepare(&self, command: &mut Command) -> Result<(), String> {
        let log = self.log();
        let told = |error: std::io::Error| format!("{}: {error}", log.display());
        let mut options = File::options();
        let output = options.create(true).append(true).open(&log).map_err(told)?;
        let copy = output.try_clone().map_err(told)?;
        Account::prepare(self.account.as_ref(), command);
        command.stdout(copy).stderr(output);
        Ok(())
    }

    /// Runs a program that makes the data directory.
    pub(super) fn initialise(&self, command: &mut Command) -> Result<(), String> {
        self.prepare(command)?;
        let program = command.get_program().to_string_lossy().into_owned();
        let status = command
            .status()
            .map_err(|error| format!("{program}: {error}"))?;
        if status.success() {
            return Ok(());
        }
        Err(format!("{program}: {status}\n{}", self.log_tail()))
    }

    fn log_tail(&self) -> String {
        let text = fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for directory in [&self.home, &self.sockets] {
            // A next run takes others.
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// A running server. Dropping it stops it, then removes what it had, then sends its guard away.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    stop: Signal,
    /// Of 127.0.0.1.
    pub(super) port: u16,
    pub(super) place: Place,
    _guard: Guard,
}

impl Server {
    /// `is_ready` is asked until it says so; `stop` is the signal that ends the server quickly.
    pub(super) fn start(
        place: Place,
        port: u16,
        mut command: Command,
        stop: Signal,
        is_ready: &dyn Fn(&Place) -> bool,
    ) -> Result<Self, String> {
        place.prepare(&mut command)?;
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy();
            format!("{program}: {error}")
        })?;
        let guard = match Guard::over(child.id(), &[&place.home, &place.sockets]) {
            Ok(guard) => guard,
            Err(error) => {
                end(&mut child, stop);
                return Err(error);
            }
        };
        let mut server = Self {
            child,
            stop,
            port,
            place,
            _guard: guard,
        };
        server.wait(is_ready)?;
        Ok(server)
    }

    fn wait(&mut self, is_ready: &dyn Fn(&Place) -> bool) -> Result<(), String> {
        let begun = Instant::now();
        while !is_ready(&self.place) {
            let why = match self.child.try_wait() {
                Ok(Some(status)) => format!("it ended with {status}"),
                Ok(None) if begun.elapsed() > LONGEST_START => "it does not get ready".to_owned(),
                Ok(None) => {
                    std::thread::sleep(TICK);
                    continue;
                }
                Err(error) => error.to_string(),
            };
            let log = self.place.log_tail();
            return Err(format!("the server did not start: {why}\n{log}"));
        }
        Ok(())
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child, self.stop);
    }
}

/// Until none of its processes is left: its files are removed next.
fn end(child: &mut Child, stop: Signal) {
    let tree = process::tree(child.id());
    if matches!(child.try_wait(), Ok(None)) {
        process::signal(child.id(), stop);
    }
    let begun = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if begun.elapsed() > LONGEST_STOP {
            let _ = child.kill();
        }
        std::thread::sleep(TICK);
    }
    let others: Vec<u32> = tree.into_iter().filter(|pid| *pid != child.id()).collect();
    while others.iter().any(|pid| process::is_alive(*pid)) && begun.elapsed() < LONGEST_STOP {
        std::thread::sleep(TICK);
    }
}

/// Makes a directory that the server's account may pass through, whatever the umask.
fn make_passable(directory: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", directory.display());
    fs::create_dir_all(directory).map_err(told)?;
    for made in directory.ancestors().take(2) {
        fs::set_permissions(made, fs::Permissions::from_mode(0o755)).map_err(told)?;
    }
    Ok(())
}

pub(super) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    Ok(address.port())
}
