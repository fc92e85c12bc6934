//! A figure of the page: heading, how to read it, its panels, and the table of what they draw.

use super::table;
use super::tree::{Html, el};
use crate::chart::Figure;

/// The figure under a heading of the given level.
pub(super) fn figure(figure: &Figure, heading: &'static str) -> Html {
    let mut panels = el("div").class("dbdyno-panels");
    for svg in &figure.svgs {
        panels = panels.svg(svg.clone());
    }
    let figure_element = el("figure")
        .attr("id", format!("figure-{}", figure.id))
        .child(
            el("figcaption")
                .child(el(heading).text(figure.title.as_str()))
                .child(el("p").text(super::glued(&figure.caption))),
        )
        .child(panels);
    if figure.table.rows.is_empty() {
        return figure_element;
    }
    figure_element.child(
        el("details")
            .class("data")
            .child(el("summary").text(format!("The numbers of “{}”", figure.title)))
            .child(table::of_figure(&figure.table)),
    )
}
