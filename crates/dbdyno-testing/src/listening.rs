//! A PostgreSQL that listens on a port of 127.0.0.1, for what no unix socket has: TLS and the like.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use dbdyno_model::{Address, Connection, Engine, SslMode};
use dbdyno_target::lab::Binaries;
use rustix::process::Signal;

use crate::Place;
use crate::daemon::{Daemon, Site};

/// Dropping it stops the server.
#[derive(Debug)]
pub struct Listening {
    daemon: Daemon,
    data: PathBuf,
    /// Outlives the server.
    pub place: Place,
}

impl Listening {
    /// A fresh, empty server with these settings beside its own, and these files in its data
    /// directory, which nobody else may read: `pg_hba.conf`, a certificate, its key.
    pub fn start(binaries: &Binaries, set: &[(&str, &str)], files: &[(&str, &str)]) -> Self {
        let place = Place::new("listening");
        let site = Site::below(&place);
        let data = site.home.join("data");
        let mut initdb = Command::new(binaries.program("initdb"));
        initdb
            .args(["--username=postgres", "--auth=trust", "--encoding=UTF8"])
            .args(["--locale=C", "--no-sync", "--pgdata"])
            .arg(&data);
        site.initialise(&mut initdb);
        for (name, text) in files {
            let path = data.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            site.own(&path);
        }
        let postgres = |port: u16| {
            let mut command = Command::new(binaries.program("postgres"));
            command
                .arg("-D")
                .arg(&data)
                .arg("-k")
                .arg(&site.home)
                .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
                .args(["-c".to_owned(), format!("port={port}")]);
            for (name, value) in set {
                command.args(["-c".to_owned(), format!("{name}={value}")]);
            }
            command
        };
        // It leaves at once, and gives its shared memory back.
        let stop = Signal::QUIT;
        let daemon = site.start(postgres, || is_ready(&data), "could not bind", stop);
        Self {
            daemon,
            data,
            place,
        }
    }

    /// As the superuser by this name of the host, in the clear.
    pub fn connection(&self, host: &str) -> Connection {
        Connection {
            engine: Engine::Postgres,
            address: Address::Tcp(host.into()),
            port: self.daemon.port,
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

/// The last line of its file says so.
fn is_ready(data: &Path) -> bool {
    let file = data.join("postmaster.pid");
    fs::read_to_string(file).is_ok_and(|text| text.trim_end().ends_with("ready"))
}
