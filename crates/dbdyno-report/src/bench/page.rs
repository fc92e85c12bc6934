//! The end of one run: the number, what it was measured with, and whether to trust it.

use dbdyno_model::Bench;
use dbdyno_model::run::Latency;

use super::{footprint, innodb, limits, reconnects};
use crate::number;
use crate::spark;
use crate::style::{Role, Style};
use crate::table::{Align, Table};
use crate::text::{clean, cut, hang, narrow_page_width, page, plural, wrap};

/// Pages read for a transaction below which all came from the cache.
const LEAST_PAGES: f64 = 0.01;

/// The page of one run.
#[must_use]
pub fn bench_page(run: &Bench, width: usize, style: Style) -> String {
    let width = narrow_page_width(width);
    let headline = wrap(&headline(run), width);
    let mut lines: Vec<String> = headline
        .iter()
        .map(|line| style.paint(Role::Heading, line))
        .collect();
    lines.extend(wrap(&what(run), width));
    lines.push(String::new());
    lines.extend(series(run, width));
    lines.extend(latencies(run, width));
    lines.extend(limits::table(run, width));
    lines.push(String::new());
    for (name, text) in figures(run) {
        lines.extend(hang(&format!("{name:<12}"), &text, width));
    }
    lines.extend(footprint::tables(run, width));
    lines.extend(errors(run, width, style));
    lines.extend(reconnects::failed(run, width, style));
    lines.extend(checks(run, width, style));
    lines.extend(warnings(run, width, style));
    page(&lines)
}

/// `3,160 TPS (3,100 to 3,200 over 3 windows of 2.0 s), 83,000 new orders a minute`.
fn headline(run: &Bench) -> String {
    let mut text = number::tps(run.tps);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for tps in &run.tps_of_windows {
        (low, high) = (low.min(*tps), high.max(*tps));
    }
    let windows = run.tps_of_windows.len();
    if windows > 1 {
        let length = run.window_s.unwrap_or(run.seconds / windows as f64);
        let length = number::duration(length);
        text.push_str(&format!(
            " ({} to {} over {windows} windows of {length})",
            number::measured(low),
            number::measured(high)
        ));
    }
    if let Some(rows) = run.rows_per_s {
        text.push_str(&format!(", {} rows a second", number::measured(rows)));
    }
    if let Some(notpm) = run.notpm {
        text.push_str(&format!(
            ", {} new orders a minute",
            number::measured(notpm)
        ));
    }
    if !run.complete {
        text.push_str("; cut short");
    }
    text
}

/// On what, with what.
fn what(run: &Bench) -> String {
    let mode = run.mode.as_deref().map(|mode| format!(", {mode}"));
    let isolation = run.isolation.as_deref();
    let own = run.own_isolation.iter();
    let own: String = own
        .map(|(transaction, level)| format!(", {transaction} {level}"))
        .collect();
    let isolation = isolation.map(|level| format!(", isolation {level}"));
    let target = &run.target;
    clean(&format!(
        "{}{}; {} {} over {}{}{own}, {}; seed {}; {} measured behind {} of warm-up",
        run.description,
        mode.unwrap_or_default(),
        target.engine,
        target.version,
        match run.transport.as_str() {
            "unix socket" => "the unix socket",
            transport => transport,
        },
        isolation.unwrap_or_default(),
        plural(run.connections.into(), "connection"),
        run.seed,
        number::duration(run.seconds),
        number::duration(run.warm_up_s),
    ))
}

/// The rate of each second as bars, where there are enough of them to see something.
fn series(run: &Bench, width: usize) -> Vec<String> {
    const NAME: &str = "each second ";
    let room = width.saturating_sub(NAME.len());
    // A part of one is no second: its rate is that of a moment.
    let whole = run.series.iter().filter(|second| second.is_whole());
    let seconds: Vec<f64> = whole.map(|second| second.transactions as f64).collect();
    if seconds.len() < 2 || room == 0 {
        return Vec::new();
    }
    let together = seconds.len().div_ceil(room);
    let bars: Vec<Option<f64>> = seconds
        .chunks(together)
        .map(|some| Some(some.iter().sum::<f64>() / some.len() as f64))
        .collect();
    let top = bars.iter().flatten().copied().fold(0.0, f64::max);
    vec![format!("{NAME}{}", spark::bars(&bars, top)), String::new()]
}

