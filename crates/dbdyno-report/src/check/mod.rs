//! What a check found: one answer a finding, made of what its rule said and what the solver decided.

mod answer;
mod directories;
mod hidden;
mod managed;
mod markdown;
mod page;
mod sarif;
mod step;
#[cfg(test)]
mod testing;
mod view;

pub(crate) use answer::name as server_name;
pub use answer::{Said, assessment, check_document, keep_rules};
pub use markdown::check_markdown;
pub use page::check_page;
pub use sarif::check_sarif;
