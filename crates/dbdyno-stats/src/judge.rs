//! The sequential judge: planned looks at a growing number of pairs, one word at the end.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::design::Design;
use crate::paired::{Interval, interval_of_log_ratios, s_d, smallest_detectable_effect};

/// The verdict on a comparison of B with A, where higher is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// B is higher than A.
    Improved,
    /// B is lower than A.
    Worse,
    /// If there is a difference, it is smaller than the δ declared beforehand.
    NoDifference,
    /// The pairs measured allow neither a difference nor its absence to be claimed.
    Undecided,
    /// Too many pairs were disturbed to go on.
    TooNoisy,
}

impl Word {
    /// The word as documents spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Improved => "improved",
            Self::Worse => "worse",
            Self::NoDifference => "no_difference",
            Self::Undecided => "undecided",
            Self::TooNoisy => "too_noisy",
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What the trial does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Run another pair.
    Continue,
    /// Stop and print the word.
    Stop(Word),
}

/// What the pairs so far say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict, [`Word::Undecided`] between looks.
    pub word: Word,
    /// The interval the decision used; only at a look, since between looks one could exclude 1
    /// under the word "undecided".
    pub interval: Option<Interval>,
    /// Spread of the log ratios, log units.
    pub s_d: Option<f64>,
    /// Smallest detectable effect with these pairs, a relative difference (0.05 is 5 %):
    /// "differences under this cannot be seen".
    pub noise_floor: Option<f64>,
    /// Pairs kept.
    pub pairs: usize,
    /// Whether the trial is over.
    #[serde(rename = "final")]
    pub final_: bool,
}

impl Judgement {
    /// Whether to go on.
    #[must_use]
    pub fn step(&self) -> Step {
        if self.final_ {
            Step::Stop(self.word)
        } else {
            Step::Continue
        }
    }
}

/// Judges the pairs kept so far; to be called after each, until [`Judgement::final_`].
///
/// `log_ratios` holds D = ln B − ln A of the primary metric, one a kept pair, in the order of
/// [`order_of_pair`](crate::order_of_pair); higher is better. Only at a planned look can it decide. Futility is tested
/// first: an interval within 1/(1+δ) … 1+δ is "no difference", even one that excludes 1, because
/// such a difference does not matter. Then exclusion of 1 is "improved" or "worse". Else it is
/// undecided, finally so at the last look. A D that is not finite leaves it undecided.
///
/// The error rate belongs to the whole sequence of calls: pairs measured after a final judgement
/// buy a second chance and void it. It also supposes that the D are independent. A drift of the
/// machine keeps to that closely enough, ABBA turning it into spread; runs that each resemble the
/// one before do not, and cost about 7.5 % false calls instead of 5 %.
///
/// Source: Pocock, Biometrika 1977, with t intervals; the rates are held by the simulation in
/// `tests/null_trials.rs`.
#[must_use]
pub fn judge(design: &Design, log_ratios: &[f64]) -> Judgement {
    debug_assert_eq!(design.validate(), Ok(()));
    let pairs = log_ratios.len();
    let spread = s_d(log_ratios);
    let interval = if design.is_look(pairs) {
        interval_of_log_ratios(log_ratios, design.level())
    } else {
        None
    };
    let word = interval.map_or(Word::Undecided, |i| word_of(&i, design.delta));
    Judgement {
        word,
        interval,
        s_d: spread,
        noise_floor: spread.and_then(|s| smallest_detectable_effect(s, pairs)),
        pairs,
        final_: word != Word::Undecided || pairs >= design.max_pairs(),
    }
}

/// The word of an interval at a look.
fn word_of(interval: &Interval, delta: f64) -> Word {
    if interval.lies_within(delta) {
        Word::NoDifference
    } else if interval.low > 1.0 {
        Word::Improved
    } else if interval.high < 1.0 {
        Word::Worse
    } else {
        Word::Undecided
    }
}

