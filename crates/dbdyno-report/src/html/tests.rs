//! Tests of the page: what it says of every kind of document, and that nothing breaks out of it.

use std::sync::LazyLock;

use dbdyno_model::host::Host;
use dbdyno_model::run::{Latency, OpenLoop};
use dbdyno_model::verdict::Word;
use dbdyno_model::{Facts, Tune};
use proptest::prelude::*;
use serde_json::Value;

use super::report_html;
use crate::testing;
use whole::{check, skeleton};

mod whole;

/// The kinds of documents there are.
pub(crate) fn cases() -> Vec<(&'static str, Tune)> {
    vec![
        ("improved", shared_arms(testing::tune_with(Word::Improved))),
        (
            "undecided",
            shared_arms(testing::tune_with(Word::Undecided)),
        ),
        ("unsafe_arms", testing::with_unsafe_runs(testing::tune())),
        ("interrupted", testing::interrupted()),
        ("plan_only", plan_only()),
    ]
}

/// A plan for a server elsewhere, as `tune TARGET` writes it.
pub(crate) fn plan_only() -> Tune {
    let mut tune = testing::tune();
    tune.command = ["dbdyno", "tune", "postgres://me@db.example/shop"]
        .map(str::to_owned)
        .to_vec();
    tune.target = Some("postgres://me@db.example/shop".to_owned());
    tune.machine = dbdyno_model::tune::Machine::default();
    tune.workload = None;
    tune.budget = None;
    tune.arms.clear();
    tune.verdict = None;
    tune.runs.clear();
    tune.consistency.clear();
    tune.notes = vec!["no trial was run: --twin-here runs one on this machine".to_owned()];
    tune
}

/// The same trial with the judged arm set to what the plan says, as a real one is.
pub(crate) fn shared_arms(mut tune: Tune) -> Tune {
    for change in &tune.plan.changes {
        let (name, value) = (change.setting.clone(), change.to.clone());
        tune.arms[1].settings.insert(name, value);
    }
    tune.facts.intent.lab = true;
    tune
}

/// One pair with everything that a trial can have, for the tests that make many pages.
pub(crate) static SMALL: LazyLock<Tune> = LazyLock::new(|| {
    let mut tune = testing::with_unsafe_arms(testing::tune());
    tune.runs.truncate(2);
    for run in &mut tune.runs {
        run.series.truncate(3);
        // Merging histograms takes most of a page's time; percentiles are drawn without them.
        let step = run.open_loop.iter_mut();
        for stats in step
            .flat_map(|step| &mut step.per_transaction)
            .chain(&mut run.per_transaction)
        {
            stats.histogram = None;
        }
    }
    tune.facts.host = Some(Host::default());
    shared_arms(tune)
});

static PLAN: LazyLock<Tune> = LazyLock::new(plan_only);

/// Fields whose strings are words of the model.
const WORDS: [&str; 12] = [
    "word",
    "class",
    "severity",
    "effect",
    "needs",
    "confidence",
    "phase",
    "role",
    "kind",
    "metric",
    "histogram",
    "outcome",
];

/// The same document with the text at the end of every string and of every key of a map.
pub(crate) fn hostile(tune: &Tune, text: &str) -> Tune {
    let mut value = serde_json::to_value(tune).unwrap();
    spoil(&mut value, text);
    let mut tune: Tune = serde_json::from_value(value).unwrap();
    for arm in &mut tune.arms {
        let settings = std::mem::take(&mut arm.settings);
        arm.settings = settings
            .into_iter()
            .map(|(name, value)| (name + text, value))
            .collect();
    }
    for run in &mut tune.runs {
        run.errors.insert(text.to_owned(), 7);
    }
    tune
}

fn spoil(value: &mut Value, text: &str) {
    match value {
        Value::String(string) => string.push_str(text),
        Value::Array(items) => items.iter_mut().for_each(|item| spoil(item, text)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if !WORDS.contains(&name.as_str()) {
                    spoil(field, text);
                }
            }
        }
        _ => {}
    }
}

