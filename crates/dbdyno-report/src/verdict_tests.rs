//! Tests of the page: every word, its length and width, and what is missing.

use dbdyno_model::run::Check;
use proptest::prelude::*;

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

/// All that makes a page long.
fn crammed(word: Word) -> Tune {
    examples::disturbed(testing::with_unsafe_arms(examples::tune_with(word)))
}

/// A line that is there to be copied is never broken.
fn is_command(line: &str) -> bool {
    line.starts_with("dbdyno ")
}

fn check_width(page: &str, width: usize) {
    for line in page.lines() {
        assert!(
            columns(line) <= width || is_command(line),
            "{width}: {line}\n{page}"
        );
        assert_eq!(line.trim_end(), line, "{page}");
    }
}

#[test]
fn every_word() {
    for word in WORDS {
        let tune = examples::tune_with(word);
        let plain = verdict_page(&tune, Some(NEXT), 80, Style::Plain);
        check_width(&plain, 80);
        insta::assert_snapshot!(format!("verdict_{}", word.as_str()), plain);
        let coloured = verdict_page(&tune, Some(NEXT), 80, Style::Coloured);
        assert_eq!(testing::without_colour(&coloured), plain);
    }
}

#[test]
fn colours() {
    let tune = crammed(Word::Improved);
    for width in [80, 120] {
        let coloured = verdict_page(&tune, Some(NEXT), width, Style::Coloured);
        let plain = verdict_page(&tune, Some(NEXT), width, Style::Plain);
        assert_eq!(testing::without_colour(&coloured), plain);
        insta::assert_snapshot!(
            format!("verdict_{width}_coloured"),
            testing::visible_escapes(&coloured)
        );
    }
}

#[test]
fn a_screen_holds_it() {
    for word in WORDS {
        for tune in [examples::tune_with(word), crammed(word)] {
            for (width, most) in [(80, 40), (109, 40), (110, 50), (120, 50), (200, 50)] {
                let page = verdict_page(&tune, Some(NEXT), width, Style::Plain);
                let lines = page.lines().count();
                assert!(lines <= most, "{lines} at {width}\n{page}");
            }
        }
    }
}

#[test]
fn widths() {
    for width in [60, 80, 110, 200] {
        let page = verdict_page(&crammed(Word::Improved), Some(NEXT), width, Style::Plain);
        check_width(&page, width);
        insta::assert_snapshot!(format!("verdict_{width}_unsafe"), page);
    }
    let page = verdict_page(&crammed(Word::Undecided), Some(NEXT), 80, Style::Plain);
    insta::assert_snapshot!("verdict_undecided_unsafe", page);
    let page = verdict_page(&crammed(Word::TooNoisy), Some(NEXT), 40, Style::Plain);
    insta::assert_snapshot!("verdict_too_noisy_40", page);
}

#[test]
fn charts_only_where_there_is_room_and_every_figure_is_a_number_too() {
    let tune = crammed(Word::Improved);
    let is_chart = |c: char| "▁▂▃▄▅▆▇█●├┼┤".contains(c);
    assert!(!verdict_page(&tune, None, 109, Style::Plain).contains(is_chart));
    let page = verdict_page(&tune, None, 110, Style::Plain);
    for pair in ["1.34", "1.29", "1.32", "1.30"] {
        assert!(page.contains(pair), "{pair}\n{page}");
    }
    // Checkpoints of the shipped arm, and least and most of both strips.
    assert!(page.contains("▲ at 14, 34, 54 s  ─ 4.0 s"), "{page}");
    let strips = page.lines().filter(|line| line.contains('▆'));
    assert_eq!(strips.clone().count(), 2, "{page}");
    for strip in strips {
        assert!(strip.contains(" to "), "{strip}");
    }
}

