//! The clock source, and how the processor's frequency is governed.

use std::collections::BTreeSet;

use dbdyno_model::Fact;

use super::root::Root;
use super::text;

const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";

pub(super) fn source(root: &Root) -> Fact<String> {
    root.fact(
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        text::phrase,
    )
}

/// The different values of one attribute over all frequency policies.
pub(super) fn frequency(root: &Root, attribute: &str) -> Fact<Vec<String>> {
    let origin = format!("{POLICIES}/policy*/{attribute}");
    let policies: Vec<String> = root
        .list(POLICIES)
        .unwrap_or_default()
        .into_iter()
        .filter(|name| name.starts_with("policy"))
        .collect();
    if policies.is_empty() {
        let why =
            "the processor's frequency is not governed from here, as in most virtual machines";
        return Fact::unknown(why, origin);
    }
    let values: Result<BTreeSet<String>, String> = policies
        .iter()
        .map(|policy| {
            let path = format!("{POLICIES}/{policy}/{attribute}");
            let text = root
                .text(&path)
                .map_err(|error| format!("{path}: {error}"))?;
            text::phrase(&text).map_err(|error| format!("{path}: {error}"))
        })
        .collect();
    Fact::from_result(values.map(|values| values.into_iter().collect()), origin)
}
