//! The catalogue as a list, and the page of one rule for a terminal.

use dbdyno_model::{Catalogue, RuleText};

use crate::style::{Role, Style};
use crate::table::{Align, Table};
use crate::text::{columns, hang, narrow_page_width, page, wrap};

/// With fewer columns beside its rule, a title stands below it.
const NARROWEST_TITLE: usize = 30;

/// Every rule in a line: its id, its severity and what it finds.
#[must_use]
pub fn catalogue_page(catalogue: &Catalogue, width: usize, style: Style) -> String {
    let width = narrow_page_width(width);
    let mut table = Table::new(&[("rule", Align::Left), ("severity", Align::Left)]);
    for rule in &catalogue.rules {
        table.row([rule.id.clone(), rule.severity.as_str().to_owned()]);
    }
    let rows = table.lines();
    let widest = rows.iter().map(|row| columns(row)).max().unwrap_or(0);
    if widest > width {
        return stacked(catalogue, width, style);
    }
    let column = widest + 2;
    let titles = catalogue.rules.iter().map(|rule| rule.title.as_str());
    let titles: Vec<&str> = std::iter::once("what it finds").chain(titles).collect();
    let mut lines = Vec::new();
    for (index, (row, title)) in rows.iter().zip(titles).enumerate() {
        let row = if width.saturating_sub(column) < NARROWEST_TITLE {
            let mut folded = vec![row.trim_end().to_owned()];
            folded.extend(hang("    ", title, width));
            folded
        } else {
            hang(&format!("{row:<column$}"), title, width)
        };
        if index == 0 {
            lines.extend(row.iter().map(|line| style.paint(Role::Dim, line)));
        } else {
            lines.extend(row);
        }
    }
    page(&lines)
}

/// The same where not even an id has room for its severity beside it.
fn stacked(catalogue: &Catalogue, width: usize, style: Style) -> String {
    let mut lines = Vec::new();
    for heading in ["rule", "    severity: what it finds"] {
        lines.push(style.paint(Role::Dim, heading));
    }
    for rule in &catalogue.rules {
        let text = format!("{}: {}", rule.severity.as_str(), rule.title);
        lines.extend(hang("", &rule.id, width));
        lines.extend(hang("    ", &text, width));
    }
    page(&lines)
}

/// All that is to be known of a rule, as its page in the reference has it.
#[must_use]
pub fn rule_page(rule: &RuleText, width: usize, style: Style) -> String {
    let width = narrow_page_width(width);
    let mut lines = Vec::new();
    let mut text = String::new();
    for line in rule.documentation.lines() {
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() {
            paragraph(&mut lines, &mut text, width);
            lines.push(style.paint(Role::Heading, heading.trim()));
        } else if line.trim().is_empty() {
            paragraph(&mut lines, &mut text, width);
            blank(&mut lines);
        } else if line.starts_with("- ") || line.starts_with("    ") {
            // A point or a line of code begins a line of its own.
            paragraph(&mut lines, &mut text, width);
            text.push_str(line);
        } else {
            text.push(' ');
            text.push_str(line.trim());
        }
    }
    paragraph(&mut lines, &mut text, width);
    blank(&mut lines);
    let facts = format!(
        "Severity {} unless a finding says otherwise, confidence {}.",
        rule.severity.as_str(),
        rule.confidence.as_str()
    );
    lines.extend(
        wrap(&facts, width)
            .iter()
            .map(|line| style.paint(Role::Dim, line)),
    );
    page(&lines)
}

/// Ends what was gathered: a point hangs, a line of code stays as it is, the rest is wrapped.
fn paragraph(lines: &mut Vec<String>, gathered: &mut String, width: usize) {
    let text = std::mem::take(gathered);
    if let Some(point) = text.strip_prefix("- ") {
        let point = point.trim();
        match address(point) {
            Some(address) => lines.push(format!("- {address}")),
            None => lines.extend(hang("- ", point, width)),
        }
    } else if text.starts_with("    ") {
        lines.push(crate::text::clean(&text));
    } else {
        lines.extend(wrap(&text, width));
    }
}

