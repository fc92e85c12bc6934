//! A check as a page of text that can be acted on: the gravest first, each with what to do.

use dbdyno_model::check::{Answer, Assessment, Step, Way, WayKind};
use dbdyno_model::{Check, Severity};

use super::{directories, view};
use crate::story::changes::by_reason;
use crate::style::{Role, Style};
use crate::text::{clean, hang, narrow_page_width, page, plural, wrap};

/// Columns before a message: sign, word and blanks.
const INDENT: &str = "            ";
/// The same where the sign and the word have a line of their own.
const NARROW_INDENT: &str = "  ";

/// Below this, a message beside its sign would have too few columns.
const WIDE_ENOUGH_FOR_SIGNS: usize = 60;

/// Below this, rules that found nothing are counted by family instead of named.
const WIDE_ENOUGH_FOR_NAMES: usize = 80;

/// More rules than this that one reason keeps from applying are counted as well: nobody reads them.
const MOST_NAMED: usize = 20;

/// A section for each server: findings with evidence and what to do, then what was not assessed,
/// what is fine, and what does not apply.
#[must_use]
pub fn check_page(check: &Check, width: usize, style: Style) -> String {
    let width = narrow_page_width(width);
    let mut lines = unreached(check, width, style);
    lines.extend(
        view::without_server(check)
            .into_iter()
            .flat_map(|sentence| wrap(&sentence, width)),
    );
    for (index, assessment) in check.assessments.iter().enumerate() {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let headline = wrap(&view::headline(assessment), width);
        lines.extend(painted(&headline, Role::Heading, style));
        let (before, told) = view::told(check, index);
        for answer in &told {
            lines.push(String::new());
            lines.extend(finding(answer, width, style));
        }
        if !before.is_empty() {
            let rules: Vec<&str> = before.iter().map(|answer| answer.rule.as_str()).collect();
            lines.push(String::new());
            let text = format!("as above, of the same host: {}", rules.join(", "));
            lines.extend(wrap(&text, width));
        }
        lines.extend(rest(assessment, &told, width, style));
    }
    if check.findings().next().is_some() {
        lines.push(String::new());
        lines.extend(view::critical(check).map_or_else(Vec::new, |text| wrap(&text, width)));
        lines.extend(wrap("`dbdyno rule show RULE` explains a finding.", width));
    }
    page(&lines)
}

fn indent(width: usize) -> &'static str {
    if width < WIDE_ENOUGH_FOR_SIGNS {
        NARROW_INDENT
    } else {
        INDENT
    }
}

/// Servers that run here and could not be read, before everything else.
fn unreached(check: &Check, width: usize, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for server in &check.facts.unreached {
        let label = "▲ not read";
        let text = format!("{}: {}", view::unreached(server), server.why);
        lines.extend(labelled(label, &text, Role::Warn, width, style));
        if let Some(next) = &server.next {
            let first = format!("{}next: ", indent(width));
            lines.extend(hang(&first, next, width));
        }
    }
    lines
}

/// The text beside a label that is painted after the wrap: escape codes take no columns.
fn labelled(label: &str, text: &str, role: Role, width: usize, style: Style) -> Vec<String> {
    let mut lines = if width < WIDE_ENOUGH_FOR_SIGNS {
        let mut lines = vec![label.to_owned()];
        lines.extend(hang(NARROW_INDENT, text, width));
        lines
    } else {
        let first = format!("{label:<width$}", width = INDENT.len());
        hang(&first, text, width)
    };
    if let Some(line) = lines.first_mut() {
        *line = line.replacen(label, &style.paint(role, label), 1);
    }
    lines
}

