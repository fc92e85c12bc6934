//! Every pair as a dot, what was dropped, and what the verdict makes of them.

use dbdyno_model::verdict::Word;
use dbdyno_model::{Run, Tune, Verdict};

use super::arms::judged;
use super::{
    BOLD, Figure, FigureTable, WIDTH, fit, label, line, panel, path, rect, text_end, text_middle,
    whisker, width_of,
};
use crate::chart::pairs::floor;
use crate::chart::scale::{Scale, log_range, ratio_ticks};
use crate::chart::{Pair, kept_pairs, ratio};
use crate::number;
use crate::svg::{Element, coordinate};
use crate::text::plural;

const ID: &str = "pairs";
const LEFT: f64 = 84.0;
const RIGHT: f64 = 290.0;
const TOP: f64 = 44.0;

/// Beyond so many pairs the rows stand closer.
const MOST_WIDE_ROWS: usize = 12;

/// The heights of a row with one line and of one with two.
const ROW: f64 = 20.0;
const TALL_ROW: f64 = 34.0;

/// A round that does not count; without a ratio where an arm has no run in it.
struct Dropped<'a> {
    number: u32,
    runs: Vec<&'a Run>,
    ratio: Option<f64>,
    reason: &'a str,
}

/// What is drawn.
struct Drawn<'a> {
    base: &'a str,
    arm: &'a str,
    metric: &'a str,
    verdict: Option<&'a Verdict>,
    pairs: Vec<Pair<'a>>,
    dropped: Vec<Dropped<'a>>,
}

/// Each pair's ratio on a logarithmic axis, with the verdict's interval and the noise floor; none
/// where no pair was kept or dropped.
#[must_use]
pub fn pairs_figure(tune: &Tune) -> Option<Figure> {
    let [base, arm] = judged(tune)?;
    let verdict = tune.verdict.as_ref();
    let metric = verdict.map_or("tps_with_checkpoint", |verdict| verdict.metric.as_str());
    let drawn = Drawn {
        base,
        arm,
        metric,
        verdict,
        pairs: kept_pairs(tune, base, arm, metric),
        dropped: dropped_pairs(tune, base, arm, metric),
    };
    let dropped_dots = drawn.dropped.iter().any(|pair| pair.ratio.is_some());
    if drawn.pairs.is_empty() && !dropped_dots {
        return None;
    }
    Some(Figure {
        id: ID,
        title: "Every pair".to_owned(),
        caption: drawn.caption(),
        svgs: vec![drawn.draw()],
        table: drawn.table(),
    })
}

/// Rounds that do not count, in the order they were run: the same number is used again.
fn dropped_pairs<'a>(tune: &'a Tune, base: &str, arm: &str, metric: &str) -> Vec<Dropped<'a>> {
    let mut rounds: Vec<Dropped<'a>> = Vec::new();
    for run in &tune.runs {
        let (Some(number), Some(reason)) = (run.pair, run.discarded.as_deref()) else {
            continue;
        };
        match rounds.last_mut() {
            // A round has each arm once: one that comes again begins the next.
            Some(round)
                if round.number == number && round.runs.iter().all(|r| r.arm != run.arm) =>
            {
                round.runs.push(run);
            }
            _ => rounds.push(Dropped {
                number,
                runs: vec![run],
                ratio: None,
                reason,
            }),
        }
    }
    for round in &mut rounds {
        round.ratio = run_of(&round.runs, base)
            .zip(run_of(&round.runs, arm))
            .and_then(|(base, arm)| ratio(base, arm, metric));
    }
    rounds
}

fn run_of<'a>(runs: &[&'a Run], arm: &str) -> Option<&'a Run> {
    runs.iter().find(|run| run.arm == arm).copied()
}

