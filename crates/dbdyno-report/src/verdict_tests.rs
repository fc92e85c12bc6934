//! Tests of the verdict: every word, with and without unsafe arms, and what is missing.

use super::*;
use crate::testing;
use crate::text::columns;

const NEXT: &str = "dbdyno tune --budget proof";

const WORDS: [Word; 5] = [
    Word::Improved,
    Word::Worse,
    Word::NoDifference,
    Word::Undecided,
    Word::TooNoisy,
];

#[test]
fn every_word() {
    for word in WORDS {
        let tune = testing::tune_with(word);
        let plain = verdict_page(&tune, Some(NEXT), 80, Style::Plain);
        assert!(plain.lines().count() <= 12, "{plain}");
        assert!(plain.lines().all(|line| columns(line) <= 80), "{plain}");
        insta::assert_snapshot!(format!("verdict_{}", word.as_str()), plain);

        let coloured = verdict_page(&tune, Some(NEXT), 80, Style::Coloured);
        assert_eq!(testing::without_colour(&coloured), plain);
        insta::assert_snapshot!(
            format!("verdict_{}_coloured", word.as_str()),
            testing::visible_escapes(&coloured)
        );
    }
}

#[test]
fn unsafe_arms_have_a_price_and_no_word() {
    for word in WORDS {
        let tune = testing::with_unsafe_arms(testing::tune_with(word));
        let page = verdict_page(&tune, Some(NEXT), 80, Style::Plain);
        assert!(page.lines().all(|line| columns(line) <= 80), "{page}");
        insta::assert_snapshot!(format!("verdict_{}_unsafe", word.as_str()), page);
        let price = price_of_safety(&tune, 80, Style::Plain).unwrap();
        for word in WORDS {
            assert!(!price.contains(word.as_str()), "{price}");
        }
        assert!(price.contains("never recommended"));
    }
}

#[test]
fn a_narrow_page_keeps_its_width() {
    let mut tune = testing::with_unsafe_arms(testing::tune());
    tune.arms[1].class = Class::MayLoseLastCommits;
    let page = verdict_page(&tune, None, 60, Style::Plain);
    assert!(page.lines().all(|line| columns(line) <= 60), "{page}");
    insta::assert_snapshot!("verdict_60_unsafe", page);
}

#[test]
fn only_improved_reads_as_one() {
    for word in WORDS {
        let tune = testing::tune_with(word);
        let page = verdict_page(&tune, None, 80, Style::Plain);
        assert_eq!(page.contains("improved"), word == Word::Improved);
        let unwrapped = page.replace('\n', " ");
        assert!(unwrapped.contains("derived from TPC-C, not comparable with audited results"));
    }
}

#[test]
fn a_ratio_is_not_told_without_its_interval() {
    let mut tune = testing::tune_with(Word::Undecided);
    tune.complete = false;
    let verdict = tune.verdict.as_mut().unwrap();
    verdict.interval = None;
    verdict.pairs = 3;
    insta::assert_snapshot!(
        "verdict_interrupted",
        verdict_page(&tune, Some("dbdyno resume"), 80, Style::Plain)
    );
}

#[test]
fn missing_values_are_dashes() {
    let mut tune = testing::tune();
    for arm in &mut tune.arms {
        arm.tps_mean = None;
        arm.wal_bytes_per_transaction = None;
        arm.latency_ms = None;
        arm.recovery_s = None;
    }
    let verdict = tune.verdict.as_mut().unwrap();
    verdict.noise_floor = None;
    verdict.p99_ratio = None;
    verdict.ratio_without_checkpoint = None;
    insta::assert_snapshot!(
        "verdict_missing",
        verdict_page(&tune, None, 80, Style::Plain)
    );
}

#[test]
fn warnings_are_never_folded() {
    let mut tune = testing::tune();
    tune.consistency[0].passed = false;
    let verdict = tune.verdict.as_mut().unwrap();
    verdict.discarded_pairs = 1;
    verdict.caveats.push(
        "The data set fits in shared_buffers: on larger data the difference may be another.".into(),
    );
    insta::assert_snapshot!(
        "verdict_warnings",
        verdict_page(&tune, None, 60, Style::Plain)
    );
}

#[test]
fn without_a_trial_nothing_is_claimed() {
    let mut tune = testing::tune();
    tune.verdict = None;
    tune.notes = vec!["--plan-only: no trial was asked for.".to_owned()];
    insta::assert_snapshot!(
        "verdict_none",
        verdict_page(&tune, Some("dbdyno tune"), 80, Style::Plain)
    );
}
