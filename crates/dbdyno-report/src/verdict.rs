//! The verdict as a person reads it in ten seconds, and the story of its trial on one screen.

use dbdyno_model::verdict::Word;
use dbdyno_model::{Class, Run, Tune, Verdict};

use crate::number;
use crate::plan::class_words;
use crate::story::{alerts, headline};
use crate::style::{Role, Style};
use crate::text::{columns, hang, list, narrow_page_width, page, plural, wrap};

mod changes;
mod charts;
#[cfg(test)]
mod examples;
mod figures;
mod pairs;
mod price;

pub use price::price_of_safety;

/// Must stand beside any number of such a workload, whether the document says so or not.
const TPCC_DISCLAIMER: &str = "derived from TPC-C, not comparable with audited results";

/// A screen: the lists of changes and findings give way to it, warnings never do.
const MOST_LINES: usize = 40;
const MOST_LINES_WITH_CHARTS: usize = 50;
/// From this width on there are charts.
const CHART_WIDTH: usize = 110;

/// Failed checks and notes told one by one.
const CHECKS_TOLD: usize = 2;
const NOTES_TOLD: usize = 3;

/// The story of a trial on one screen: what was proven and on what, what to know before quoting
/// it, the arms side by side, every pair, what was changed and what was not, the price of safety,
/// and where the rest is. `next` is the command that would tell more, where the trial could not
/// decide. From 110 columns on with charts, of which every figure is there as a number too.
#[must_use]
pub fn verdict_page(tune: &Tune, next: Option<&str>, width: usize, style: Style) -> String {
    let width = narrow_page_width(width);
    let lines = match &tune.verdict {
        Some(verdict) => measured(tune, verdict, next, width, style),
        None => not_measured(tune, next, width, style),
    };
    page(&lines)
}