impl Drawn<'_> {
    /// The verdict's ratio and interval; none where noise has spoilt it.
    fn interval(&self) -> Option<(f64, [f64; 2])> {
        let verdict = self.verdict?;
        let told = verdict.word != Word::TooNoisy;
        verdict.ratio.zip(verdict.interval).filter(|_| told)
    }

    fn floor(&self) -> Option<[f64; 2]> {
        self.verdict.and_then(floor)
    }

    fn noise_floor(&self) -> Option<f64> {
        self.verdict?.noise_floor
    }

    fn range(&self) -> [f64; 2] {
        let kept = self.pairs.iter().map(|pair| pair.ratio);
        let dropped = self.dropped.iter().filter_map(|pair| pair.ratio);
        let interval = self.interval().map(|(_, interval)| interval);
        let bounds = interval.into_iter().chain(self.floor()).flatten();
        // 1 always among them: a difference is seen as its distance from none.
        let values = kept.chain(dropped).chain(bounds).chain([1.0]);
        log_range(values, 0.06, 0.06)
    }

    fn draw(&self) -> Element {
        let pitch = if self.pairs.len() > MOST_WIDE_ROWS {
            15.0
        } else {
            ROW
        };
        let pairs_end = TOP + pitch * self.pairs.len() as f64;
        let dropped = f64::from(u8::from(!self.dropped.is_empty())) * ROW;
        let interval = f64::from(u8::from(self.interval().is_some())) * TALL_ROW;
        let floor = f64::from(u8::from(self.noise_floor().is_some())) * ROW;
        let bottom = pairs_end + dropped + interval + floor + 4.0;
        let [low, high] = self.range();
        let x = Scale::new([low.ln(), high.ln()], [LEFT, RIGHT]);
        let title = format!("TPS of every pair, {} / {}", self.arm, self.base);
        let mut svg = panel(ID, 1, bottom + 38.0, &title, &self.caption());
        self.heading(&mut svg);
        axis(&mut svg, [low, high], &x, bottom);
        self.zones(&mut svg, &x, bottom);
        self.dots(&mut svg, &x, pitch);
        self.crosses(&mut svg, &x, pairs_end + ROW / 2.0);
        self.interval_row(&mut svg, &x, pairs_end + dropped + 12.0);
        self.floor_row(&mut svg, &x, pairs_end + dropped + interval + ROW / 2.0);
        svg
    }

    fn heading(&self, svg: &mut Element) {
        // Both names have to be seen: a short one leaves its room to the other.
        let room = (WIDTH - 8.0) / BOLD - width_of(" / ");
        let arm = fit(self.arm, room - width_of(self.base).min(room / 2.0));
        let base = fit(self.base, room - width_of(&arm));
        svg.push(label("title", 4.0, 16.0, &format!("{arm} / {base}")));
        let metric = if self.metric == "tps" {
            "ratio of TPS; log axis"
        } else {
            "TPS, closing checkpoint charged; log axis"
        };
        svg.push(label("muted", 4.0, 32.0, metric));
    }

    /// Behind everything: noise floor, 1, and the interval.
    fn zones(&self, svg: &mut Element, x: &Scale, bottom: f64) {
        let zone = |class: &str, [low, high]: [f64; 2]| {
            let [from, to] = [low, high].map(|value| x.at(value.ln()));
            rect(class, from, TOP, to - from, bottom - TOP)
        };
        let upright = |class: &str, value: f64| {
            let at = x.at(value.ln());
            line(class, [at, TOP], [at, bottom])
        };
        if let Some(floor) = self.floor() {
            svg.push(zone("floor", floor));
            for edge in floor {
                svg.push(upright("edge", edge));
            }
        }
        if let Some((_, interval)) = self.interval() {
            svg.push(zone("band", interval));
            for bound in interval {
                svg.push(upright("bound", bound));
            }
        }
        svg.push(upright("one", 1.0));
    }

    fn dots(&self, svg: &mut Element, x: &Scale, pitch: f64) {
        for (index, pair) in self.pairs.iter().enumerate() {
            let y = TOP + pitch * (index as f64 + 0.5);
            let name = format!("pair {}", pair.number);
            svg.push(text_end("muted", LEFT - 8.0, y + 4.0, &name));
            svg.push(
                Element::new("circle")
                    .with("class", "mark a1")
                    .at("cx", x.at(pair.ratio.ln()))
                    .at("cy", y)
                    .at("r", 5.0),
            );
            let value = number::measured(pair.ratio);
            svg.push(text_end("", WIDTH - 4.0, y + 4.0, &value));
        }
    }

    fn crosses(&self, svg: &mut Element, x: &Scale, y: f64) {
        if self.dropped.is_empty() {
            return;
        }
        let name = format!("{} dropped", self.dropped.len());
        svg.push(text_end("muted", LEFT - 8.0, y + 4.0, &name));
        for ratio in self.dropped.iter().filter_map(|pair| pair.ratio) {
            svg.push(cross(x.at(ratio.ln()), y));
        }
    }

    fn interval_row(&self, svg: &mut Element, x: &Scale, y: f64) {
        let Some((ratio, interval)) = self.interval() else {
            return;
        };
        let level = number::level(self.verdict.map_or(f64::NAN, |verdict| verdict.level));
        let [value, low, high] = number::ratio_parts(ratio, interval);
        svg.push(text_end("", LEFT - 8.0, y + 4.0, "interval"));
        svg.push(text_end("muted", LEFT - 8.0, y + 18.0, &level));
        let [from, to] = interval.map(|bound| x.at(bound.ln()));
        svg.push(whisker("centre", from, to, y, 5.0));
        let at = format!("M{} {}", coordinate(x.at(ratio.ln())), coordinate(y));
        svg.push(path("mark a1", format!("{at}m0 -6l6 6l-6 6l-6 -6z")));
        svg.push(text_end("", WIDTH - 4.0, y + 4.0, &value));
        let text = format!("{low} to {high}");
        // Half of the widest such text stays within the axis.
        let middle = f64::midpoint(from, to).clamp(LEFT + 42.0, RIGHT - 42.0);
        svg.push(text_middle("halo", middle, y + 18.0, &text));
    }

    fn floor_row(&self, svg: &mut Element, x: &Scale, y: f64) {
        let Some(size) = self.noise_floor() else {
            return;
        };
        svg.push(text_end("", LEFT - 8.0, y + 4.0, "noise floor"));
        match self.floor() {
            Some(floor) => {
                let [from, to] = floor.map(|edge| x.at(edge.ln()));
                svg.push(whisker("whisker", from, to, y, 5.0));
                let value = number::percent(size);
                svg.push(text_end("", WIDTH - 4.0, y + 4.0, &value));
            }
            None if size > 1.0 => {
                svg.push(label("halo", LEFT + 4.0, y + 4.0, "hides even a doubling"));
            }
            None => svg.push(text_end("", WIDTH - 4.0, y + 4.0, number::MISSING)),
        }
    }

    fn caption(&self) -> String {
        let mut parts = vec![format!(
            "Each dot is a pair: TPS of {} over TPS of {}, run one after the other on the same data.",
            self.arm, self.base
        )];
        parts.push(match self.interval() {
            Some((ratio, interval)) => format!(
                "The band is the verdict's {} interval, {}.",
                number::level(self.verdict.map_or(f64::NAN, |verdict| verdict.level)),
                number::ratio(ratio, interval)
            ),
            None => match self.verdict {
                Some(verdict) if verdict.word == Word::TooNoisy => {
                    "The machine was too noisy for an interval.".to_owned()
                }
                _ => "There is no interval yet.".to_owned(),
            },
        });
        match self.noise_floor() {
            Some(size) if size > 1.0 => {
                parts.push("With this noise even a doubling cannot be seen.".to_owned());
            }
            Some(size) => parts.push(format!(
                "Within the grey zone, under {}, noise hides a difference.",
                number::percent(size)
            )),
            None => {}
        }
        if !self.dropped.is_empty() {
            let lost = self.dropped.iter().filter(|pair| pair.ratio.is_none());
            let mut text = format!(
                "Crosses: {} dropped blind to the result",
                plural(self.dropped.len() as u64, "pair")
            );
            match lost.count() {
                0 => {}
                lost => text.push_str(&format!(", {lost} of them without a ratio")),
            }
            parts.push(format!("{text}; the table has the reasons."));
        }
        parts.join(" ")
    }

    /// Interval and noise floor, beneath the pairs.
    fn summary_rows(&self) -> Vec<Vec<String>> {
        let row = |name: String, value: String| {
            vec![name, String::new(), String::new(), value, String::new()]
        };
        let interval = self.interval().map(|(ratio, interval)| {
            let level = number::level(self.verdict.map_or(f64::NAN, |verdict| verdict.level));
            row(format!("{level} interval"), number::ratio(ratio, interval))
        });
        let floor = self
            .noise_floor()
            .map(|size| row("noise floor".to_owned(), number::percent(size)));
        interval.into_iter().chain(floor).collect()
    }

    fn table(&self) -> FigureTable {
        let metric = |run: Option<&Run>| {
            number::or_missing(run, |run| {
                number::measured(crate::chart::judged(run, self.metric))
            })
        };
        let row = |number: u32, base: Option<&Run>, arm: Option<&Run>, ratio: Option<f64>, why| {
            vec![
                number.to_string(),
                metric(base),
                metric(arm),
                number::or_missing(ratio, number::measured),
                why,
            ]
        };
        let mut rows: Vec<Vec<String>> = self
            .pairs
            .iter()
            .map(|pair| {
                let (base, arm) = (Some(pair.base), Some(pair.arm));
                row(pair.number, base, arm, Some(pair.ratio), "yes".to_owned())
            })
            .collect();
        for round in &self.dropped {
            let (base, arm) = (
                run_of(&round.runs, self.base),
                run_of(&round.runs, self.arm),
            );
            let why = format!("no: {}", round.reason);
            rows.push(row(round.number, base, arm, round.ratio, why));
        }
        rows.extend(self.summary_rows());
        FigureTable {
            caption: "Throughput and ratio of every pair".to_owned(),
            head: vec![
                "pair".to_owned(),
                format!("{}, TPS", self.base),
                format!("{}, TPS", self.arm),
                "ratio".to_owned(),
                "counts".to_owned(),
            ],
            rows,
        }
    }
}

fn cross(x: f64, y: f64) -> Element {
    let at = format!("M{} {}", coordinate(x), coordinate(y));
    path("whisker", format!("{at}m-4 -4l8 8m0 -8l-8 8"))
}

fn axis(svg: &mut Element, [low, high]: [f64; 2], x: &Scale, bottom: f64) {
    let (values, decimals) = ratio_ticks(low, high);
    for value in values {
        let at = x.at(value.ln());
        svg.push(line("grid", [at, TOP], [at, bottom]));
        let text = format!("{value:.decimals$}");
        svg.push(text_middle("muted", at, bottom + 15.0, &text));
    }
    svg.push(label("muted", LEFT, bottom + 32.0, "← slower"));
    svg.push(text_end("muted", RIGHT, bottom + 32.0, "faster →"));
}