#[test]
fn long_names_many_pairs_and_long_runs_fit() {
    let mut tune = testing::crowded();
    for run in &mut tune.runs {
        let seconds = run.series.clone();
        for lap in 1..6 {
            run.series.extend(seconds.iter().cloned().map(|mut second| {
                second.at_s += f64::from(lap) * 64.0;
                second
            }));
        }
    }
    for width in [60, 120] {
        let page = verdict_page(&tune, None, width, Style::Plain);
        check_width(&page, width);
        insta::assert_snapshot!(format!("verdict_{width}_crowded"), page);
    }
}

#[test]
fn unsafe_arms_have_a_price_and_no_word() {
    for word in WORDS {
        let tune = testing::with_unsafe_arms(testing::tune_with(word));
        let price = price_of_safety(&tune, 80, Style::Plain).unwrap();
        for word in WORDS {
            assert!(!price.contains(word.as_str()), "{price}");
        }
        assert!(price.contains("never recommended"));
        assert!(verdict_page(&tune, None, 80, Style::Plain).contains(&price));
    }
    assert_eq!(price_of_safety(&testing::tune(), 80, Style::Plain), None);
}

#[test]
fn only_improved_reads_as_one() {
    for word in WORDS {
        let page = verdict_page(&examples::tune_with(word), None, 80, Style::Plain);
        assert_eq!(page.contains("improved"), word == Word::Improved);
        let unwrapped = page.replace('\n', " ");
        assert!(unwrapped.contains("derived from TPC-C, not comparable with audited results"));
    }
}

#[test]
fn what_is_not_safe_is_told_first_and_never_folded() {
    let mut tune = crammed(Word::Improved);
    let last = tune.plan.changes.last_mut().unwrap();
    last.class = Class::MayLoseLastCommits;
    let (setting, class) = (last.setting.clone(), last.class);
    tune.arms[1].class = class;
    let page = verdict_page(&tune, None, 80, Style::Plain);
    let (_, changed) = page.split_once("\nChanged in ").unwrap();
    let first = changed.lines().nth(1).unwrap();
    assert!(first.contains(&setting), "{page}");
    let warning = "! recommended is may-lose-last-commits: a crash may lose";
    let (before, _) = page.split_once(warning).unwrap();
    assert!(!before.contains("shipped  recommended"), "{page}");
}

#[test]
fn the_same_settings_twice_changed_nothing() {
    let mut tune = examples::tune_with(Word::NoDifference);
    tune.arms[1].settings.clear();
    let page = verdict_page(&tune, None, 80, Style::Plain);
    assert!(
        page.contains("Changed: nothing, both arms have the same settings"),
        "{page}"
    );
    assert!(!page.contains("128MB → 5632MB"), "{page}");
    // What the plan would have answered was not applied then.
    assert!(page.contains("11 planned but not in this arm"), "{page}");
}

#[test]
fn a_twin_says_that_nothing_else_was_changed() {
    let mut tune = examples::tune_with(Word::Improved);
    tune.target = Some("postgres://me@db.example/shop".to_owned());
    tune.arms[0].settings = [("shared_buffers".to_owned(), "1GB".to_owned())].into();
    tune.arms[1].settings.remove("jit");
    let page = verdict_page(&tune, None, 80, Style::Plain);
    assert!(page.contains("on the private twin alone"), "{page}");
    assert!(page.contains("1GB → 5632MB"), "{page}");
    assert!(!page.contains("jit"), "{page}");
}

#[test]
fn a_ratio_is_not_told_without_its_interval() {
    let mut tune = examples::tune_with(Word::Undecided);
    tune.complete = false;
    tune.runs.truncate(2);
    let verdict = tune.verdict.as_mut().unwrap();
    verdict.interval = None;
    verdict.ratio_without_checkpoint = None;
    verdict.p99_ratio = None;
    verdict.noise_floor = None;
    verdict.pairs = 1;
    for width in [80, 110] {
        let page = verdict_page(&tune, Some("dbdyno resume"), width, Style::Plain);
        assert!(!page.contains("Interval"), "{page}");
        insta::assert_snapshot!(format!("verdict_interrupted_{width}"), page);
    }
}

