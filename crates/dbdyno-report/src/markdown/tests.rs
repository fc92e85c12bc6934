//! Tests of the Markdown: every kind of document, its length, and that nothing breaks out of it.

use super::*;
use crate::html::tests::{SMALL, cases, hostile, plan_only, shared_arms};
use crate::testing;
use dbdyno_model::verdict::Word;
use proptest::prelude::*;

#[test]
fn reports() {
    for (name, tune) in cases() {
        insta::assert_snapshot!(format!("markdown_{name}"), report_markdown(&tune));
    }
}

#[test]
fn a_usual_trial_is_short() {
    let report = report_markdown(&shared_arms(testing::tune_with(Word::Improved)));
    assert!(report.lines().count() < 200, "{}", report.lines().count());
}

#[test]
fn a_plan_without_a_trial_claims_nothing() {
    let report = report_markdown(&plan_only());
    assert!(report.starts_with("# ○ not measured: No trial was run"));
    assert!(!report.contains(" × "));
    assert!(report.contains("No load was run"));
}

#[test]
fn the_command_stands_at_the_end() {
    for (_, tune) in cases() {
        let report = report_markdown(&tune);
        let last: Vec<&str> = report.lines().rev().take(3).collect();
        assert_eq!((last[0], last[2]), ("```", "```sh"));
        assert!(last[1].starts_with("dbdyno tune"));
    }
}

/// Every line of a table has as many cells as its head, and HTML is only what we write.
fn is_whole(report: &str) -> Result<(), String> {
    let mut cells = None;
    let mut fence = None;
    for line in report.lines() {
        // What is in a block is text; no line of it can be the fence, which is longer.
        let ticks = line.chars().take_while(|char| *char == '`').count();
        match fence {
            Some(length) if line.len() == length && ticks == length => fence = None,
            Some(_) => continue,
            None if ticks > 2 => fence = Some(ticks),
            None => {}
        }
        if !line.starts_with('|') {
            cells = None;
        } else {
            let bars = line.matches('|').count();
            if *cells.get_or_insert(bars) != bars {
                return Err(format!("a row of another width: {line}"));
            }
        }
        let outside_code = line.split('`').step_by(2).collect::<String>();
        let ours = outside_code
            .replace("<code>", "")
            .replace("</code>", "")
            .replace("<details><summary>", "")
            .replace("</summary>", "")
            .replace("</details>", "");
        if ours.contains('<') {
            return Err(format!("HTML that is not ours: {line}"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_breaks_out(text in "x[<>&\"'|\\\\*_a-z \n-]{1,16}") {
        let report = report_markdown(&hostile(&SMALL, &text));
        prop_assert_eq!(is_whole(&report), Ok(()), "{}", report);
    }
}

#[test]
fn a_break_out_would_be_seen() {
    assert!(is_whole("| a | b |\n|---|---|\n| a | b | c |\n").is_err());
    assert!(is_whole("text <script>").is_err());
    assert!(is_whole("| a | b |\n|---|---|\n| `<` | b |\n").is_ok());
}
