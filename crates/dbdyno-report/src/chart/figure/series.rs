//! Throughput of each arm second by second: the median of its runs, their spread, and what happened.

use std::collections::BTreeMap;

use dbdyno_model::run::Phase;
use dbdyno_model::{Run, Tune};

use super::arms::{ArmView, arms};
use super::{
    Figure, TO_AXIS, extent, gutter, label, line, median, panel, path, rect, text_end, text_middle,
};
use crate::chart::labels;
use crate::chart::scale::{Scale, ticks};
use crate::chart::series::{closed, polyline};
use crate::number;
use crate::svg::{Element, coordinate};
use crate::text::plural;

mod table;

const ID: &str = "series";
const LEAST_LEFT: f64 = 46.0;
const RIGHT: f64 = 284.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 150.0;

/// What the shading of all runs together comes to where all of them are shaded.
const SHADE: f64 = 0.16;

/// An arm's runs, aligned from the start of the load.
struct Series<'a> {
    arm: &'a ArmView<'a>,
    /// Runs of which seconds were recorded.
    runs: Vec<&'a Run>,
    /// The rates of the runs in each second, which is named by its end.
    rates: BTreeMap<u32, Vec<f64>>,
    /// Runs with checkpoints that began in a second: on time, and on request.
    timed: BTreeMap<u32, u32>,
    requested: BTreeMap<u32, u32>,
}

/// One panel an arm, on the same axes; none where no seconds were recorded.
#[must_use]
pub fn series_figure(tune: &Tune) -> Option<Figure> {
    let arms = arms(tune);
    let all: Vec<Series<'_>> = arms
        .iter()
        .map(series)
        .filter(|series| !series.rates.is_empty())
        .collect();
    if all.is_empty() {
        return None;
    }
    let seconds = all.iter().filter_map(|series| series.rates.keys().last());
    let end = f64::from(seconds.copied().max().unwrap_or(1));
    let rates = all.iter().flat_map(|series| series.rates.values());
    let top = rates.flatten().copied().fold(1.0, f64::max);
    let ticks = rate_ticks(top);
    let left = gutter(ticks.iter().map(|(_, text)| text.as_str())).max(LEAST_LEFT);
    let axes = Axes {
        end,
        left,
        ticks,
        x: Scale::new([0.0, end], [left, RIGHT]),
        y: Scale::new([0.0, top], [BOTTOM, TOP]),
        key: all
            .iter()
            .any(|series| !series.timed.is_empty() || !series.requested.is_empty()),
    };
    let panels = all.iter().enumerate();
    Some(Figure {
        id: ID,
        title: "Throughput, second by second".to_owned(),
        caption: caption(&all, axes.key),
        svgs: panels
            .map(|(index, series)| series.draw(index + 1, &axes))
            .collect(),
        table: table::table(&all),
    })
}

fn series<'a>(arm: &'a ArmView<'a>) -> Series<'a> {
    let mut series = Series {
        arm,
        runs: Vec::new(),
        rates: BTreeMap::new(),
        timed: BTreeMap::new(),
        requested: BTreeMap::new(),
    };
    for run in &arm.runs {
        let seconds = closed(run);
        if seconds.is_empty() {
            continue;
        }
        series.runs.push(run);
        let mut last = None;
        for (at_s, rate, _) in seconds {
            let second = second_of(at_s);
            // A phase's last second is seldom whole; what is left of it is not drawn twice.
            if last.replace(second) != Some(second) {
                series.rates.entry(second).or_default().push(rate);
            }
        }
        for second in &run.series {
            // Within the closing checkpoint the shading says it already.
            if second.phase != Phase::Closed {
                continue;
            }
            for (marks, begun) in [
                (&mut series.timed, second.checkpoints_timed),
                (&mut series.requested, second.checkpoints_requested),
            ] {
                if begun.is_some_and(|begun| begun > 0) {
                    *marks.entry(second_of(second.at_s)).or_default() += 1;
                }
            }
        }
    }
    series
}

/// The second that ends there, from 1.
fn second_of(at_s: f64) -> u32 {
    (at_s - 0.25).ceil().clamp(1.0, 1e6) as u32
}

fn rate_ticks(top: f64) -> Vec<(f64, String)> {
    let values = ticks(0.0, top, 5).0.into_iter();
    values
        .map(|value| (value, number::count(value as u64)))
        .collect()
}

