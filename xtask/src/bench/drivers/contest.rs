//! Drivers that take turns, round after round, so that what changes meanwhile meets all of them.

use super::figures::{Absent, Run};

type Drive<'a> = Box<dyn FnMut(u64) -> Result<Run, Absent> + 'a>;

/// One driver of one load.
pub(super) struct Contestant<'a> {
    name: String,
    drive: Drive<'a>,
}

impl<'a> Contestant<'a> {
    /// What it is handed is the number of the round, from 1.
    pub(super) fn new(name: &str, drive: impl FnMut(u64) -> Result<Run, Absent> + 'a) -> Self {
        Self {
            name: name.to_owned(),
            drive: Box::new(drive),
        }
    }

    /// A peer that may not be there.
    pub(super) fn peer<T: 'a>(
        name: &str,
        tool: Result<T, Absent>,
        drive: impl Fn(&T) -> Result<Run, Absent> + 'a,
    ) -> Self {
        Self::new(name, move |_| drive(tool.as_ref().map_err(Absent::clone)?))
    }
}

/// All runs of a driver, in their order, or why there are none.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) name: String,
    pub(super) runs: Result<Vec<Run>, Absent>,
}

/// One that fails is not asked again.
pub(super) fn hold<const N: usize>(
    what: &str,
    rounds: usize,
    contestants: [Contestant<'_>; N],
    settle: &dyn Fn() -> Result<(), String>,
) -> [Outcome; N] {
    let mut field = contestants.map(|Contestant { name, drive }| {
        let runs = Ok(Vec::new());
        (drive, Outcome { name, runs })
    });
    for round in 1..=rounds {
        for (drive, outcome) in &mut field {
            let Ok(runs) = &mut outcome.runs else {
                continue;
            };
            eprintln!("{what}: {}, round {round} of {rounds}", outcome.name);
            let settled = settle().map_err(Absent::from);
            match settled.and_then(|()| drive(round as u64)) {
                Ok(run) => runs.push(run),
                Err(absent) => {
                    eprintln!("{what}: {}: {absent}", outcome.name);
                    outcome.runs = Err(absent);
                }
            }
        }
    }
    field.map(|(_, outcome)| outcome)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn they_take_turns_and_one_that_failed_has_no_more() {
        let turns = RefCell::new(Vec::new());
        let run = |name: &'static str, round| {
            turns.borrow_mut().push((name, round));
            Ok(Run::default())
        };
        let fails = |name: &'static str, round| {
            turns.borrow_mut().push((name, round));
            Err(Absent::Failed("it broke".into()))
        };
        let none = Err::<(), _>(Absent::NotMeasured("none".into()));
        let contestants = [
            Contestant::new("a", |round| run("a", round)),
            Contestant::new("b", |round| match round {
                2 => fails("b", round),
                _ => run("b", round),
            }),
            Contestant::peer("c", none, |()| run("c", 0)),
        ];
        let outcomes = hold("test", 3, contestants, &|| Ok(()));
        assert_eq!(
            *turns.borrow(),
            [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3)]
        );
        assert_eq!(outcomes[0].runs.as_ref().unwrap().len(), 3);
        assert_eq!(outcomes[1].runs, Err(Absent::Failed("it broke".into())));
        assert_eq!(outcomes[2].runs, Err(Absent::NotMeasured("none".into())));
    }

    #[test]
    fn a_server_that_does_not_settle_fails_whoever_was_due() {
        let contestants = [Contestant::new("a", |_| Ok(Run::default()))];
        let outcomes = hold("test", 1, contestants, &|| Err("gone".into()));
        assert_eq!(outcomes[0].runs, Err(Absent::Failed("gone".into())));
    }
}
