//! Latency by percentile: a panel for each transaction type, all arms in each.

use dbdyno_model::Tune;

use super::arms::{ArmView, arms};
use super::{BOLD, Figure, TO_AXIS, WIDTH, fit, gutter, label, line, panel, text_end, text_middle};
use crate::chart::labels;
use crate::chart::scale::{Scale, log_range, log_ticks};
use crate::chart::series::polyline;
use crate::svg::Element;
use crate::text::list;

mod source;
mod table;

use source::{Sample, Source};

const ID: &str = "latency";
const LEAST_LEFT: f64 = 44.0;
const RIGHT: f64 = 238.0;
const TOP: f64 = 38.0;
const BOTTOM: f64 = 176.0;
const HEIGHT: f64 = 216.0;

/// Where fewer samples lie above, a percentile says more of chance than of the server.
const LEAST_ABOVE: f64 = 10.0;

/// Points of a curve for each nine of its percentiles.
const POINTS: u32 = 24;

/// How far apart the arms' marks stand where each run has its own.
const ASIDE: f64 = 8.0;

/// Percentiles that carry an arm's mark, and that the table has.
const MARKED: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

/// The arms' latencies of one transaction type.
struct Type<'a> {
    name: String,
    /// In the order of the arms; those without a sample are left out.
    samples: Vec<(&'a ArmView<'a>, Sample)>,
}

/// Where a percentile stands on HdrHistogram's usual axis: each nine is as wide as the first.
fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

/// Whether enough samples lie above to speak of the percentile.
fn supported(quantile: f64, count: u64) -> bool {
    // A hair less, so that 0.99 of 1,000 samples is not lost to rounding.
    count as f64 * (1.0 - quantile) >= LEAST_ABOVE - 1e-6
}

/// A panel for each transaction type; none where no latency was recorded.
#[must_use]
pub fn latency_figure(tune: &Tune) -> Option<Figure> {
    let arms = arms(tune);
    let sources: Vec<Source<'_>> = arms.iter().map(Source::of).collect();
    let types = types(&arms, &sources);
    if types.is_empty() {
        return None;
    }
    let axes = axes(&types)?;
    let panels = types.iter().enumerate();
    Some(Figure {
        id: ID,
        title: "Latency by percentile".to_owned(),
        caption: caption(&types, &arms, &sources),
        svgs: panels
            .map(|(index, kind)| kind.draw(index + 1, &axes))
            .collect(),
        table: table::table(&types),
    })
}

/// Curves where there are histograms; the percentiles of single runs where there are none at all.
fn types<'a>(arms: &'a [ArmView<'a>], sources: &[Source<'_>]) -> Vec<Type<'a>> {
    let mut names: Vec<&str> = Vec::new();
    for name in sources.iter().flat_map(Source::names) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of = |merged: bool| -> Vec<Type<'a>> {
        names
            .iter()
            .map(|name| Type {
                name: (*name).to_owned(),
                samples: arms
                    .iter()
                    .zip(sources)
                    .filter_map(|(arm, source)| {
                        let sample = if merged {
                            source.merged(name)
                        } else {
                            source.percentiles(name)
                        };
                        Some((arm, sample?))
                    })
                    .collect(),
            })
            .filter(|kind| !kind.samples.is_empty())
            .collect()
    };
    let curves = of(true);
    if curves.is_empty() {
        return of(false);
    }
    curves
}

