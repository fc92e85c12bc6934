//! The verdict as a person reads it in ten seconds.

use dbdyno_model::tune::Arm;
use dbdyno_model::verdict::Word;
use dbdyno_model::{Class, Tune, Verdict};

use crate::number;
use crate::style::{Role, Style};
use crate::table::{Align, Table};
use crate::text::{columns, hang, list, page, page_width, plural, wrap};

mod price;

pub use price::price_of_safety;

/// Must stand beside any number of such a workload, whether the document says so or not.
const TPCC_DISCLAIMER: &str = "derived from TPC-C, not comparable with audited results";

/// The sentence, what it was measured on, the arms, what could have been seen, and `next`, the
/// command that would tell more, where the trial could not decide. At most twelve lines of 80
/// columns, but for what warns: caveats, failed checks, and the price of safety.
#[must_use]
pub fn verdict_page(tune: &Tune, next: Option<&str>, width: usize, style: Style) -> String {
    let width = page_width(width);
    let Some(verdict) = &tune.verdict else {
        return not_measured(tune, next, width, style);
    };
    let broken = broken_checks(tune);
    let mut lines = Vec::new();
    if !broken.is_empty() {
        let text = format!(
            "Consistency check failed ({}): the numbers below are worthless.",
            list(&broken)
        );
        let lost = hang("! ", &text, width);
        lines.extend(lost.iter().map(|line| style.paint(Role::Bad, line)));
    }
    lines.extend(opening(verdict, broken.is_empty(), width, style));
    let measured = format!("Measured on {}", measured_on(tune, verdict));
    lines.extend(wrap(&measured, width));
    lines.extend(arms_table(tune, verdict, width, style));
    lines.extend(wrap(&p99_line(tune, verdict), width));
    lines.extend(wrap(&noise_line(verdict), width));
    if let Some(line) = checkpoint_line(verdict) {
        lines.extend(wrap(&line, width));
    }
    if matches!(verdict.word, Word::Undecided | Word::TooNoisy) {
        lines.extend(next_lines(next, width, style));
    }
    lines.extend(caveats(tune, verdict, width, style));
    let mut text = page(&lines);
    if let Some(price) = price_of_safety(tune, width, style) {
        text.push('\n');
        text.push_str(&price);
    }
    text
}

/// The verdict in one sentence, without a full stop:
/// `recommended is 1.31 × shipped (1.24 to 1.39, 98.18 % interval, 6 pairs): improved`.
///
/// A ratio is never told without its interval, nor one that noise has spoilt.
#[must_use]
pub fn verdict_sentence(verdict: &Verdict) -> String {
    let Verdict { arm, base, .. } = verdict;
    let word = verdict.word.as_str();
    let pairs = plural(verdict.pairs.into(), "pair");
    if verdict.word == Word::TooNoisy {
        let dropped = verdict.discarded_pairs;
        return format!("{arm} against {base} ({pairs} kept, {dropped} dropped): {word}");
    }
    let (Some(ratio), Some(interval)) = (verdict.ratio, verdict.interval) else {
        return format!("{arm} against {base} ({pairs}, no interval yet): {word}");
    };
    let [ratio, low, high] = number::ratio_parts(ratio, interval);
    let level = number::level(verdict.level);
    format!("{arm} is {ratio} × {base} ({low} to {high}, {level} interval, {pairs}): {word}")
}

/// What the word means, in words that claim no more than it does.
fn meaning(verdict: &Verdict) -> String {
    match verdict.word {
        Word::Improved => String::new(),
        Word::Worse => "It costs throughput on this workload.".to_owned(),
        Word::NoDifference => format!(
            "If there is a difference, it is smaller than the {} declared to matter.",
            number::percent(verdict.delta)
        ),
        Word::Undecided => {
            "These pairs allow neither a difference nor its absence to be claimed.".to_owned()
        }
        Word::TooNoisy => {
            "Other work disturbed the machine; pairs were dropped blind to their result.".to_owned()
        }
    }
}

