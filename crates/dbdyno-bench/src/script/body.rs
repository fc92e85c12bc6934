//! What a section does: variables, branches, pauses and statements, one after the other.

use std::time::Duration;

use super::error::{Located, Place};
use super::expression::{Expression, Value};
use super::random::Random;
use super::statement::Statement;

/// A longer pause is a mistake in its unit.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// The steps of a section, and the names of the variables it knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Body {
    pub(super) names: Vec<String>,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Set {
        place: Place,
        slot: usize,
        expression: Expression,
    },
    /// Begins an arm: `\if` or, where it is `chained`, `\elif`. Where the condition does not hold it
    /// goes on at `otherwise`.
    If {
        place: Place,
        condition: Expression,
        chained: bool,
        otherwise: usize,
    },
    /// Ends an arm that another follows.
    Leave { end: usize },
    /// `\endif`.
    End,
    Sleep {
        place: Place,
        time: Expression,
        unit: Unit,
    },
    Run {
        /// Among the statements of the body, from 0.
        number: usize,
        statement: Statement,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Microseconds,
    Milliseconds,
    Seconds,
}

impl Unit {
    /// None ends like one that comes after it.
    pub(super) const ALL: [Self; 3] = [Self::Microseconds, Self::Milliseconds, Self::Seconds];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    fn seconds(self) -> f64 {
        match self {
            Self::Microseconds => 1e-6,
            Self::Milliseconds => 1e-3,
            Self::Seconds => 1.0,
        }
    }
}

/// What a body cannot do by itself.
#[derive(Debug)]
pub(super) enum Act<'a> {
    Run {
        number: usize,
        statement: &'a Statement,
    },
    Sleep(Duration),
}

impl Body {
    pub(super) fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.steps.iter().filter_map(|step| match step {
            Step::Run { statement, .. } => Some(statement),
            _ => None,
        })
    }

    pub(super) fn values(&self) -> Vec<Value> {
        vec![Value::Int(0); self.names.len()]
    }

    /// Goes on from a step to the next act, setting variables on the way; none at the end.
    pub(super) fn next(
        &self,
        at: &mut usize,
        values: &mut [Value],
        random: &mut Random,
    ) -> Result<Option<Act<'_>>, Located> {
        while let Some(step) = self.steps.get(*at) {
            *at += 1;
            match step {
                Step::Set {
                    place,
                    slot,
                    expression,
                } => values[*slot] = evaluated(*place, expression, values, random)?,
                Step::If {
                    place,
                    condition,
                    otherwise,
                    ..
                } => {
                    if !evaluated(*place, condition, values, random)?.is_true() {
                        *at = *otherwise;
                    }
                }
                Step::Leave { end } => *at = *end,
                Step::End => {}
                Step::Sleep { place, time, unit } => {
                    let time = evaluated(*place, time, values, random)?;
                    return Ok(Some(Act::Sleep(pause(*place, time, *unit)?)));
                }
                Step::Run { number, statement } => {
                    let number = *number;
                    return Ok(Some(Act::Run { number, statement }));
                }
            }
        }
        Ok(None)
    }

    /// Goes through all of it as if its acts were done.
    pub(super) fn draw(&self, values: &mut [Value], random: &mut Random) -> Result<(), Located> {
        let mut at = 0;
        while self.next(&mut at, values, random)?.is_some() {}
        Ok(())
    }
}

fn evaluated(
    place: Place,
    expression: &Expression,
    values: &[Value],
    random: &mut Random,
) -> Result<Value, Located> {
    let value = expression.evaluate(values, random);
    value.map_err(|message| (place, (message, None)))
}

fn pause(place: Place, time: Value, unit: Unit) -> Result<Duration, Located> {
    let pause = Duration::try_from_secs_f64(time.as_f64() * unit.seconds());
    let pause = pause.ok().filter(|pause| *pause <= LONGEST_PAUSE);
    pause.ok_or_else(|| {
        let hint = "a pause is at least 0 and at most a day; without a unit it is in seconds";
        let message = format!("a pause of {time} {} cannot be", unit.name());
        (place, (message, Some(hint.into())))
    })
}
