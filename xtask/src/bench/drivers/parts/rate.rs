//! A fixed rate at half of what the server can do, and what a standstill of the server shows as.

use std::time::Duration;

use dbdyno_target::process::{self, Signal};

use super::super::contest::{Contestant, hold};
use super::super::figures::{Absent, Figure, Reach, Run};
use super::super::ours::{self, Drive};
use super::super::rows::Row;
use super::super::site::{Site, Transport};
use super::Context;

const CONNECTIONS: u32 = 8;
const STANDSTILL: Duration = Duration::from_secs(2);

pub(super) fn run(site: &mut Site, context: &Context<'_>) -> Result<Vec<Row>, Absent> {
    context.load_ours(site)?;
    let site: &Site = site;
    let seconds = context.options.seconds;
    let server = site.engine.name();
    let drive = || Drive::tpcc(site, "pipelined", CONNECTIONS, seconds);
    eprintln!("{server}: rate, what the server can do");
    let figures = drive().run(1)?.figures;
    let capacity = figures.get(&Figure::Tps).copied().unwrap_or_default();
    let rate = (capacity / 2.0).round();
    if rate < 1.0 {
        return Err(Absent::Failed("the server did nothing".to_owned()));
    }
    let at_rate = || drive().with(format!("--rate={rate}"));
    let (even, stopped) = (at_rate(), at_rate());
    let begin = Duration::from_secs(seconds) / 3;
    let contestants = [
        Contestant::new(ours::NAME, |round| even.run(round)),
        Contestant::new(ours::NAME, |round| {
            standing_still(site.pid(), begin, || stopped.run(round))
        }),
    ];
    let title = format!("{server}: rate");
    let rounds = context.options.rounds;
    let [even, stopped] = hold(&title, rounds, contestants, &|| site.settle());
    let (transport, still) = (Transport::Tcp.name(), STANDSTILL.as_secs());
    let what = format!("TPC-C pipelined at {rate} TPS, {CONNECTIONS} connections, {transport}");
    let with_stop = format!("{what}, all of the server stopped for {still} s");
    // What waits then is worked off at twice its rate.
    let shown = Reach::OursWithin(1_900.0, 2_500.0);
    let rows = [
        (&what, &even, Figure::Lost, Reach::OursAtMost(0.1)),
        (&what, &even, Figure::P99, Reach::Nothing),
        (&with_stop, &stopped, Figure::P999, shown),
        (&with_stop, &stopped, Figure::Max, shown),
    ];
    let row = |(what, ours, figure, reach): (&String, _, _, _)| {
        Row::new(what, server, figure, ours, None, reach)
    };
    Ok(rows.map(row).into())
}

/// Stops the server's processes while the load goes on, and lets them go again.
fn standing_still(
    server: u32,
    begin: Duration,
    load: impl FnOnce() -> Result<Run, Absent>,
) -> Result<Run, Absent> {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(begin);
            let processes = process::tree(server);
            for pid in &processes {
                process::signal(*pid, Signal::STOP);
            }
            std::thread::sleep(STANDSTILL);
            for pid in &processes {
                process::signal(*pid, Signal::CONT);
            }
        });
        load()
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn state(pid: u32) -> String {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        fields.split(' ').next().unwrap().to_owned()
    }

    #[test]
    fn a_server_stands_still_and_goes_on() {
        let mut server = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = server.id();
        let load = || {
            std::thread::sleep(STANDSTILL / 2);
            assert_eq!(state(pid), "T");
            Ok(Run::default())
        };
        assert!(standing_still(pid, Duration::ZERO, load).is_ok());
        let begun = std::time::Instant::now();
        while state(pid) == "T" {
            assert!(begun.elapsed() < Duration::from_secs(10), "it stands still");
            std::thread::sleep(Duration::from_millis(10));
        }
        server.kill().unwrap();
        server.wait().unwrap();
    }
}
