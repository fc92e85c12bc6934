//! What the plan risks, and what nobody tested.

use dbdyno_model::Tune;

use super::glued;
use super::tree::{Html, el};
use crate::story::risks::{Point, risks};
use crate::story::untested::untested;

pub(super) fn section(tune: &Tune) -> Html {
    let risks = risks(tune);
    let mut columns = el("div").class("columns");
    if !risks.is_empty() {
        columns = columns.child(el("div").child(el("h3").text("Risks")).child(list(&risks)));
    }
    columns = columns.child(
        el("div")
            .child(el("h3").text("Not tested"))
            .child(list(&untested(tune))),
    );
    super::section("risks", "Risks, and what was not tested").child(columns)
}

fn list(points: &[Point]) -> Html {
    el("ul")
        .class("points")
        .children(points.iter().map(|point| {
            let li = el("li")
                .child(el("b").text(format!("{}. ", point.heading)))
                .text(glued(&point.text));
            if point.items.is_empty() {
                return li;
            }
            li.child(el("ul").children(point.items.iter().map(|(name, said)| {
                el("li")
                    .child(el("code").text(name.as_str()))
                    .text(format!(": {}", glued(said)))
            })))
        }))
}