/// The same for all panels, so that they can be compared.
struct Axes {
    /// Where they begin: what the widest latency leaves.
    left: f64,
    /// Latencies and their texts.
    rows: Vec<(f64, String)>,
    x: Scale,
    y: Scale,
    /// Positions and names along the percentiles.
    ticks: Vec<(f64, &'static str)>,
}

fn axes(types: &[Type<'_>]) -> Option<Axes> {
    let samples = || {
        types
            .iter()
            .flat_map(|kind| kind.samples.iter().map(|(_, sample)| sample))
    };
    let drawn: Vec<[f64; 2]> = samples().flat_map(Sample::drawn).collect();
    let furthest = drawn.iter().map(|[x, _]| *x).reduce(f64::max)?;
    let [low, high] = log_range(drawn.iter().map(|[_, ms]| *ms), 0.06, 0.06);
    let curves = samples().any(|sample| matches!(sample, Sample::Merged(_)));
    let all: &[(f64, &str)] = if curves {
        &[
            (0.0, "0"),
            (1.0, "90"),
            (2.0, "99"),
            (3.0, "99.9"),
            (4.0, "99.99"),
            (5.0, "99.999"),
        ]
    } else {
        &source::DOT_TICKS
    };
    // At least one nine, so that a short curve is not drawn as if it told of the tail.
    let end = if curves {
        furthest.clamp(1.0, 5.3)
    } else {
        furthest + 0.35
    };
    let rows = log_ticks(low, high, 6);
    let left = gutter(rows.iter().map(|(_, text)| text.as_str())).max(LEAST_LEFT);
    Some(Axes {
        left,
        rows,
        x: Scale::new([0.0, end], [left, RIGHT]),
        y: Scale::new([low.ln(), high.ln()], [BOTTOM, TOP]),
        ticks: all.iter().filter(|(at, _)| *at <= end).copied().collect(),
    })
}

impl Axes {
    fn draw(&self, svg: &mut Element) {
        let beside = self.left - TO_AXIS;
        for (value, text) in &self.rows {
            let at = self.y.at(value.ln());
            svg.push(line("grid", [self.left, at], [RIGHT, at]));
            svg.push(text_end("muted", beside, at + 4.0, text));
        }
        svg.push(text_end("muted", beside, TOP - 8.0, "ms"));
        for (at, name) in &self.ticks {
            let at = self.x.at(*at);
            svg.push(line("grid", [at, TOP], [at, BOTTOM]));
            svg.push(text_middle("muted", at, BOTTOM + 16.0, name));
        }
        svg.push(line("one", [self.left, BOTTOM], [RIGHT, BOTTOM]));
        let middle = f64::midpoint(self.left, RIGHT);
        svg.push(text_middle("muted", middle, BOTTOM + 33.0, "percentile"));
    }

    fn place(&self, [x, ms]: [f64; 2]) -> [f64; 2] {
        [self.x.at(x), self.y.at(ms.ln())]
    }
}

impl Type<'_> {
    fn draw(&self, index: usize, axes: &Axes) -> Element {
        let title = format!("Latency of {} by percentile", self.name);
        let mut svg = panel(ID, index, HEIGHT, &title, &self.description());
        svg.push(label(
            "title",
            4.0,
            16.0,
            &fit(&self.name, (WIDTH - 4.0) / BOLD),
        ));
        axes.draw(&mut svg);
        // The judged arm last: where curves meet, it is the one to be seen.
        let order = [0].into_iter().chain((1..self.samples.len()).rev());
        for index in order {
            let Some((arm, sample)) = self.samples.get(index) else {
                continue;
            };
            match sample {
                Sample::Merged(_) => curve(&mut svg, axes, arm, sample),
                Sample::Runs(_) => {
                    let middle = (self.samples.len() - 1) as f64 / 2.0;
                    dots(&mut svg, axes, arm, sample, ASIDE * (index as f64 - middle));
                }
            }
        }
        self.end_labels(&mut svg, axes);
        svg
    }

    /// The arms' names, each where its curve ends.
    fn end_labels(&self, svg: &mut Element, axes: &Axes) {
        let ends: Vec<(&ArmView<'_>, [f64; 2])> = self
            .samples
            .iter()
            .filter_map(|(arm, sample)| {
                let [x, y] = axes.place(sample.end()?);
                // No line through the marks beside it.
                let x = match sample {
                    Sample::Merged(_) => x,
                    Sample::Runs(_) => RIGHT,
                };
                Some((*arm, [x, y]))
            })
            .collect();
        let wishes: Vec<f64> = ends.iter().map(|(_, [_, y])| *y).collect();
        let places = labels::spread(&wishes, 14.0, TOP, BOTTOM);
        for ((arm, [x, y]), place) in ends.iter().zip(places) {
            let points = [[*x, *y], [RIGHT + 2.0, *y], [RIGHT + 8.0, place]];
            svg.push(polyline("lead", &points));
            let name = fit(arm.name, WIDTH - RIGHT - 10.0);
            svg.push(label("", RIGHT + 10.0, place + 4.0, &name));
        }
    }

    fn description(&self) -> String {
        let arms = self.samples.iter().map(|(arm, sample)| {
            let p50 = table::percentile(sample, 0.5);
            let p99 = table::percentile(sample, 0.99);
            format!("{}: p50 {p50} ms, p99 {p99} ms", arm.full_name())
        });
        format!("{}.", arms.collect::<Vec<_>>().join("; "))
    }
}

fn curve(svg: &mut Element, axes: &Axes, arm: &ArmView<'_>, sample: &Sample) {
    let points: Vec<[f64; 2]> = sample
        .drawn()
        .into_iter()
        .map(|point| axes.place(point))
        .collect();
    svg.push(polyline(&arm.class("line"), &points));
    for quantile in MARKED {
        if let Some(ms) = sample.ms_at(quantile) {
            let [x, y] = axes.place([nines(quantile), ms]);
            svg.push(arm.mark(x, y));
        }
    }
}

/// A mark for each run, so far to the side that those of the arms do not cover each other.
fn dots(svg: &mut Element, axes: &Axes, arm: &ArmView<'_>, sample: &Sample, aside: f64) {
    for point in sample.drawn() {
        let [x, y] = axes.place(point);
        svg.push(arm.mark(x + aside, y));
    }
}

fn caption(types: &[Type<'_>], arms: &[ArmView<'_>], sources: &[Source<'_>]) -> String {
    let curves = types
        .iter()
        .flat_map(|kind| &kind.samples)
        .any(|(_, sample)| matches!(sample, Sample::Merged(_)));
    let mut parts = vec![if curves {
        "Percentiles of the latencies of all kept runs together, on logarithmic axes. Marks stand \
         at p50, p95, p99 and p99.9; a curve ends where fewer than 10 samples lie above."
            .to_owned()
    } else {
        "This trial kept no histograms, and percentiles of single runs cannot be merged: each mark \
         is one run's p50, p95, p99, p99.9 or maximum, where at least 10 samples lie above."
            .to_owned()
    }];
    let missing: Vec<String> = arms
        .iter()
        .zip(sources)
        .filter(|(arm, source)| {
            let drawn = types
                .iter()
                .flat_map(|kind| &kind.samples)
                .any(|(of, _)| of.name == arm.name);
            source.names().next().is_some() && !drawn
        })
        .map(|(arm, _)| arm.name.to_owned())
        .collect();
    if !missing.is_empty() {
        parts.push(format!(
            "Not drawn, for want of histograms: {}.",
            list(&missing)
        ));
    }
    parts.push(origins(arms, sources));
    parts.join(" ")
}

/// From when latency counts; told apart by arm where it is not the same.
fn origins(arms: &[ArmView<'_>], sources: &[Source<'_>]) -> String {
    let named: Vec<(&str, String)> = arms
        .iter()
        .zip(sources)
        .filter_map(|(arm, source)| Some((arm.name, source.origin()?)))
        .collect();
    match &named[..] {
        [] => String::new(),
        [(_, first), rest @ ..] if rest.iter().all(|(_, origin)| origin == first) => {
            format!("Latency counts from the {first}.")
        }
        _ => {
            let each = named.iter().map(|(arm, origin)| format!("{arm}: {origin}"));
            let each = each.collect::<Vec<_>>().join("; ");
            format!("Latency does not count from the same moment in all arms: {each}.")
        }
    }
}
