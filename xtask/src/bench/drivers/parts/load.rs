//! From nothing to ready: rows, keys, foreign keys and statistics of ten warehouses.

use std::fs;

use super::super::contest::{Contestant, hold};
use super::super::figures::{Absent, Figure, Reach, Run};
use super::super::ours;
use super::super::rows::Row;
use super::super::site::{Engine, Site, Transport};
use super::super::{LOADERS, WAREHOUSES};
use super::Context;
use crate::bench::floor::Floor;
use crate::bench::steal::Times;

/// Made and removed by each.
const DATABASE: &str = "loaded";

pub(super) fn run(site: &mut Site, context: &Context<'_>) -> Result<Vec<Row>, Absent> {
    match site.engine {
        Engine::Postgres => beside_the_floor(site, context),
        Engine::MariaDb => beside_go_tpc(site, context),
    }
}

/// COPY of ready files into the same tables, then the same keys.
fn beside_the_floor(site: &mut Site, context: &Context<'_>) -> Result<Vec<Row>, Absent> {
    context.load_ours(site)?;
    let site: &Site = site;
    let floor = site.floor()?;
    floor.export(ours::DATABASE)?;
    let contestants = [
        Contestant::new(ours::NAME, |_| load_ours(site, Transport::Socket, true)),
        Contestant::new("COPY of ready binary files", |_| load_files(site, &floor)),
    ];
    let (title, rounds) = (title(site), context.options.rounds);
    let [ours, least] = hold(&title, rounds, contestants, &|| site.settle());
    fs::remove_dir_all(&floor.files).map_err(|e| format!("{}: {e}", floor.files.display()))?;
    let reach = Reach::RatioAtMost(1.4);
    Ok(vec![Row::new(
        &what(Transport::Socket),
        site.engine.name(),
        Figure::Seconds,
        &ours,
        Some(&least),
        reach,
    )])
}

/// Which makes no foreign keys: ours with and without.
fn beside_go_tpc(site: &Site, context: &Context<'_>) -> Result<Vec<Row>, Absent> {
    let go_tpc = context.peers.go_tpc.clone();
    let keyless = format!("{}, without foreign keys", ours::NAME);
    let contestants = [
        Contestant::new(ours::NAME, |_| load_ours(site, Transport::Tcp, true)),
        Contestant::new(&keyless, |_| load_ours(site, Transport::Tcp, false)),
        Contestant::peer("go-tpc", go_tpc, |tool| {
            site.fresh(DATABASE)?;
            let run = tool.load(site, DATABASE)?;
            site.remove(DATABASE)?;
            Ok(run)
        }),
    ];
    let (title, rounds) = (title(site), context.options.rounds);
    let [ours, keyless, peer] = hold(&title, rounds, contestants, &|| site.settle());
    let row = |what: &str, ours| {
        let reach = Reach::RatioAtMost(0.5);
        let engine = site.engine.name();
        Row::new(what, engine, Figure::Seconds, ours, Some(&peer), reach)
    };
    let what = what(Transport::Tcp);
    Ok(vec![
        row(&what, &ours),
        row(&format!("{what}, without foreign keys"), &keyless),
    ])
}

fn load_ours(site: &Site, transport: Transport, foreign_keys: bool) -> Result<Run, Absent> {
    site.fresh(DATABASE)?;
    let run = ours::load(site, transport, DATABASE, foreign_keys)?;
    site.remove(DATABASE)?;
    Ok(run)
}

fn load_files(site: &Site, floor: &Floor) -> Result<Run, Absent> {
    let times = Times::now()?;
    let seconds = floor.load(DATABASE)?;
    let steal = times.steal_until(&Times::now()?);
    site.remove(DATABASE)?;
    Ok(Run {
        figures: [(Figure::Seconds, seconds)].into(),
        steal,
    })
}

fn title(site: &Site) -> String {
    format!("{}: load", site.engine.name())
}

fn what(transport: Transport) -> String {
    format!(
        "TPC-C, load of {WAREHOUSES} warehouses to ready, {LOADERS} at once, {}",
        transport.name()
    )
}
