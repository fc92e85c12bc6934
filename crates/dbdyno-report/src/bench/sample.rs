//! The sample page of the guide, held against the page as it is printed.

use dbdyno_model::Bench;
use dbdyno_model::bench::Target;
use dbdyno_model::run::{Check, ServerUse, TransactionStats};

use super::{bench_page, fixtures};
use crate::style::Style;

const GUIDE: &str = include_str!("../../../../docs/guide/bench.md");

/// Of TPC-C on MariaDB as in the sample, checked, with nothing to warn of.
fn run() -> Bench {
    let any = fixtures::closed();
    let names = [
        "new_order",
        "payment",
        "order_status",
        "delivery",
        "stock_level",
    ];
    let transactions = names.map(|name| TransactionStats {
        name: name.into(),
        ..any.per_transaction[0].clone()
    });
    let holds = Check {
        name: "3.3.2.1".into(),
        description: "W_YTD = sum(D_YTD)".into(),
        passed: true,
        detail: None,
    };
    Bench {
        isolation: Some("repeatable-read".into()),
        own_isolation: [("delivery".into(), "read-committed".into())].into(),
        target: Target {
            engine: "MariaDB".into(),
            version: "10.11.19".into(),
            ..Target::default()
        },
        per_transaction: transactions.to_vec(),
        server: ServerUse {
            cpu_us_per_transaction: Some(1_600.0),
            wal_bytes_per_transaction: Some(7_450.0),
            blocks_hit: Some(9_999_990),
            blocks_read: Some(0),
            write_bytes: Some(132 << 20),
            checkpoint_moved_bytes: Some(0),
            checkpoint_age_bytes: Some(5 << 20),
            dirty_pages: Some(4_000),
            pages_flushed: Some(0),
            fsyncs: Some(900),
            ..ServerUse::default()
        },
        consistency: vec![holds; 12],
        ..any
    }
}

/// Words that are neither figures nor their units nor bars.
fn labels(page: &str) -> Vec<&str> {
    const UNITS: [&str; 7] = ["s", "ms", "µs", "B", "KiB", "MiB", "GiB"];
    let is_label = |word: &&str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_figure = bare.starts_with(|c: char| c.is_ascii_digit());
        let is_bars = word.chars().all(|c| ('▁'..='█').contains(&c));
        !is_figure && !is_bars && !UNITS.contains(&bare)
    };
    page.split_whitespace().filter(is_label).collect()
}

#[test]
fn the_sample_of_the_guide_is_what_is_printed() {
    let page = bench_page(&run(), 80, Style::Plain);
    let (_, sample) = GUIDE
        .split_once("the result to standard output:\n")
        .unwrap();
    let (sample, _) = sample.split_once("\n(`dbdyno bench run").unwrap();
    // What is warned of is the run's own.
    let sample = sample.split("\n    ! ").next().unwrap();
    assert_eq!(labels(sample), labels(&page), "{page}");
}
