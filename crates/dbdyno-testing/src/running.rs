//! A running server with everything that has to outlive it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;
use std::process::Command;

use dbdyno_model::{Address, Connection};
use dbdyno_target::connection::connect;
use dbdyno_target::lab::{Binaries, Lab, LabOptions, Server, Stop};
use postgres::Client;

use crate::Place;

/// The fields are dropped in this order: the server goes first, its place last.
#[derive(Debug)]
pub struct Running {
    pub server: Server,
    lab: Lab,
    _place: Place,
}

impl Running {
    /// A fresh, empty server in a lab of its own.
    pub fn start(binaries: Binaries, set: &[(&str, &str)]) -> Self {
        let place = Place::new("running");
        let lab = Lab::create(&place.home, binaries, &LabOptions::default()).unwrap();
        let server = lab.start_empty(&settings(set)).unwrap();
        Self {
            server,
            lab,
            _place: place,
        }
    }

    /// Kills every process of the server, as a crash does, and starts it again on the same data.
    #[must_use]
    pub fn crash(self, set: &[(&str, &str)]) -> Self {
        let data = self.server.data().to_path_buf();
        self.server.stop(Stop::Kill);
        let server = self.lab.start(&data, &settings(set)).unwrap();
        Self {
            server,
            lab: self.lab,
            _place: self._place,
        }
    }

    /// Stops the server in good order and starts it again on the same data.
    #[must_use]
    pub fn restart(self, set: &[(&str, &str)]) -> Self {
        let data = self.server.data().to_path_buf();
        self.server.stop(Stop::Fast);
        let server = self.lab.start(&data, &settings(set)).unwrap();
        Self {
            server,
            lab: self.lab,
            _place: self._place,
        }
    }

    /// The same server, started again, and a standby that streams from it under the name
    /// `standby_1`, on a copy of the data that was made in between.
    ///
    /// The pinned builds have no `pg_basebackup`; a copy of a server that was shut down is a base
    /// backup, too.
    #[must_use]
    pub fn with_standby(self, set: &[(&str, &str)], standby_set: &[(&str, &str)]) -> (Self, Self) {
        let data = self.server.data().to_path_buf();
        self.server.stop(Stop::Fast);
        let place = Place::new("standby");
        let lab = Lab::create(
            &place.home,
            self.lab.binaries().clone(),
            &LabOptions::default(),
        )
        .unwrap();
        let copy = lab.template();
        make_standby(&data, &copy);
        let primary = Self {
            server: self.lab.start(&data, &settings(set)).unwrap(),
            lab: self.lab,
            _place: self._place,
        };
        let Address::Socket(sockets) = primary.connection().address else {
            panic!("a lab server listens on its socket");
        };
        let follows = format!(
            "host={} port={} user=postgres application_name=standby_1",
            sockets.display(),
            primary.connection().port
        );
        let mut standby_settings = settings(standby_set);
        standby_settings.insert("primary_conninfo".into(), follows);
        // The slot that it reads from may be made a moment later.
        standby_settings.insert("wal_retrieve_retry_interval".into(), "100ms".into());
        let standby = Self {
            server: lab.start(&copy, &standby_settings).unwrap(),
            lab,
            _place: place,
        };
        (primary, standby)
    }

    pub fn connection(&self) -> Connection {
        self.server.connection()
    }

    pub fn client(&self) -> Client {
        connect(&self.connection()).unwrap()
    }

    pub fn client_as(&self, user: &str) -> Client {
        let connection = Connection {
            user: user.into(),
            ..self.connection()
        };
        connect(&connection).unwrap()
    }

    /// Whether the server's installation has this extension, created or not.
    pub fn offers(&self, extension: &str) -> bool {
        let available = "SELECT 1 FROM pg_available_extensions WHERE name = $1";
        let found = self.client().query_opt(available, &[&extension]);
        found.unwrap().is_some()
    }

    /// A new database on the server.
    pub fn database(&self, name: &str) -> Connection {
        let create = format!("CREATE DATABASE {name}");
        self.client().batch_execute(&create).unwrap();
        Connection {
            database: name.into(),
            ..self.connection()
        }
    }
}

/// Settings as a lab takes them.
pub fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Copies a data directory with its owner, and tells the server that will run on it to follow.
fn make_standby(data: &Path, copy: &Path) {
    let copied = Command::new("cp").arg("-a").arg(data).arg(copy).status();
    assert!(copied.unwrap().success());
    let signal = copy.join("standby.signal");
    fs::write(&signal, "").unwrap();
    let owner = fs::metadata(copy).unwrap();
    chown(&signal, Some(owner.uid()), Some(owner.gid())).unwrap();
}
