//! Tests of the page and of the Markdown: what they look like, and what they never say.

use dbdyno_model::verdict::Word;
use dbdyno_model::{Comparison, Tune};

use super::fixtures::{arm, compared, elsewhere, later, march, run};
use super::{Selection, comparison_markdown, comparison_page};
use crate::style::Style;
use crate::testing;
use crate::text::columns;

const WORDS: [Word; 5] = [
    Word::Improved,
    Word::Worse,
    Word::NoDifference,
    Word::Undecided,
    Word::TooNoisy,
];

/// The page after what must hold of every one of them.
fn page(selections: &[Selection<'_>], width: usize) -> String {
    let comparison = compared(selections).unwrap();
    let page = comparison_page(&comparison, width, Style::Plain);
    // A command is there to be copied, so that it is not wrapped.
    let fits = |line: &str| columns(line) <= width || line.starts_with("  dbdyno ");
    assert!(page.lines().all(fits), "{page}");
    if selections.len() == 2 {
        assert!(
            page.lines().count() <= 40,
            "{} lines\n{page}",
            page.lines().count()
        );
    }
    let coloured = comparison_page(&comparison, width, Style::Coloured);
    assert_eq!(testing::without_colour(&coloured), page);
    for text in [&page, &comparison_markdown(&comparison)] {
        for word in WORDS {
            assert!(!text.contains(word.as_str()), "{}: {text}", word.as_str());
        }
        assert!(
            text.contains("No verdict") && text.contains("dbdyno tune --"),
            "{text}"
        );
        let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(unwrapped.contains("derived from TPC-C, not comparable with audited results"));
    }
    page
}

#[test]
fn paired_within_a_trial() {
    let tune = march();
    let groups = [arm(&tune, "shipped"), arm(&tune, "recommended")];
    insta::assert_snapshot!("compare_paired", page(&groups, 80));
    insta::assert_snapshot!("compare_paired_60", page(&groups, 60));
    let coloured = comparison_page(&compared(&groups).unwrap(), 80, Style::Coloured);
    insta::assert_snapshot!(
        "compare_paired_coloured",
        testing::visible_escapes(&coloured)
    );
    let markdown = comparison_markdown(&compared(&groups).unwrap());
    insta::assert_snapshot!("compare_paired_markdown", markdown);
}

#[test]
fn unpaired_between_trials() {
    let (march, later) = (march(), later());
    let groups = [arm(&march, "recommended"), arm(&later, "recommended")];
    insta::assert_snapshot!("compare_unpaired", page(&groups, 80));
    insta::assert_snapshot!("compare_unpaired_60", page(&groups, 60));
}

#[test]
fn single_runs() {
    let mut tune = march();
    insta::assert_snapshot!("compare_single", page(&[run(&tune, 1), run(&tune, 2)], 80));
    tune.runs[2].discarded = Some("the hypervisor took 9.1 % of the CPU time of a run".to_owned());
    insta::assert_snapshot!(
        "compare_discarded",
        page(&[run(&tune, 3), run(&tune, 2)], 80)
    );
}

#[test]
fn three_groups() {
    let (march, later) = (march(), later());
    let groups = [
        arm(&march, "shipped"),
        arm(&march, "recommended"),
        arm(&later, "recommended"),
    ];
    insta::assert_snapshot!("compare_three", page(&groups, 80));
    insta::assert_snapshot!("compare_three_60", page(&groups, 60));
}

#[test]
fn unlike_machines() {
    let (march, elsewhere) = (march(), elsewhere());
    let groups = [arm(&march, "recommended"), arm(&elsewhere, "recommended")];
    insta::assert_snapshot!("compare_unlike", page(&groups, 80));
    insta::assert_snapshot!("compare_unlike_60", page(&groups, 60));
    let comparison = compared(&groups).unwrap();
    insta::assert_snapshot!("compare_unlike_markdown", comparison_markdown(&comparison));
    let coloured = comparison_page(&comparison, 80, Style::Coloured);
    insta::assert_snapshot!(
        "compare_unlike_coloured",
        testing::visible_escapes(&coloured)
    );
}

#[test]
fn unsafe_arms_have_a_price_and_get_no_trial_of_their_own() {
    let tune = testing::with_unsafe_runs(march());
    let names: Vec<&str> = tune.arms.iter().map(|arm| arm.name.as_str()).collect();
    let groups: Vec<Selection<'_>> = names.iter().map(|name| arm(&tune, name)).collect();
    let page = page(&groups, 80);
    assert!(
        page.contains("dbdyno tune --show-unsafe") && !page.contains("--arms"),
        "{page}"
    );
    insta::assert_snapshot!("compare_unsafe", page);
}

/// The trial with so many more settings in its recommended arm.
fn with_settings(count: usize) -> Tune {
    let mut tune = march();
    for index in 0..count {
        let (name, value) = (format!("setting_number_{index:02}"), "v".repeat(40));
        tune.arms[1].settings.insert(name, value);
    }
    tune
}

#[test]
fn blank_lines_go_before_settings_and_then_the_names_are_told() {
    let tune = with_settings(11);
    let of = |width| page(&[arm(&tune, "shipped"), arm(&tune, "recommended")], width);
    assert!(
        of(80).contains("\nsetting_number_10 ") && !of(80).contains("… and"),
        "{}",
        of(80)
    );
    insta::assert_snapshot!("compare_many_settings_60", of(60));
}

#[test]
fn settings_beyond_the_page_are_counted_and_whole_in_markdown() {
    let tune = with_settings(40);
    let groups = [arm(&tune, "shipped"), arm(&tune, "recommended")];
    let page = page(&groups, 60);
    assert!(page.contains("43 differing settings; 1 the same"), "{page}");
    let listed = page
        .lines()
        .filter(|line| line.contains("setting_number"))
        .count();
    let left = page.lines().find(|line| line.starts_with("… and")).unwrap();
    // One setting of the plan sorts before these.
    assert_eq!(
        left,
        format!("… and {} more, whole with --json", 42 - listed)
    );
    let markdown = comparison_markdown(&compared(&groups).unwrap());
    assert_eq!(markdown.matches("setting_number").count(), 40);
    assert!(markdown.contains(&"v".repeat(40)));
}

#[test]
fn more_groups_than_fit_stand_in_several_tables() {
    let tunes: Vec<Tune> = (0..7)
        .map(|index| Tune {
            name: format!("tune-{index}"),
            started_at: format!("2026-03-{:02}T00:00:00Z", index + 1),
            ..march()
        })
        .collect();
    let groups: Vec<Selection<'_>> = tunes.iter().map(|tune| arm(tune, "recommended")).collect();
    let page = page(&groups, 60);
    assert!(
        page.contains("Bonferroni") && page.contains("99.17 % interval"),
        "{page}"
    );
    assert_eq!(
        page.lines()
            .filter(|line| line.starts_with("TPS without checkpoint"))
            .count(),
        3
    );
}

#[test]
fn nothing_in_a_document_acts_on_terminal_or_markdown() {
    let mut tune = march();
    tune.arms[1]
        .settings
        .insert("application_name".to_owned(), "a|b`c\u{1b}[2J".to_owned());
    tune.machine.summary = "<img src=x> | *2* × `cpu`".to_owned();
    let comparison = compared(&[arm(&tune, "shipped"), arm(&tune, "recommended")]).unwrap();
    let page = comparison_page(&comparison, 80, Style::Plain);
    assert!(!page.contains('\u{1b}'), "{page}");
    let markdown = comparison_markdown(&comparison);
    assert!(
        !markdown.contains('\u{1b}') && !markdown.contains("<img"),
        "{markdown}"
    );
    let row = markdown
        .lines()
        .find(|line| line.contains("application_name"));
    let row = row.unwrap();
    assert!(row.contains(r"a&#124;b\`c"), "{row}");
    assert_eq!(row.matches('|').count(), 4, "{row}");
}

#[test]
fn an_empty_document_is_no_panic() {
    let comparison = Comparison {
        schema: Comparison::SCHEMA.to_owned(),
        dbdyno_version: String::new(),
        made_at: String::new(),
        metric: String::new(),
        joint_level: 0.95,
        groups: Vec::new(),
        differences: Vec::new(),
        unlike: Vec::new(),
        caveats: Vec::new(),
    };
    assert!(comparison_page(&comparison, 80, Style::Plain).contains("No verdict"));
    assert!(comparison_markdown(&comparison).contains("No verdict"));
}
