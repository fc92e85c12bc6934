//! Several numbers of connections side by side, and where the server is full.

use dbdyno_model::Bench;

use crate::number;
use crate::style::{Role, Style};
use crate::table::{Align, Table};
use crate::text::{narrow_page_width, page, wrap};

/// Less more than that is no more.
const GROWTH: f64 = 0.05;

/// A row for each run, and a sentence on how far more connections brought more.
#[must_use]
pub fn sweep_page(runs: &[Bench], width: usize, style: Style) -> String {
    let width = narrow_page_width(width);
    let mut table = Table::new(&[
        ("connections", Align::Right),
        ("TPS", Align::Right),
        ("p50", Align::Right),
        ("p95", Align::Right),
        ("p99", Align::Right),
        ("errors", Align::Right),
        ("driver µs", Align::Right),
        ("server µs", Align::Right),
    ]);
    for run in runs {
        let latency = |of: fn(&dbdyno_model::run::Latency) -> f64| {
            number::or_missing(run.latency_ms.as_ref().map(of), number::duration_ms)
        };
        table.row([
            number::count(run.connections.into()),
            number::measured(run.tps),
            latency(|latency| latency.p50),
            latency(|latency| latency.p95),
            latency(|latency| latency.p99),
            number::count(run.errors.values().sum()),
            number::or_missing(run.driver.cpu_us_per_transaction, number::measured),
            number::or_missing(run.server.cpu_us_per_transaction, number::measured),
        ]);
    }
    let mut lines = vec![
        style.paint(Role::Heading, "Connections, one run each"),
        String::new(),
    ];
    lines.extend(table.fit(width));
    if let Some(sentence) = full_at(runs) {
        lines.push(String::new());
        lines.extend(wrap(&sentence, width));
    }
    page(&lines)
}

/// Single runs: a step is only called one where it is clear.
fn full_at(runs: &[Bench]) -> Option<String> {
    let best = runs.iter().max_by(|a, b| a.tps.total_cmp(&b.tps))?;
    if runs.len() < 2 {
        return None;
    }
    let enough = runs
        .iter()
        .find(|run| run.tps >= best.tps * (1.0 - GROWTH))?;
    if enough.connections == runs.last()?.connections {
        return Some(format!(
            "The most connections tried, {}, did best: try more of them.",
            number::count(enough.connections.into())
        ));
    }
    Some(format!(
        "From {} connections on, more of them brought less than {} more: about {}. One run each \
         says where to look, not by how much one is better.",
        number::count(enough.connections.into()),
        number::percent(GROWTH),
        number::tps(best.tps),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::fixtures;

    #[test]
    fn a_sweep_names_where_it_levels_off() {
        let run = |connections: u32, tps: f64| Bench {
            connections,
            tps,
            ..fixtures::closed()
        };
        let runs = [
            run(1, 410.0),
            run(4, 1_180.0),
            run(8, 1_220.0),
            run(32, 1_100.0),
        ];
        insta::assert_snapshot!("sweep_80", sweep_page(&runs, 80, Style::Plain));
        insta::assert_snapshot!("sweep_40", sweep_page(&runs[..2], 40, Style::Plain));
        assert!(full_at(&runs).unwrap().contains("From 4 connections"));
        assert_eq!(full_at(&runs[..1]), None);
    }
}
