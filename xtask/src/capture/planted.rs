//! Servers of our own, healthy and with faults that are planted, and their facts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dbdyno_target::connection;
use dbdyno_target::lab::{Binaries, Home, Lab, LabOptions};
use postgres::Client;

use super::label::Label;
use super::{SERVERS, server};

const MAJORS: [u32; 2] = [15, 18];

/// Settings, and the rules that find them.
const SETTINGS: [(&str, &str, &str); 8] = [
    ("autovacuum", "off", "maintenance.autovacuum"),
    (
        "checkpoint_completion_target",
        "0.1",
        "postgres.checkpoint_completion_target",
    ),
    ("fsync", "off", "postgres.fsync"),
    ("full_page_writes", "off", "postgres.full_page_writes"),
    ("password_encryption", "md5", "postgres.password_encryption"),
    ("synchronous_commit", "off", "postgres.synchronous_commit"),
    (
        "wal_consistency_checking",
        "all",
        "postgres.developer_options",
    ),
    ("zero_damaged_pages", "on", "postgres.hidden_damage"),
];

/// What both kinds of servers hold.
const SCHEMA: &str = "CREATE TABLE orders (id serial PRIMARY KEY, customer int, note text);
     INSERT INTO orders (customer, note) SELECT g, (g % 7)::text FROM generate_series(1, 1000) g";
/// A sequence near its end, and an index that another one makes superfluous.
const FAULTS: &str = "SELECT setval('orders_id_seq', 2000000000);
     CREATE INDEX orders_customer ON orders (customer);
     CREATE INDEX orders_customer_note ON orders (customer, note)";
/// Fails, since notes stand there more than once, and leaves an invalid index behind.
const BROKEN: &str = "CREATE UNIQUE INDEX CONCURRENTLY orders_note ON orders (note)";
const FAULTS_FOUND: [&str; 3] = [
    "schema.integer_exhaustion",
    "schema.invalid_index",
    "schema.redundant_index",
];

/// One healthy and one mis-set server of each major.
pub(super) fn run(left_out: &[&str]) -> Result<(), String> {
    let of_settings = SETTINGS.iter().map(|(_, _, rule)| *rule);
    let planted: Vec<String> = of_settings.chain(FAULTS_FOUND).map(str::to_owned).collect();
    for major in MAJORS {
        let binaries = find(major)?;
        let running = Running::start(binaries.clone(), &[])?;
        let healthy = Label {
            how: "A server as initdb leaves it, with one table.\n".to_owned(),
            lacks: planted.clone(),
            ..Label::default()
        };
        running.capture(&format!("postgres{major}-healthy"), healthy, left_out)?;
        drop(running);

        let running = Running::start(binaries, &SETTINGS)?;
        running.plant()?;
        let mis_set = Label {
            how:
                "Mis-set on purpose: settings in its file, and faults in the schema of one table.\n"
                    .to_owned(),
            finds: planted.clone(),
            ..Label::default()
        };
        running.capture(&format!("postgres{major}-mis-set"), mis_set, left_out)?;
    }
    Ok(())
}

fn find(major: u32) -> Result<Binaries, String> {
    let named = std::env::var_os(SERVERS).unwrap_or_default();
    std::env::split_paths(&named)
        .filter_map(|directory| Binaries::at(&directory).ok())
        .find(|binaries| binaries.version.major == major)
        .ok_or_else(|| {
            format!("{SERVERS} names no PostgreSQL {major}; cargo xtask capture all does")
        })
}

/// A server in a lab; the server goes first.
struct Running {
    server: dbdyno_target::lab::Server,
    _lab: Lab,
    place: Place,
}

/// Where labs are made; empty again once they are gone.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        // Another capture may have its lab there.
        let _ = std::fs::remove_dir(&self.0);
    }
}

impl Running {
    fn start(binaries: Binaries, set: &[(&str, &str, &str)]) -> Result<Self, String> {
        // The account of the server has to reach it, which it need not the workspace.
        let place = Place(std::env::temp_dir().join("dbdyno-capture"));
        let home = Home {
            labs: place.0.clone(),
            binaries: binaries.directory.clone(),
        };
        let lab = Lab::create(&home, binaries, &LabOptions::default());
        let lab = lab.map_err(|error| error.to_string())?;
        let settings: BTreeMap<String, String> = set
            .iter()
            .map(|(name, value, _)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let server = lab.start_empty(&settings);
        let running = Self {
            server: server.map_err(|error| error.to_string())?,
            _lab: lab,
            place,
        };
        run_sql(&mut running.client()?, SCHEMA)?;
        Ok(running)
    }

    fn client(&self) -> Result<Client, String> {
        connection::connect(&self.server.connection()).map_err(|error| error.to_string())
    }

    fn plant(&self) -> Result<(), String> {
        let mut client = self.client()?;
        run_sql(&mut client, FAULTS)?;
        match client.batch_execute(BROKEN) {
            Ok(()) => Err(format!("{BROKEN} did not fail, and was to")),
            Err(_) => Ok(()),
        }
    }

    fn capture(&self, name: &str, label: Label, left_out: &[&str]) -> Result<(), String> {
        let target = self.server.connection().display();
        server::capture(name, &target, label, left_out)
            .map_err(|why| format!("{why} (its lab: {})", self.place.0.display()))
    }
}

fn run_sql(client: &mut Client, sql: &str) -> Result<(), String> {
    client
        .batch_execute(sql)
        .map_err(|error| format!("{sql}: {error}"))
}