fn measured(
    tune: &Tune,
    verdict: &Verdict,
    next: Option<&str>,
    width: usize,
    style: Style,
) -> Vec<String> {
    let broken = broken_checks(tune);
    let mut lines = failed_checks(tune, &broken, width, style);
    lines.extend(opening(verdict, broken.is_empty(), width, style));
    let measured = format!("Measured on {}", measured_on(tune, verdict));
    lines.extend(wrap(&measured, width));
    lines.extend(caveats(tune, verdict, width, style));
    lines.extend(wrap(&noise_line(verdict), width));
    if matches!(verdict.word, Word::Undecided | Word::TooNoisy) {
        lines.extend(next_lines(next, width, style));
    }
    let pairs = pairs::kept(tune, verdict);
    lines.push(String::new());
    lines.extend(figures::lines(tune, verdict, width, style));
    lines.extend(pairs::lines(tune, verdict, &pairs, width));
    let charted = width >= CHART_WIDTH && !pairs.is_empty();
    if charted {
        let told = verdict.word != Word::TooNoisy;
        let interval = verdict.interval.filter(|_| told);
        lines.push(String::new());
        lines.extend(charts::lines(verdict, &pairs, interval, width, style));
    }
    lines.push(String::new());

    let mut last = price::lines(tune, width, style);
    last.extend(notes(tune, width, style));
    last.extend(rest(tune, width));
    let most = if charted {
        MOST_LINES_WITH_CHARTS
    } else {
        MOST_LINES
    };
    let room = most.saturating_sub(lines.len() + last.len());
    lines.extend(changes::lines(tune, room, width, style));
    lines.extend(last);
    lines
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

fn noise_line(verdict: &Verdict) -> String {
    match verdict.noise_floor {
        // A percentage beyond that would only look like knowledge.
        Some(floor) if floor > 1.0 => {
            "Noise floor: even a doubling cannot be seen with this budget".to_owned()
        }
        Some(floor) => format!(
            "Noise floor: differences under {} cannot be seen with this budget",
            number::percent(floor)
        ),
        None => format!("Noise floor: {} (it takes two pairs)", number::MISSING),
    }
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

/// The loudest: which conditions were broken, where, and that nothing below is worth reading.
fn failed_checks(tune: &Tune, broken: &[String], width: usize, style: Style) -> Vec<String> {
    if broken.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "Consistency check failed ({}): the numbers below are worthless.",
        list(broken)
    );
    let mut lines = hang("! ", &text, width);
    let of_load = tune.consistency.iter().map(|check| (None, check));
    let of_runs = tune.runs.iter().flat_map(|run| {
        let checks = run.consistency.iter();
        checks.map(move |check| (Some(run), check))
    });
    let told: Vec<String> = of_load
        .chain(of_runs)
        .filter(|(_, check)| !check.passed)
        .map(|(run, check)| {
            let place = run.map_or("after the load".to_owned(), |run: &Run| {
                format!("in run {} ({})", run.number, run.arm)
            });
            let what = check.detail.as_ref().unwrap_or(&check.description);
            format!("{} {place}: {what}", check.name)
        })
        .collect();
    for text in told.iter().take(CHECKS_TOLD) {
        lines.extend(hang("  ", text, width));
    }
    if told.len() > CHECKS_TOLD {
        lines.push(format!("  … and {} more", told.len() - CHECKS_TOLD));
    }
    lines
        .iter()
        .map(|line| style.paint(Role::Bad, line))
        .collect()
}

/// What a reader must know before quoting a number: arms that are not safe, and what the report
/// says as loudly.
fn caveats(tune: &Tune, verdict: &Verdict, width: usize, style: Style) -> Vec<String> {
    let dangerous = tune.arms.iter().filter(|arm| {
        let judged = arm.name == verdict.base || arm.name == verdict.arm;
        judged && arm.class != Class::Safe
    });
    let dangerous = dangerous.map(|arm| {
        let words = class_words(arm.class).unwrap_or_default();
        format!("{} is {}: {words}.", arm.name, arm.class.as_str())
    });
    dangerous
        .chain(alerts(tune))
        .flat_map(|caveat| hang("! ", &caveat, width))
        .map(|line| style.paint(Role::Warn, &line))
        .collect()
}

/// Steps that were left out; why a pair was dropped is told with the pairs.
fn notes(tune: &Tune, width: usize, style: Style) -> Vec<String> {
    let reasons: Vec<&str> = tune
        .runs
        .iter()
        .filter_map(|run| run.discarded.as_deref())
        .collect();
    let told = |note: &&String| !reasons.iter().any(|reason| note.ends_with(reason));
    let notes: Vec<&String> = tune.notes.iter().filter(told).collect();
    let mut lines: Vec<String> = notes
        .iter()
        .take(NOTES_TOLD)
        .flat_map(|note| hang("· ", note, width))
        .collect();
    if notes.len() > NOTES_TOLD {
        let more = plural((notes.len() - NOTES_TOLD) as u64, "note");
        lines.push(format!("· … and {more} more"));
    }
    lines
        .iter()
        .map(|line| style.paint(Role::Dim, line))
        .collect()
}

/// The page of a document without a verdict: nothing is claimed.
fn not_measured(tune: &Tune, next: Option<&str>, width: usize, style: Style) -> Vec<String> {
    let broken = broken_checks(tune);
    let mut lines = failed_checks(tune, &broken, width, style);
    let opening = headline(tune);
    let (role, sentence) = match (broken.is_empty(), tune.complete) {
        (false, _) => (Role::Warn, "There is no verdict".to_owned()),
        (true, false) => (Role::Warn, opening.sentence),
        (true, true) => (Role::Heading, opening.sentence),
    };
    let sentence = wrap(&sentence, width);
    lines.extend(sentence.iter().map(|line| style.paint(role, line)));
    lines.extend(wrap(&opening.measured_on, width));
    lines.extend(notes(tune, width, style));
    let mut last = next_lines(next, width, style);
    last.extend(rest(tune, width));
    let room = MOST_LINES.saturating_sub(lines.len() + last.len());
    lines.extend(changes::lines(tune, room, width, style));
    lines.extend(last);
    lines
}

/// Where all that has no place on a screen is: every run, source and reason.
fn rest(tune: &Tune, width: usize) -> Vec<String> {
    if tune.name.is_empty() {
        return Vec::new();
    }
    command_lines(
        "The rest",
        &format!("dbdyno report {} --output DIR", tune.name),
        width,
    )
}

fn next_lines(next: Option<&str>, width: usize, style: Style) -> Vec<String> {
    let Some(command) = next else {
        return Vec::new();
    };
    let lines = command_lines("Next", command, width);
    lines
        .iter()
        .map(|line| line.replacen(command, &style.paint(Role::Heading, command), 1))
        .collect()
}

/// The command is not wrapped: it is there to be copied.
fn command_lines(what: &str, command: &str, width: usize) -> Vec<String> {
    let line = format!("{what}: {command}");
    if columns(&line) <= width {
        vec![line]
    } else {
        vec![format!("{what}:"), command.to_owned()]
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
