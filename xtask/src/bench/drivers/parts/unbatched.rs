//! TPC-C with a round trip a statement, beside sysbench-tpcc.

use super::super::contest::{Contestant, hold};
use super::super::figures::{Absent, Figure, Reach};
use super::super::ours::{self, Drive};
use super::super::rows::Row;
use super::super::site::{Site, Transport};
use super::Context;

pub(super) fn run(site: &mut Site, context: &Context<'_>) -> Result<Vec<Row>, Absent> {
    context.load_ours(site)?;
    let sysbench_tpcc = context.sysbench_tpcc(site);
    let (rounds, seconds) = (context.options.rounds, context.options.seconds);
    let server = site.engine.name();
    let site: &Site = site;
    let mut rows = Vec::new();
    for connections in [8, 32] {
        let drive = Drive::tpcc(site, "unbatched", connections, seconds);
        let contestants = [
            Contestant::new(ours::NAME, move |round| drive.run(round)),
            Contestant::peer("sysbench-tpcc", sysbench_tpcc.clone(), |tool| {
                tool.run(site, connections, seconds)
            }),
        ];
        let transport = Transport::Tcp.name();
        let what = format!("TPC-C unbatched, {connections} connections, {transport}");
        let title = format!("{server}: {what}");
        let [ours, peer] = hold(&title, rounds, contestants, &|| site.settle());
        let figures = [
            (Figure::CpuPerStatement, Reach::OursAtMost(7.0)),
            (Figure::Cpu, Reach::Nothing),
            (Figure::Tps, Reach::Nothing),
            (Figure::P99, Reach::Nothing),
        ];
        rows.extend(
            figures
                .map(|(figure, reach)| Row::new(&what, server, figure, &ours, Some(&peer), reach)),
        );
    }
    Ok(rows)
}
