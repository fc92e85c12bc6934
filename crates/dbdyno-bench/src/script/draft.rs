//! A body while its section is read: which variables have a value, and which branches are open.

use super::CLIENT_ID;
use super::body::{Body, Step, Unit};
use super::error::{Located, Place};
use super::expression::{Expression, Problem};
use super::grammar::undefined;
use super::statement::Statement;

#[derive(Debug)]
pub(super) struct Draft {
    body: Body,
    /// Of each name, whether it has a value here, whichever branches were taken.
    known: Vec<bool>,
    branches: Vec<Branch>,
    statements: usize,
}

/// What `\if` has opened.
#[derive(Debug)]
struct Branch {
    place: Place,
    /// The step that begins the arm which is being read; none behind `\else`.
    condition: Option<usize>,
    /// The steps that ended the arms before.
    leaves: Vec<usize>,
    /// What was known before the first arm.
    before: Vec<bool>,
    /// What is known at the end of every arm so far.
    everywhere: Option<Vec<bool>>,
}

/// The variables that have a value somewhere in a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    names: &'a [String],
    known: &'a [bool],
}

impl<'a> Known<'a> {
    pub(super) fn new(names: &'a [String], known: &'a [bool]) -> Self {
        Self { names, known }
    }

    pub(super) fn slot(self, name: &str) -> Result<usize, Problem> {
        let slot = self.names.iter().position(|other| other == name);
        let slot = slot.ok_or_else(|| undefined(name))?;
        if self.known.get(slot) == Some(&true) {
            return Ok(slot);
        }
        let hint = "set it above the \\if, or in each of its arms, of which one is an \\else";
        Err((
            format!("variable :{name} is not defined on every way to this line"),
            Some(hint.into()),
        ))
    }
}

impl Draft {
    pub(super) fn new() -> Self {
        Self {
            body: Body {
                names: vec![CLIENT_ID.to_owned()],
                steps: Vec::new(),
            },
            known: vec![true],
            branches: Vec::new(),
            statements: 0,
        }
    }

    /// An empty one that knows the same variables.
    pub(super) fn below(&self) -> Self {
        Self {
            body: Body {
                names: self.body.names.clone(),
                steps: Vec::new(),
            },
            known: self.known.clone(),
            branches: Vec::new(),
            statements: 0,
        }
    }

    pub(super) fn body(&self) -> &Body {
        &self.body
    }

    pub(super) fn into_body(self) -> Body {
        self.body
    }

    pub(super) fn known(&self) -> Known<'_> {
        Known::new(&self.body.names, &self.known)
    }

    pub(super) fn run(&mut self, statement: Statement) {
        let number = self.statements;
        self.statements += 1;
        self.body.steps.push(Step::Run { number, statement });
    }

    pub(super) fn sleep(&mut self, place: Place, time: Expression, unit: Unit) {
        self.body.steps.push(Step::Sleep { place, time, unit });
    }

    pub(super) fn set(&mut self, place: Place, name: &str, expression: Expression) {
        let names = &mut self.body.names;
        let slot = names.iter().position(|known| known == name);
        let slot = slot.unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        self.known.resize(names.len(), false);
        self.known[slot] = true;
        self.body.steps.push(Step::Set {
            place,
            slot,
            expression,
        });
    }

    /// `\if`.
    pub(super) fn open(&mut self, place: Place, condition: Expression) {
        self.branches.push(Branch {
            place,
            condition: Some(self.body.steps.len()),
            leaves: Vec::new(),
            before: self.known.clone(),
            everywhere: None,
        });
        self.begin_arm(place, condition, false);
    }

    /// The first half of `\elif`, and all of `\else`.
    pub(super) fn leave_arm(&mut self) -> Result<(), Problem> {
        let Some(branch) = self.branches.last_mut() else {
            return Err(no_if());
        };
        let Some(condition) = branch.condition.take() else {
            let hint = "no arm follows \\else but \\endif";
            return Err(("\\else is not the last arm".into(), Some(hint.into())));
        };
        branch.end_arm(&self.known);
        self.known = widened(&branch.before, self.body.names.len());
        branch.leaves.push(self.body.steps.len());
        self.body.steps.push(Step::Leave { end: 0 });
        let next = self.body.steps.len();
        self.aim(condition, next);
        Ok(())
    }

    /// The second half of `\elif`, whose condition knows nothing of the arms before.
    pub(super) fn chain(&mut self, place: Place, condition: Expression) {
        let at = self.body.steps.len();
        if let Some(branch) = self.branches.last_mut() {
            branch.condition = Some(at);
        }
        self.begin_arm(place, condition, true);
    }

    /// `\endif`.
    pub(super) fn close(&mut self) -> Result<(), Problem> {
        let mut branch = self.branches.pop().ok_or_else(no_if)?;
        let end = self.body.steps.len();
        self.body.steps.push(Step::End);
        branch.end_arm(&self.known);
        // Without \else none of the arms may have been taken.
        let known = match (branch.condition, branch.everywhere) {
            (None, Some(everywhere)) => everywhere,
            _ => branch.before,
        };
        self.known = widened(&known, self.body.names.len());
        for step in branch.leaves.into_iter().chain(branch.condition) {
            self.aim(step, end);
        }
        Ok(())
    }

    pub(super) fn check_closed(&self) -> Result<(), Located> {
        match self.branches.last() {
            None => Ok(()),
            Some(branch) => {
                let hint = "write \\endif on a line of its own, in the same section";
                let problem = ("\\if is not ended".into(), Some(hint.into()));
                Err((branch.place, problem))
            }
        }
    }

    fn begin_arm(&mut self, place: Place, condition: Expression, chained: bool) {
        self.body.steps.push(Step::If {
            place,
            condition,
            chained,
            otherwise: 0,
        });
    }

    /// Says where a step of a branch leads.
    fn aim(&mut self, step: usize, to: usize) {
        match self.body.steps.get_mut(step) {
            Some(Step::If { otherwise, .. }) => *otherwise = to,
            Some(Step::Leave { end }) => *end = to,
            _ => {}
        }
    }
}

impl Branch {
    fn end_arm(&mut self, known: &[bool]) {
        let before = self.everywhere.take();
        self.everywhere = Some(match before {
            None => known.to_vec(),
            Some(before) => before.iter().zip(known).map(|(a, b)| *a && *b).collect(),
        });
    }
}

/// With so many names: those that came later are not known.
fn widened(known: &[bool], names: usize) -> Vec<bool> {
    let mut known = known.to_vec();
    known.resize(names, false);
    known
}

fn no_if() -> Problem {
    let hint = "write \\if EXPRESSION on a line above, in the same section";
    ("there is no \\if that is open".into(), Some(hint.into()))
}
