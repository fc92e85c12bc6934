//! The rounds of a trial: each arm once, kept as a pair or dropped, in the order they were run.

use dbdyno_model::{Run, Tune, Verdict};

/// One run of each arm under one pair's number; a dropped pair is repeated under the same number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Round<'a> {
    pub(crate) pair: u32,
    pub(crate) runs: Vec<&'a Run>,
}

impl<'a> Round<'a> {
    /// Why the round does not count, where it does not.
    pub(crate) fn discarded(&self) -> Option<&'a str> {
        self.runs.iter().find_map(|run| run.discarded.as_deref())
    }

    pub(crate) fn of(&self, arm: &str) -> Option<&'a Run> {
        self.runs.iter().copied().find(|run| run.arm == arm)
    }
}

/// All rounds; runs without a pair, which timed a recovery, are not among them.
pub(crate) fn rounds(tune: &Tune) -> Vec<Round<'_>> {
    let mut rounds: Vec<Round<'_>> = Vec::new();
    for run in &tune.runs {
        let Some(pair) = run.pair else { continue };
        match rounds.last_mut() {
            Some(round) if round.pair == pair && round.of(&run.arm).is_none() => {
                round.runs.push(run);
            }
            _ => rounds.push(Round {
                pair,
                runs: vec![run],
            }),
        }
    }
    rounds
}

/// arm / base of a figure, for each round that counts and has it on both sides.
pub(crate) fn log_ratios(
    tune: &Tune,
    verdict: &Verdict,
    figure: impl Fn(&Run) -> Option<f64>,
) -> Vec<f64> {
    rounds(tune)
        .iter()
        .filter(|round| round.discarded().is_none())
        .filter_map(|round| {
            let positive = |arm: &str| figure(round.of(arm)?).filter(|value| *value > 0.0);
            let ratio = positive(&verdict.arm)? / positive(&verdict.base)?;
            ratio.is_finite().then(|| ratio.ln())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_repeated_pair_is_two_rounds() {
        let mut tune = testing::tune();
        let mut again: Vec<Run> = tune.runs[..2].to_vec();
        for run in &mut tune.runs[..2] {
            run.discarded = Some("steal".to_owned());
        }
        again.append(&mut tune.runs.split_off(2));
        tune.runs.append(&mut again);
        tune.runs.push(Run {
            arm: "shipped".to_owned(),
            ..Run::default()
        });
        let rounds = rounds(&tune);
        assert_eq!(rounds.len(), 5);
        assert_eq!(rounds[0].pair, rounds[1].pair);
        assert_eq!(rounds[0].discarded(), Some("steal"));
        assert_eq!(rounds[1].discarded(), None);
        let verdict = tune.verdict.as_ref().unwrap();
        let logs = log_ratios(&tune, verdict, |run| Some(run.tps_with_checkpoint));
        assert_eq!(logs.len(), 4);
        assert!((logs[0].exp() - 1.338).abs() < 1e-9);
        assert!(log_ratios(&tune, verdict, |_| None).is_empty());
        assert!(log_ratios(&tune, verdict, |_| Some(0.0)).is_empty());
    }
}
