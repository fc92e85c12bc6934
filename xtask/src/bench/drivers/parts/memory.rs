//! What a driver holds in memory for its connections.

use super::super::contest::{Contestant, hold};
use super::super::figures::{Absent, Figure, Reach};
use super::super::ours::{self, Drive};
use super::super::rows::Row;
use super::super::site::{Site, Transport};
use super::Context;

/// A peak does not vary as a time does.
const ROUNDS: usize = 1;

pub(super) fn run(site: &mut Site, context: &Context<'_>) -> Result<Vec<Row>, Absent> {
    context.load_ours(site)?;
    let go_tpc = context.go_tpc(site);
    let site: &Site = site;
    let seconds = context.options.seconds;
    let server = site.engine.name();
    let mut rows = Vec::new();
    for (connections, most) in [(32, 30.0), (1_000, 120.0)] {
        let drive = Drive::tpcc(site, "pipelined", connections, seconds);
        let contestants = [
            Contestant::new(ours::NAME, move |round| drive.run(round)),
            Contestant::peer("go-tpc", go_tpc.clone(), |tool| {
                tool.run(site, connections, seconds)
            }),
        ];
        let transport = Transport::Tcp.name();
        let what = format!("TPC-C pipelined, {connections} connections, {transport}");
        let title = format!("{server}: memory, {connections} connections");
        let [ours, peer] = hold(&title, ROUNDS, contestants, &|| site.settle());
        let reach = Reach::OursAtMost(most);
        let figure = Figure::PeakMemory;
        rows.push(Row::new(&what, server, figure, &ours, Some(&peer), reach));
    }
    Ok(rows)
}
