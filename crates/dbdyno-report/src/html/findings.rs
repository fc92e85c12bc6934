//! What was found and not changed, what could not be assessed, and who can do something about it.

use dbdyno_model::{Severity, Tune};

use super::tree::{Html, el};
use super::{badge, glued, plan};
use crate::plan::needs_words;
use crate::story::changes::{Unapplied, by_reason, unapplied};
use crate::text::plural;

pub(super) fn section(tune: &Tune) -> Html {
    let section = super::section("found", "Found, but not changed");
    let (folded, told): (Vec<_>, Vec<_>) = unapplied(tune)
        .into_iter()
        .partition(|item| item.severity() == Severity::Info && item.actions.is_empty());
    let section = if told.is_empty() && folded.is_empty() {
        section.child(el("p").text("Every finding is part of the plan."))
    } else {
        section.child(el("p").text(
            "dbdyno changed none of these: they belong to the owner of the host or of the server.",
        ))
    };
    let section = if told.is_empty() {
        section
    } else {
        section.child(el("ul").class("findings").children(told.iter().map(item)))
    };
    let folded = (!folded.is_empty()).then(|| {
        let count = plural(folded.len() as u64, "finding");
        el("details")
            .child(el("summary").text(format!("To know: {count} without anything to do")))
            .child(el("ul").class("findings").children(folded.iter().map(item)))
    });
    section.children(folded).children(gaps(tune)).child(
        el("p")
            .class("small")
            .text("Rules that found nothing are not in the document."),
    )
}

fn item(item: &Unapplied<'_>) -> Html {
    let mut text = el("div").class("why");
    if let Some(finding) = item.finding {
        text = text.child(el("p").text(glued(&crate::story::sentence(&finding.message))));
    }
    for action in &item.actions {
        text = text.child(
            el("p")
                .child(el("b").text("Do: "))
                .child(el("code").text(action.action.as_str()))
                .text(format!(" ({})", needs_words(action.needs))),
        );
    }
    if let Some(finding) = item.finding {
        text = text.child(plan::evidence(finding, false));
    }
    el("li")
        .child(badge::severity(item.severity()))
        .child(text)
        .child(el("p").class("meta").child(el("code").text(item.rule)))
}

/// What could not be read; by reason, since one missing privilege is one thing to mend.
fn gaps(tune: &Tune) -> Vec<Html> {
    let reasons = by_reason(&tune.plan.not_assessed);
    let failures = &tune.facts.failures;
    let privileges = tune
        .facts
        .postgres
        .as_ref()
        .map(|postgres| postgres.missing_privileges.as_slice())
        .unwrap_or_default();
    if reasons.is_empty() && failures.is_empty() && privileges.is_empty() {
        return Vec::new();
    }
    let rules = reasons.into_iter().map(|(why, rules)| {
        let mut item = el("li").text(format!("{why}: "));
        for (index, rule) in rules.iter().enumerate() {
            item = item.text(if index > 0 { ", " } else { "" });
            item = item.child(el("code").text(*rule));
        }
        item
    });
    let failed = failures
        .iter()
        .map(|failure| el("li").text(format!("{}: {}", failure.collector, failure.why)));
    let grants = privileges.iter().map(|privilege| {
        el("li")
            .text(format!(
                "{} may not be read; this opens it: ",
                privilege.object
            ))
            .child(el("code").text(privilege.grant.as_str()))
    });
    vec![
        el("h3").text("Not assessed"),
        el("p").text("Unknown is not fine: nothing is said of these."),
        el("ul").children(rules).children(failed).children(grants),
    ]
}
