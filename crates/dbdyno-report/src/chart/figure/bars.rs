//! What a transaction costs, throughput and recovery: the arms beside each other.

use dbdyno_model::run::Run;
use dbdyno_model::{Tune, tune};

use super::arms::{ArmView, arms};
use super::{
    Figure, FigureTable, WIDTH, extent, fit, label, panel, rect, whisker, width_of, with_spread,
};
use crate::number;
use crate::svg::Element;

const ID: &str = "bars";
const LEFT: f64 = 102.0;
const MOST_RIGHT: f64 = 276.0;

/// From the end of a bar to its value.
const TO_VALUE: f64 = 6.0;
const TOP: f64 = 44.0;
const ROW: f64 = 26.0;

/// How a figure's numbers are written.
#[derive(Clone, Copy)]
enum Unit {
    Bytes,
    Microseconds,
    Share,
    Tps,
    Seconds,
}

/// One small panel.
struct Metric {
    name: &'static str,
    unit: Unit,
    /// Beneath the name: which way is good.
    hint: &'static str,
    /// Metrics of one group share their axis.
    group: u8,
    /// What the arm's summary says.
    of_arm: fn(&tune::Arm) -> Option<f64>,
    of_run: fn(&Run) -> Option<f64>,
}

const METRICS: [Metric; 7] = [
    Metric {
        name: "WAL per transaction",
        unit: Unit::Bytes,
        hint: "less is better",
        group: 0,
        of_arm: |arm| arm.wal_bytes_per_transaction,
        of_run: |run| run.server.wal_bytes_per_transaction,
    },
    Metric {
        name: "Server CPU per transaction",
        unit: Unit::Microseconds,
        hint: "less is better",
        group: 1,
        of_arm: |arm| arm.server_cpu_us_per_transaction,
        of_run: |run| run.server.cpu_us_per_transaction,
    },
    Metric {
        name: "Driver CPU per transaction",
        unit: Unit::Microseconds,
        hint: "what measuring took beside the server",
        group: 2,
        of_arm: |arm| arm.driver_cpu_us_per_transaction,
        of_run: |run| run.driver.cpu_us_per_transaction,
    },
    Metric {
        name: "Buffer hit ratio",
        unit: Unit::Share,
        hint: "pages found in shared buffers; more is better",
        group: 3,
        of_arm: |_| None,
        of_run: hit_ratio,
    },
    Metric {
        name: "TPS, closing checkpoint charged",
        unit: Unit::Tps,
        hint: "writes put off count; more is better",
        group: 4,
        of_arm: |arm| arm.tps_mean,
        of_run: |run| positive(run.tps_with_checkpoint),
    },
    Metric {
        name: "TPS, without closing checkpoint",
        unit: Unit::Tps,
        hint: "writes put off cost nothing; more is better",
        group: 4,
        of_arm: |_| None,
        of_run: |run| positive(run.tps),
    },
    Metric {
        name: "Recovery after a kill",
        unit: Unit::Seconds,
        hint: "less is better",
        group: 5,
        of_arm: |arm| arm.recovery_s,
        of_run: |run| run.recovery.map(|recovery| recovery.seconds),
    },
];

/// An arm's value and how it spreads over the runs.
struct Value {
    value: Option<f64>,
    spread: Option<[f64; 2]>,
    runs: usize,
}

/// One metric with the arms' values, in the unit that fits them.
struct Drawn<'a> {
    metric: &'a Metric,
    title: String,
    scale: f64,
    values: Vec<Value>,
}

/// A panel for each metric that is known of any arm; none where nothing is.
#[must_use]
pub fn bars_figure(tune: &Tune) -> Option<Figure> {
    let arms = arms(tune);
    let all: Vec<Drawn<'_>> = METRICS
        .iter()
        .map(|metric| drawn(metric, &arms, tune))
        .collect();
    // An arm of which nothing is known has no row.
    let told: Vec<usize> = (0..arms.len())
        .filter(|index| all.iter().any(|drawn| drawn.values[*index].value.is_some()))
        .collect();
    let known: Vec<&Drawn<'_>> = all.iter().filter(|drawn| drawn.top().is_some()).collect();
    if known.is_empty() {
        return None;
    }
    let svgs = known.iter().enumerate().map(|(index, drawn)| {
        let group = drawn.metric.group;
        let same = known.iter().filter(|other| other.metric.group == group);
        let top = same.filter_map(|other| other.top()).fold(0.0, f64::max);
        drawn.draw(index + 1, &arms, &told, top)
    });
    Some(Figure {
        id: ID,
        title: "Cost of a transaction, throughput and recovery".to_owned(),
        caption: caption(&known),
        svgs: svgs.collect(),
        table: table(&all, &arms, &told),
    })
}

