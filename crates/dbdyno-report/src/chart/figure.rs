//! Figures of a page: small panels that wrap, each figure with the table of what it draws.
//!
//! A panel is laid out for 340 units of width, so that its text stays legible on a phone. All
//! that is drawn is also text: in the table, which is for those who cannot see the panels.

use dbdyno_model::Tune;

use super::{label, line};
use crate::svg::{Element, coordinate};
use crate::text::cut;

mod arms;
mod bars;
mod latency;
mod pairs;
mod series;
mod style;

pub use bars::bars_figure;
pub use latency::latency_figure;
pub use pairs::pairs_figure;
pub use series::series_figure;
pub use style::FIGURE_STYLE;

/// Width of every panel.
const WIDTH: f64 = 340.0;

/// Size of all text, in the same units; bold text is so much wider.
const FONT: f64 = 12.0;
const BOLD: f64 = 1.14;

/// From a text beside an upright axis to the axis.
const TO_AXIS: f64 = 5.0;

/// A figure of the page, in its panels and as a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Unique in the page; the ids within its panels begin with `dbdyno-` and this.
    pub id: &'static str,
    pub title: String,
    /// How to read it, as plain text.
    pub caption: String,
    /// Panels of one size, for a grid that wraps: `dbdyno-panels` of [`FIGURE_STYLE`] is one.
    pub svgs: Vec<Element>,
    pub table: FigureTable,
}

/// The same as text: each row has a cell for each column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FigureTable {
    pub caption: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// All figures in the order of the page; one without data is left out.
#[must_use]
pub fn figures(tune: &Tune) -> Vec<Figure> {
    [
        pairs_figure(tune),
        series_figure(tune),
        latency_figure(tune),
        bars_figure(tune),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// An empty panel with its name and description for those who hear it.
fn panel(figure: &str, index: usize, height: f64, title: &str, description: &str) -> Element {
    let id = |part: &str| format!("dbdyno-{figure}-{index}-{part}");
    Element::new("svg")
        .with("xmlns", "http://www.w3.org/2000/svg")
        .with("class", "dbdyno-figure")
        .with("role", "img")
        .with("aria-labelledby", id("title"))
        .with("aria-describedby", id("desc"))
        .with("viewBox", format!("0 0 {WIDTH} {}", coordinate(height)))
        .child(Element::new("title").with("id", id("title")).text(title))
        .child(
            Element::new("desc")
                .with("id", id("desc"))
                .text(description),
        )
}

fn text_end(class: &str, x: f64, y: f64, text: &str) -> Element {
    label(class, x, y, text).with("text-anchor", "end")
}

fn text_middle(class: &str, x: f64, y: f64, text: &str) -> Element {
    label(class, x, y, text).with("text-anchor", "middle")
}

fn rect(class: &str, x: f64, y: f64, width: f64, height: f64) -> Element {
    Element::new("rect")
        .with("class", class)
        .at("x", x)
        .at("y", y)
        .at("width", width)
        .at("height", height)
}

fn path(class: &str, d: String) -> Element {
    Element::new("path").with("class", class).with("d", d)
}

/// From the least to the most, with a cap at each end.
fn whisker(class: &str, from: f64, to: f64, y: f64, cap: f64) -> Element {
    let [from, to, top, bottom] = [from, to, y - cap, y + cap].map(coordinate);
    let y = coordinate(y);
    path(
        class,
        format!("M{from} {top}V{bottom}M{from} {y}H{to}M{to} {top}V{bottom}"),
    )
}

/// Width of a text in the widest of the usual system fonts, DejaVu Sans; no font is at hand to ask.
fn width_of(text: &str) -> f64 {
    let em = |char: char| match char {
        'i' | 'j' | 'l' | 'I' | 'J' | ' ' | '.' | ',' | ':' | ';' | '/' | '|' | '\'' => 0.34,
        'f' | 'r' | 't' | '-' | '(' | ')' => 0.42,
        'c' | 's' | 'z' | '_' | '–' => 0.56,
        'w' | '<' | '>' | '+' | '=' | '#' | '~' | '&' | '×' | '←' | '→' => 0.84,
        'm' | 'M' | 'W' | '%' | '@' | '…' => 1.0,
        'A'..='Z' => 0.79,
        '\0'..='\u{7f}' | 'µ' => 0.64,
        // Of what may stand in a name, ideographs are the widest.
        _ => 1.0,
    };
    FONT * text.chars().map(em).sum::<f64>()
}

/// Room that the texts beside an upright axis need, from the panel's edge to the axis.
fn gutter<'a>(texts: impl IntoIterator<Item = &'a str>) -> f64 {
    texts.into_iter().map(width_of).fold(0.0, f64::max) + TO_AXIS + 1.0
}

/// The text, cut where it is wider.
fn fit(text: &str, room: f64) -> String {
    let mut most = text.chars().count();
    let mut fitting = cut(text, most);
    while most > 1 && width_of(&fitting) > room {
        most -= 1;
        fitting = cut(text, most);
    }
    fitting
}

/// Least and most; none of nothing.
fn extent(values: impl IntoIterator<Item = f64>) -> Option<[f64; 2]> {
    let finite = values.into_iter().filter(|value| value.is_finite());
    finite.fold(None, |extent: Option<[f64; 2]>, value| {
        let [low, high] = extent.unwrap_or([value; 2]);
        Some([low.min(value), high.max(value)])
    })
}

fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().saturating_sub(1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// `2,410 (2,300 to 2,520)`; the value alone where there is no spread to tell.
fn with_spread(
    value: f64,
    spread: Option<[f64; 2]>,
    count: usize,
    format: impl Fn(f64) -> String,
) -> String {
    match spread.filter(|_| count > 1) {
        Some([low, high]) => format!("{} ({} to {})", format(value), format(low), format(high)),
        None => format(value),
    }
}

#[cfg(test)]
mod tests;
