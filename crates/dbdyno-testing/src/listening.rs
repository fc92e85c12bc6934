//! A PostgreSQL that listens on a port of 127.0.0.1, for what no unix socket has: TLS and the like.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dbdyno_model::{Address, Connection, Engine, SslMode};
use dbdyno_target::lab::{Account, Binaries};
use rustix::process::{Pid, Signal, kill_process};

use crate::Place;

/// With a slow disk and all processors busy.
const LONGEST_START: Duration = Duration::from_secs(120);

/// Somebody else may take a port between its choice and the server's start.
const STARTS: usize = 3;

/// Dropping it stops the server.
#[derive(Debug)]
pub struct Listening {
    child: Child,
    data: PathBuf,
    port: u16,
    /// Outlives the server.
    pub place: Place,
}

impl Listening {
    /// A fresh, empty server with these settings beside its own, and these files in its data
    /// directory, which nobody else may read: `pg_hba.conf`, a certificate, its key.
    pub fn start(binaries: &Binaries, set: &[(&str, &str)], files: &[(&str, &str)]) -> Self {
        let place = Place::new("listening");
        let account = Account::for_server().unwrap();
        let home = place.root.join("server");
        fs::create_dir(&home).unwrap();
        own(account.as_ref(), &home);
        let data = home.join("data");
        initialise(binaries, account.as_ref(), &data);
        for (name, text) in files {
            let path = data.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            own(account.as_ref(), &path);
        }
        let log = place.root.join("log");
        for _ in 0..STARTS {
            let port = free_port();
            let mut command = Command::new(binaries.program("postgres"));
            command
                .arg("-D")
                .arg(&data)
                .arg("-k")
                .arg(&home)
                .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
                .args(["-c".to_owned(), format!("port={port}")]);
            for (name, value) in set {
                command.args(["-c".to_owned(), format!("{name}={value}")]);
            }
            let output = fs::File::create(&log).unwrap();
            let copy = output.try_clone().unwrap();
            prepare(&mut command, account.as_ref())
                .stdout(copy)
                .stderr(output);
            let mut child = command.spawn().unwrap();
            if is_ready(&mut child, &data) {
                return Self {
                    child,
                    data,
                    port,
                    place,
                };
            }
            end(&mut child);
            if !text(&log).contains("could not bind") {
                break;
            }
        }
        panic!("the server does not start:\n{}", text(&log));
    }

    /// As the superuser by this name of the host, in the clear.
    pub fn connection(&self, host: &str) -> Connection {
        Connection {
            engine: Engine::Postgres,
            address: Address::Tcp(host.into()),
            port: self.port,
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

    pub fn data(&self) -> &Path {
        &self.data
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn initialise(binaries: &Binaries, account: Option<&Account>, data: &Path) {
    let mut command = Command::new(binaries.program("initdb"));
    command
        .args(["--username=postgres", "--auth=trust", "--encoding=UTF8"])
        .args(["--locale=C", "--no-sync", "--pgdata"])
        .arg(data);
    let output = prepare(&mut command, account).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "initdb: {message}");
}

/// Account, directory and environment of a program of the server's.
fn prepare<'a>(command: &'a mut Command, account: Option<&Account>) -> &'a mut Command {
    if let Some(account) = account {
        command.uid(account.uid).gid(account.gid);
    }
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("PG")) {
            command.env_remove(name);
        }
    }
    command
        .current_dir("/")
        .process_group(0)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
}

fn own(account: Option<&Account>, path: &Path) {
    if let Some(account) = account {
        lchown(path, Some(account.uid), Some(account.gid)).unwrap();
    }
}

/// Waits until the server takes connections; false where it has ended instead.
fn is_ready(child: &mut Child, data: &Path) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < LONGEST_START {
        // The last line says so.
        if text(&data.join("postmaster.pid"))
            .trim_end()
            .ends_with("ready")
        {
            return true;
        }
        if !matches!(child.try_wait(), Ok(None)) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Quickly, but so that it gives its shared memory back.
fn end(child: &mut Child) {
    // It may have ended by itself; its data goes with it.
    if matches!(child.try_wait(), Ok(None)) {
        let _ = kill_process(Pid::from_child(child), Signal::QUIT);
    }
    let _ = child.wait();
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
