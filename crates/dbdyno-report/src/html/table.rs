//! Tables with a caption, each in a region of its own that scrolls where it is too wide.

use super::tree::{Html, el};
use crate::chart::FigureTable;
use crate::svg;

/// A cell: words, one word that does not wrap, a number, or what the server writes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(String),
    Word(String),
    Number(String),
    Code(String),
    /// A share of the widest bar of its column beside its number.
    Bar(f64, String),
    Html(Html),
}

/// The table; the first cell of each row is the row's heading.
pub(super) fn table(caption: &str, head: &[&str], rows: Vec<Vec<Cell>>) -> Html {
    built(caption, "shown", head, rows)
}

fn built(caption: &str, class: &str, head: &[&str], rows: Vec<Vec<Cell>>) -> Html {
    let numeric = |column: usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(column));
        cells.any(|cell| matches!(cell, Cell::Number(_) | Cell::Bar(..)))
    };
    let heads = head.iter().enumerate().map(|(column, name)| {
        let th = el("th").attr("scope", "col");
        let th = if numeric(column) { th.class("n") } else { th };
        th.text(*name)
    });
    let head = el("thead").child(el("tr").children(heads));
    let body = rows.into_iter().map(|row| {
        let cells = row.into_iter().enumerate();
        el("tr").children(cells.map(|(column, cell)| {
            let td = if column == 0 {
                el("th").attr("scope", "row")
            } else {
                el("td")
            };
            fill(td, cell)
        }))
    });
    let table = el("table")
        .child(el("caption").child(el("span").class(class).text(caption)))
        .child(head)
        .child(el("tbody").children(body));
    scrolled(caption, table)
}

/// The same under a heading that says what the caption would say again to the eye.
pub(super) fn headed(caption: &str, head: &[&str], rows: Vec<Vec<Cell>>) -> Html {
    built(caption, "hidden", head, rows)
}

/// The table of a figure, its numbers to the right.
pub(super) fn of_figure(table: &FigureTable) -> Html {
    let head: Vec<&str> = table.head.iter().map(String::as_str).collect();
    let rows = table.rows.iter().map(|row| {
        let cells = row.iter().enumerate();
        cells
            .map(|(column, text)| match column {
                0 => Cell::Text(text.clone()),
                _ if is_number(text) => Cell::Number(text.clone()),
                _ => Cell::Text(text.clone()),
            })
            .collect()
    });
    self::table(&table.caption, &head, rows.collect())
}

/// Whether the text reads as a number, perhaps with a unit, or as a missing one.
fn is_number(text: &str) -> bool {
    let first = text
        .trim_start_matches(['<', '>', ' ', '+', '−'])
        .chars()
        .next();
    first.is_some_and(|c| c.is_ascii_digit() || c == '–')
}

/// Anything that may be wider than the page, where a keyboard can reach it.
pub(super) fn scrolled(name: &str, content: Html) -> Html {
    // A named section is a region: the same as role="region", said by the element itself.
    el("section")
        .class("scroll")
        .attr("aria-label", name)
        .attr("tabindex", "0")
        .child(content)
}

/// Names and values, where a table would be too much.
pub(super) fn pairs<N: Into<String>>(rows: impl IntoIterator<Item = (N, String)>) -> Html {
    let rows = rows.into_iter().map(|(name, value)| {
        el("div")
            .child(el("dt").text(name))
            .child(el("dd").text(value))
    });
    el("dl").class("facts").children(rows)
}

fn fill(td: Html, cell: Cell) -> Html {
    match cell {
        Cell::Text(text) => td.text(text),
        Cell::Word(text) => td.class("w").text(text),
        Cell::Number(text) => td.class("n").text(text),
        Cell::Code(text) => td.child(el("code").text(text)),
        Cell::Bar(share, text) => td
            .class("n bar")
            .svg(bar(share))
            .child(el("span").text(text)),
        Cell::Html(html) => td.child(html),
    }
}

/// A bar without words: its number stands beside it.
fn bar(share: f64) -> svg::Element {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    svg::Element::new("svg")
        .with("class", "cell-bar")
        .with("viewBox", "0 0 60 8")
        .with("width", "60")
        .with("height", "8")
        .with("aria-hidden", "true")
        .child(
            svg::Element::new("rect")
                .at("width", 60.0 * share)
                .at("height", 8.0),
        )
}
