//! Charts for a wide terminal: the pairs on a line, and a typical pair second by second.

use dbdyno_model::run::Phase;
use dbdyno_model::{Run, Verdict};

use super::pairs::{Pair, typical};
use crate::number;
use crate::spark::{Row, Scale, bars};
use crate::style::{Role, Style};
use crate::text::{columns, cut};

const NAME_COLUMNS: usize = 24;
/// Checkpoints whose seconds are named one by one.
const CHECKPOINTS_NAMED: usize = 4;

/// One arm's run, as far as it is drawn.
struct Strip {
    label: String,
    rates: Vec<Option<f64>>,
    marks_label: String,
    marks: Row,
}

/// What is drawn of the judged arms; nothing without a pair.
pub(super) fn lines(
    verdict: &Verdict,
    pairs: &[Pair<'_>],
    interval: Option<[f64; 2]>,
    width: usize,
    style: Style,
) -> Vec<String> {
    let Some(pair) = typical(pairs) else {
        return Vec::new();
    };
    let labels = [(&verdict.base, pair.base), (&verdict.arm, pair.arm)];
    // Twice: the columns that the labels leave decide how many seconds one bar has to hold.
    let widest = |strips: &[Strip]| {
        let labels = strips
            .iter()
            .flat_map(|strip| [&strip.label, &strip.marks_label]);
        labels.map(|label| columns(label)).max().unwrap_or(0)
    };
    let draw = |room: usize| -> (f64, Vec<Strip>) {
        let per_bar = seconds_per_bar(pair, room);
        let strips = labels
            .iter()
            .map(|(name, run)| strip(name, run, per_bar, room));
        (per_bar, strips.collect())
    };
    let (_, first) = draw(width);
    let left = widest(&first).max(columns("Each pair")) + 2;
    let room = width.saturating_sub(left).max(1);
    let (per_bar, strips) = draw(room);

    let mut lines = pairs_chart(verdict, pairs, interval, left, room);
    let rates = strips.iter().flat_map(|strip| &strip.rates);
    let top = rates.flatten().copied().fold(0.0, f64::max);
    lines.push(style.paint(Role::Dim, &heading(pair, per_bar, top, width)));
    for strip in &strips {
        let drawn = if strip.rates.is_empty() {
            "no seconds recorded".to_owned()
        } else {
            bars(&strip.rates, top)
        };
        lines.push(
            format!("{:<left$}{drawn}", strip.label)
                .trim_end()
                .to_owned(),
        );
        let marks = format!("{:<left$}{}", strip.marks_label, strip.marks.text());
        lines.push(marks.trim_end().to_owned());
    }
    lines
}

/// Dots, the interval beneath them, and what stands where.
fn pairs_chart(
    verdict: &Verdict,
    pairs: &[Pair<'_>],
    interval: Option<[f64; 2]>,
    left: usize,
    room: usize,
) -> Vec<String> {
    let mut values: Vec<f64> = pairs.iter().map(|pair| pair.ratio).collect();
    // What does not matter must not fill the line.
    let matters = 1.0 + verdict.delta.clamp(0.0, 1.0);
    values.extend([1.0, matters, 1.0 / matters]);
    values.extend(interval.into_iter().flatten());
    let Some(scale) = Scale::over(&values, room) else {
        return Vec::new();
    };
    let one = scale.at(1.0);
    let mut dots = Row::new(room);
    dots.put(one, '│');
    for pair in pairs {
        dots.dot(scale.at(pair.ratio));
    }
    let mut labels = Row::new(room);
    let mut lines = vec![format!("{:<left$}{}", "Each pair", dots.text())];
    if let Some(([low, high], ratio)) = interval.zip(verdict.ratio) {
        let mut band = Row::new(room);
        band.put(one, '│');
        let (from, to) = (scale.at(low), scale.at(high));
        for at in from..=to {
            band.put(at, '─');
        }
        band.put(from, '├');
        band.put(to, '┤');
        band.put(scale.at(ratio), '┼');
        let [told, told_low, told_high] = number::ratio_parts(ratio, [low, high]);
        labels.label(scale.at(ratio), &told);
        labels.label(from, &told_low);
        labels.label(to, &told_high);
        lines.push(format!("{:<left$}{}", "Interval", band.text()));
    }
    labels.label(one, "1");
    lines.push(format!("{:<left$}{}", "", labels.text()));
    lines
}

fn heading(pair: &Pair<'_>, per_bar: f64, top: f64, width: usize) -> String {
    let each = if per_bar > 1.0 {
        format!("every {per_bar:.0} seconds")
    } else {
        "each second".to_owned()
    };
    let text = format!(
        "TPS of {each} in pair {}, the nearest to the mean; █ is {}; ▲ a checkpoint, ─ the closing one",
        pair.number,
        number::measured(top)
    );
    cut(&text, width)
}

/// Whole seconds that one bar holds, the same for both arms.
fn seconds_per_bar(pair: &Pair<'_>, room: usize) -> f64 {
    let end = |run: &Run| drawn(run).last().map_or(0.0, |second| second.end_s);
    let longest = end(pair.base).max(end(pair.arm));
    (longest / room.max(1) as f64).ceil().max(1.0)
}

/// A second of load, without the open-loop step: its rate is given and shows nothing of the arm.
struct Second {
    end_s: f64,
    length_s: f64,
    transactions: f64,
    phase: Phase,
    checkpoint: bool,
}

fn drawn(run: &Run) -> Vec<Second> {
    let mut begin_s = 0.0;
    let seconds = run
        .series
        .iter()
        .filter(|second| second.phase != Phase::OpenLoop && second.at_s.is_finite());
    seconds
        .filter_map(|second| {
            let length_s = second.at_s - std::mem::replace(&mut begin_s, second.at_s);
            let begun = [second.checkpoints_timed, second.checkpoints_requested];
            // What is too short to have a rate would draw a spike.
            (length_s > 0.1).then(|| Second {
                end_s: second.at_s,
                length_s,
                transactions: second.transactions as f64,
                phase: second.phase,
                checkpoint: begun.into_iter().flatten().any(|count| count > 0),
            })
        })
        .collect()
}

fn strip(name: &str, run: &Run, per_bar: f64, room: usize) -> Strip {
    let seconds = drawn(run);
    let place = |second: &Second| {
        let middle = second.end_s - second.length_s / 2.0;
        ((middle / per_bar).max(0.0) as usize).min(room.saturating_sub(1))
    };
    let mut bins: Vec<(f64, f64)> = Vec::new();
    let mut marks = Row::new(room);
    let mut checkpoints = Vec::new();
    for second in &seconds {
        let at = place(second);
        bins.resize(bins.len().max(at + 1), (0.0, 0.0));
        bins[at].0 += second.transactions;
        bins[at].1 += second.length_s;
        match second.phase {
            Phase::Checkpoint => marks.put(at, '─'),
            _ if second.checkpoint => {
                marks.put(at, '▲');
                checkpoints.push(format!("{:.0}", second.end_s));
            }
            _ => {}
        }
    }
    let rates: Vec<Option<f64>> = bins
        .iter()
        .map(|(transactions, seconds)| (*seconds > 0.0).then(|| transactions / seconds))
        .collect();
    Strip {
        label: rate_label(name, &rates),
        marks_label: marks_label(run, &checkpoints),
        rates,
        marks,
    }
}

/// `shipped  1,540 to 2,610`: least and most of what is drawn.
fn rate_label(name: &str, rates: &[Option<f64>]) -> String {
    let name = cut(name, NAME_COLUMNS);
    let rates: Vec<f64> = rates.iter().flatten().copied().collect();
    if rates.is_empty() {
        return name;
    }
    let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let high = rates.iter().copied().fold(0.0, f64::max);
    format!(
        "{name}  {} to {}",
        number::measured(low),
        number::measured(high)
    )
}

/// `  ▲ 14, 34, 54 s  ─ 4.0 s`: when checkpoints began, and how long the closing one took.
fn marks_label(run: &Run, checkpoints: &[String]) -> String {
    let mut parts = Vec::new();
    if checkpoints.len() > CHECKPOINTS_NAMED {
        parts.push(format!("▲ {} times", checkpoints.len()));
    } else if !checkpoints.is_empty() {
        parts.push(format!("▲ at {} s", checkpoints.join(", ")));
    }
    if run.checkpoint.seconds > 0.0 {
        parts.push(format!("─ {}", number::duration(run.checkpoint.seconds)));
    }
    if parts.is_empty() {
        return String::new();
    }
    format!("  {}", parts.join("  "))
}
