//! A server as a child of a test: where its files are, the account that it runs as, its port, its end.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use dbdyno_target::lab::Account;
use rustix::process::{Pid, Signal, kill_process};

use crate::Place;

/// With a slow disk and all processors busy.
const LONGEST_START: Duration = Duration::from_secs(120);

/// Somebody else may take a port between its choice and the server's start.
const STARTS: usize = 3;

/// Where a server is to run, and as whom.
#[derive(Debug)]
pub(crate) struct Site {
    /// None where this process is not root's.
    pub(crate) account: Option<Account>,
    /// Of its data and its socket; the account owns it.
    pub(crate) home: PathBuf,
    /// What the program that was started last says.
    log: PathBuf,
}

impl Site {
    pub(crate) fn below(place: &Place) -> Self {
        let site = Self {
            account: Account::for_server().unwrap(),
            home: place.root.join("server"),
            log: place.root.join("log"),
        };
        fs::create_dir(&site.home).unwrap();
        site.own(&site.home);
        site
    }

    pub(crate) fn own(&self, path: &Path) {
        if let Some(account) = &self.account {
            account.own(path).unwrap();
        }
    }

    /// Runs a program that makes a data directory.
    pub(crate) fn initialise(&self, command: &mut Command) {
        self.prepare(command);
        let made = command.status().is_ok_and(|status| status.success());
        assert!(made, "{command:?} fails:\n{}", tail(&self.log));
    }

    /// Starts what `command` makes of a port of 127.0.0.1; `port_is_taken` is what the server's log
    /// then says, and `stop` the signal that ends it quickly.
    pub(crate) fn start(
        &self,
        command: impl Fn(u16) -> Command,
        is_ready: impl Fn() -> bool,
        port_is_taken: &str,
        stop: Signal,
    ) -> Daemon {
        for _ in 0..STARTS {
            let port = free_port();
            let mut command = command(port);
            self.prepare(&mut command);
            let child = command.spawn();
            let child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
            let mut daemon = Daemon {
                child,
                command,
                log: self.log.clone(),
                stop,
                port,
            };
            if daemon.wait(&is_ready) {
                return daemon;
            }
            daemon.end();
            let log = tail(&self.log);
            assert!(
                log.contains(port_is_taken),
                "{:?} does not start:\n{log}",
                daemon.command
            );
        }
        panic!("every port was taken:\n{}", tail(&self.log));
    }

    fn prepare(&self, command: &mut Command) {
        Account::prepare(self.account.as_ref(), command);
        let output = File::create(&self.log).unwrap();
        let copy = output.try_clone().unwrap();
        command.stdout(copy).stderr(output);
    }
}

/// A running server. Dropping it ends the server.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    /// As it was started, and is started again.
    command: Command,
    log: PathBuf,
    stop: Signal,
    /// Of 127.0.0.1.
    pub(crate) port: u16,
}

impl Daemon {
    /// Until the server takes connections; false where it has ended instead.
    fn wait(&mut self, is_ready: impl Fn() -> bool) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < LONGEST_START {
            if is_ready() {
                return true;
            }
            if !matches!(self.child.try_wait(), Ok(None)) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// Ends it, and starts it again on the same data and port.
    pub(crate) fn restart(&mut self, is_ready: impl Fn() -> bool) {
        self.end();
        let child = self.command.spawn();
        self.child = child.unwrap_or_else(|error| panic!("{:?}: {error}", self.command));
        let is_back = self.wait(is_ready);
        assert!(
            is_back,
            "{:?} does not start again:\n{}",
            self.command,
            tail(&self.log)
        );
    }

    fn end(&mut self) {
        // It may have ended by itself.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(&self.child), self.stop);
        }
        let _ = self.child.wait();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

/// The last lines of a log.
fn tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}