fn finding(answer: &Answer, width: usize, style: Style) -> Vec<String> {
    let (sign, role) = match answer.severity {
        Severity::Critical => ("■", Role::Bad),
        Severity::Warn => ("▲", Role::Warn),
        Severity::Info => ("·", Role::Dim),
    };
    let indent = indent(width);
    let label = format!("{sign} {}", answer.severity.as_str());
    let mut lines = labelled(&label, &answer.message, role, width, style);
    for step in &answer.steps {
        lines.extend(step_lines(step, width, style));
    }
    for item in view::set_aside(answer) {
        lines.extend(hang(&format!("{indent}set aside: "), &item, width));
    }
    let mut small = Vec::new();
    for item in &answer.evidence {
        let value = view::evidence_value(item);
        let text = format!("{} = {value} ({})", item.fact, item.origin);
        small.extend(hang(indent, &text, width));
    }
    let text = format!("{} · {}", answer.rule, view::weight(answer));
    small.extend(hang(indent, &text, width));
    // A link that is broken over two lines cannot be followed.
    let sources = answer.sources.iter();
    small.extend(sources.map(|source| format!("{indent}{}", clean(source))));
    lines.extend(painted(&small, Role::Dim, style));
    lines
}

fn step_lines(step: &Step, width: usize, style: Style) -> Vec<String> {
    let indent = indent(width);
    let mut lines = Vec::new();
    if let Some(change) = view::change(step) {
        lines.extend(painted(&hang(indent, &change, width), Role::Heading, style));
    }
    if let Some(why) = &step.why {
        lines.extend(hang(indent, why, width));
    }
    if let Some(gives_up) = &step.gives_up {
        lines.extend(hang(&format!("{indent}gives up: "), gives_up, width));
    }
    let said = |way: &&Way| way.kind != WayKind::Action || !step.can_be_pasted();
    for way in step.ways.iter().filter(said) {
        lines.extend(way_lines(way, width));
    }
    lines.extend(pasted(step, width));
    if let Some(place) = &step.place {
        let text = format!("it stands at {}", view::place(place));
        lines.extend(hang(indent, &text, width));
    }
    let conditions = hang(indent, &view::conditions(step), width);
    lines.extend(painted(&conditions, Role::Dim, style));
    lines
}

/// A statement or a line of a file is not wrapped: it is there to be copied.
fn way_lines(way: &Way, width: usize) -> Vec<String> {
    let indent = indent(width);
    match way.kind {
        WayKind::AlterSystem | WayKind::Manager | WayKind::Statement => {
            vec![format!("{indent}  {}", clean(&way.text))]
        }
        WayKind::Conf => vec![format!("{indent}  or in its file: {}", clean(&way.text))],
        WayKind::Action => hang(&format!("{indent}do: "), &way.text, width),
    }
}

/// Lines of files and commands stand alone on their lines, to be copied as they are.
fn pasted(step: &Step, width: usize) -> Vec<String> {
    let indent = indent(width);
    let mut lines = Vec::new();
    let line = |text: &String| format!("{indent}  {}", clean(text));
    if let Some(command) = directories::made(step) {
        lines.push(format!("{indent}run first:"));
        lines.push(line(&command));
    }
    for file in &step.files {
        lines.push(format!("{indent}in {}:", clean(&file.file)));
        lines.extend(file.lines.iter().map(line));
    }
    if !step.commands.is_empty() {
        lines.push(format!("{indent}run:"));
        lines.extend(step.commands.iter().map(line));
    }
    lines
}

