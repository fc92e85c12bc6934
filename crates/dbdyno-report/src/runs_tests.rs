//! Tests of the list of stored trials: what fits, in which order, and what it claims.

use proptest::prelude::*;

use super::*;
use crate::testing::{visible_escapes, without_colour};
use crate::text::columns;

fn trial(day: u32, word: Option<Word>, ratio: f64, interval: [f64; 2], pairs: u32) -> Listed {
    Listed {
        name: format!("tune-202603{day:02}T092653Z-k3f{day}"),
        started_at: format!("2026-03-{day:02}T09:26:53Z"),
        complete: true,
        workload: "tpcc".to_owned(),
        machine: "2 × Intel(R) Xeon(R) Processor, 23.5 GiB, ext4 on vda, Linux 6.18 (kvm)"
            .to_owned(),
        server: "PostgreSQL 15.18 (Debian 15.18-0+deb12u1)".to_owned(),
        word,
        ratio: word.map(|_| ratio),
        interval: word.map(|_| interval),
        pairs,
        runs: 2 * pairs + 2,
        bytes: 123_456 * u64::from(pairs + 1),
    }
}

/// One of each word, an interrupted one, and one that only planned; not in their order.
fn trials() -> Vec<Listed> {
    let mut noisy = trial(5, Some(Word::TooNoisy), 1.0, [0.5, 2.0], 1);
    noisy.interval = None;
    let mut interrupted = trial(9, Some(Word::Undecided), 1.04, [0.89, 1.21], 3);
    interrupted.complete = false;
    let mut killed = trial(8, Some(Word::Undecided), 1.0, [1.0, 1.0], 0);
    killed.complete = false;
    let mut script = trial(7, Some(Word::Worse), 0.869, [0.834, 0.905], 8);
    script.workload = "orders-and-transfers.sql".to_owned();
    script.server = "PostgreSQL 17.5".to_owned();
    let mut planned = trial(1, None, 0.0, [0.0, 0.0], 0);
    planned.workload = String::new();
    vec![
        trial(3, Some(Word::NoDifference), 1.0104, [0.99, 1.031], 10),
        planned,
        trial(6, Some(Word::Improved), 1.3113, [1.26, 1.37], 4),
        noisy,
        interrupted,
        trial(4, Some(Word::Improved), 1.06, [1.003, 1.12], 20),
        killed,
        script,
    ]
}

#[test]
fn pages() {
    for width in [60, 80, 120, 140] {
        let plain = runs_page(&trials(), width, Style::Plain);
        assert!(plain.lines().all(|line| columns(line) <= width), "{plain}");
        insta::assert_snapshot!(format!("runs_{width}"), plain);
        let coloured = runs_page(&trials(), width, Style::Coloured);
        assert_eq!(without_colour(&coloured), plain);
        if width == 80 {
            insta::assert_snapshot!("runs_80_coloured", visible_escapes(&coloured));
        }
    }
}

#[test]
fn the_newest_is_first_whatever_the_order_was() {
    let mut trials = trials();
    let page = runs_page(&trials, 80, Style::Plain);
    trials.reverse();
    assert_eq!(runs_page(&trials, 80, Style::Plain), page);
    let days: Vec<&str> = page
        .lines()
        .skip(1)
        .filter_map(|line| line.get(11..13))
        .collect();
    assert_eq!(days[..8], ["09", "08", "07", "06", "05", "04", "03", "01"]);
}

#[test]
fn an_empty_list_says_what_to_do() {
    assert_eq!(
        runs_page(&[], 80, Style::Plain),
        "no runs yet: dbdyno tune\n"
    );
}

#[test]
fn a_ratio_is_not_told_without_its_interval_nor_one_that_noise_has_spoilt() {
    let mut alone = trial(2, Some(Word::Undecided), 1.21, [1.0, 1.5], 1);
    alone.interval = None;
    let noisy = trial(3, Some(Word::TooNoisy), 1.23, [1.1, 1.4], 2);
    let page = runs_page(&[alone, noisy], 140, Style::Plain);
    assert!(!page.contains("1.21") && !page.contains("1.23"), "{page}");
}

#[test]
fn a_name_steers_no_terminal() {
    let mut trial = trial(2, Some(Word::Improved), 1.21, [1.1, 1.3], 4);
    trial.name = "evil\u{1b}[2J".to_owned();
    assert!(!runs_page(&[trial], 80, Style::Plain).contains('\u{1b}'));
}

proptest! {
    #[test]
    fn no_line_is_longer_than_the_page(width in 40_usize..240, name in "[a-z0-9-]{1,80}") {
        let mut trials = trials();
        trials[0].name = name;
        let page = runs_page(&trials, width, Style::Plain);
        for line in page.lines() {
            prop_assert!(columns(line) <= width, "{width}: {line}");
            prop_assert_eq!(line.trim_end(), line);
        }
        // The word is told on any page.
        let told = columns(&trials[0].name).max(26) + 2 + 13 <= width;
        prop_assert!(!told || page.contains("no_difference"));
    }
}