/// Sentence and meaning; colour praises or blames only what can be believed.
fn opening(verdict: &Verdict, sound: bool, width: usize, style: Style) -> Vec<String> {
    let sentence = verdict_sentence(verdict);
    let meaning = meaning(verdict);
    let text = if meaning.is_empty() {
        sentence.clone()
    } else {
        format!("{sentence}. {meaning}")
    };
    let role = match verdict.word {
        _ if !sound => Role::Dim,
        Word::Improved => Role::Good,
        Word::Worse => Role::Bad,
        Word::NoDifference => Role::Heading,
        Word::Undecided | Word::TooNoisy => Role::Warn,
    };
    paint_start(&wrap(&text, width), &sentence, role, style)
}

/// Paints as much of the wrapped lines as the text that they start with.
fn paint_start(lines: &[String], start: &str, role: Role, style: Style) -> Vec<String> {
    let mut left = start.chars().filter(|c| !c.is_whitespace()).count();
    let paint = |line: &String| {
        let mut end = 0;
        for (index, char) in line.char_indices() {
            if left == 0 {
                break;
            }
            left -= usize::from(!char.is_whitespace());
            end = index + char.len_utf8();
        }
        let (painted, rest) = line.split_at(end);
        format!("{}{rest}", style.paint(role, painted))
    };
    lines.iter().map(paint).collect()
}