#[test]
fn without_a_pair_nothing_is_compared() {
    let mut tune = examples::disturbed(examples::tune_with(Word::TooNoisy));
    tune.runs.retain(|run| run.discarded.is_some());
    for arm in &mut tune.arms {
        *arm = dbdyno_model::tune::Arm {
            tps_mean: None,
            notpm_mean: None,
            wal_bytes_per_transaction: None,
            server_cpu_us_per_transaction: None,
            driver_cpu_us_per_transaction: None,
            recovery_s: None,
            latency_ms: None,
            ..arm.clone()
        };
    }
    let verdict = tune.verdict.as_mut().unwrap();
    (verdict.pairs, verdict.ratio, verdict.noise_floor) = (0, None, None);
    let page = verdict_page(&tune, Some(NEXT), 120, Style::Plain);
    insta::assert_snapshot!("verdict_no_pair", page);
}

#[test]
fn what_no_arm_has_is_not_told() {
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
    let page = verdict_page(&tune, None, 80, Style::Plain);
    for name in ["TPS, checkpoint charged", "latency p99", "WAL", "recovery"] {
        assert!(!page.contains(&format!("\n{name}")), "{name}\n{page}");
    }
    insta::assert_snapshot!("verdict_missing", page);
    // What one arm has is told, and the other's is a dash.
    tune.arms[1].recovery_s = Some(6.2);
    let page = verdict_page(&tune, None, 80, Style::Plain);
    let recovery = page
        .lines()
        .find(|line| line.starts_with("recovery"))
        .unwrap();
    assert!(
        recovery.contains("–  ") && recovery.ends_with("6.2 s"),
        "{page}"
    );
}

#[test]
fn warnings_are_never_folded() {
    let mut tune = examples::disturbed(examples::tune_with(Word::Improved));
    tune.consistency[0].passed = false;
    tune.runs[7].consistency = vec![Check {
        name: "3.3.2.4".to_owned(),
        description: "sum(O_OL_CNT) = lines of orders".to_owned(),
        passed: false,
        detail: Some("district 3 of warehouse 7: 30,012 and 30,011".to_owned()),
    }];
    tune.notes
        .push("the memory cap sizes the server but is not enforced".to_owned());
    insta::assert_snapshot!(
        "verdict_warnings",
        verdict_page(&tune, None, 60, Style::Plain)
    );
    let coloured = verdict_page(&tune, None, 80, Style::Coloured);
    assert!(
        !coloured.contains("\u{1b}[32m"),
        "a broken trial is not praised"
    );
    assert!(coloured.starts_with("\u{1b}[1m\u{1b}[31m! Consistency check failed"));
}

#[test]
fn every_cause_of_a_drop_is_told_or_counted() {
    let mut tune = examples::disturbed(examples::tune_with(Word::Improved));
    for (run, why) in tune.runs.iter_mut().zip([
        "the server went away during run 1 (shipped): no space left on device",
        "the server went away during run 1 (shipped): no space left on device",
        "other processes took 12.0 % of the CPU time of a run",
        "other processes took 12.0 % of the CPU time of a run",
    ]) {
        run.discarded = Some(why.to_owned());
    }
    let page = verdict_page(&tune, None, 80, Style::Plain).replace('\n', " ");
    assert!(
        page.contains("no space left on device; other processes took 12.0 %"),
        "{page}"
    );
    assert!(page.contains("… and 1 reason more"), "{page}");
    for run in &mut tune.runs {
        run.discarded = None;
    }
    let page = verdict_page(&tune, None, 80, Style::Plain).replace('\n', " ");
    assert!(
        page.contains("3 pairs (for a reason that no run recorded)"),
        "{page}"
    );
}

