//! One pair second by second: both arms on the same scales, checkpoints beneath.

use dbdyno_model::run::{Phase, Second};
use dbdyno_model::{Run, Verdict};

use super::scale::{Scale, ticks};
use super::{LEFT, Pair, label, line};
use crate::number;
use crate::svg::{Element, coordinate};
use crate::text::{columns, cut};

const TOP: f64 = 266.0;
const BOTTOM: f64 = 316.0;
const PANEL: f64 = 290.0;
const SECOND_LEFT: f64 = 402.0;

/// Characters of a panel's heading before it would reach the other's.
const HEADING_CHARS: usize = 44;

/// Both panels and the key beneath them.
pub(super) fn panels(verdict: &Verdict, pair: &Pair<'_>) -> Element {
    let seconds = |run: &Run| closed(run).last().map_or(0.0, |(at, ..)| *at);
    let peak = |run: &Run| {
        closed(run)
            .iter()
            .map(|(_, tps, _)| *tps)
            .fold(0.0, f64::max)
    };
    let end = seconds(pair.base).max(seconds(pair.arm)).max(1.0);
    let top = peak(pair.base).max(peak(pair.arm)).max(1.0);
    let y = Scale::new([0.0, top], [BOTTOM, TOP]);
    let mut group = Element::new("g");
    for (run, name, class, left) in [
        (pair.base, &verdict.base, "base", LEFT),
        (pair.arm, &verdict.arm, "arm", SECOND_LEFT),
    ] {
        let x = Scale::new([0.0, end], [left, left + PANEL]);
        let start = if left > LEFT { left } else { 16.0 };
        let title = heading(name, pair.number);
        group.push(label("muted", start, TOP - 12.0, &title));
        grid(&mut group, &x, &y, end, top, left);
        panel(&mut group, run, class, &x, &y);
    }
    key(&mut group);
    group
}

/// A line through points.
pub(super) fn polyline(class: &str, points: &[[f64; 2]]) -> Element {
    let points: Vec<String> = points
        .iter()
        .map(|[x, y]| format!("{},{}", coordinate(*x), coordinate(*y)))
        .collect();
    Element::new("polyline")
        .with("class", class)
        .with("points", points.join(" "))
}

/// End of each second, its rate and phase; without the open-loop step, whose rate is given and
/// shows nothing of the arm. The last second of a phase is seldom whole.
pub(super) fn closed(run: &Run) -> Vec<(f64, f64, Phase)> {
    let mut begin_s = 0.0;
    let seconds = run
        .series
        .iter()
        .filter(|second| second.phase != Phase::OpenLoop && second.at_s.is_finite());
    let rate = |second: &Second| {
        let length_s = second.at_s - std::mem::replace(&mut begin_s, second.at_s);
        // What is too short to have a rate would draw a spike.
        (length_s > 0.1).then(|| {
            let rate = second.transactions as f64 / length_s;
            (second.at_s, rate, second.phase)
        })
    };
    seconds.filter_map(rate).collect()
}

fn heading(arm: &str, pair: u32) -> String {
    let rest = format!(": TPS by second, pair {pair}");
    let room = HEADING_CHARS.saturating_sub(columns(&rest));
    format!("{}{rest}", cut(arm, room))
}

fn grid(group: &mut Element, x: &Scale, y: &Scale, end: f64, top: f64, left: f64) {
    for value in ticks(0.0, top, 4).0 {
        let at = y.at(value);
        group.push(line("grid", [left, at], [left + PANEL, at]));
        let text = number::count(value as u64);
        group.push(label("muted", left - 6.0, at + 4.0, &text).with("text-anchor", "end"));
    }
    for value in ticks(0.0, end, 5).0 {
        let text = if value > 0.0 {
            format!("{value:.0} s")
        } else {
            "0".to_owned()
        };
        let at = x.at(value);
        group.push(label("muted", at, BOTTOM + 23.0, &text).with("text-anchor", "middle"));
    }
}

fn panel(group: &mut Element, run: &Run, class: &str, x: &Scale, y: &Scale) {
    let seconds = closed(run);
    if seconds.is_empty() {
        let text = label("muted", x.at(0.0) + 8.0, TOP + 20.0, "no seconds recorded");
        group.push(text);
        return;
    }
    let points: Vec<[f64; 2]> = seconds
        .iter()
        .map(|(at, tps, _)| [x.at(*at), y.at(*tps)])
        .collect();
    group.push(polyline(class, &points));
    for second in &run.series {
        let begun = [second.checkpoints_timed, second.checkpoints_requested];
        // Within the closing checkpoint the bar says it already.
        if second.phase == Phase::Closed && begun.into_iter().flatten().any(|count| count > 0) {
            group.push(triangle(x.at(second.at_s)));
        }
    }
    let mut closing = seconds
        .iter()
        .filter(|(.., phase)| *phase == Phase::Checkpoint);
    let first = closing.next();
    if let Some((first, ..)) = first {
        let last = closing.next_back().map_or(*first, |(at, ..)| *at);
        // A second is named by its end.
        let from = x.at((first - 1.0).max(0.0));
        group.push(bar(from, x.at(last)));
    }
}

fn triangle(x: f64) -> Element {
    let path = format!("M{} {} l4 7 h-8 z", coordinate(x), coordinate(BOTTOM + 3.0));
    Element::new("path")
        .with("class", "checkpoint")
        .with("d", path)
}

fn bar(from: f64, to: f64) -> Element {
    Element::new("rect")
        .with("class", "checkpoint")
        .at("x", from)
        .at("y", BOTTOM + 5.0)
        .at("width", (to - from).max(2.0))
        .at("height", 4.0)
}

fn key(group: &mut Element) {
    let y = 354.0;
    let mut mark = Element::new("g").with("transform", "translate(0 30)");
    mark.push(triangle(LEFT + 4.0));
    mark.push(bar(LEFT + 110.0, LEFT + 126.0));
    group.push(mark);
    group.push(label("muted", LEFT + 14.0, y, "checkpoint"));
    let closing = "closing checkpoint, charged to the arm";
    group.push(label("muted", LEFT + 132.0, y, closing));
}