/// Workload with its disclaimer, server, machine and day.
pub(crate) fn measured_on(tune: &Tune, verdict: &Verdict) -> String {
    let mut parts = Vec::new();
    match &tune.workload {
        Some(workload) if !workload.description.is_empty() => {
            parts.push(format!("{}: {}", workload.name, workload.description));
        }
        Some(workload) => parts.push(workload.name.clone()),
        None => parts.push(verdict.workload.clone()),
    }
    parts.extend(disclaimer(tune, verdict));
    let server = format!("{} {}", tune.server.engine, tune.server.version);
    parts.push(server.trim().to_owned());
    parts.push(if tune.machine.summary.is_empty() {
        verdict.machine.clone()
    } else {
        tune.machine.summary.clone()
    });
    // The day alone: who needs the second finds it in the document.
    parts.push(
        tune.started_at
            .get(..10)
            .unwrap_or(&tune.started_at)
            .to_owned(),
    );
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

/// What must stand beside any number of the workload.
pub(crate) fn disclaimer(tune: &Tune, verdict: &Verdict) -> Option<String> {
    let workload = tune.workload.as_ref();
    let said = workload.and_then(|workload| workload.disclaimer.clone());
    let name = workload.map_or(verdict.workload.as_str(), |workload| &workload.name);
    let name = name.to_ascii_lowercase();
    let is_tpcc = name.contains("tpc-c") || name.contains("tpcc");
    said.or_else(|| is_tpcc.then(|| TPCC_DISCLAIMER.to_owned()))
}

/// Base and judged arm, then other safe ones; the unsafe ones stand with their price.
fn arms_table(tune: &Tune, verdict: &Verdict, width: usize, style: Style) -> Vec<String> {
    let mut table = Table::new(&[
        ("arm", Align::Left),
        ("class", Align::Left),
        ("TPS", Align::Right),
        ("WAL per tx", Align::Right),
        ("p99", Align::Right),
        ("recovery", Align::Right),
    ]);
    let judged = |arm: &&Arm| arm.name == verdict.base || arm.name == verdict.arm;
    let others = |arm: &&Arm| !judged(arm) && arm.class == Class::Safe;
    let arms = tune.arms.iter();
    for arm in arms.clone().filter(judged).chain(arms.filter(others)) {
        table.row(arm_cells(arm));
    }
    let mut lines = table.fit(width);
    if let Some(head) = lines.first_mut() {
        *head = style.paint(Role::Dim, head);
    }
    lines
}

/// Name, class, TPS, WAL a transaction, p99 and recovery of an arm.
fn arm_cells(arm: &Arm) -> [String; 6] {
    let p99 = arm.latency_ms.map(|latency| latency.p99);
    [
        arm.name.clone(),
        arm.class.as_str().to_owned(),
        number::or_missing(arm.tps_mean, number::measured),
        number::or_missing(arm.wal_bytes_per_transaction, |bytes| {
            number::bytes(bytes.round() as u64)
        }),
        number::or_missing(p99, number::duration_ms),
        number::or_missing(arm.recovery_s, number::duration),
    ]
}

/// From when p99 counts, and how it changed where both arms had the same fixed rate.
fn p99_line(tune: &Tune, verdict: &Verdict) -> String {
    const UNKNOWN_ORIGIN: &str = "– (not recorded)";
    let origin = |name: &str| {
        let arm = tune.arms.iter().find(|arm| arm.name == name)?;
        arm.latency_ms?;
        arm.latency_origin.as_deref()
    };
    let mut line = match (origin(&verdict.base), origin(&verdict.arm)) {
        (None, None) => "p99 was not measured".to_owned(),
        (Some(base), Some(arm)) if base == arm => format!("p99 from the {arm}"),
        (base, arm) => format!(
            "p99 of {}: from the {}; of {}: from the {}",
            verdict.base,
            base.unwrap_or(UNKNOWN_ORIGIN),
            verdict.arm,
            arm.unwrap_or(UNKNOWN_ORIGIN)
        ),
    };
    let change = verdict.p99_ratio.zip(verdict.p99_interval);
    if let Some((ratio, interval)) = change.filter(|_| verdict.word != Word::TooNoisy) {
        line.push_str(": ");
        line.push_str(&number::change(ratio, interval));
    }
    line
}

fn noise_line(verdict: &Verdict) -> String {
    let mut line = match verdict.noise_floor {
        // A percentage beyond that would only look like knowledge.
        Some(floor) if floor > 1.0 => {
            "Noise floor: even a doubling cannot be seen with this budget".to_owned()
        }
        Some(floor) => format!(
            "Noise floor: differences under {} cannot be seen with this budget",
            number::percent(floor)
        ),
        None => format!("Noise floor: {} (it takes two pairs)", number::MISSING),
    };
    if verdict.discarded_pairs > 0 && verdict.word != Word::TooNoisy {
        line.push_str("; ");
        line.push_str(&plural(verdict.discarded_pairs.into(), "pair"));
        line.push_str(" dropped");
    }
    line
}

/// The ratio with and without the checkpoint that each run ends with; none without intervals.
fn checkpoint_line(verdict: &Verdict) -> Option<String> {
    if verdict.word == Word::TooNoisy || verdict.metric != "tps_with_checkpoint" {
        return None;
    }
    let charged = number::ratio(verdict.ratio?, verdict.interval?);
    let without = match (
        verdict.ratio_without_checkpoint,
        verdict.interval_without_checkpoint,
    ) {
        (Some(ratio), Some(interval)) => number::ratio(ratio, interval),
        _ => number::MISSING.to_owned(),
    };
    Some(format!(
        "With closing checkpoint {charged}, without {without}"
    ))
}

/// Names of the consistency conditions that were broken; they stand before any number.
pub(crate) fn broken_checks(tune: &Tune) -> Vec<String> {
    let of_runs = tune.runs.iter().flat_map(|run| &run.consistency);
    let mut broken: Vec<String> = Vec::new();
    for check in tune.consistency.iter().chain(of_runs) {
        if !check.passed && !broken.contains(&check.name) {
            broken.push(check.name.clone());
        }
    }
    broken
}

/// What a reader must know before quoting a number: an unfinished trial, and the document's caveats.
fn caveats(tune: &Tune, verdict: &Verdict, width: usize, style: Style) -> Vec<String> {
    let unfinished = (!tune.complete).then_some("The trial did not finish.");
    unfinished
        .into_iter()
        .chain(verdict.caveats.iter().map(String::as_str))
        .flat_map(|caveat| hang("! ", caveat, width))
        .map(|line| style.paint(Role::Warn, &line))
        .collect()
}

/// The page of a document without a trial: nothing is claimed.
fn not_measured(tune: &Tune, next: Option<&str>, width: usize, style: Style) -> String {
    let mut lines = vec![style.paint(
        Role::Heading,
        "No trial was run: what this plan is worth here was not measured",
    )];
    for note in &tune.notes {
        lines.extend(hang("  ", note, width));
    }
    lines.extend(next_lines(next, width, style));
    page(&lines)
}

/// The command is not wrapped: it is there to be copied.
fn next_lines(next: Option<&str>, width: usize, style: Style) -> Vec<String> {
    let Some(command) = next else {
        return Vec::new();
    };
    let painted = style.paint(Role::Heading, command);
    if columns(command) + 6 <= width {
        vec![format!("Next: {painted}")]
    } else {
        vec!["Next:".to_owned(), format!("  {painted}")]
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