#[test]
fn without_a_trial_nothing_is_claimed() {
    let mut tune = examples::tune_with(Word::Improved);
    tune.verdict = None;
    tune.arms.clear();
    tune.runs.clear();
    tune.notes = vec!["--plan-only: no trial was asked for.".to_owned()];
    insta::assert_snapshot!(
        "verdict_none",
        verdict_page(&tune, Some("dbdyno tune"), 80, Style::Plain)
    );
    tune.complete = false;
    let page = verdict_page(&tune, None, 80, Style::Plain);
    assert!(
        page.starts_with("The trial ended before its first run"),
        "{page}"
    );
    tune.runs = testing::tune().runs;
    tune.runs.truncate(3);
    let page = verdict_page(&tune, None, 80, Style::Plain);
    assert!(
        page.starts_with("The trial ended before a verdict, after 3 runs"),
        "{page}"
    );
    assert!(!page.contains("1.3"), "no ratio without a verdict: {page}");
    insta::assert_snapshot!("verdict_cut_off", page);
    tune.runs[2].consistency = vec![Check {
        name: "3.3.2.1".to_owned(),
        description: "W_YTD = sum(D_YTD)".to_owned(),
        passed: false,
        detail: None,
    }];
    let page = verdict_page(&tune, None, 80, Style::Plain);
    assert!(
        page.starts_with("! Consistency check failed (3.3.2.1)"),
        "{page}"
    );
    assert!(page.contains("\nThere is no verdict\n"), "{page}");
}

#[test]
fn an_empty_document_is_a_sane_page() {
    let mut tune = testing::tune();
    tune.verdict = None;
    tune.name.clear();
    tune.plan = Default::default();
    tune.findings.clear();
    tune.runs.clear();
    assert_eq!(
        verdict_page(&tune, None, 80, Style::Plain),
        "No trial was run: what this plan is worth here was not measured\n\
         Planned for PostgreSQL 17.5; 2 × Intel(R) Xeon(R) Processor, 23.5 GiB, ext4 on\n\
         vda, Linux 6.18 (kvm); 2026-03-14.\n\
         Planned: no change of a setting\n"
    );
}

#[test]
fn a_document_steers_no_terminal() {
    let mut tune = crammed(Word::Improved);
    let evil = "\u{1b}[2J\r\nx";
    tune.plan.changes[0].to.push_str(evil);
    tune.plan.changes[1].setting.insert_str(3, evil);
    tune.findings[0].message.insert_str(3, evil);
    tune.prices[0].arm.push_str(evil);
    tune.machine.summary.push_str(evil);
    tune.notes.push(evil.to_owned());
    let page = verdict_page(&tune, None, 120, Style::Plain);
    assert!(page.chars().all(|c| c == '\n' || !c.is_control()), "{page}");
}

#[test]
fn every_width_holds_every_line() {
    let tune = crammed(Word::Improved);
    for width in 40..=240 {
        check_width(&verdict_page(&tune, Some(NEXT), width, Style::Plain), width);
    }
}

proptest! {
    // A page takes a while in a debug build, and each width is tried above.
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_line_is_longer_than_the_page(
        width in 40_usize..240,
        word in 0..WORDS.len(),
        arm in "[a-z-]{1,60}",
        setting in "[a-z_]{1,60}",
        value in "[a-zA-Z0-9 ,]{0,90}",
    ) {
        let mut tune = crammed(WORDS[word]);
        for run in tune.runs.iter_mut().filter(|run| run.arm == "recommended") {
            run.arm.clone_from(&arm);
        }
        tune.arms[1].name.clone_from(&arm);
        tune.arms[1].settings.insert(setting, value);
        tune.prices[0].arm = format!("{arm}-too");
        tune.verdict.as_mut().unwrap().arm = arm;
        let page = verdict_page(&tune, Some(NEXT), width, Style::Plain);
        for line in page.lines() {
            prop_assert!(columns(line) <= width || is_command(line), "{width}: {line}\n{page}");
            prop_assert_eq!(line.trim_end(), line);
        }
        let coloured = verdict_page(&tune, Some(NEXT), width, Style::Coloured);
        prop_assert_eq!(testing::without_colour(&coloured), page);
    }
}
