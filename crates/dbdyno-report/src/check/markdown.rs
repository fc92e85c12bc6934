//! A check as Markdown, for an issue or a pull request.

use dbdyno_model::Check;
use dbdyno_model::check::{Answer, Assessment, Step, Way, WayKind};
use dbdyno_model::finding::NotAssessed;

use super::{directories, view};
use crate::markdown::text::{block, code, folded, text};
use crate::story::changes::by_reason;
use crate::text::plural;

/// All that the page says; what needs no action is folded.
#[must_use]
pub fn check_markdown(check: &Check) -> String {
    let made = format!(
        "Facts of {}, dbdyno {}.",
        text(&check.collected_at),
        text(&check.dbdyno_version)
    );
    let mut parts = vec!["# dbdyno check".to_owned(), made];
    for server in &check.facts.unreached {
        let mut line = format!(
            "> **Not read:** {}: {}",
            text(&view::unreached(server)),
            text(&server.why)
        );
        if let Some(next) = &server.next {
            line.push_str(&format!(". Next: {}", text(next)));
        }
        parts.push(line);
    }
    parts.extend(view::without_server(check).map(|sentence| text(&sentence)));
    for (index, assessment) in check.assessments.iter().enumerate() {
        parts.push(format!("## {}", text(&view::headline(assessment))));
        let (before, told) = view::told(check, index);
        parts.extend(told.iter().map(|answer| finding(answer)));
        if !before.is_empty() {
            let rules: Vec<String> = before.iter().map(|answer| code(&answer.rule)).collect();
            parts.push(format!("As above, of the same host: {}", rules.join(", ")));
        }
        parts.extend(view::afterwards(&told).map(|after| text(&after)));
        parts.extend(rest(assessment));
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).collect();
    format!("{}\n", parts.join("\n\n"))
}

fn finding(answer: &Answer) -> String {
    let mut parts = vec![format!(
        "### {}: {}\n\n{}",
        answer.severity.as_str(),
        code(&answer.rule),
        text(&answer.message)
    )];
    parts.extend(answer.steps.iter().map(step));
    let mut points: Vec<String> = view::set_aside(answer)
        .iter()
        .map(|item| format!("- set aside: {}", text(item)))
        .collect();
    points.extend(answer.evidence.iter().map(|item| {
        format!(
            "- {} = {} ({})",
            text(&item.fact),
            code(&view::evidence_value(item)),
            code(&item.origin)
        )
    }));
    points.push(format!("- {}", text(&view::weight(answer))));
    points.extend(
        answer
            .sources
            .iter()
            .map(|source| format!("- {}", link(source))),
    );
    parts.push(points.join("\n"));
    parts.join("\n\n")
}

fn step(step: &Step) -> String {
    let mut parts = Vec::new();
    if let Some(change) = view::change(step) {
        parts.push(format!("**{}**", text(&change)));
    }
    parts.extend(step.why.as_deref().map(text));
    if let Some(gives_up) = &step.gives_up {
        parts.push(format!("**Gives up:** {}", text(gives_up)));
    }
    let said = |way: &&Way| way.kind != WayKind::Action || !step.can_be_pasted();
    for way in step.ways.iter().filter(said) {
        parts.push(match way.kind {
            WayKind::AlterSystem | WayKind::Statement => block("sql", &way.text),
            WayKind::Manager => block("sh", &way.text),
            WayKind::Conf => format!("or in its file: {}", code(&way.text)),
            WayKind::Action => format!("Do: {}", code(&way.text)),
        });
    }
    if let Some(command) = directories::made(step) {
        parts.push(block("sh", &command));
    }
    for file in &step.files {
        parts.push(format!("In {}:", code(&file.file)));
        parts.push(block("", &file.lines.join("\n")));
    }
    if !step.commands.is_empty() {
        parts.push(block("sh", &step.commands.join("\n")));
    }
    if let Some(place) = &step.place {
        parts.push(format!("It stands at {}.", code(&view::place(place))));
    }
    parts.push(text(&view::conditions(step)));
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).collect();
    parts.join("\n\n")
}

/// What follows the findings of one server, folded.
fn rest(assessment: &Assessment) -> Vec<String> {
    let mut parts = Vec::new();
    if !assessment.not_assessed.is_empty() {
        let count = plural(assessment.not_assessed.len() as u64, "rule");
        let items = reasons(&assessment.not_assessed);
        parts.push(folded(&format!("Not assessed: {count}"), &items));
    }
    if !assessment.databases_not_read.is_empty() {
        let count = assessment.databases_not_read.len();
        let names: Vec<String> = assessment
            .databases_not_read
            .iter()
            .map(|name| code(name))
            .collect();
        parts.push(folded(
            &format!("Databases not read: {count}"),
            &format!("{}. {}", names.join(", "), text(view::OTHER_DATABASES)),
        ));
    }
    let (objects, grants) = view::grants(assessment);
    if !grants.is_empty() {
        parts.push(format!(
            "Not read for want of privileges: {}\n\n{}",
            text(&objects.join(", ")),
            block("sql", &grants.join("\n"))
        ));
    }
    if !assessment.failures.is_empty() {
        let failures = assessment.failures.iter();
        let items: Vec<String> = failures
            .map(|failure| format!("- {}: {}", code(&failure.collector), text(&failure.why)))
            .collect();
        parts.push(format!("Could not be read:\n\n{}", items.join("\n")));
    }
    if !assessment.passed.is_empty() {
        let count = plural(assessment.passed.len() as u64, "rule");
        let rules: Vec<String> = assessment.passed.iter().map(|rule| code(rule)).collect();
        parts.push(folded(
            &format!("Checked and fine: {count}"),
            &rules.join(", "),
        ));
    }
    if !assessment.not_applicable.is_empty() {
        let count = plural(assessment.not_applicable.len() as u64, "rule");
        let items = reasons(&assessment.not_applicable);
        parts.push(folded(&format!("Not applicable: {count}"), &items));
    }
    parts
}

fn reasons(items: &[NotAssessed]) -> String {
    let lines: Vec<String> = by_reason(items)
        .iter()
        .map(|(why, rules)| {
            let rules: Vec<String> = rules.iter().map(|rule| code(rule)).collect();
            format!("- {}: {}", text(why), rules.join(", "))
        })
        .collect();
    lines.join("\n")
}

/// A source may be a book as well.
fn link(source: &str) -> String {
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '<' | '>' | '`' | '|');
    if source.starts_with("https://") && source.chars().all(is_plain) {
        format!("<{source}>")
    } else {
        text(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing;

    #[test]
    fn whole() {
        insta::assert_snapshot!("check_markdown", check_markdown(&testing::check()));
    }

    #[test]
    fn nothing_in_a_document_becomes_markup() {
        let mut check = testing::check();
        check.assessments[0].findings[0].message = "a | <b> *c*\n# d".to_owned();
        check.assessments[0].findings[0].sources = vec!["https://x>y".to_owned()];
        let markdown = check_markdown(&check);
        assert!(
            !markdown.contains("<b>") && !markdown.contains("\n# d"),
            "{markdown}"
        );
        assert!(markdown.contains("https://x&gt;y"), "{markdown}");
    }
}