/// Figures and style are tested where they are made; here they would drown the page.
fn without_figures(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    loop {
        let svg = rest.find("<svg ").map(|at| (at, "</svg>"));
        let style = rest.find("<style>").map(|at| (at, "</style>"));
        let data = rest
            .find("<details class=\"data\">")
            .map(|at| (at, "</details>"));
        let Some((at, end)) = [svg, style, data].into_iter().flatten().min() else {
            break;
        };
        out.push_str(&rest[..at]);
        out.push('…');
        let after = rest[at..].find(end).unwrap();
        rest = &rest[at + after + end.len()..];
    }
    out + rest
}

#[test]
fn pages() {
    for (name, tune) in cases() {
        let page = report_html(&tune);
        assert_eq!(report_html(&tune), page);
        assert_eq!(check(&page), Ok(()), "{name}");
        insta::assert_snapshot!(format!("page_{name}"), without_figures(&page));
    }
}

#[test]
fn the_page_needs_nothing_from_outside() {
    for (_, tune) in cases() {
        let page = report_html(&tune);
        assert!(page.contains("default-src &#39;none&#39;"));
        for word in ["<script", "@import", "url(", "src=", "<link", "<iframe"] {
            assert!(!page.contains(word), "{word}");
        }
    }
}

#[test]
fn every_word_has_its_page() {
    for word in [
        Word::Improved,
        Word::Worse,
        Word::NoDifference,
        Word::Undecided,
        Word::TooNoisy,
    ] {
        let page = report_html(&testing::with_dropped_pairs(testing::tune_with(word)));
        assert_eq!(check(&page), Ok(()));
        let h1 = page.split("<h1").nth(1).unwrap();
        let h1 = h1.split("</h1>").next().unwrap();
        assert!(h1.contains(&word.as_str().replace('_', " ")), "{h1}");
        assert!(page.contains("the server went away during run 52"));
    }
}

#[test]
fn unsafe_arms_get_no_word() {
    let page = report_html(&testing::with_unsafe_runs(testing::tune_with(Word::Worse)));
    let price = page.split("The price of safety</h3>").nth(1).unwrap();
    let price = price.split("</section>\n<section id").next().unwrap();
    for word in [
        "improved",
        "worse",
        "no difference",
        "undecided",
        "too noisy",
    ] {
        assert!(!price.contains(word), "{word}: {price}");
    }
    assert!(price.contains("never recommended"));
}

#[test]
fn what_is_broken_comes_first() {
    let mut tune = testing::tune();
    tune.consistency[0].passed = false;
    tune.consistency[0].detail = Some("warehouse 3: 12.00 ≠ 13.00".to_owned());
    let page = report_html(&tune);
    let at = |text: &str| {
        page.find(text)
            .unwrap_or_else(|| panic!("{text} is missing"))
    };
    assert!(at("Consistency check failed (3.3.2.1)") < at("warehouse 3: 12.00"));
    assert!(at("warehouse 3: 12.00") < at("id=\"figure-pairs\""));
    assert!(page.contains("Not to be quoted"));
    assert!(!page.contains("badge word good"));
}

#[test]
fn the_statements_of_a_script_are_there_to_be_run_again() {
    let mut tune = testing::tune();
    let script = "SELECT 1 WHERE 2 < 3 AND 'a' <> '</code>';";
    tune.workload.as_mut().unwrap().script = Some(script.to_owned());
    let page = report_html(&tune);
    assert_eq!(check(&page), Ok(()));
    assert!(page.contains("2 &lt; 3 AND") && !page.contains("'</code>'"));
    assert!(crate::report_markdown(&tune).contains(script));
}

#[test]
fn an_older_or_emptier_document_has_a_page() {
    let mut tune = testing::tune();
    tune.name.clear();
    for run in &mut tune.runs {
        run.per_transaction.clear();
        run.open_loop = None;
        run.latency_ms = None;
    }
    let page = report_html(&tune);
    assert_eq!(check(&page), Ok(()));
    assert!(page.contains("tune of 2026-03-14T09:26:53Z"));

    let mut killed = testing::tune();
    killed.verdict = None;
    killed.arms.clear();
    killed.complete = false;
    killed.finished_at = None;
    let page = report_html(&killed);
    assert_eq!(check(&page), Ok(()));
    assert!(page.contains("The trial ended before a verdict, after 8 runs"));

    let mut bare = plan_only();
    bare.plan = dbdyno_model::Plan::default();
    bare.findings.clear();
    bare.facts = Facts::default();
    bare.command.clear();
    bare.started_at.clear();
    bare.dbdyno_version.clear();
    let page = report_html(&bare);
    assert_eq!(check(&page), Ok(()));
    assert!(page.contains("The plan changes no setting."));
}

