//! A running server with everything that has to outlive it.

use std::collections::BTreeMap;

use dbdyno_model::Connection;
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