/// Whether to stop with [`Word::TooNoisy`]: as many pairs dropped as the budget has pairs.
///
/// It knows only a count, never results, so it cannot favour an arm.
#[must_use]
pub fn too_noisy(design: &Design, dropped: usize) -> bool {
    dropped >= design.max_drops
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn designs() -> [Design; 3] {
        [Design::quick(), Design::normal(), Design::proof()]
    }

    #[test]
    fn each_word_at_a_look() {
        let quick = Design::quick();
        let word = |d: &[f64]| judge(&quick, d).word;
        assert_eq!(word(&[0.10, 0.11, 0.09, 0.10]), Word::Improved);
        assert_eq!(word(&[-0.10, -0.11, -0.09, -0.10]), Word::Worse);
        assert_eq!(word(&[0.01, -0.01, 0.01, -0.01]), Word::NoDifference);
        assert_eq!(word(&[0.2, -0.1, 0.1, -0.1]), Word::Undecided);
        assert_eq!(word(&[0.1, 0.1, 0.1, f64::INFINITY]), Word::Undecided);
        // Futility first: the interval excludes 1, but the difference is under 5 %.
        let small = judge(&quick, &[0.020, 0.021, 0.019, 0.020]);
        assert!(small.interval.unwrap().excludes_one());
        assert_eq!(small.word, Word::NoDifference);
    }

    #[test]
    fn between_looks_nothing_is_decided() {
        let clear = [0.5, 0.51, 0.5, 0.49, 0.5];
        for n in [0, 1, 2, 3, 5] {
            let got = judge(&Design::normal(), &clear[..n]);
            assert_eq!(
                (got.word, got.interval, got.final_, got.pairs),
                (Word::Undecided, None, false, n)
            );
            assert_eq!(got.s_d.is_some(), n >= 2);
            assert_eq!(got.noise_floor.is_some(), n >= 2);
            assert_eq!(got.step(), Step::Continue);
        }
        assert_eq!(
            judge(&Design::normal(), &clear[..4]).step(),
            Step::Stop(Word::Improved)
        );
    }

    #[test]
    fn drops_as_many_as_pairs_are_too_noisy() {
        assert!(!too_noisy(&Design::quick(), 3));
        assert!(too_noisy(&Design::quick(), 4));
        assert!(!too_noisy(&Design::normal(), 9));
        assert!(too_noisy(&Design::normal(), 10));
    }

    #[test]
    fn words_and_judgements_in_json() {
        for word in [
            Word::Improved,
            Word::Worse,
            Word::NoDifference,
            Word::Undecided,
            Word::TooNoisy,
        ] {
            let text = serde_json::to_string(&word).unwrap();
            assert_eq!(text, format!("\"{word}\""));
            assert_eq!(serde_json::from_str::<Word>(&text).unwrap(), word);
        }
        let judgement = judge(&Design::quick(), &[0.1, 0.12, 0.09]);
        let text = serde_json::to_string(&judgement).unwrap();
        assert!(
            text.contains(r#""interval":null"#) && text.contains(r#""final":false"#),
            "{text}"
        );
        let read: Judgement = serde_json::from_str(&text).unwrap();
        assert_eq!((read.word, read.pairs), (Word::Undecided, 3));
    }

    proptest! {
        #[test]
        fn undecided_never_excludes_one(d in prop::collection::vec(-0.1_f64..0.1, 0..25)) {
            for design in designs() {
                let got = judge(&design, &d);
                if got.word == Word::Undecided {
                    prop_assert!(got.interval.is_none_or(|i| !i.excludes_one()));
                }
                prop_assert_eq!(got.interval.is_some(), design.is_look(d.len()));
                prop_assert_eq!(got.final_, got.word != Word::Undecided || d.len() >= design.max_pairs());
            }
        }

        #[test]
        fn swapping_the_arms_swaps_the_word(
            d in prop::collection::vec(-0.05_f64..0.1, 4..=4), shift in -0.1_f64..0.1
        ) {
            let d: Vec<f64> = d.iter().map(|x| x + shift).collect();
            let swapped: Vec<f64> = d.iter().map(|x| -x).collect();
            let mirror = match judge(&Design::quick(), &d).word {
                Word::Improved => Word::Worse,
                Word::Worse => Word::Improved,
                other => other,
            };
            prop_assert_eq!(judge(&Design::quick(), &swapped).word, mirror);
        }
    }
}