/// From when to when a run wrote its closing checkpoint.
fn closing(run: &Run) -> Option<[f64; 2]> {
    let mut before = 0.0;
    let mut closing: Option<[f64; 2]> = None;
    for second in &run.series {
        if second.phase == Phase::Checkpoint {
            closing = Some([closing.map_or(before, |[from, _]| from), second.at_s]);
        }
        before = second.at_s;
    }
    closing.filter(|[from, to]| from.is_finite() && to.is_finite() && to > from)
}

/// The same for all panels.
struct Axes {
    end: f64,
    /// Where the axes begin: what the widest rate leaves.
    left: f64,
    ticks: Vec<(f64, String)>,
    x: Scale,
    y: Scale,
    /// Whether checkpoints were seen anywhere.
    key: bool,
}

impl Axes {
    fn height(&self) -> f64 {
        BOTTOM + if self.key { 46.0 } else { 28.0 }
    }

    fn draw(&self, svg: &mut Element) {
        for (value, text) in &self.ticks {
            let at = self.y.at(*value);
            svg.push(line("grid", [self.left, at], [RIGHT, at]));
            svg.push(text_end("muted", self.left - TO_AXIS, at + 4.0, text));
        }
        svg.push(label("muted", 4.0, TOP - 8.0, "TPS"));
        for value in ticks(0.0, self.end, 5).0 {
            let at = self.x.at(value);
            svg.push(line("one", [at, BOTTOM], [at, BOTTOM + 4.0]));
            let text = if value > 0.0 {
                format!("{value:.0} s")
            } else {
                "0".to_owned()
            };
            svg.push(text_middle("muted", at, BOTTOM + 24.0, &text));
        }
    }
}

