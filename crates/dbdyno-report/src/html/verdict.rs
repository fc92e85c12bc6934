//! The first screen: the verdict, what must be known beside it, three numbers and one picture.

use dbdyno_model::Tune;

use super::tree::{Html, el};
use super::{badge, figure, glued};
use crate::chart::pairs_figure;
use crate::story::{self, Big};

pub(super) fn section(tune: &Tune) -> Html {
    let headline = story::headline(tune);
    let mut lead = el("div").class("lead").child(
        el("h1")
            .attr("id", "verdict-heading")
            .child(badge::word(headline.sign, &headline.word))
            .child(el("span").class("hidden").text(": "))
            .text(glued(&headline.sentence)),
    );
    for (class, text) in [
        ("meaning", &headline.meaning),
        ("measured", &headline.measured_on),
    ] {
        if !text.is_empty() {
            lead = lead.child(el("p").class(class).text(glued(text)));
        }
    }
    let numbers = story::big_numbers(tune);
    if !numbers.is_empty() {
        lead = lead.child(el("dl").class("numbers").children(numbers.iter().map(big)));
    }
    lead = lead.children(alerts(tune));
    let section = el("section")
        .attr("id", "verdict")
        .class("verdict")
        .attr("aria-labelledby", "verdict-heading")
        .child(lead);
    match pairs_figure(tune) {
        Some(pairs) => section.child(figure::figure(&pairs, "h2")),
        None if tune.runs.is_empty() => section,
        None => section.child(
            el("p")
                .class("nothing")
                .text("No pair of runs was finished, so there is no picture of them."),
        ),
    }
}

fn big(big: &Big) -> Html {
    let words = big.value.starts_with(char::is_alphabetic);
    el("div")
        .class(if big.faint { "big faint" } else { "big" })
        .child(el("dt").text(big.label))
        .child(
            el("dd")
                .child(
                    el("span")
                        .class(if words { "value words" } else { "value" })
                        .text(glued(&big.value)),
                )
                .child(el("span").class("detail").text(glued(&big.detail))),
        )
}

/// Broken checks with what broke them, then caveats; nothing here is ever folded.
fn alerts(tune: &Tune) -> Option<Html> {
    let mut items: Vec<Html> = story::broken(tune)
        .iter()
        .map(|text| alert("alert bad", text))
        .collect();
    items.extend(story::alerts(tune).iter().map(|text| alert("alert", text)));
    (!items.is_empty()).then(|| el("ul").class("alerts").children(items))
}

fn alert(class: &str, text: &str) -> Html {
    el("li")
        .class(class)
        .child(badge::alarm())
        .child(el("span").text(glued(text)))
}
