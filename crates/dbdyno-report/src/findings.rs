//! Findings as text: severity by sign, word and colour together, then message and evidence.

use dbdyno_model::{Finding, Severity};

use crate::style::{Role, Style};
use crate::text::{hang, page, page_width, plural};

/// Columns before a message: sign, word and blanks.
const INDENT: &str = "            ";

/// All findings with their evidence and sources, the gravest first.
#[must_use]
pub fn findings_page(findings: &[Finding], width: usize, style: Style) -> String {
    let width = page_width(width);
    let mut lines = vec![style.paint(Role::Heading, &headline(findings))];
    for finding in by_severity(findings) {
        lines.push(String::new());
        lines.extend(message(finding, width, style));
        for item in &finding.evidence {
            let text = format!("{} = {} ({})", item.fact, item.value, item.origin);
            lines.extend(hang(INDENT, &text, width));
        }
        for action in &finding.host_actions {
            lines.extend(hang(&format!("{INDENT}do: "), &action.action, width));
        }
        lines.extend(statements(finding, width, style));
        let facts = format!("{}, confidence {}", finding.rule, confidence(finding));
        let mut small = hang(INDENT, &facts, width);
        // A link that is broken over two lines cannot be followed.
        small.extend(
            finding
                .sources
                .iter()
                .map(|source| format!("{INDENT}{source}")),
        );
        lines.extend(small.iter().map(|line| style.paint(Role::Dim, line)));
    }
    page(&lines)
}

/// SQL to run, each with what it is for and what it costs below.
fn statements(finding: &Finding, width: usize, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for statement in &finding.statements {
        let sql = format!("{};", statement.sql);
        lines.extend(hang(&format!("{INDENT}sql: "), &sql, width));
        let mut facts = format!("{} ({})", statement.why, statement.needs.as_str());
        if let Some(cost) = &statement.gives_up {
            facts.push_str(&format!("; gives up: {cost}"));
        }
        let small = hang(&format!("{INDENT}     "), &facts, width);
        lines.extend(small.iter().map(|line| style.paint(Role::Dim, line)));
    }
    lines
}

/// The critical ones and the warnings, a line or two each; what only informs is folded to names.
#[must_use]
pub fn findings_short(findings: &[Finding], width: usize, style: Style) -> String {
    let width = page_width(width);
    let mut lines = vec![style.paint(Role::Heading, &headline(findings))];
    let sorted = by_severity(findings);
    let (folded, told): (Vec<_>, Vec<_>) = sorted
        .into_iter()
        .partition(|finding| finding.severity == Severity::Info);
    for finding in told {
        lines.extend(message(finding, width, style));
    }
    if !folded.is_empty() {
        let names: Vec<&str> = folded.iter().map(|finding| finding.rule.as_str()).collect();
        let text = format!("{}: {}", folded.len(), names.join(", "));
        let first = format!("{:<width$}", "· info", width = INDENT.len());
        let folded = hang(&first, &text, width);
        lines.extend(folded.iter().map(|line| style.paint(Role::Dim, line)));
    }
    page(&lines)
}

/// `5 findings: 1 critical, 2 warnings, 2 to know`.
fn headline(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "No findings".to_owned();
    }
    let count = |severity| {
        let with = findings
            .iter()
            .filter(|finding| finding.severity == severity);
        with.count() as u64
    };
    let parts: Vec<String> = [
        (count(Severity::Critical), "critical".to_owned()),
        (count(Severity::Warn), "warn".to_owned()),
        (count(Severity::Info), "info".to_owned()),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{count} {word}"))
    .collect();
    let all = plural(findings.len() as u64, "finding");
    format!("{all}: {}", parts.join(", "))
}

/// The gravest first; equals by the rule's name, so that the order never depends on the run.
fn by_severity(findings: &[Finding]) -> Vec<&Finding> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| a.rule.cmp(&b.rule))
    });
    sorted
}

/// The message beside its sign and word.
fn message(finding: &Finding, width: usize, style: Style) -> Vec<String> {
    let (sign, role) = match finding.severity {
        Severity::Critical => ("■", Role::Bad),
        Severity::Warn => ("▲", Role::Warn),
        Severity::Info => ("·", Role::Dim),
    };
    let label = format!("{sign} {}", finding.severity.as_str());
    let first = format!("{label:<width$}", width = INDENT.len());
    let mut lines = hang(&first, &finding.message, width);
    if let Some(line) = lines.first_mut() {
        *line = line.replacen(&label, &style.paint(role, &label), 1);
    }
    lines
}

fn confidence(finding: &Finding) -> &'static str {
    use dbdyno_model::finding::Confidence;
    match finding.confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    }
}

#[cfg(test)]
mod tests {
    use dbdyno_model::finding::Statement;
    use dbdyno_model::{Class, Needs};

    use super::*;
    use crate::testing;
    use crate::text::columns;

    #[test]
    fn pages() {
        let findings = testing::findings();
        for width in [80, 60] {
            let plain = findings_page(&findings, width, Style::Plain);
            assert!(
                plain
                    .lines()
                    .all(|line| columns(line) <= width || line.contains("://"))
            );
            insta::assert_snapshot!(format!("findings_{width}"), plain);
        }
        let coloured = findings_page(&findings, 80, Style::Coloured);
        insta::assert_snapshot!("findings_80_coloured", testing::visible_escapes(&coloured));
    }

    #[test]
    fn short() {
        let findings = testing::findings();
        insta::assert_snapshot!(
            "findings_short",
            findings_short(&findings, 80, Style::Plain)
        );
        let coloured = findings_short(&findings, 80, Style::Coloured);
        assert_eq!(
            testing::without_colour(&coloured),
            findings_short(&findings, 80, Style::Plain)
        );
    }

    #[test]
    fn sql_is_told_with_what_it_is_for_and_what_it_costs() {
        let mut findings = testing::findings();
        findings.truncate(1);
        findings[0].statements = vec![Statement {
            sql: "DROP INDEX CONCURRENTLY public.\"Note\"".to_owned(),
            why: "no replica needs it".to_owned(),
            class: Class::Safe,
            needs: Needs::Online,
            gives_up: Some("the way back takes a build".to_owned()),
        }];
        let page = findings_page(&findings, 100, Style::Plain);
        let sql = format!("{INDENT}sql: DROP INDEX CONCURRENTLY public.\"Note\";\n");
        let why = "no replica needs it (online); gives up: the way back takes a build\n";
        assert!(page.contains(&sql) && page.contains(why), "{page}");
    }

    #[test]
    fn none_is_said() {
        assert_eq!(findings_page(&[], 80, Style::Plain), "No findings\n");
        assert_eq!(findings_short(&[], 80, Style::Plain), "No findings\n");
    }
}
