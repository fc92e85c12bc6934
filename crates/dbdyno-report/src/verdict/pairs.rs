//! What each pair came to, and which were dropped, and why.

use dbdyno_model::verdict::Word;
use dbdyno_model::{Run, Tune, Verdict};

use crate::number;
use crate::story::rounds::rounds;
use crate::text::{columns, hang, plural, wrap};

/// Reasons told in full, of those that differ.
const REASONS_TOLD: usize = 2;

/// A pair that counts: its runs, and arm / base of the metric that was judged.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    pub(super) number: u32,
    pub(super) ratio: f64,
    pub(super) base: &'a Run,
    pub(super) arm: &'a Run,
}

/// Pairs of which both arms have a run that counts, in their order.
pub(super) fn kept<'a>(tune: &'a Tune, verdict: &Verdict) -> Vec<Pair<'a>> {
    let metric = |run: &Run| {
        if verdict.metric == "tps" {
            run.tps
        } else {
            run.tps_with_checkpoint
        }
    };
    rounds(tune)
        .iter()
        .filter(|round| round.discarded().is_none())
        .filter_map(|round| {
            let (base, arm) = (round.of(&verdict.base)?, round.of(&verdict.arm)?);
            let ratio = metric(arm) / metric(base);
            (ratio.is_finite() && ratio > 0.0).then_some(Pair {
                number: round.pair,
                ratio,
                base,
                arm,
            })
        })
        .collect()
}

/// The pair nearest to the mean of all: a rule, so that nobody chooses the prettiest.
pub(super) fn typical<'a, 'b>(pairs: &'b [Pair<'a>]) -> Option<&'b Pair<'a>> {
    let mean = pairs.iter().map(|pair| pair.ratio.ln()).sum::<f64>() / pairs.len() as f64;
    let distance = |pair: &Pair<'_>| (pair.ratio.ln() - mean).abs();
    pairs
        .iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// Every pair's ratio in its order, and the pairs that do not count.
pub(super) fn lines(
    tune: &Tune,
    verdict: &Verdict,
    pairs: &[Pair<'_>],
    width: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    if !pairs.is_empty() {
        let decimals = decimals(verdict);
        let ratios: Vec<String> = pairs
            .iter()
            .map(|pair| format!("{:.decimals$}", pair.ratio))
            .collect();
        lines.extend(hang("Each pair: ", &ratios.join(", "), width));
    }
    lines.extend(dropped(tune, verdict, width));
    lines
}

/// As many decimals as the verdict's ratio is told with.
fn decimals(verdict: &Verdict) -> usize {
    let told = verdict.ratio.zip(verdict.interval);
    let text = told.map(|(ratio, interval)| number::ratio_parts(ratio, interval)[0].clone());
    let decimals = text.and_then(|text| Some(columns(text.split_once('.')?.1)));
    decimals.unwrap_or(2)
}

/// How many pairs were dropped, and for what; never for their result.
fn dropped(tune: &Tune, verdict: &Verdict, width: usize) -> Vec<String> {
    if verdict.discarded_pairs == 0 {
        return Vec::new();
    }
    let count = plural(verdict.discarded_pairs.into(), "pair");
    let reasons = reasons(tune);
    let mut told: Vec<String> = reasons
        .iter()
        .take(REASONS_TOLD)
        .map(|(reason, times)| match times {
            1 => (*reason).to_owned(),
            more => format!("{reason}, and {} like it", more - 1),
        })
        .collect();
    if reasons.len() > REASONS_TOLD {
        let more = (reasons.len() - REASONS_TOLD) as u64;
        told.push(format!("… and {} more", plural(more, "reason")));
    }
    if told.is_empty() {
        told.push("for a reason that no run recorded".to_owned());
    }
    let how = if verdict.word == Word::TooNoisy {
        "Dropped"
    } else {
        "Dropped and repeated"
    };
    let text = format!("{how}, blind to the result: {count} ({})", told.join("; "));
    wrap(&text, width)
}

/// Reasons that differ in more than their numbers, each with the rounds that it ended.
fn reasons(tune: &Tune) -> Vec<(&str, u32)> {
    let mut reasons: Vec<(&str, u32)> = Vec::new();
    for reason in rounds(tune).iter().filter_map(|round| round.discarded()) {
        let alike = |known: &&mut (&str, u32)| shape(known.0) == shape(reason);
        match reasons.iter_mut().find(alike) {
            Some((_, times)) => *times += 1,
            None => reasons.push((reason, 1)),
        }
    }
    reasons
}

/// A reason without its numbers.
fn shape(reason: &str) -> String {
    reason.chars().filter(|c| !c.is_ascii_digit()).collect()
}
