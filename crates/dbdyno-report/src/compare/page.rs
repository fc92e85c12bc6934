//! A comparison as a page of text.

use dbdyno_model::Comparison;

use super::settings::{Settings, UNSET};
use super::view;
use crate::style::{Role, Style};
use crate::table::{Align, Table};
use crate::text::{columns, cut, hang, list, page, page_width, plural, wrap};

/// Lines that a page of two groups takes at most, but for what warns; each further group has some
/// of its own.
const MOST_LINES: usize = 40;
const MORE_LINES: usize = 6;
/// Differing settings that are listed however long the rest is.
const LEAST_SETTINGS: usize = 8;
/// Lines for the names of those that are not listed.
const NAMES_LINES: usize = 2;
/// Below this a value says nothing.
const NARROWEST_VALUE: usize = 8;

/// Groups, their ratios with intervals, what they were measured on, their figures, what is unlike,
/// the settings that differ, and what to know before quoting any of it. No word of verdict.
#[must_use]
pub fn comparison_page(comparison: &Comparison, width: usize, style: Style) -> String {
    let width = page_width(width);
    let before = [
        legend(comparison, width),
        opening(comparison, width, style),
        figures(comparison, width, style),
        unlike(comparison, width, style),
    ];
    let mut after = caveats(comparison, width, style, false);
    after.extend(closing(comparison, width, style));
    let most = MOST_LINES + MORE_LINES * comparison.groups.len().saturating_sub(2);
    let others = before.iter().map(Vec::len).sum::<usize>() + after.len();
    let settings = settings(comparison, most.saturating_sub(others), width, style);

    let parts = before.into_iter().chain([settings, after]);
    let parts: Vec<Vec<String>> = parts.filter(|part| !part.is_empty()).collect();
    // Blank lines between the parts are the first to go.
    let all: usize = parts.iter().map(Vec::len).sum();
    let between: &[String] = if all + parts.len() <= most + 1 {
        &[String::new()]
    } else {
        &[]
    };
    page(&parts.join(between))
}

/// What each letter stands for.
fn legend(comparison: &Comparison, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, group) in comparison.groups.iter().enumerate() {
        let base = if index == 0 { " (base)" } else { "" };
        let text = format!("{}{base}, {}", group.name, view::extent(group));
        lines.extend(hang(&format!("{}  ", view::letter(index)), &text, width));
    }
    lines
}

/// What makes the numbers worthless, or no effect of settings, before any of them.
fn warnings(comparison: &Comparison, width: usize, style: Style) -> Vec<String> {
    let confounded = view::confounded(comparison);
    let confounded = confounded
        .iter()
        .flat_map(|text| hang("! ", text, width))
        .map(|line| style.paint(Role::Bad, &line));
    let mut lines = caveats(comparison, width, style, true);
    lines.extend(confounded);
    lines
}

/// What warns, the ratios, and what they were measured on.
fn opening(comparison: &Comparison, width: usize, style: Style) -> Vec<String> {
    let spoilt = comparison.caveats.iter().any(|caveat| caveat.severe);
    let (_, trial) = view::closing(comparison);
    let mut lines = warnings(comparison, width, style);
    for (index, difference) in comparison.differences.iter().enumerate() {
        let role = match difference.interval {
            None => Role::Warn,
            Some(_) if spoilt || !difference.confounded_by.is_empty() => Role::Dim,
            Some(_) => Role::Heading,
        };
        let sentence = wrap(&view::sentence(comparison, index), width);
        lines.extend(sentence.iter().map(|line| style.paint(role, line)));
    }
    // The trial stands at the end of the page.
    let mut next: Vec<&String> = comparison
        .differences
        .iter()
        .flat_map(|d| &d.next)
        .collect();
    next.retain(|next| **next != trial);
    next.dedup();
    lines.extend(
        next.iter()
            .flat_map(|next| command("Next:", next, width, style)),
    );
    for line in [view::joint(comparison), view::measured_on(comparison)] {
        lines.extend(line.iter().flat_map(|line| wrap(line, width)));
    }
    lines
}

/// Figures down, groups across; in several tables where they do not fit beside each other.
fn figures(comparison: &Comparison, width: usize, style: Style) -> Vec<String> {
    let rows: Vec<(String, Vec<String>)> = view::figures(comparison)
        .into_iter()
        .map(|(name, values)| (name.to_owned(), values))
        .collect();
    let mut lines = across("", &rows, comparison.groups.len(), width, style);
    lines.extend(wrap(&view::latency_line(comparison), width));
    lines
}

/// As many groups beside each other as fit, and the others below them.
fn across(
    head: &str,
    rows: &[(String, Vec<String>)],
    groups: usize,
    width: usize,
    style: Style,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut first = 0;
    while first < groups {
        let fits = |end: &usize| {
            let table = table(head, rows, first..*end).lines();
            table.iter().all(|line| columns(line) <= width)
        };
        let end = (first + 1..=groups).rev().find(fits).unwrap_or(first + 1);
        let mut table = table(head, rows, first..end).lines();
        if let Some(head) = table.first_mut() {
            *head = style.paint(Role::Dim, head);
        }
        lines.extend(table);
        first = end;
    }
    lines
}