fn caption(known: &[&Drawn<'_>]) -> String {
    let mut text = "Bars are means over an arm's kept runs; whiskers reach from the least to the \
                    most of them."
        .to_owned();
    if known
        .iter()
        .any(|drawn| matches!(drawn.metric.unit, Unit::Seconds))
    {
        text.push_str(" Recovery is one kill of each arm under load.");
    }
    text
}

fn drawn<'a>(metric: &'a Metric, arms: &[ArmView<'_>], tune: &Tune) -> Drawn<'a> {
    let values: Vec<Value> = arms.iter().map(|arm| value(metric, arm, tune)).collect();
    let most = extent(values.iter().filter_map(|value| value.value)).map_or(0.0, |[_, most]| most);
    let (scale, unit) = match metric.unit {
        Unit::Bytes if most >= 1024.0 * 1024.0 => (1024.0 * 1024.0, "MiB"),
        Unit::Bytes if most >= 1024.0 => (1024.0, "KiB"),
        Unit::Bytes => (1.0, "B"),
        Unit::Microseconds => (1.0, "µs"),
        Unit::Share => (0.01, "%"),
        Unit::Tps => (1.0, ""),
        Unit::Seconds => (1.0, "s"),
    };
    let title = if unit.is_empty() {
        metric.name.to_owned()
    } else {
        format!("{}, {unit}", metric.name)
    };
    Drawn {
        metric,
        title,
        scale,
        values,
    }
}

/// The summary's value, which other pages show too, or the mean of the runs.
fn value(metric: &Metric, arm: &ArmView<'_>, tune: &Tune) -> Value {
    let known = |value: &f64| value.is_finite() && *value >= 0.0;
    let of_runs: Vec<f64> = if matches!(metric.unit, Unit::Seconds) {
        // Runs that end in a kill belong to no pair.
        let runs = tune.runs.iter().filter(|run| run.arm == arm.name);
        runs.filter_map(metric.of_run).filter(known).collect()
    } else {
        let runs = arm.runs.iter().copied();
        runs.filter_map(metric.of_run).filter(known).collect()
    };
    let mean = if matches!(metric.unit, Unit::Share) {
        pooled_hit_ratio(&arm.runs)
    } else {
        (!of_runs.is_empty()).then(|| of_runs.iter().sum::<f64>() / of_runs.len() as f64)
    };
    let told = arm.summary.and_then(metric.of_arm).filter(known);
    Value {
        value: told.or(mean),
        spread: extent(of_runs.iter().copied()).filter(|_| of_runs.len() > 1),
        runs: of_runs.len(),
    }
}

fn positive(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

fn hit_ratio(run: &Run) -> Option<f64> {
    pooled_hit_ratio(&[run])
}

/// Of all pages that the runs asked for together.
fn pooled_hit_ratio(runs: &[&Run]) -> Option<f64> {
    let counts = runs
        .iter()
        .filter_map(|run| run.server.blocks_hit.zip(run.server.blocks_read));
    let (hit, read) = counts.fold((0, 0), |(hit, read), (h, r)| (hit + h, read + r));
    let all = hit + read;
    (all > 0).then(|| hit as f64 / all as f64)
}

impl Drawn<'_> {
    /// The most that is drawn; none where nothing is known.
    fn top(&self) -> Option<f64> {
        let values = self.values.iter();
        let drawn = values.flat_map(|v| v.value.into_iter().chain(v.spread.into_iter().flatten()));
        let [_, most] = extent(drawn)?;
        Some(if matches!(self.metric.unit, Unit::Share) {
            1.0
        } else {
            most
        })
    }

    fn text(&self, value: f64) -> String {
        if matches!(self.metric.unit, Unit::Share) {
            // The unit stands in the title.
            return number::share(value).trim_end_matches(" %").to_owned();
        }
        number::measured(value / self.scale)
    }

    fn draw(&self, index: usize, arms: &[ArmView<'_>], told: &[usize], top: f64) -> Element {
        let height = TOP + ROW * told.len() as f64 + 2.0;
        let mut svg = panel(
            ID,
            index,
            height,
            &self.title,
            &self.description(arms, told),
        );
        svg.push(label("title", 4.0, 16.0, &self.title));
        svg.push(label("muted", 4.0, 32.0, self.metric.hint));
        let texts = told.iter().filter_map(|i| self.values[*i].value);
        let widest = texts
            .map(|value| width_of(&self.text(value)))
            .fold(0.0, f64::max);
        let right = (WIDTH - widest - TO_VALUE).min(MOST_RIGHT);
        let x = |value: f64| LEFT + (right - LEFT) * if top > 0.0 { value / top } else { 0.0 };
        let rows = told.iter().enumerate();
        for (row, (arm, value)) in rows.map(|(row, i)| (row, (&arms[*i], &self.values[*i]))) {
            let y = TOP + ROW * (row as f64 + 0.5);
            svg.push(label("", 4.0, y + 4.0, &fit(arm.name, LEFT - 9.0)));
            let Some(mean) = value.value else {
                svg.push(label("", LEFT + TO_VALUE, y + 4.0, number::MISSING));
                continue;
            };
            let bar = rect(&arm.class("bar"), LEFT, y - 8.0, x(mean) - LEFT, 16.0);
            svg.push(bar);
            let mut end = x(mean);
            if let Some([least, most]) = value.spread {
                for class in ["under", "whisker"] {
                    svg.push(whisker(class, x(least), x(most), y, 4.0));
                }
                end = end.max(x(most));
            }
            svg.push(label("", end + TO_VALUE, y + 4.0, &self.text(mean)));
        }
        let bottom = TOP + ROW * told.len() as f64;
        svg.push(super::line("one", [LEFT, TOP], [LEFT, bottom]));
        svg
    }

    fn description(&self, arms: &[ArmView<'_>], told: &[usize]) -> String {
        let each = told
            .iter()
            .map(|i| format!("{}: {}", arms[*i].full_name(), self.cell(&self.values[*i])));
        format!("{}.", each.collect::<Vec<_>>().join("; "))
    }

    fn cell(&self, value: &Value) -> String {
        number::or_missing(value.value, |mean| {
            with_spread(mean, value.spread, value.runs, |v| self.text(v))
        })
    }
}

fn table(all: &[Drawn<'_>], arms: &[ArmView<'_>], told: &[usize]) -> FigureTable {
    let mut head = vec!["arm".to_owned()];
    head.extend(all.iter().map(|drawn| drawn.title.clone()));
    let rows = told.iter().map(|index| {
        let mut row = vec![arms[*index].full_name()];
        row.extend(all.iter().map(|drawn| drawn.cell(&drawn.values[*index])));
        row
    });
    FigureTable {
        caption: "Mean over the runs (min to max)".to_owned(),
        head,
        rows: rows.collect(),
    }
}
