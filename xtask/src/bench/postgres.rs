//! A PostgreSQL of a benchmark's own, with the settings that it is measured with.

use std::fs;
use std::path::Path;
use std::process::Command;

use dbdyno_target::process::Signal;

use super::server::{Place, Server, free_port};

pub(super) const USER: &str = "postgres";

/// A fresh, empty server. `bin` holds its programs, `libraries` what the machine lacks for them.
pub(super) fn start(
    bin: &Path,
    libraries: Option<&Path>,
    settings: &[(&str, &str)],
) -> Result<Server, String> {
    let place = Place::make("postgres")?;
    let program = |name: &str| {
        let mut command = Command::new(bin.join(name));
        if let Some(libraries) = libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    };
    let mut initdb = program("initdb");
    initdb
        .args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"])
        .args(["--username", USER, "--pgdata"])
        .arg(place.data());
    place.initialise(&mut initdb)?;
    let port = free_port()?;
    let mut postgres = program("postgres");
    postgres
        .arg("-D")
        .arg(place.data())
        .arg("-k")
        .arg(&place.sockets)
        .args(["-c", "listen_addresses=127.0.0.1"])
        .args(["-c".to_owned(), format!("port={port}")]);
    for (name, value) in settings {
        postgres.args(["-c".to_owned(), format!("{name}={value}")]);
    }
    // It leaves at once, and gives its shared memory back.
    Server::start(place, port, postgres, Signal::QUIT, &is_ready)
}

/// The last line of its file says so.
fn is_ready(place: &Place) -> bool {
    let file = place.data().join("postmaster.pid");
    fs::read_to_string(file).is_ok_and(|text| text.trim_end().ends_with("ready"))
}
