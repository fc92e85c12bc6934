//! sysbench's workloads over a unix socket, beside sysbench, pgbench and a bare loop; the loop over
//! TCP too.

use super::super::contest::{Contestant, Outcome, hold};
use super::super::figures::{Absent, Figure, Reach};
use super::super::oltp;
use super::super::ours::{self, Drive};
use super::super::peers::{Bare, PgBench};
use super::super::rows::Row;
use super::super::site::{Engine, Site, Transport};
use super::Context;

const CONNECTIONS: u32 = 8;

pub(super) fn point_select(site: &mut Site, context: &Context<'_>) -> Result<Vec<Row>, Absent> {
    have_tables(site)?;
    let pgbench = pgbench(site);
    let bare = Bare::build();
    let site: &Site = site;
    let (rounds, seconds) = (context.options.rounds, context.options.seconds);
    let workload = "oltp-point-select";
    let contestants = [
        dbdyno(site, Transport::Socket, workload, seconds),
        bare_loop(site, Transport::Socket, &bare, seconds),
        Contestant::peer("pgbench", pgbench, |tool| {
            tool.run(site, CONNECTIONS, seconds)
        }),
        sysbench(site, context, "oltp_point_select"),
    ];
    let transport = Transport::Socket;
    let title = title(site, workload, transport);
    let outcomes = hold(&title, rounds, contestants, &|| site.settle());
    let [ours, floor, pgbench, sysbench] = &outcomes;
    let figure = Figure::CpuPerStatement;
    let mut peers = vec![(floor, 1.15), (sysbench, 0.6)];
    if site.engine == Engine::Postgres {
        peers.push((pgbench, 0.75));
    }
    let mut rows = Vec::new();
    for (peer, most) in peers {
        let reach = Reach::RatioAtMost(most);
        rows.extend(compared(
            site,
            transport,
            workload,
            (figure, reach),
            ours,
            peer,
        ));
    }
    // What a statement costs at least where each has a round trip of its own.
    let transport = Transport::Tcp;
    let contestants = [
        dbdyno(site, transport, workload, seconds),
        bare_loop(site, transport, &bare, seconds),
    ];
    let title = self::title(site, workload, transport);
    let [ours, floor] = hold(&title, rounds, contestants, &|| site.settle());
    let wanted = (figure, Reach::Nothing);
    rows.extend(compared(site, transport, workload, wanted, &ours, &floor));
    Ok(rows)
}

pub(super) fn read_write(site: &mut Site, context: &Context<'_>) -> Result<Vec<Row>, Absent> {
    let figure = Figure::CpuPerStatement;
    beside_sysbench(site, context, "oltp-read-write", "oltp_read_write", figure)
}

/// A transaction is a row.
pub(super) fn insert(site: &mut Site, context: &Context<'_>) -> Result<Vec<Row>, Absent> {
    beside_sysbench(site, context, "oltp-insert", "oltp_insert", Figure::Cpu)
}

fn beside_sysbench(
    site: &mut Site,
    context: &Context<'_>,
    workload: &str,
    script: &'static str,
    figure: Figure,
) -> Result<Vec<Row>, Absent> {
    have_tables(site)?;
    let site: &Site = site;
    let (rounds, seconds) = (context.options.rounds, context.options.seconds);
    let contestants = [
        dbdyno(site, Transport::Socket, workload, seconds),
        sysbench(site, context, script),
    ];
    let transport = Transport::Socket;
    let title = title(site, workload, transport);
    let [ours, peer] = hold(&title, rounds, contestants, &|| site.settle());
    let wanted = (figure, Reach::RatioAtMost(0.5));
    let rows = compared(site, transport, workload, wanted, &ours, &peer);
    Ok(rows.into())
}

fn have_tables(site: &mut Site) -> Result<(), Absent> {
    site.have(oltp::DATABASE, ours::load_oltp)
}

/// With its data.
fn pgbench(site: &mut Site) -> Result<PgBench, Absent> {
    if site.engine != Engine::Postgres {
        return Err(Absent::NotMeasured("it drives PostgreSQL alone".to_owned()));
    }
    site.have(PgBench::DATABASE, |site| PgBench.load(site))?;
    Ok(PgBench)
}

fn bare_loop<'a>(
    site: &'a Site,
    transport: Transport,
    tool: &Result<Bare, Absent>,
    seconds: u64,
) -> Contestant<'a> {
    Contestant::peer("bare loop", tool.clone(), move |tool| {
        tool.run(site, transport, CONNECTIONS, seconds)
    })
}

fn dbdyno<'a>(
    site: &'a Site,
    transport: Transport,
    workload: &str,
    seconds: u64,
) -> Contestant<'a> {
    let drive = Drive::oltp(site, transport, workload, CONNECTIONS, seconds);
    Contestant::new(ours::NAME, move |round| drive.run(round))
}

fn sysbench<'a>(site: &'a Site, context: &Context<'_>, script: &'static str) -> Contestant<'a> {
    let seconds = context.options.seconds;
    let tool = context.peers.sysbench.clone();
    Contestant::peer("sysbench", tool, move |tool| {
        tool.run(site, script, CONNECTIONS, seconds)
    })
}

fn title(site: &Site, workload: &str, transport: Transport) -> String {
    format!("{}: {workload}, {}", site.engine.name(), transport.name())
}

/// What is wanted, and the rate beside it.
fn compared(
    site: &Site,
    transport: Transport,
    workload: &str,
    wanted: (Figure, Reach),
    ours: &Outcome,
    peer: &Outcome,
) -> [Row; 2] {
    let transport = transport.name();
    let what = format!("{workload}, {CONNECTIONS} connections, {transport}");
    [wanted, (Figure::Tps, Reach::Nothing)]
        .map(|(figure, reach)| Row::new(&what, site.engine.name(), figure, ours, Some(peer), reach))
}
