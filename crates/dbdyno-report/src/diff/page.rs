//! A diff as a page of text.

use dbdyno_model::Diff;
use dbdyno_model::diff::{Difference, FindingChange, Side};

use crate::plan::shown;
use crate::style::{Role, Style};
use crate::text::{clean, columns, hang, narrow_page_width, page, wrap};

/// A longer name does not push the values of all others to the right.
const LONGEST_NAME: usize = 32;

/// Both sides, then each group of differences, then the findings, then what was left out.
#[must_use]
pub fn diff_page(diff: &Diff, width: usize, style: Style) -> String {
    let width = narrow_page_width(width);
    let mut lines = hang("A  ", &side(&diff.a), width);
    lines.extend(hang("B  ", &side(&diff.b), width));
    for group in &diff.groups {
        heading(&mut lines, &group.name, width, style);
        let names = group.differences.iter().map(|item| columns(&item.what));
        let column = names
            .filter(|name| *name <= LONGEST_NAME)
            .max()
            .unwrap_or(0);
        for item in &group.differences {
            let what = clean(&item.what);
            let first = format!("  {what:<column$}  ");
            // Beside a long name there is no room for values.
            if columns(&first) > width / 2 {
                lines.extend(hang("  ", &what, width));
                lines.extend(hang("      ", &values(item), width));
            } else {
                lines.extend(hang(&first, &values(item), width));
            }
        }
    }
    if !diff.findings.is_empty() {
        heading(&mut lines, "Findings", width, style);
        let is_alone = diff
            .findings
            .iter()
            .all(|change| change.server == diff.findings[0].server);
        for change in &diff.findings {
            lines.extend(finding(change, is_alone, width, style));
        }
    }
    if diff.groups.is_empty() && diff.findings.is_empty() {
        lines.push(String::new());
        lines.push("No fact, setting or finding differs.".to_owned());
    }
    if !diff.left_out.is_empty() {
        lines.push(String::new());
        let text = format!(
            "Left out, since they differ between any two readings: {}",
            diff.left_out.join(", ")
        );
        let text = wrap(&text, width);
        lines.extend(text.iter().map(|line| style.paint(Role::Dim, line)));
    }
    page(&lines)
}

fn side(side: &Side) -> String {
    let version = match side.dbdyno_version.as_str() {
        "" => String::new(),
        version => format!(", dbdyno {version}"),
    };
    format!("{}: {}{version}", side.name, side.collected_at)
}

fn values(item: &Difference) -> String {
    match (&item.a, &item.b) {
        (Some(a), Some(b)) => format!("{} → {}", shown(a), shown(b)),
        (Some(a), None) => format!("only in A: {}", shown(a)),
        (None, Some(b)) => format!("only in B: {}", shown(b)),
        (None, None) => String::new(),
    }
}

fn finding(change: &FindingChange, is_alone: bool, width: usize, style: Style) -> Vec<String> {
    let (word, role) = match (change.a, change.b) {
        (None, Some(severity)) => (format!("appeared, {}", severity.as_str()), Role::Warn),
        (Some(severity), None) => (format!("vanished, {}", severity.as_str()), Role::Good),
        (Some(a), Some(b)) => (
            format!("{} → {}", a.as_str(), b.as_str()),
            if b > a { Role::Warn } else { Role::Good },
        ),
        (None, None) => return Vec::new(),
    };
    let server = if is_alone {
        String::new()
    } else {
        format!(" ({})", change.server)
    };
    let text = format!("{}{server}: {}", change.rule, change.message);
    let mut lines = hang(&format!("  {word}  "), &text, width);
    if let Some(line) = lines.first_mut() {
        *line = line.replacen(&word, &style.paint(role, &word), 1);
    }
    lines
}

fn heading(lines: &mut Vec<String>, title: &str, width: usize, style: Style) {
    lines.push(String::new());
    let title = wrap(title, width);
    lines.extend(title.iter().map(|line| style.paint(Role::Heading, line)));
}
