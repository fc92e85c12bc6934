//! How long the consistency conditions take.

use super::super::WAREHOUSES;
use super::super::contest::{Contestant, hold};
use super::super::figures::{Absent, Figure, Reach};
use super::super::ours;
use super::super::rows::Row;
use super::super::site::Site;
use super::Context;

pub(super) fn run(site: &mut Site, context: &Context<'_>) -> Result<Vec<Row>, Absent> {
    context.load_ours(site)?;
    let go_tpc = context.go_tpc(site);
    let sysbench_tpcc = context.sysbench_tpcc(site);
    let site: &Site = site;
    let server = site.engine.name();
    let contestants = [
        Contestant::new(ours::NAME, |_| ours::verify(site)),
        Contestant::peer("go-tpc", go_tpc, |tool| tool.check(site)),
        Contestant::peer("sysbench-tpcc", sysbench_tpcc, |tool| tool.check(site)),
    ];
    let title = format!("{server}: verify");
    let rounds = context.options.rounds;
    let [ours, peers @ ..] = hold(&title, rounds, contestants, &|| site.settle());
    let what = format!("TPC-C, consistency conditions of {WAREHOUSES} warehouses");
    let reach = Reach::OursAtMost(10.0);
    let row = |peer| Row::new(&what, server, Figure::Seconds, &ours, Some(peer), reach);
    Ok(peers.iter().map(row).collect())
}
