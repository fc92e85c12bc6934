//! One connection that runs a script's transactions.

use std::sync::Arc;
use std::time::Instant;

use super::Script;
use super::body::Act;
use super::error::ScriptError;
use super::expression::Value;
use super::parameter;
use super::random::Random;
use super::reading::{Reading, is_never_prepared};
use super::statement::{Boundary, Statement};
use crate::tpcc::control::Control;
use crate::wire::{self, Engine, Sent, Session, WireError};
use crate::workload::{End, Failure, PrepareError};

#[derive(Debug)]
pub(crate) struct Terminal {
    session: Session,
    reading: Arc<Reading>,
    control: Control,
    programs: Vec<Program>,
    /// Sum of the weights up to each transaction.
    weights: Vec<u64>,
    random: Random,
    current: usize,
    /// What the current transaction draws from, at its beginning.
    begin: Random,
}

/// A transaction, prepared.
#[derive(Debug)]
struct Program {
    statements: Vec<Prepared>,
    /// The variables before the first step, and as they are.
    initial: Vec<Value>,
    values: Vec<Value>,
    may_retry: bool,
}

#[derive(Debug)]
struct Prepared {
    form: Form,
    slots: Vec<usize>,
    boundary: Option<Boundary>,
}

#[derive(Debug)]
enum Form {
    Prepared(wire::Statement),
    /// What the server does not prepare.
    Text(String),
}

impl Terminal {
    pub(crate) async fn prepare(
        mut session: Session,
        script: &Script,
        seed: u64,
        index: u32,
    ) -> Result<Self, PrepareError> {
        let reading = script.reading(session.engine());
        let reading = Arc::clone(reading.map_err(PrepareError::Script)?);
        let setup = reading.setup_values().map_err(PrepareError::Script)?;
        let mut programs = Vec::with_capacity(reading.transactions.len());
        for transaction in &reading.transactions {
            let body = &transaction.body;
            let mut initial = body.values();
            initial[..setup.len()].copy_from_slice(&setup);
            initial[0] = Value::Int(i64::from(index));
            let mut statements = Vec::new();
            for statement in body.statements() {
                statements.push(prepare(&mut session, &reading, &body.names, statement).await?);
            }
            // What was committed one by one must not be done twice.
            let whole = match statements.as_slice() {
                [_] => true,
                [first, .., last] => {
                    first.boundary == Some(Boundary::Begin)
                        && matches!(last.boundary, Some(Boundary::Commit | Boundary::Rollback))
                }
                [] => false,
            };
            programs.push(Program {
                may_retry: transaction.wrap || whole,
                values: initial.clone(),
                statements,
                initial,
            });
        }
        let control = Control::prepare(&mut session).await;
        let control = control.map_err(PrepareError::Wire)?;
        let weights = reading.transactions.iter().scan(0, |sum, transaction| {
            *sum += u64::from(transaction.weight);
            Some(*sum)
        });
        let weights = weights.collect();
        let random = Random::new(seed, u64::from(index));
        Ok(Self {
            session,
            reading,
            control,
            programs,
            weights,
            begin: random.clone(),
            random,
            current: 0,
        })
    }

    /// Picks the next transaction.
    pub(crate) fn next(&mut self) -> usize {
        let total = self.weights.last().copied().unwrap_or(1);
        let pick = self.random.below(total);
        self.current = self.weights.partition_point(|&sum| sum <= pick);
        // A stream of its own: what follows must not depend on how far an attempt came.
        self.begin = Random::new(self.random.next(), 0);
        self.current
    }

    /// Sends the current transaction. Another attempt at it draws the same values.
    pub(crate) async fn execute(&mut self) -> Result<End, Failure> {
        let Self {
            session,
            reading,
            control,
            programs,
            ..
        } = self;
        let transaction = &reading.transactions[self.current];
        let program = &mut programs[self.current];
        let mut random = self.begin.clone();
        program.values.copy_from_slice(&program.initial);
        let (mut at, mut begun, mut end) = (0, false, End::Committed);
        loop {
            let act = transaction
                .body
                .next(&mut at, &mut program.values, &mut random);
            let act = act.map_err(|it| Failure::Script(ScriptError::new(&reading.file, it)))?;
            let (number, statement) = match act {
                None => break,
                Some(Act::Sleep(pause)) => {
                    session.reactor().sleep_until(Instant::now() + pause).await;
                    continue;
                }
                Some(Act::Run { number, statement }) => (number, statement),
            };
            let begins = transaction.wrap && !begun;
            if begins {
                // It goes out with the first statement, as the usual drivers send it.
                control.queue_begin(session).map_err(Failure::Wire)?;
                begun = true;
            }
            let prepared = &program.statements[number];
            prepared
                .queue(session, &program.values)
                .map_err(|error| Failure::Script(reading.refused(statement.place, &error)))?;
            if begins {
                session.done().await.map_err(Failure::Wire)?;
            }
            session.done().await.map_err(Failure::Wire)?;
            match prepared.boundary {
                Some(Boundary::Rollback) => end = End::RolledBack,
                Some(Boundary::Commit | Boundary::Begin) => end = End::Committed,
                None => {}
            }
        }
        if begun {
            control.queue_commit(session).map_err(Failure::Wire)?;
            session.done().await.map_err(Failure::Wire)?;
        }
        Ok(end)
    }

    pub(crate) async fn rollback(&mut self) -> Result<(), WireError> {
        self.session.drain().await?;
        self.session.queue_text("ROLLBACK");
        self.session.done().await.map(drop)
    }

    pub(crate) fn sent(&self) -> Sent {
        self.session.sent()
    }

    pub(crate) fn into_session(self) -> Session {
        self.session
    }

    pub(crate) fn may_retry(&self) -> bool {
        self.programs[self.current].may_retry
    }
}

impl Prepared {
    fn queue(&self, session: &mut Session, values: &[Value]) -> Result<(), WireError> {
        let engine = session.engine();
        match &self.form {
            Form::Prepared(statement) => session.queue(statement, |params| {
                let kinds = statement.parameter_types();
                for (kind, slot) in kinds.zip(&self.slots) {
                    parameter::put(params, engine, kind, values[*slot]);
                }
            }),
            Form::Text(sql) => {
                session.queue_text(sql);
                Ok(())
            }
        }
    }
}

async fn prepare(
    session: &mut Session,
    reading: &Reading,
    names: &[String],
    statement: &Statement,
) -> Result<Prepared, PrepareError> {
    let slots: Vec<usize> = statement.variables().collect();
    let sql = statement.sql(reading.engine);
    let form = match session.prepare(&sql).await {
        Ok(prepared) => Form::Prepared(prepared),
        Err(error) if slots.is_empty() && is_never_prepared(&error) => Form::Text(sql),
        Err(error) => {
            let error = reading.refused(statement.place, &error);
            return Err(PrepareError::Script(error));
        }
    };
    if let (Form::Prepared(prepared), Engine::Postgres) = (&form, reading.engine) {
        for (slot, kind) in slots.iter().zip(prepared.parameter_types()) {
            if !parameter::accepts(kind) {
                let located = (statement.place, parameter::misplaced(&names[*slot], kind));
                let error = ScriptError::new(&reading.file, located);
                return Err(PrepareError::Script(error));
            }
        }
    }
    Ok(Prepared {
        form,
        slots,
        boundary: statement.boundary(),
    })
}