/// What follows the findings of one server.
fn rest(assessment: &Assessment, told: &[&Answer], width: usize, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(text) = view::afterwards(told) {
        lines.push(String::new());
        lines.extend(wrap(&text, width));
    }
    let not_assessed = &assessment.not_assessed;
    if !not_assessed.is_empty() {
        let count = plural(not_assessed.len() as u64, "rule");
        heading(&mut lines, &format!("Not assessed: {count}"), style);
        for (why, rules) in by_reason(not_assessed) {
            let text = format!("{why}: {}", rules.join(", "));
            lines.extend(hang("  ", &text, width));
        }
    }
    if !assessment.databases_not_read.is_empty() {
        let count = assessment.databases_not_read.len();
        heading(&mut lines, &format!("Databases not read: {count}"), style);
        let names: Vec<String> = assessment
            .databases_not_read
            .iter()
            .map(|name| clean(name))
            .collect();
        lines.extend(hang("  ", &names.join(", "), width));
        lines.extend(hang("  ", view::OTHER_DATABASES, width));
    }
    let (objects, grants) = view::grants(assessment);
    if !grants.is_empty() {
        heading(&mut lines, "Not read for want of privileges", style);
        lines.extend(hang("  ", &objects.join(", "), width));
        lines.push("  To open it:".to_owned());
        lines.extend(grants.iter().map(|grant| format!("    {}", clean(grant))));
        let text = "`dbdyno grants --role NAME` prints them all for any role.";
        lines.extend(hang("  ", text, width));
    }
    if !assessment.failures.is_empty() {
        heading(&mut lines, "Could not be read", style);
        for failure in &assessment.failures {
            let text = format!("{}: {}", failure.collector, failure.why);
            lines.extend(hang("  ", &text, width));
        }
    }
    if !assessment.passed.is_empty() {
        let count = plural(assessment.passed.len() as u64, "rule");
        heading(&mut lines, &format!("Checked and fine: {count}"), style);
        let names = if width < WIDE_ENOUGH_FOR_NAMES {
            view::families(&assessment.passed)
        } else {
            assessment.passed.join(", ")
        };
        lines.extend(painted(&hang("  ", &names, width), Role::Dim, style));
    }
    if !assessment.not_applicable.is_empty() {
        let count = plural(assessment.not_applicable.len() as u64, "rule");
        heading(&mut lines, &format!("Not applicable: {count}"), style);
        for (why, rules) in by_reason(&assessment.not_applicable) {
            let names = if rules.len() > MOST_NAMED {
                view::families(&rules)
            } else {
                rules.join(", ")
            };
            let text = format!("{why}: {names}");
            lines.extend(painted(&hang("  ", &text, width), Role::Dim, style));
        }
    }
    lines
}

fn heading(lines: &mut Vec<String>, title: &str, style: Style) {
    lines.push(String::new());
    lines.push(style.paint(Role::Heading, title));
}

fn painted(lines: &[String], role: Role, style: Style) -> Vec<String> {
    let lines = lines.iter();
    lines.map(|line| style.paint(role, line)).collect()
}

#[cfg(test)]
mod tests {
    use dbdyno_model::FileLines;
    use dbdyno_model::finding::NotAssessed;

    use super::*;
    use crate::check::testing;
    use crate::testing::{visible_escapes, without_colour};
    use crate::text::columns;

    /// What is there to be copied or followed stays in one piece.
    fn may_be_wide(line: &str) -> bool {
        ["GRANT ", "://", "ALTER SYSTEM", "or in its file"]
            .iter()
            .any(|part| line.contains(part))
    }

    #[test]
    fn pages() {
        let check = testing::check();
        for width in [60, 80, 120] {
            let plain = check_page(&check, width, Style::Plain);
            for line in plain.lines() {
                assert!(columns(line) <= width || may_be_wide(line), "{line}");
            }
            insta::assert_snapshot!(format!("check_{width}_plain"), plain);
            let coloured = check_page(&check, width, Style::Coloured);
            assert_eq!(without_colour(&coloured), plain);
            insta::assert_snapshot!(
                format!("check_{width}_coloured"),
                visible_escapes(&coloured)
            );
        }
    }

    #[test]
    fn two_servers_have_a_section_each() {
        let page = check_page(&testing::two_servers(), 80, Style::Plain);
        insta::assert_snapshot!("check_two_servers", page);
    }

    #[test]
    fn many_rules_that_one_reason_keeps_from_applying_are_counted() {
        let page = |rules: usize| {
            let mut check = testing::check();
            check.assessments[0].not_applicable = (0..rules)
                .map(|number| NotAssessed {
                    rule: format!("kernel.rule_{number}"),
                    why: "no server was read".to_owned(),
                })
                .collect();
            check_page(&check, 100, Style::Plain)
        };
        assert!(page(MOST_NAMED).contains("no server was read: kernel.rule_0, kernel.rule_1"));
        assert!(page(MOST_NAMED + 1).contains("no server was read: kernel 21\n"));
    }

