//! What a workload's tables take, and how full their pages are.

use std::collections::BTreeMap;

use dbdyno_model::{Bench, Fact, Footprint};

use crate::number;
use crate::text::{clean, hang};

/// What table and indexes take, and how full their pages are.
pub(super) fn tables(run: &Bench, width: usize) -> Vec<String> {
    let Some(footprint) = &run.footprint else {
        return Vec::new();
    };
    let size = |fact: &Fact<u64>| number::or_missing(fact.get(), number::bytes);
    let each = number::or_missing(footprint.bytes_per_row(), |bytes| {
        format!("{} B", number::measured(bytes))
    });
    let text = format!(
        "{} rows, table {}, indexes {}, {each} a row",
        number::count(footprint.rows),
        size(&footprint.table_bytes),
        size(&footprint.index_bytes),
    );
    let mut lines = hang("size        ", &text, width);
    for (why, names) in unknown_fills(footprint) {
        let text = format!("how full pages of {names} are is not known: {why}");
        lines.extend(hang("            ", &text, width));
    }
    for fill in &footprint.fills {
        if let Some(share) = fill.fill.get() {
            let name = clean(&fill.name);
            let text = format!("pages of {name} {} full", number::share(share));
            lines.extend(hang("            ", &text, width));
        }
    }
    lines
}

/// By the reason why it is not known how full pages are, whose pages.
fn unknown_fills(footprint: &Footprint) -> BTreeMap<String, String> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for fill in &footprint.fills {
        let Some(why) = fill.fill.why_unknown() else {
            continue;
        };
        let of = names.entry(clean(why)).or_default();
        if !of.is_empty() {
            of.push_str(", ");
        }
        of.push_str(&clean(&fill.name));
    }
    names
}
