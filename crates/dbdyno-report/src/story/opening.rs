//! How a report opens: the verdict's word and sentence, and the numbers that a reader takes away.

use dbdyno_model::verdict::Word;
use dbdyno_model::{Tune, Verdict};

use super::{changes, day, server};
use crate::number;
use crate::text::{list, plural};
use crate::verdict::{broken_checks, measured_on, verdict_sentence};

/// How a report opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Headline {
    pub(crate) sign: Sign,
    /// The verdict's word, or what stands in its place.
    pub(crate) word: String,
    pub(crate) sentence: String,
    /// What the word claims and what it does not.
    pub(crate) meaning: String,
    /// Workload, server, machine and day.
    pub(crate) measured_on: String,
}

/// What the opening is; each has its own shape and colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Improved,
    Worse,
    NoDifference,
    Undecided,
    TooNoisy,
    NotMeasured,
    Broken,
}

/// One of the few large numbers of the first screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Big {
    pub(crate) label: &'static str,
    pub(crate) value: String,
    pub(crate) detail: String,
    /// Nothing is claimed by it: it is shown in grey.
    pub(crate) faint: bool,
}

/// The opening of a report of any document: finished, interrupted, broken, or without a trial.
pub(crate) fn headline(tune: &Tune) -> Headline {
    let broken = broken_checks(tune);
    if !broken.is_empty() {
        return Headline {
            sign: Sign::Broken,
            word: "worthless".to_owned(),
            sentence: format!(
                "Consistency check failed ({}): the numbers below are worthless",
                list(&broken)
            ),
            meaning: tune.verdict.as_ref().map_or_else(String::new, |verdict| {
                format!("Not to be quoted: {}.", verdict_sentence(verdict))
            }),
            measured_on: basis(tune),
        };
    }
    match &tune.verdict {
        Some(verdict) => judged(tune, verdict),
        None => not_judged(tune),
    }
}

fn judged(tune: &Tune, verdict: &Verdict) -> Headline {
    let sentence = verdict_sentence(verdict);
    // The word stands before the sentence, with its shape, instead of behind it.
    let ending = format!(": {}", verdict.word.as_str());
    let sentence = sentence.strip_suffix(&ending).unwrap_or(&sentence);
    Headline {
        sign: sign(verdict.word),
        word: word(verdict.word).to_owned(),
        sentence: sentence.to_owned(),
        meaning: meaning(verdict),
        measured_on: format!("Measured on {}.", measured_on(tune, verdict)),
    }
}

fn not_judged(tune: &Tune) -> Headline {
    let runs = tune.runs.len() as u64;
    let sentence = match (runs, tune.complete) {
        (0, true) => "No trial was run: what this plan is worth here was not measured".to_owned(),
        (0, false) => {
            "The trial ended before its first run: what this plan is worth was not measured"
                .to_owned()
        }
        _ => format!(
            "The trial ended before a verdict, after {}: nothing is claimed",
            plural(runs, "run")
        ),
    };
    Headline {
        sign: Sign::NotMeasured,
        word: "not measured".to_owned(),
        sentence,
        meaning: String::new(),
        measured_on: basis(tune),
    }
}

/// Server, machine and day of a document without a verdict to quote.
fn basis(tune: &Tune) -> String {
    if let Some(verdict) = &tune.verdict {
        return format!("Measured on {}.", measured_on(tune, verdict));
    }
    let mut parts = vec![
        tune.target.clone().unwrap_or_default(),
        server(tune),
        tune.machine.summary.clone(),
        day(tune).to_owned(),
    ];
    parts.retain(|part| !part.is_empty());
    let done = if tune.runs.is_empty() {
        "Planned for"
    } else {
        "Run on"
    };
    format!("{done} {}.", parts.join("; "))
}

fn sign(word: Word) -> Sign {
    match word {
        Word::Improved => Sign::Improved,
        Word::Worse => Sign::Worse,
        Word::NoDifference => Sign::NoDifference,
        Word::Undecided => Sign::Undecided,
        Word::TooNoisy => Sign::TooNoisy,
    }
}

fn word(word: Word) -> &'static str {
    match word {
        Word::NoDifference => "no difference",
        Word::TooNoisy => "too noisy",
        other => other.as_str(),
    }
}

/// What the word means, in words that claim no more than it does.
fn meaning(verdict: &Verdict) -> String {
    let delta = number::percent(verdict.delta);
    match verdict.word {
        Word::Improved if verdict.metric == "tps_with_checkpoint" => format!(
            "More transactions a second, the closing checkpoint charged; {delta} was declared to matter."
        ),
        Word::Improved => format!("More transactions a second; {delta} was declared to matter."),
        Word::Worse => "It costs throughput on this workload.".to_owned(),
        Word::NoDifference => {
            format!("If there is a difference, it is smaller than the {delta} declared to matter.")
        }
        Word::Undecided => {
            "These pairs allow neither a difference nor its absence to be claimed.".to_owned()
        }
        Word::TooNoisy => {
            "Other work disturbed the machine; pairs were dropped blind to their result.".to_owned()
        }
    }
}

