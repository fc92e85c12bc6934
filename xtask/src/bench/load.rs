//! Loading TPC-C against the floor: psql copying ready files into the same tables, then the same
//! keys, foreign keys and ANALYZE, with as many sessions.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use dbdyno_bench::tpcc;
use dbdyno_model::Connection;
use dbdyno_target::lab::{Binaries, Home, Lab, LabOptions};

use super::floor::{Floor, Format, SESSIONS};
use super::{data_directory, median};
use crate::servers;

const WAREHOUSES: u32 = 10;
const REPEATS: usize = 3;

pub(super) fn run() -> Result<(), String> {
    let servers = servers::fetch()?;
    let bin = servers
        .bin_directories
        .first()
        .cloned()
        .ok_or("no server")?;
    if !bin.join("psql").exists() {
        return Err(format!("{} has no psql", bin.display()));
    }
    let place = data_directory();
    let home = Home {
        labs: place.join("labs"),
        binaries: place.join("binaries"),
    };
    home.prepare().map_err(|error| error.to_string())?;
    let binaries = Binaries::at(&bin).map_err(|error| error.to_string())?;
    let lab = Lab::create(&home, binaries, &LabOptions::default()).map_err(|e| e.to_string())?;
    let template = lab.init().map_err(|error| error.to_string())?;
    let settings = dbdyno_trial::template::load_settings(24 << 30);
    let server = lab
        .start(&template, &settings)
        .map_err(|error| error.to_string())?;
    let floor = Floor {
        bin,
        files: lab.directory().join("template/files"),
        server: server.connection(),
        library_path: None,
        format: Format::Text,
    };
    // The server writes the files, and so has to own their directory.
    let sql = format!(
        "COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; mkdir {}'",
        floor.files.display()
    );
    floor.sql("postgres", &sql)?;
    ours(&floor, "source")?;
    floor.export("source")?;
    let mut pairs = Vec::new();
    for repeat in 0..REPEATS {
        let (mut own, mut best) = (None, None);
        for step in 0..2 {
            if (repeat + step) % 2 == 0 {
                own = Some(ours(&floor, "ours")?);
            } else {
                best = Some(floor.load("floor")?);
            }
        }
        pairs.extend(own.zip(best));
    }
    let rows = pairs.first().map_or(0, |(own, _)| own.1);
    let seconds = median(pairs.iter().map(|(own, _)| own.0).collect());
    let best = median(pairs.iter().map(|(_, floor)| *floor).collect());
    let ratio = median(pairs.iter().map(|(own, floor)| own.0 / floor).collect());
    println!(
        "load: {WAREHOUSES} warehouses ready in {seconds:.1} s, {:.0} rows/s",
        rows as f64 / seconds
    );
    println!(
        "      floor {best:.1} s, ratio {ratio:.2} (median of {REPEATS}, alternated, {SESSIONS} sessions)"
    );
    Ok(())
}

fn ours(floor: &Floor, database: &str) -> Result<(f64, u64), String> {
    floor.fresh(database)?;
    let to = Connection {
        database: database.into(),
        ..floor.server.clone()
    };
    let config = tpcc::Config {
        warehouses: WAREHOUSES,
        ..tpcc::Config::default()
    };
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let loaded = tpcc::load(&to, &config, SESSIONS as usize, &|_| {}, &stop)
        .map_err(|error| error.to_string())?;
    Ok((begun.elapsed().as_secs_f64(), loaded.rows))
}
