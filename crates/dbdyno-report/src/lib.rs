//! Documents to text, configuration fragments, SVG and JSON: what people read of a `tune`.
//!
//! Everything here is a pure function of a document from `dbdyno-model`. The caller prints,
//! decides the width and whether the terminal takes colour, and names the next command. Text ends
//! with a line feed; a value that is not known reads `–`, never 0.

pub mod chart;
pub mod findings;
pub mod json;
pub mod number;
pub mod plan;
pub mod progress;
mod quote;
pub mod style;
pub mod svg;
pub mod table;
mod text;
pub mod verdict;

#[cfg(test)]
mod testing;

pub use chart::pairs_svg;
pub use findings::{findings_page, findings_short};
pub use json::to_json;
pub use plan::{plan_as_alter_system, plan_as_conf, plan_page};
pub use style::Style;
pub use text::DEFAULT_WIDTH;
pub use verdict::{price_of_safety, verdict_page, verdict_sentence};