/// At most three numbers that a reader takes away: of the trial, or of a plan without one.
pub(crate) fn big_numbers(tune: &Tune) -> Vec<Big> {
    match &tune.verdict {
        Some(verdict) => trial_numbers(verdict, broken_checks(tune).is_empty()),
        None => plan_numbers(tune),
    }
}

fn trial_numbers(verdict: &Verdict, sound: bool) -> Vec<Big> {
    let told = verdict.ratio.zip(verdict.interval);
    let told = told.filter(|_| verdict.word != Word::TooNoisy);
    let (value, detail) = match told {
        Some((ratio, interval)) => {
            let [ratio, low, high] = number::ratio_parts(ratio, interval);
            let level = number::level(verdict.level);
            (
                format!("{ratio} ×"),
                format!("{low} to {high}, {level} interval"),
            )
        }
        None if verdict.word == Word::TooNoisy => {
            (number::MISSING.to_owned(), "spoilt by noise".to_owned())
        }
        None => (
            number::MISSING.to_owned(),
            "no interval yet: it takes two pairs".to_owned(),
        ),
    };
    let claims = told.is_some_and(|(_, [low, high])| low > 1.0 || high < 1.0);
    let dropped = match verdict.discarded_pairs {
        0 => "none dropped".to_owned(),
        dropped => format!(
            "{} dropped, blind to the result",
            number::count(dropped.into())
        ),
    };
    vec![
        Big {
            label: "TPS ratio",
            value,
            detail,
            faint: !claims || !sound,
        },
        Big {
            label: "pairs kept",
            value: number::count(verdict.pairs.into()),
            detail: dropped,
            faint: !sound,
        },
        noise_floor(verdict, sound),
    ]
}

fn noise_floor(verdict: &Verdict, sound: bool) -> Big {
    let (value, detail) = match verdict.noise_floor {
        // A percentage beyond that would only look like knowledge.
        Some(floor) if floor > 1.0 => (
            "> 100 %".to_owned(),
            "even a doubling cannot be seen".to_owned(),
        ),
        Some(floor) => (
            number::percent(floor),
            "smaller differences cannot be seen".to_owned(),
        ),
        None => (
            number::MISSING.to_owned(),
            "not known: it takes two pairs".to_owned(),
        ),
    };
    Big {
        label: "noise floor",
        faint: !sound || verdict.noise_floor.is_none(),
        value,
        detail,
    }
}

fn plan_numbers(tune: &Tune) -> Vec<Big> {
    let plan = &tune.plan;
    if plan.changes.is_empty() {
        return Vec::new();
    }
    let big = |label, value: String, detail: &str| Big {
        label,
        value,
        detail: detail.to_owned(),
        faint: false,
    };
    vec![
        big(
            "changes planned",
            number::count(plan.changes.len() as u64),
            "expected by rules, not measured",
        ),
        big(
            "class",
            plan.class().as_str().to_owned(),
            changes::class_words(plan.class()),
        ),
        big(
            "needs",
            plan.needs().as_str().to_owned(),
            "for the most disturbing change",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::alerts;
    use super::*;
    use crate::testing;

    #[test]
    fn the_word_leads_and_is_not_told_twice() {
        for word in [
            "improved",
            "worse",
            "no difference",
            "undecided",
            "too noisy",
        ] {
            let of = match word {
                "improved" => Word::Improved,
                "worse" => Word::Worse,
                "no difference" => Word::NoDifference,
                "undecided" => Word::Undecided,
                _ => Word::TooNoisy,
            };
            let headline = headline(&testing::tune_with(of));
            assert_eq!(headline.word, word);
            assert!(!headline.sentence.contains(word), "{}", headline.sentence);
            assert!(headline.measured_on.contains("not comparable with audited"));
        }
    }

    #[test]
    fn only_a_sound_interval_off_one_is_not_faint() {
        let faint = |tune: &Tune| big_numbers(tune)[0].faint;
        assert!(!faint(&testing::tune_with(Word::Improved)));
        assert!(!faint(&testing::tune_with(Word::Worse)));
        assert!(faint(&testing::tune_with(Word::Undecided)));
        assert!(faint(&testing::tune_with(Word::TooNoisy)));
        let mut broken = testing::tune();
        broken.consistency[0].passed = false;
        assert!(big_numbers(&broken).iter().all(|big| big.faint));
        assert_eq!(headline(&broken).sign, Sign::Broken);
    }

    #[test]
    fn a_document_without_a_verdict_says_how_far_it_came() {
        let mut tune = testing::tune();
        tune.verdict = None;
        tune.complete = false;
        assert!(headline(&tune).sentence.contains("after 8 runs"));
        assert_eq!(alerts(&tune), ["The trial did not finish."]);
        tune.runs.clear();
        assert!(headline(&tune).sentence.contains("before its first run"));
        tune.complete = true;
        assert!(headline(&tune).sentence.starts_with("No trial was run"));
        assert_eq!(big_numbers(&tune)[0].value, "4");
        tune.plan.changes.clear();
        assert!(big_numbers(&tune).is_empty());
    }
}
