//! A comparison as Markdown, for a pull request or a wiki.

use dbdyno_model::Comparison;

use super::page::settings_heading;
use super::settings::{Settings, UNSET};
use super::view;
use crate::markdown::text::{code, code_cell, text as escape};
use crate::number::MISSING;

/// All that the page says, and every differing setting whole.
#[must_use]
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut text = String::from("## Comparison of stored runs\n\n");
    for (index, group) in comparison.groups.iter().enumerate() {
        let base = if index == 0 { " (base)" } else { "" };
        let (letter, extent) = (view::letter(index), escape(&view::extent(group)));
        text.push_str(&format!(
            "- **{letter}** {}{base}, {extent}\n",
            code(&group.name)
        ));
    }
    text.push('\n');
    for caveat in comparison.caveats.iter().filter(|caveat| caveat.severe) {
        text.push_str(&format!(
            "> **{}**\n\n",
            escape(&view::caveat(comparison, caveat))
        ));
    }
    for confounded in view::confounded(comparison) {
        text.push_str(&format!("> **{}**\n\n", escape(&confounded)));
    }
    for (index, difference) in comparison.differences.iter().enumerate() {
        text.push_str(&format!(
            "**{}**\n\n",
            escape(&view::sentence(comparison, index))
        ));
        if let Some(next) = &difference.next {
            text.push_str(&format!("Next: {}\n\n", code(next)));
        }
    }
    for line in [view::joint(comparison), view::measured_on(comparison)]
        .into_iter()
        .flatten()
    {
        text.push_str(&format!("{}\n\n", escape(&line)));
    }
    let figures = view::figures(comparison);
    let rows = figures.iter().map(|(name, values)| {
        (
            escape(name),
            values.iter().map(|value| escape(value)).collect(),
        )
    });
    text.push_str(&table(comparison.groups.len(), rows));
    text.push_str(&format!("\n{}\n", escape(&view::latency_line(comparison))));
    text.push_str(&unlike(comparison));
    text.push_str(&settings(comparison));
    let mut caveats = comparison
        .caveats
        .iter()
        .filter(|caveat| !caveat.severe)
        .peekable();
    if caveats.peek().is_some() {
        text.push_str("\n### Before quoting a number\n\n");
    }
    for caveat in caveats {
        text.push_str(&format!(
            "- {}\n",
            escape(&view::caveat(comparison, caveat))
        ));
    }
    let (why, trial) = view::closing(comparison);
    text.push_str(&format!("\n{} {}\n", escape(why), code(&trial)));
    text.push_str(&format!(
        "\nMade at {} by dbdyno {}.\n",
        escape(&comparison.made_at),
        escape(&comparison.dbdyno_version)
    ));
    text
}

fn unlike(comparison: &Comparison) -> String {
    if comparison.unlike.is_empty() {
        return String::new();
    }
    let rows = comparison.unlike.iter().map(|unlike| {
        let subject = escape(&unlike.subject);
        let subject = if unlike.confounds {
            format!("**{subject}**")
        } else {
            subject
        };
        let value = |value: &Option<String>| escape(value.as_deref().unwrap_or(MISSING));
        (subject, unlike.values.iter().map(value).collect())
    });
    let table = table(comparison.groups.len(), rows);
    format!("\n### {}\n\n{table}", view::UNLIKE)
}

fn settings(comparison: &Comparison) -> String {
    let settings = Settings::of(&comparison.groups);
    let heading = escape(&settings_heading(&settings));
    if settings.differing.is_empty() {
        return format!("\n{heading}.\n");
    }
    let rows = settings.differing.iter().map(|(name, values)| {
        (
            code_cell(name),
            values.iter().map(|value| value_cell(value)).collect(),
        )
    });
    format!(
        "\n### {heading}\n\n{}",
        table(comparison.groups.len(), rows)
    )
}

/// What a setting stood at; what is not a value of it is not code.
fn value_cell(value: &str) -> String {
    if value == UNSET || value == MISSING {
        value.to_owned()
    } else {
        code_cell(value)
    }
}

/// A table of escaped cells with the groups across.
fn table(groups: usize, rows: impl Iterator<Item = (String, Vec<String>)>) -> String {
    let letters: Vec<String> = (0..groups).map(view::letter).collect();
    let mut text = format!(
        "| | {} |\n|:--|{}\n",
        letters.join(" | "),
        "--:|".repeat(groups)
    );
    for (name, values) in rows {
        text.push_str(&format!("| {name} | {} |\n", values.join(" | ")));
    }
    text
}