fn latencies(run: &Bench, width: usize) -> Vec<String> {
    let mut table = Table::new(&[
        ("latency", Align::Left),
        ("p50", Align::Right),
        ("p95", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("max", Align::Right),
        ("count", Align::Right),
    ]);
    let mut row = |name: &str, count: u64, latency: Option<&Latency>| {
        let of = |value: fn(&Latency) -> f64| {
            number::or_missing(latency.map(value), number::duration_ms)
        };
        table.row([
            name.to_owned(),
            of(|latency| latency.p50),
            of(|latency| latency.p95),
            of(|latency| latency.p99),
            of(|latency| latency.p999),
            of(|latency| latency.max),
            number::count(count),
        ]);
    };
    if run.per_transaction.len() > 1 {
        for one in &run.per_transaction {
            row(&cut(&one.name, 24), one.count, one.latency_ms.as_ref());
        }
    }
    let all = run.latency_ms.as_ref();
    row("all", all.map_or(0, |latency| latency.count), all);
    let mut lines = table.fit(width);
    lines.push(format!("from the {} of each", run.latency_from));
    lines
}

/// What it took, name by name.
fn figures(run: &Bench) -> Vec<(&'static str, String)> {
    let us = |value: Option<f64>| {
        number::or_missing(value, |us| {
            format!("{} µs of CPU each", number::measured(us))
        })
    };
    let mut figures: Vec<_> = limits::notpm(run)
        .map(|text| ("NOTPM", text))
        .into_iter()
        .collect();
    let sent = run
        .statements_per_transaction
        .zip(run.round_trips_per_transaction);
    if let Some((statements, trips)) = sent {
        figures.push((
            "sent",
            format!(
                "{} statements in {} round trips a transaction",
                number::measured(statements),
                number::measured(trips)
            ),
        ));
    }
    let busy = run.driver_busy.map_or_else(String::new, |busy| {
        format!(", {} busy", number::percent(busy))
    });
    let rss = run.driver.peak_rss_bytes.map_or_else(String::new, |bytes| {
        format!(", {} at most", number::bytes(bytes))
    });
    figures.push((
        "driver",
        format!(
            "{}, {}{busy}{rss}",
            us(run.driver.cpu_us_per_transaction),
            plural(run.driver.threads.into(), "thread")
        ),
    ));
    figures.push((
        "server",
        server(run, &us(run.server.cpu_us_per_transaction)),
    ));
    if let Some(open) = &run.open_loop {
        figures.push((
            "rate",
            format!(
                "{} asked for{}, {} done, {} due and not begun at the end",
                number::tps(open.rate_tps),
                match run.arrivals.as_deref() {
                    Some("poisson") => " as Poisson arrivals",
                    _ => "",
                },
                number::tps(run.tps),
                number::count(open.backlog)
            ),
        ));
    }
    figures
}

fn server(run: &Bench, cpu: &str) -> String {
    let server = &run.server;
    let mut parts = vec![cpu.to_owned()];
    if let Some(wal) = server.wal_bytes_per_transaction {
        let log = if run.target.engine == "PostgreSQL" {
            "WAL"
        } else {
            "redo log"
        };
        parts.push(format!("{} of {log} each", number::bytes(wal as u64)));
    }
    if let Some((hit, read)) = server.blocks_hit.zip(server.blocks_read)
        && hit + read > 0
    {
        let share = hit as f64 / (hit + read) as f64;
        parts.push(format!(
            "{} of page reads from its cache",
            number::share(share)
        ));
        let each = read as f64 / run.transactions.max(1) as f64;
        if each >= LEAST_PAGES {
            parts.push(format!("{} pages read each", number::measured(each)));
        }
    }
    if let Some((timed, requested)) = server.checkpoints_timed.zip(server.checkpoints_requested) {
        parts.push(format!(
            "{} ({} requested)",
            plural(timed + requested, "checkpoint"),
            number::count(requested)
        ));
    }
    if run.target.engine != "PostgreSQL" {
        parts.extend(innodb::parts(server));
    }
    if let Some(bytes) = server.write_bytes {
        parts.push(format!("{} written", number::bytes(bytes)));
    }
    parts.join(", ")
}

fn errors(run: &Bench, width: usize, style: Style) -> Vec<String> {
    let given_up: u64 = run.errors.values().sum();
    let mut lines = hang(
        "errors      ",
        &format!(
            "{}, {}, {} rolled back as the workload says",
            number::count(given_up),
            plural(run.retries, "retry"),
            number::count(run.intended_rollbacks)
        ),
        width,
    );
    for (code, count) in &run.errors {
        let message = run.error_messages.get(code).map_or("", String::as_str);
        let text = format!("{} × {code}: {}", number::count(*count), clean(message));
        let painted = hang("            ", &text, width);
        lines.extend(painted.iter().map(|line| style.paint(Role::Bad, line)));
    }
    lines
}

fn checks(run: &Bench, width: usize, style: Style) -> Vec<String> {
    if run.consistency.is_empty() {
        return Vec::new();
    }
    let failed: Vec<_> = run
        .consistency
        .iter()
        .filter(|check| !check.passed)
        .collect();
    let apart = run.consistency.iter().filter(|check| !check.applies());
    let apart = apart.count();
    let mut sum = format!(
        "{} of {} hold",
        run.consistency.len() - failed.len() - apart,
        plural(run.consistency.len() as u64, "check")
    );
    if apart > 0 {
        sum.push_str(&format!(", {apart} not applicable"));
    }
    let mut lines = hang("checks      ", &sum, width);
    for check in failed {
        let detail = check.detail.as_deref().unwrap_or("");
        let text = format!("{} fails: {}: {detail}", check.name, check.description);
        let painted = hang("            ", &text, width);
        lines.extend(painted.iter().map(|line| style.paint(Role::Bad, line)));
    }
    lines
}

fn warnings(run: &Bench, width: usize, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for warning in &run.warnings {
        lines.push(String::new());
        let what = hang("! ", &warning.what, width);
        lines.extend(what.iter().map(|line| style.paint(Role::Warn, line)));
        lines.extend(hang("  next: ", &warning.next, width));
    }
    lines
}

#[cfg(test)]
mod tests {
    use dbdyno_model::run::Second;

    use super::*;
    use crate::bench::fixtures;

    #[test]
    fn pages() {
        let page = |run: &Bench, width| bench_page(run, width, Style::Plain);
        insta::assert_snapshot!("page_80", page(&fixtures::closed(), 80));
        insta::assert_snapshot!("page_120", page(&fixtures::closed(), 120));
        insta::assert_snapshot!("page_overloaded_80", page(&fixtures::overloaded(), 80));
        insta::assert_snapshot!("page_overloaded_40", page(&fixtures::overloaded(), 40));
        insta::assert_snapshot!("page_inserts_80", page(&fixtures::inserts(), 80));
        insta::assert_snapshot!("page_thinking_80", page(&fixtures::thinking(), 80));
        insta::assert_snapshot!("page_thinking_40", page(&fixtures::thinking(), 40));
        insta::assert_snapshot!("page_nothing_known", page(&fixtures::nothing_known(), 80));
        let coloured = bench_page(&fixtures::overloaded(), 80, Style::Coloured);
        insta::assert_snapshot!("page_coloured", coloured);
    }

    #[test]
    fn hurried_users_do_not_make_a_share() {
        let hurried = Bench {
            think: Some(0.01),
            notpm: Some(6_030.0),
            ..fixtures::thinking()
        };
        let page = bench_page(&hurried, 80, Style::Plain);
        assert!(
            page.contains("6,030, by 0.01 × the specification's"),
            "{page}"
        );
    }

    #[test]
    fn a_transaction_with_a_level_of_its_own_is_told() {
        let run = Bench {
            isolation: Some("repeatable-read".into()),
            own_isolation: [("delivery".into(), "read-committed".into())].into(),
            ..fixtures::closed()
        };
        let told = what(&run);
        let expected = ", isolation repeatable-read, delivery read-committed, 8 connections;";
        assert!(told.contains(expected), "{told}");
    }

    #[test]
    fn windows_are_as_long_as_they_are_told() {
        let run = Bench {
            seconds: 25.4,
            tps_of_windows: vec![3_160.0; 8],
            window_s: Some(3.0),
            ..fixtures::closed()
        };
        let page = bench_page(&run, 80, Style::Plain);
        assert!(page.contains("8 windows of 3.0 s"), "{page}");
    }

    #[test]
    fn a_second_that_was_cut_short_is_no_dip() {
        let mut run = fixtures::closed();
        run.series.push(Second {
            at_s: 2.1,
            cut_to_s: Some(0.1),
            transactions: 3,
            ..Second::default()
        });
        assert_eq!(series(&run, 80), series(&fixtures::closed(), 80));
    }

    #[test]
    fn poisson_arrivals_are_told() {
        let poisson = Bench {
            arrivals: Some("poisson".into()),
            ..fixtures::overloaded()
        };
        let page = bench_page(&poisson, 120, Style::Plain);
        let told = "5,000 TPS asked for as Poisson arrivals, ";
        assert!(page.contains(told), "{page}");
    }

    #[test]
    fn checks_that_say_nothing_do_not_count_as_held() {
        let mut run = fixtures::overloaded();
        run.consistency[0].detail = Some("does not apply".to_owned());
        let page = bench_page(&run, 80, Style::Plain);
        assert!(
            page.contains("0 of 2 checks hold, 1 not applicable"),
            "{page}"
        );
    }

    #[test]
    fn no_line_is_wider_than_asked_for() {
        for width in [40, 60, 80, 120] {
            for run in [
                fixtures::closed(),
                fixtures::overloaded(),
                fixtures::inserts(),
                fixtures::thinking(),
                fixtures::nothing_known(),
            ] {
                let page = bench_page(&run, width, Style::Plain);
                let widest = page.lines().map(|line| line.chars().count()).max();
                assert!(widest.unwrap() <= width, "{page}");
            }
        }
    }
}
