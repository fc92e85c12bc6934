//! Documents to text, configuration fragments, SVG and JSON: what people read of a `tune`.
//!
//! Everything here is a pure function of a document from `dbdyno-model`. The caller prints,
//! decides the width and whether the terminal takes colour, and names the next command. Text ends
//! with a line feed; a value that is not known reads `–`, never 0.

pub mod bench;
pub mod chart;
pub mod check;
pub mod compare;
pub mod diff;
pub mod findings;
pub mod html;
pub mod json;
pub mod markdown;
pub mod number;
pub mod plan;
pub mod progress;
mod quote;
pub mod rules;
pub mod runs;
mod spark;
mod story;
pub mod style;
pub mod svg;
pub mod table;
mod text;
pub mod verdict;

#[cfg(test)]
mod testing;

pub use bench::{bench_csv, bench_page, bench_second, sweep_page};
pub use chart::{
    FIGURE_STYLE, Figure, FigureTable, bars_figure, figures, latency_figure, pairs_figure,
    pairs_svg, series_figure,
};
pub use check::{
    Said, assessment, check_document, check_markdown, check_page, check_sarif, keep_rules,
};
pub use compare::{Chosen, CompareError, Selection, compare, comparison_markdown, comparison_page};
pub use diff::{Judged, diff, diff_page};
pub use findings::{findings_page, findings_short};
pub use html::report_html;
pub use json::to_json;
pub use markdown::report_markdown;
pub use plan::{plan_as_alter_system, plan_as_conf, plan_page};
pub use quote::shell_word;
pub use rules::{catalogue_page, rule_page};
pub use runs::{Listed, runs_page};
pub use style::Style;
pub use text::{DEFAULT_WIDTH, clean, hang};
pub use verdict::{price_of_safety, verdict_page, verdict_sentence};