#[test]
fn a_run_that_was_killed_has_no_rate_of_0() {
    let page = report_html(&testing::with_unsafe_runs(testing::tune()));
    let row = page.split("timed the recovery").nth(1).unwrap();
    let row = row.split("</tr>").next().unwrap();
    assert!(row.contains("<span>–</span>"), "{row}");
}

/// Ten pairs of a minute with every histogram, as `normal` writes them.
fn normal() -> Tune {
    let mut tune = testing::crowded();
    let verdict = tune.verdict.as_ref().unwrap();
    let (base, arm) = (verdict.base.clone(), verdict.arm.clone());
    tune.runs.truncate(20);
    for run in &mut tune.runs {
        let last = run.series.last().unwrap().clone();
        for at in 65..=78 {
            let mut second = last.clone();
            second.at_s = f64::from(at);
            second.phase = dbdyno_model::run::Phase::OpenLoop;
            run.series.push(second);
        }
        run.open_loop = Some(OpenLoop {
            rate_tps: 1_690.0,
            seconds: 12.0,
            transactions: 20_000,
            latency_ms: Some(Latency::default()),
            per_transaction: run.per_transaction.clone(),
            backlog: 0,
        });
        run.consistency = vec![tune.consistency[0].clone(); 12];
    }
    assert!(tune.runs.iter().any(|run| run.arm == base));
    assert!(tune.runs.iter().any(|run| run.arm == arm));
    tune
}

#[test]
fn a_normal_trial_is_less_than_a_megabyte() {
    let tune = normal();
    assert_eq!(tune.runs.len(), 20);
    let page = report_html(&tune);
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
    assert_eq!(check(&page), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_breaks_out(text in "([<>&\"'/=a-z \n\u{0}\u{202e}-]|\\PC){1,16}") {
        // The same text without what could mean anything: the page must be built alike.
        let tame: String = text
            .chars()
            .map(|c| if "<>&\"'".contains(c) { 'x' } else { c })
            .collect();
        for tune in [&*SMALL, &*PLAN] {
            let page = |text: &str| {
                let mut tune = hostile(tune, text);
                tune.findings[0].sources.push(format!("javascript:{text}"));
                tune.findings[0].sources.push(format!("https://x/{text}"));
                skeleton(&report_html(&tune))
            };
            let found = page(&text);
            prop_assert!(found.is_ok(), "{:?}", found);
            prop_assert_eq!(found, page(&tame));
        }
    }
}

/// For looking at the pages: `DBDYNO_PAGES=DIR cargo test -p dbdyno-report write_pages`; with
/// `DBDYNO_DOCUMENT=FILE` that document's page as well.
#[test]
fn write_pages() {
    let Some(directory) = std::env::var_os("DBDYNO_PAGES") else {
        return;
    };
    let directory = std::path::Path::new(&directory);
    let mut documents: Vec<(String, Tune)> = cases()
        .into_iter()
        .map(|(name, tune)| (name.to_owned(), tune))
        .collect();
    documents.push(("normal".to_owned(), normal()));
    documents.push((
        "dropped".to_owned(),
        testing::with_dropped_pairs(testing::tune_with(Word::NoDifference)),
    ));
    let mut broken = testing::tune();
    broken.consistency[0].passed = false;
    documents.push(("broken".to_owned(), broken));
    documents.push((
        "hostile".to_owned(),
        hostile(&testing::tune(), "<script>alert(1)</script>\"'&"),
    ));
    if let Some(file) = std::env::var_os("DBDYNO_DOCUMENT") {
        let text = std::fs::read_to_string(file).unwrap();
        documents.push(("document".to_owned(), serde_json::from_str(&text).unwrap()));
    }
    for (name, tune) in documents {
        std::fs::write(directory.join(format!("{name}.html")), report_html(&tune)).unwrap();
        let markdown = crate::report_markdown(&tune);
        std::fs::write(directory.join(format!("{name}.md")), markdown).unwrap();
    }
}