    #[test]
    fn statements_are_whole_lines_at_any_width() {
        let check = testing::check();
        for width in [60, 80, 120] {
            let page = check_page(&check, width, Style::Plain);
            let statements: Vec<&str> = page
                .lines()
                .map(str::trim)
                .filter(|line| line.starts_with("ALTER SYSTEM"))
                .collect();
            assert!(
                statements.contains(&"ALTER SYSTEM SET shared_buffers = '6016MB';"),
                "{page}"
            );
        }
    }

    #[test]
    fn what_the_owner_of_the_host_pastes_is_whole_lines_at_any_width() {
        let mut check = testing::check();
        let answers = &mut check.assessments[0].findings;
        let answer = answers
            .iter_mut()
            .find(|answer| answer.rule == "kernel.swappiness")
            .unwrap();
        let step = &mut answer.steps[0];
        step.files = vec![FileLines {
            file: "/etc/sysctl.d/90-dbdyno.conf".to_owned(),
            lines: vec!["vm.swappiness = 1".to_owned()],
        }];
        step.commands = vec!["sysctl -p /etc/sysctl.d/90-dbdyno.conf".to_owned()];
        step.gives_up = Some("nothing".to_owned());
        for width in [40, 80, 120] {
            let page = check_page(&check, width, Style::Plain);
            let lines: Vec<&str> = page.lines().map(str::trim).collect();
            let expected = [
                "in /etc/sysctl.d/90-dbdyno.conf:",
                "vm.swappiness = 1",
                "run:",
                "sysctl -p /etc/sysctl.d/90-dbdyno.conf",
            ];
            let at = lines.iter().position(|line| *line == expected[0]).unwrap();
            assert_eq!(lines[at..at + expected.len()], expected, "{page}");
            assert!(lines.contains(&"gives up: nothing"), "{page}");
            assert!(!page.contains("do: vm.swappiness"), "{page}");
        }
    }

    #[test]
    fn a_very_narrow_terminal_has_the_sign_on_a_line_of_its_own() {
        let check = testing::check();
        let plain = check_page(&check, 40, Style::Plain);
        for line in plain.lines() {
            let is_copied = may_be_wide(line) || line.contains("GRANT ");
            assert!(columns(line) <= 40 || is_copied, "{line}");
        }
        let expected = "■ critical\n  full_page_writes is off on ext4: a\n  power cut may";
        assert!(plain.contains(expected), "{plain}");
        let coloured = check_page(&check, 40, Style::Coloured);
        assert_eq!(without_colour(&coloured), plain);
    }

    #[test]
    fn the_end_of_the_page_names_what_is_critical() {
        let mut check = testing::check();
        let page = check_page(&check, 120, Style::Plain);
        let last: Vec<&str> = page.lines().rev().take(2).collect();
        assert_eq!(
            last,
            [
                "`dbdyno rule show RULE` explains a finding.",
                "Critical, to be mended first: postgres.full_page_writes and filesystem.space."
            ]
        );
        check.assessments[0]
            .findings
            .retain(|answer| answer.severity < Severity::Critical);
        assert!(!check_page(&check, 120, Style::Plain).contains("mended first"));
    }

    #[test]
    fn a_narrow_terminal_counts_by_family_what_is_fine() {
        let check = testing::check();
        let narrow = check_page(&check, 60, Style::Plain);
        assert!(narrow.contains("filesystem 1, kernel 2, postgres 2"));
        let wide = check_page(&check, 80, Style::Plain);
        assert!(wide.contains("kernel.clocksource, kernel.zone_reclaim"));
    }

    #[test]
    fn a_host_without_a_server_says_so() {
        let mut facts = testing::facts();
        facts.postgres = None;
        let said = crate::check::Said::default();
        let assessment = crate::check::assessment(&facts, &said);
        let check = crate::check::check_document(facts, vec![assessment], "0.1.0");
        assert_eq!(
            check_page(&check, 80, Style::Plain),
            "No PostgreSQL server was found running here: this is the host alone.\n\nhost: no findings\n"
        );
    }
}