impl Series<'_> {
    fn draw(&self, index: usize, axes: &Axes) -> Element {
        let title = format!(
            "TPS of {}, second by second, {}",
            self.arm.full_name(),
            plural(self.runs.len() as u64, "run")
        );
        let mut svg = panel(ID, index, axes.height(), &title, &self.description());
        self.arm.heading(&mut svg);
        self.shade(&mut svg, axes);
        axes.draw(&mut svg);
        self.lines(&mut svg, axes);
        svg.push(line("one", [axes.left, BOTTOM], [RIGHT, BOTTOM]));
        self.checkpoints(&mut svg, axes);
        svg
    }

    /// Warm-up and closing checkpoint of each run: the more runs, the darker.
    fn shade(&self, svg: &mut Element, axes: &Axes) {
        let each = 1.0 - (1.0 - SHADE).powf(1.0 / self.runs.len().max(1) as f64);
        let shade = |svg: &mut Element, from: f64, to: f64| {
            let [from, to] = [from, to].map(|at| axes.x.at(at.clamp(0.0, axes.end)));
            let shade = rect("shade", from, TOP, to - from, BOTTOM - TOP);
            svg.push(shade.with("fill-opacity", format!("{each:.3}")));
            svg.push(line("reach", [from, TOP - 2.0], [to, TOP - 2.0]));
        };
        let warm_ups = self.runs.iter().map(|run| run.warm_up_s);
        let mut longest = 0.0_f64;
        for warm_up_s in warm_ups.filter(|warm_up_s| *warm_up_s > 0.0) {
            longest = longest.max(warm_up_s);
            shade(svg, 0.0, warm_up_s);
        }
        if longest > 0.0 {
            svg.push(label("muted", axes.left, TOP - 8.0, "warm-up"));
        }
        let mut any = false;
        for [from, to] in self.runs.iter().filter_map(|run| closing(run)) {
            any = true;
            shade(svg, from, to);
        }
        if any {
            svg.push(text_end("muted", RIGHT, TOP - 8.0, "closing checkpoint"));
        }
    }

    fn lines(&self, svg: &mut Element, axes: &Axes) {
        let seconds: Vec<(u32, [f64; 3])> = self.summary();
        let x = |second: u32| axes.x.at(f64::from(second) - 0.5);
        // Where seconds are missing the line is broken: nothing is known between.
        for part in seconds.chunk_by(|a, b| a.0 + 1 == b.0) {
            let upper = part.iter().map(|(s, [.., most])| [x(*s), axes.y.at(*most)]);
            let lower = part
                .iter()
                .rev()
                .map(|(s, [least, ..])| [x(*s), axes.y.at(*least)]);
            if self.runs.len() > 1 {
                svg.push(path(&self.arm.class("spread"), outline(upper.chain(lower))));
            }
            let points: Vec<[f64; 2]> = part
                .iter()
                .map(|(s, [_, median, _])| [x(*s), axes.y.at(*median)])
                .collect();
            match points[..] {
                [[x, y]] => svg.push(self.arm.mark(x, y)),
                _ => svg.push(polyline(&self.arm.class("line"), &points)),
            }
        }
        if let Some((second, values)) = seconds.last() {
            self.end_labels(svg, axes, x(*second), *values);
        }
    }

    /// What line and band are, where they end.
    fn end_labels(&self, svg: &mut Element, axes: &Axes, x: f64, [least, median, most]: [f64; 3]) {
        let labels: &[(f64, &str)] = if self.runs.len() > 1 {
            &[(most, "max"), (median, "median"), (least, "min")]
        } else {
            &[(median, "1 run")]
        };
        let wishes: Vec<f64> = labels.iter().map(|(value, _)| axes.y.at(*value)).collect();
        let places = labels::spread(&wishes, 14.0, TOP, BOTTOM);
        for (((_, text), wish), place) in labels.iter().zip(&wishes).zip(places) {
            let points = [[x, *wish], [RIGHT + 1.0, *wish], [RIGHT + 7.0, place]];
            svg.push(polyline("lead", &points));
            svg.push(label("", RIGHT + 9.0, place + 4.0, text));
        }
    }

    /// Triangles beneath the axis, and what they are.
    fn checkpoints(&self, svg: &mut Element, axes: &Axes) {
        for (class, marks) in [("hollow", &self.timed), ("full", &self.requested)] {
            for second in marks.keys() {
                let x = axes.x.at(f64::from(*second) - 0.5);
                svg.push(triangle(class, x, BOTTOM + 2.0));
            }
        }
        if !axes.key {
            return;
        }
        let y = BOTTOM + 42.0;
        svg.push(label("muted", axes.left, y, "checkpoint:"));
        svg.push(triangle("full", axes.left + 84.0, y - 9.0));
        svg.push(label("muted", axes.left + 92.0, y, "requested"));
        svg.push(triangle("hollow", axes.left + 174.0, y - 9.0));
        svg.push(label("muted", axes.left + 182.0, y, "timed"));
    }

    /// Least, median and most of each second.
    fn summary(&self) -> Vec<(u32, [f64; 3])> {
        self.rates
            .iter()
            .filter_map(|(second, rates)| {
                let [least, most] = extent(rates.iter().copied())?;
                Some((*second, [least, median(rates)?, most]))
            })
            .collect()
    }

    fn description(&self) -> String {
        let medians: Vec<f64> = self.summary().iter().map(|(_, [_, m, _])| *m).collect();
        let [least, most] = extent(medians.iter().copied()).unwrap_or([f64::NAN; 2]);
        let count = |marks: &BTreeMap<u32, u32>| u64::from(marks.values().sum::<u32>());
        format!(
            "The median lies between {} and {} over {}; {} on request and {} on time in {}. The \
             table has every second.",
            number::measured(least),
            number::tps(most),
            plural(medians.len() as u64, "second"),
            plural(count(&self.requested), "checkpoint"),
            number::count(count(&self.timed)),
            plural(self.runs.len() as u64, "run"),
        )
    }
}

fn caption(all: &[Series<'_>], key: bool) -> String {
    let spread = all.iter().any(|series| series.runs.len() > 1);
    let mut parts = vec![if spread {
        "The line is the median of an arm's kept runs, aligned from the start of the load; the \
         band reaches from the least to the most of them."
            .to_owned()
    } else {
        "The line is the one run of an arm, from the start of its load.".to_owned()
    }];
    parts.push(
        "Shaded, and darker where more runs are in it: the warm-up, which does not count, and the \
         closing checkpoint, which does."
            .to_owned(),
    );
    if key {
        parts.push("Triangles are checkpoints that began in any of the runs.".to_owned());
    }
    parts.join(" ")
}

fn outline(points: impl Iterator<Item = [f64; 2]>) -> String {
    let mut d = String::new();
    for [x, y] in points {
        d.push_str(if d.is_empty() { "M" } else { "L" });
        d.push_str(&format!("{} {}", coordinate(x), coordinate(y)));
    }
    d.push('Z');
    d
}

fn triangle(class: &str, x: f64, y: f64) -> Element {
    path(
        class,
        format!("M{} {}l4.5 8h-9z", coordinate(x), coordinate(y)),
    )
}
