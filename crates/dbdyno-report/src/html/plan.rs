//! What the plan changes: from, to, why, what it takes and gives up, and the evidence folded.

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Change, Finding, Tune};

use super::table::{Cell, scrolled, table};
use super::tree::{Html, el};
use super::{badge, glued};
use crate::plan::{needs_words, plan_as_alter_system, plan_as_conf};
use crate::story::changes::{finding_of, ordered, shown};
use crate::text::plural;

pub(super) fn section(tune: &Tune) -> Html {
    let title = if tune.runs.is_empty() {
        "What would change, and why"
    } else {
        "What changed, and why"
    };
    let section = super::section("changes", title);
    let plan = &tune.plan;
    if plan.changes.is_empty() {
        return section
            .child(el("p").text("The plan changes no setting."))
            .children(rejected(tune));
    }
    let summary = format!(
        "{}. As a whole: {}; {}.",
        plural(plan.changes.len() as u64, "change"),
        plan.class().as_str(),
        needs_words(plan.needs())
    );
    section
        .child(el("p").text(summary))
        .child(
            el("ol")
                .class("changes")
                .children(ordered(tune).into_iter().map(|change| item(tune, change))),
        )
        .children(rejected(tune))
        .child(copy(
            "As ALTER SYSTEM statements",
            plan_as_alter_system(plan),
        ))
        .child(copy("As lines of postgresql.conf", plan_as_conf(plan)))
}

fn item(tune: &Tune, change: &Change) -> Html {
    let step = el("p")
        .class("step")
        .child(el("code").class("from").text(shown(&change.from)))
        .text(" → ")
        .child(el("code").class("to").text(shown(&change.to)));
    let mut why = el("div")
        .class("why")
        .child(el("p").text(glued(&crate::story::sentence(&change.why))));
    if let Some(gives_up) = &change.gives_up {
        why = why.child(
            el("p")
                .child(el("b").text("Gives up: "))
                .text(glued(gives_up)),
        );
    }
    if let Some(finding) = finding_of(tune, change) {
        why = why.child(evidence(finding, true));
    }
    let facts = el("p")
        .class("meta")
        .child(badge::class(change.class))
        .child(el("span").text(needs_words(change.needs)))
        .child(el("code").text(change.rule.as_str()));
    el("li")
        .child(
            el("div")
                .child(el("h3").child(el("code").text(change.setting.as_str())))
                .child(step),
        )
        .child(why)
        .child(facts)
}

/// What a rule saw and where it looked, folded; with its message where that is not told above.
pub(super) fn evidence(finding: &Finding, with_message: bool) -> Html {
    let confidence = match finding.confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    };
    let facts = finding.evidence.iter().map(|item| {
        el("li")
            .text(format!("{} = ", item.fact))
            .child(el("code").text(shown(&item.value)))
            .text(format!(" ({})", item.origin))
    });
    let sources = finding
        .sources
        .iter()
        .map(|source| el("li").child(link(source)));
    let mut details = el("details").class("evidence").child(
        el("summary").text("Evidence").child(
            el("span")
                .class("hidden")
                .text(format!(" of {}", finding.rule)),
        ),
    );
    if with_message {
        let message = glued(&crate::story::sentence(&finding.message));
        details = details.child(el("p").text(message));
    }
    if !finding.evidence.is_empty() || !finding.sources.is_empty() {
        details = details.child(el("ul").children(facts).children(sources));
    }
    details.child(
        el("p")
            .class("small")
            .text(format!("Confidence of the rule: {confidence}.")),
    )
}

/// A link only where the text is an address of the web; anything else stays text.
fn link(source: &str) -> Html {
    let web = ["https://", "http://"]
        .iter()
        .any(|it| source.starts_with(it));
    let plain = |c: char| c.is_ascii_graphic() && !"<>\"'`\\^{|}".contains(c);
    if web && source.chars().all(plain) {
        el("a")
            .attr("href", source)
            .attr("rel", "noreferrer noopener")
            .text(source)
    } else {
        el("span").text(source)
    }
}

fn rejected(tune: &Tune) -> Option<Html> {
    let rejected = &tune.plan.rejected;
    if rejected.is_empty() {
        return None;
    }
    let rows = rejected.iter().map(|item| {
        vec![
            Cell::Code(item.setting.clone()),
            Cell::Code(shown(&item.wanted).to_owned()),
            Cell::Text(item.why.clone()),
            Cell::Code(item.rule.clone()),
        ]
    });
    let count = plural(rejected.len() as u64, "value");
    Some(
        el("details")
            .child(el("summary").text(format!("Set aside: {count} that a rule wanted")))
            .child(table(
                "Wanted by a rule, but set aside",
                &["setting", "wanted", "why not", "rule"],
                rows.collect(),
            )),
    )
}

/// A text to be copied, folded.
fn copy(title: &str, text: String) -> Html {
    el("details")
        .class("copy")
        .child(el("summary").text(title))
        .child(scrolled(title, el("pre").child(el("code").text(text))))
}
