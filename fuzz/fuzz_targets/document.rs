//! A saved document is read without a panic, what was read survives being written, and every form
//! of its report can be told.
#![no_main]

use std::hint::black_box;

use dbdyno_model::Tune;
use dbdyno_report::{
    Chosen, Selection, Style, compare, comparison_markdown, comparison_page, plan_page, report_html,
    report_markdown, verdict_page,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(tune) = serde_json::from_slice::<Tune>(bytes) {
        let written = serde_json::to_vec(&tune).expect("a document is JSON");
        let back: Tune = serde_json::from_slice(&written).expect("a written document is sound");
        assert_eq!(back, tune);
        tell(&tune);
    }
});

fn tell(tune: &Tune) {
    assert!(report_html(tune).trim_end().ends_with("</html>"));
    black_box(report_markdown(tune));
    for width in [0, 40, 80, 200] {
        black_box(verdict_page(tune, None, width, Style::Plain));
        black_box(plan_page(&tune.plan, width, Style::Plain));
    }
    let arms = tune.arms.iter().map(|arm| Chosen::Arm(arm.name.clone()));
    let runs = tune.runs.iter().map(|run| Chosen::Run(run.number));
    let selections: Vec<Selection<'_>> = arms
        .chain(runs)
        .take(4)
        .enumerate()
        .map(|(index, runs)| Selection {
            name: index.to_string(),
            tune,
            runs,
        })
        .collect();
    if let Ok(comparison) = compare(&selections, "2026-01-01T00:00:00Z", "0") {
        black_box(comparison_page(&comparison, 80, Style::Plain));
        black_box(comparison_markdown(&comparison));
    }
}
