//! TPC-C over TCP, batched and in fewer round trips, beside go-tpc and BenchBase.

use super::super::contest::{Contestant, Outcome, hold};
use super::super::figures::{Absent, Figure, Reach};
use super::super::ours::{self, Drive};
use super::super::peers::BenchBase;
use super::super::rows::Row;
use super::super::site::{Engine, Site, Transport};
use super::Context;

/// Whose tail of latency is compared, and one with more waiting for locks.
const FEW: u32 = 8;
const MANY: u32 = 32;

pub(super) fn run(site: &mut Site, context: &Context<'_>) -> Result<Vec<Row>, Absent> {
    context.load_ours(site)?;
    context.load_keyless(site)?;
    let go_tpc = context.go_tpc(site);
    let benchbase = context.benchbase(site);
    let (rounds, seconds) = (context.options.rounds, context.options.seconds);
    let mut rows = Vec::new();
    for connections in [FEW, MANY] {
        let site: &Site = site;
        let drive = |mode: &str| Drive::tpcc(site, mode, connections, seconds);
        let ours = |mode: &str| {
            let drive = drive(mode);
            Contestant::new(&named(mode), move |round| drive.run(round))
        };
        let procedures = drive("procedures");
        // As go-tpc, which makes no foreign keys.
        let keyless = Drive::tpcc_in(ours::KEYLESS, site, "batched", connections, seconds);
        let contestants = [
            ours("batched"),
            Contestant::peer("go-tpc", go_tpc.clone(), |tool| {
                tool.run(site, connections, seconds)
            }),
            Contestant::new(&named("batched without foreign keys"), move |round| {
                keyless.run(round)
            }),
            ours("pipelined"),
            Contestant::peer("BenchBase", benchbase.clone(), |tool| {
                tool.run(site, connections, seconds)
            }),
            Contestant::new(&named("procedures"), move |round| {
                procedures.run_if_known(round)
            }),
        ];
        let what = format!("{}: TPC-C, {connections} connections", site.engine.name());
        let outcomes = hold(&what, rounds, contestants, &|| site.settle());
        rows.extend(judged(site.engine, connections, &outcomes));
    }
    site.forget(BenchBase::DATABASE)?;
    site.forget(ours::KEYLESS)?;
    Ok(rows)
}

fn named(mode: &str) -> String {
    format!("{}, {mode}", ours::NAME)
}

fn judged(engine: Engine, connections: u32, outcomes: &[Outcome; 6]) -> Vec<Row> {
    let [batched, go_tpc, keyless, pipelined, benchbase, procedures] = outcomes;
    let row = |mode: &str, figure, ours: &Outcome, peer: Option<&Outcome>, reach| {
        let transport = Transport::Tcp.name();
        let what = format!("TPC-C {mode}, {connections} connections, {transport}");
        Row::new(&what, engine.name(), figure, ours, peer, reach)
    };
    let tail = match connections {
        FEW => Reach::RatioAtMost(0.8),
        _ => Reach::Nothing,
    };
    let fewer_trips = match engine {
        Engine::Postgres => Reach::RatioAtLeast(1.6),
        Engine::MariaDb => Reach::Nothing,
    };
    let mut rows = Vec::new();
    for (mode, ours, peer) in [
        ("batched", batched, go_tpc),
        ("batched without foreign keys", keyless, go_tpc),
        ("batched", batched, benchbase),
    ] {
        let of = Some(peer);
        let cpu = Reach::RatioAtMost(0.35);
        rows.push(row(mode, Figure::Cpu, ours, of, cpu));
        let tps = Reach::RatioAtLeast(1.2);
        rows.push(row(mode, Figure::Tps, ours, of, tps));
        rows.push(row(mode, tail_told_by(peer), ours, of, tail));
    }
    let nothing = Reach::Nothing;
    rows.push(row("batched", Figure::OwnCpu, batched, None, nothing));
    for peer in [go_tpc, benchbase] {
        let of = Some(peer);
        rows.push(row("pipelined", Figure::Tps, pipelined, of, fewer_trips));
        rows.push(row("pipelined", Figure::Cpu, pipelined, of, nothing));
    }
    rows.push(row("pipelined", Figure::OwnCpu, pipelined, None, nothing));
    let faster = Reach::RatioAtLeast(1.0);
    let of = Some(pipelined);
    rows.push(row("procedures", Figure::Tps, procedures, of, faster));
    rows
}

/// go-tpc tells percentiles of each transaction alone.
fn tail_told_by(peer: &Outcome) -> Figure {
    let runs = peer.runs.as_deref().unwrap_or_default();
    let told = |figure| runs.iter().any(|run| run.figures.contains_key(&figure));
    if told(Figure::NewOrderP99) && !told(Figure::P99) {
        Figure::NewOrderP99
    } else {
        Figure::P99
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::figures::Run;
    use super::*;
    use crate::bench::table::markdown;

    fn outcome(name: &str, figures: &[(Figure, f64)]) -> Outcome {
        let run = Run {
            figures: figures.iter().copied().collect(),
            steal: 0.0,
        };
        Outcome {
            name: name.to_owned(),
            runs: Ok(vec![run]),
        }
    }

    #[test]
    fn each_peer_is_compared_by_the_tail_that_it_tells() {
        let ours = |tps| {
            let figures = [
                (Figure::Tps, tps),
                (Figure::Cpu, 100.0),
                (Figure::OwnCpu, 90.0),
                (Figure::P99, 20.0),
                (Figure::NewOrderP99, 30.0),
            ];
            outcome("dbdyno", &figures)
        };
        let theirs = |tail| {
            let figures = [(Figure::Tps, 500.0), (Figure::Cpu, 400.0), (tail, 40.0)];
            outcome("peer", &figures)
        };
        let outcomes = [
            ours(600.0),
            theirs(Figure::NewOrderP99),
            ours(700.0),
            ours(800.0),
            theirs(Figure::P99),
            ours(900.0),
        ];
        let text = markdown(&judged(Engine::Postgres, FEW, &outcomes));
        let line = |part: &str| text.lines().filter(|line| line.contains(part)).count();
        assert_eq!(
            line("p99 of new orders, ms | 30.0 | peer | 40.0 | 0.750"),
            2
        );
        assert_eq!(line("p99, ms | 20.0 | peer | 40.0 | 0.500"), 1);
        assert_eq!(line("≤ 0.35 ×: met"), 3);
        assert_eq!(line("| 1.20 | ≥ 1.2 ×: met"), 2);
        assert_eq!(line("| 1.60 | ≥ 1.6 ×: met"), 2);
        assert_eq!(line("| 1.40 | ≥ 1.2 ×: met"), 1);
        assert_eq!(line("TPC-C procedures"), 1);
        let many = markdown(&judged(Engine::MariaDb, MANY, &outcomes));
        assert!(!many.contains("≤ 0.8 ×") && !many.contains("≥ 1.6 ×"));
    }
}
