//! What was measured: the arms beside each other, their seconds, latencies and costs, and prices.

use dbdyno_model::tune::Price;
use dbdyno_model::{Class, Tune};

use super::table::{Cell, headed};
use super::tree::{Html, el};
use super::{badge, figure, glued};
use crate::chart::{bars_figure, latency_figure, series_figure};
use crate::number;
use crate::story::{changes, metrics};

pub(super) fn section(tune: &Tune) -> Html {
    let section = super::section("evidence", "Evidence");
    if tune.runs.is_empty() && tune.arms.is_empty() {
        return section.child(
            el("p").text("No run was measured: this document holds a plan and what it rests on."),
        );
    }
    let latency = latency_figure(tune);
    let unknown_latency = latency.is_none().then(|| {
        el("p").class("nothing").text(
            "No latency histogram is in this document, so no curve of latencies is drawn: \
             it was written by an older dbdyno, or no run was finished.",
        )
    });
    let bars = bars_figure(tune).map(|it| figure::figure(&it, "h3"));
    let arms = el("div").children(arms(tune));
    section
        .child(el("div").class("beside").child(arms).children(bars))
        .children(
            series_figure(tune)
                .iter()
                .map(|it| figure::figure(it, "h3")),
        )
        .children(latency.iter().map(|it| figure::figure(it, "h3")))
        .children(unknown_latency)
        .children(prices(tune))
}

fn arms(tune: &Tune) -> Vec<Html> {
    let Some(metrics) = metrics::metrics(tune) else {
        return vec![el("p").class("nothing").text(
            "The trial was cut off before its runs were summed up; they stand one by one below.",
        )];
    };
    let mut head = vec!["metric"];
    head.extend(metrics.arms.iter().map(String::as_str));
    head.extend(metrics.ratio.as_deref());
    let with_ratio = metrics.ratio.is_some();
    let rows = metrics.rows.iter().map(|row| {
        let mut cells = vec![Cell::Text(row.name.clone())];
        cells.extend(row.values.iter().cloned().map(Cell::Number));
        if with_ratio {
            cells.push(Cell::Number(row.ratio.clone()));
        }
        cells
    });
    let mut parts = vec![
        el("h3").text("The arms beside each other"),
        headed("The arms beside each other", &head, rows.collect()),
    ];
    for note in &metrics.notes {
        parts.push(el("p").class("small").text(glued(note)));
    }
    parts
}

/// Intervals of unsafe arms: no word of verdict stands beside them, for a price is not an offer.
fn prices(tune: &Tune) -> Vec<Html> {
    if tune.prices.is_empty() {
        return Vec::new();
    }
    let head = [
        "arm",
        "class",
        "TPS ratio",
        "to",
        "interval",
        "pairs",
        "TPS",
    ];
    let rows = tune.prices.iter().map(|price| row(tune, price)).collect();
    let mut classes: Vec<Class> = tune.prices.iter().map(|price| price.class).collect();
    classes.sort_unstable();
    classes.dedup();
    let risks = classes.iter().map(|class| {
        el("li")
            .child(badge::class(*class))
            .text(format!(": {}.", changes::class_words(*class)))
    });
    vec![
        el("h3").text("The price of safety"),
        el("p").text(
            "What giving up safety would buy here: intervals without a verdict, measured in a lab \
             to show the price. They are not offers.",
        ),
        headed("The price of safety", &head, rows),
        el("ul").class("plain").children(risks),
    ]
}

fn row(tune: &Tune, price: &Price) -> Vec<Cell> {
    let arm = tune.arms.iter().find(|arm| arm.name == price.arm);
    let ratio = price.ratio.zip(price.interval);
    vec![
        Cell::Text(price.arm.clone()),
        Cell::Html(badge::class(price.class)),
        Cell::Number(number::or_missing(ratio, |(ratio, interval)| {
            number::ratio(ratio, interval)
        })),
        Cell::Text(price.base.clone()),
        Cell::Number(number::level(price.level)),
        Cell::Number(number::count(price.pairs.into())),
        Cell::Number(number::or_missing(
            arm.and_then(|arm| arm.tps_mean),
            number::measured,
        )),
    ]
}