/// A link is not wrapped: broken over two lines it cannot be followed.
fn address(point: &str) -> Option<String> {
    let address = point.strip_prefix('<')?.strip_suffix('>')?;
    (!address.contains(char::is_whitespace)).then(|| crate::text::clean(address))
}

/// One blank line between parts, none at the top.
fn blank(lines: &mut Vec<String>) {
    if lines.last().is_some_and(|line| !line.is_empty()) {
        lines.push(String::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{visible_escapes, without_colour};
    use dbdyno_model::Severity;
    use dbdyno_model::finding::Confidence;

    fn rule(id: &str, title: &str) -> RuleText {
        let documentation = format!(
            "# {id}\n\n{title}\n\n## What it finds\n`fsync` off, in a sentence that is long enough \
             to be\nbroken over two lines of the source.\n\n## What to do\n- Set it on at once,\n  \
             then take a backup.\n- Look at `synchronous_commit`.\n\n    ALTER SYSTEM SET fsync = \
             on\n\n## Sources\n- <https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-FSYNC-AND-A-LONG-ANCHOR>\n"
        );
        RuleText {
            id: id.to_owned(),
            family: "postgres".to_owned(),
            severity: Severity::Critical,
            confidence: Confidence::High,
            title: title.to_owned(),
            sources: Vec::new(),
            documentation,
        }
    }

    fn catalogue() -> Catalogue {
        Catalogue {
            schema: Catalogue::SCHEMA.to_owned(),
            dbdyno_version: "0.1.0".to_owned(),
            rules: vec![
                rule(
                    "kernel.swappiness",
                    "Swappiness above 10, or zero, on a host with disk swap.",
                ),
                rule(
                    "postgres.fsync",
                    "A server that does not wait for its writes to reach the disk.",
                ),
            ],
        }
    }

    #[test]
    fn pages() {
        let rule = &catalogue().rules[1];
        for width in [60, 80, 120] {
            let plain = rule_page(rule, width, Style::Plain);
            for line in plain.lines() {
                assert!(columns(line) <= width || line.contains("://"), "{line}");
            }
            insta::assert_snapshot!(format!("rule_{width}"), plain);
            let list = catalogue_page(&catalogue(), width, Style::Plain);
            assert!(list.lines().all(|line| columns(line) <= width), "{list}");
            insta::assert_snapshot!(format!("catalogue_{width}"), list);
        }
        let coloured = rule_page(rule, 80, Style::Coloured);
        insta::assert_snapshot!("rule_80_coloured", visible_escapes(&coloured));
        assert_eq!(without_colour(&coloured), rule_page(rule, 80, Style::Plain));
    }

    #[test]
    fn a_narrow_list_has_each_title_below_its_rule() {
        let list = catalogue_page(&catalogue(), 40, Style::Plain);
        assert!(list.lines().all(|line| columns(line) <= 40), "{list}");
        let expected = "postgres.fsync     critical\n    A server that does not wait for its\n";
        assert!(list.contains(expected), "{list}");
    }

    #[test]
    fn an_id_as_wide_as_the_terminal_has_its_severity_below_it() {
        let mut catalogue = catalogue();
        catalogue.rules[0].id = "kernel.transparent_huge_pages_conflict".to_owned();
        let list = catalogue_page(&catalogue, 40, Style::Plain);
        assert!(list.lines().all(|line| columns(line) <= 40), "{list}");
        let expected = "rule\n    severity: what it finds\n\
                        kernel.transparent_huge_pages_conflict\n    critical: Swappiness above";
        assert!(list.starts_with(expected), "{list}");
    }

    #[test]
    fn no_word_of_the_documentation_is_lost() {
        let rule = &catalogue().rules[1];
        let page = rule_page(rule, 60, Style::Plain);
        let shown: Vec<&str> = page.split_whitespace().collect();
        for word in rule.documentation.split_whitespace() {
            let word = word.trim_matches(['<', '>', '#']);
            assert!(word.is_empty() || shown.contains(&word), "{word} is lost");
        }
    }

    #[test]
    fn a_catalogue_without_rules_is_its_head() {
        let page = catalogue_page(&Catalogue::default(), 80, Style::Plain);
        assert_eq!(page, "rule  severity  what it finds\n");
    }
}