fn table(head: &str, rows: &[(String, Vec<String>)], groups: std::ops::Range<usize>) -> Table {
    let letters: Vec<String> = groups.clone().map(view::letter).collect();
    let heads = letters.iter().map(|letter| (letter.as_str(), Align::Right));
    let mut table = Table::new(
        &std::iter::once((head, Align::Left))
            .chain(heads)
            .collect::<Vec<_>>(),
    );
    for (name, values) in rows {
        table.row(std::iter::once(name.clone()).chain(values[groups.clone()].iter().cloned()));
    }
    table
}

/// What beside the settings is not the same.
fn unlike(comparison: &Comparison, width: usize, style: Style) -> Vec<String> {
    if comparison.unlike.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![style.paint(Role::Heading, view::UNLIKE)];
    for unlike in &comparison.unlike {
        let text = format!("{}: {}", unlike.subject, view::values(unlike));
        if unlike.confounds {
            let block = hang("! ", &text, width);
            lines.extend(block.iter().map(|line| style.paint(Role::Bad, line)));
        } else {
            lines.extend(hang("  ", &text, width));
        }
    }
    lines
}

/// The settings that differ, one a line, as many as there is room for, and the names of the others.
fn settings(comparison: &Comparison, room: usize, width: usize, style: Style) -> Vec<String> {
    let settings = Settings::of(&comparison.groups);
    let mut lines = wrap(&settings_heading(&settings), width);
    for line in &mut lines {
        *line = style.paint(Role::Heading, line);
    }
    if settings.differing.is_empty() {
        return lines;
    }
    // The headings take two lines.
    let room = room.saturating_sub(lines.len() + 1).max(LEAST_SETTINGS);
    let all = settings.differing.len();
    let shown = if all <= room { all } else { room - NAMES_LINES };
    let rows = fitted(&settings.differing[..shown], width);
    lines.extend(across(
        "setting",
        &rows,
        comparison.groups.len(),
        width,
        style,
    ));
    if shown < all {
        lines.extend(left_out(&settings.differing[shown..], width));
    }
    lines
}

/// The names of settings that there was no room for, where those fit; at least how many they are.
fn left_out(settings: &[(String, Vec<String>)], width: usize) -> Vec<String> {
    let names: Vec<String> = settings.iter().map(|(name, _)| name.clone()).collect();
    let count = settings.len();
    let text = format!("… and {count} more, whole with --json: {}", list(&names));
    let lines = wrap(&text, width);
    if lines.len() <= NAMES_LINES {
        lines
    } else {
        vec![format!("… and {count} more, whole with --json")]
    }
}

/// The heading says how many there are of each kind, and what `unset` means.
pub(super) fn settings_heading(settings: &Settings) -> String {
    let mut text = match (settings.differing.len(), settings.equal) {
        (0, _) if !settings.known => "Settings are not known of every group".to_owned(),
        (0, 0) => "No setting differs: nothing is set beside what initdb wrote".to_owned(),
        (0, equal) => format!(
            "No setting differs: {} the same",
            plural(equal as u64, "setting")
        ),
        (differing, 0) => plural(differing as u64, "differing setting"),
        (differing, equal) => format!(
            "{}; {} the same",
            plural(differing as u64, "differing setting"),
            crate::number::count(equal as u64)
        ),
    };
    if settings.has_unset() {
        text.push_str(&format!(" ({UNSET}: as initdb wrote it)"));
    }
    text
}

/// The values cut so that all groups fit beside the names, where that leaves them readable.
fn fitted(rows: &[(String, Vec<String>)], width: usize) -> Vec<(String, Vec<String>)> {
    let names = rows
        .iter()
        .map(|(name, _)| columns(name))
        .max()
        .unwrap_or(0);
    let groups = rows.first().map_or(1, |(_, values)| values.len());
    let room = (width.saturating_sub(names) / groups).saturating_sub(2);
    let room = room.max(NARROWEST_VALUE);
    rows.iter()
        .map(|(name, values)| {
            let values = values.iter().map(|value| cut(value, room)).collect();
            (name.clone(), values)
        })
        .collect()
}

fn caveats(comparison: &Comparison, width: usize, style: Style, severe: bool) -> Vec<String> {
    let role = if severe { Role::Bad } else { Role::Warn };
    let caveats = comparison
        .caveats
        .iter()
        .filter(|caveat| caveat.severe == severe);
    caveats
        .flat_map(|caveat| hang("! ", &view::caveat(comparison, caveat), width))
        .map(|line| style.paint(role, &line))
        .collect()
}

fn closing(comparison: &Comparison, width: usize, style: Style) -> Vec<String> {
    let (why, trial) = view::closing(comparison);
    let mut lines = wrap(why, width);
    lines.push(format!("  {}", style.paint(Role::Heading, &trial)));
    lines
}

/// A command is not wrapped: it is there to be copied.
fn command(before: &str, command: &str, width: usize, style: Style) -> Vec<String> {
    let painted = style.paint(Role::Heading, command);
    if columns(before) + 1 + columns(command) <= width {
        vec![format!("{before} {painted}")]
    } else {
        vec![before.to_owned(), format!("  {painted}")]
    }
}
