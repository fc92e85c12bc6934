//! One connection that runs a script's transactions.

use std::sync::Arc;

use super::expression::Value;
use super::parameter::{accepts, put};
use super::random::Random;
use super::{Script, ScriptError, is_control};
use crate::wire::{self, Sent, Session, WireError};
use crate::workload::{End, Failure, PrepareError};

#[derive(Debug)]
pub(crate) struct Terminal {
    session: Session,
    script: Arc<Script>,
    begin: wire::Statement,
    commit: wire::Statement,
    programs: Vec<Program>,
    /// Sum of the weights up to each transaction.
    weights: Vec<u64>,
    random: Random,
    current: usize,
    /// Drawing the current transaction's values failed.
    failed: Option<ScriptError>,
}

/// A transaction, prepared.
#[derive(Debug)]
struct Program {
    statements: Vec<Prepared>,
    /// The variables before the first step, and as they are.
    initial: Vec<Value>,
    values: Vec<Value>,
    wrap: bool,
    end: End,
    may_retry: bool,
}

#[derive(Debug)]
struct Prepared {
    line: usize,
    statement: wire::Statement,
    slots: Vec<usize>,
    parameters: Vec<Value>,
}

impl Terminal {
    pub(crate) async fn prepare(
        mut session: Session,
        script: Arc<Script>,
        seed: u64,
        index: u32,
    ) -> Result<Self, PrepareError> {
        let setup = script.setup_values().map_err(PrepareError::Script)?;
        let mut programs = Vec::with_capacity(script.transactions.len());
        for transaction in &script.transactions {
            let mut initial = transaction.body.values();
            initial[..setup.len()].copy_from_slice(&setup);
            initial[0] = Value::Int(i64::from(index));
            let mut statements = Vec::new();
            for statement in transaction.body.statements() {
                statements.push(
                    prepare(&mut session, &script, &transaction.body.names, statement).await?,
                );
            }
            let keywords: Vec<String> = transaction
                .body
                .statements()
                .map(|statement| statement.keyword())
                .collect();
            let opens = |word: &String| matches!(word.as_str(), "BEGIN" | "START");
            let control = keywords
                .iter()
                .rev()
                .find(|word| is_control(word))
                .map(String::as_str);
            // What was committed one by one must not be done twice.
            let whole = keywords.first().is_some_and(opens)
                && keywords.last().is_some_and(|word| is_control(word));
            programs.push(Program {
                may_retry: transaction.wrap || whole || keywords.len() == 1,
                end: if matches!(control, Some("ROLLBACK" | "ABORT")) {
                    End::RolledBack
                } else {
                    End::Committed
                },
                values: initial.clone(),
                statements,
                initial,
                wrap: transaction.wrap,
            });
        }
        let begin = session.prepare("BEGIN").await.map_err(PrepareError::Wire)?;
        let commit = session
            .prepare("COMMIT")
            .await
            .map_err(PrepareError::Wire)?;
        let weights = script.transactions.iter().scan(0, |sum, transaction| {
            *sum += u64::from(transaction.weight);
            Some(*sum)
        });
        let weights = weights.collect();
        let random = Random::new(seed, u64::from(index));
        Ok(Self {
            session,
            script,
            begin,
            commit,
            programs,
            weights,
            random,
            current: 0,
            failed: None,
        })
    }

    /// Picks the next transaction and draws its values.
    pub(crate) fn next(&mut self) -> usize {
        let total = self.weights.last().copied().unwrap_or(1);
        let pick = self.random.below(total);
        self.current = self.weights.partition_point(|&sum| sum <= pick);
        let Program {
            statements,
            initial,
            values,
            ..
        } = &mut self.programs[self.current];
        values.copy_from_slice(initial);
        let mut prepared = statements.iter_mut();
        let body = &self.script.transactions[self.current].body;
        let drawn = self
            .script
            .draw(body, values, &mut self.random, |_, values| {
                if let Some(prepared) = prepared.next() {
                    for (parameter, slot) in prepared.parameters.iter_mut().zip(&prepared.slots) {
                        *parameter = values[*slot];
                    }
                }
            });
        self.failed = drawn.err();
        self.current
    }

    /// Sends the current transaction.
    pub(crate) async fn execute(&mut self) -> Result<End, Failure> {
        if let Some(error) = self.failed.take() {
            return Err(Failure::Script(error));
        }
        let Self {
            session,
            script,
            programs,
            ..
        } = self;
        let program = &programs[self.current];
        if program.wrap {
            // BEGIN goes out with the first statement, as the usual drivers send it.
            session.queue(&self.begin, |_| {}).map_err(Failure::Wire)?;
        }
        for (index, prepared) in program.statements.iter().enumerate() {
            prepared.queue(session, script)?;
            if program.wrap && index == 0 {
                session.done().await.map_err(Failure::Wire)?;
            }
            session.done().await.map_err(Failure::Wire)?;
        }
        if program.wrap {
            session.queue(&self.commit, |_| {}).map_err(Failure::Wire)?;
            session.done().await.map_err(Failure::Wire)?;
        }
        Ok(program.end)
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
    fn queue(&self, session: &mut Session, script: &Script) -> Result<(), Failure> {
        let fill = |params: &mut wire::Params<'_>| {
            let kinds = self.statement.parameter_types();
            for (kind, value) in kinds.zip(&self.parameters) {
                put(params, kind, *value);
            }
        };
        session
            .queue(&self.statement, fill)
            .map_err(|error| Failure::Script(script.refused(self.line, &error)))
    }
}

async fn prepare(
    session: &mut Session,
    script: &Script,
    names: &[String],
    statement: &super::Statement,
) -> Result<Prepared, PrepareError> {
    let prepared = session.prepare(&statement.sql()).await;
    let prepared =
        prepared.map_err(|error| PrepareError::Script(script.refused(statement.line, &error)))?;
    let slots: Vec<usize> = statement.variables().collect();
    for (slot, ty) in slots.iter().zip(prepared.parameter_types()) {
        if !accepts(ty) {
            let name = &names[*slot];
            let ty = wire::postgres::types::name(ty);
            let ty = ty.trim_start_matches("type ");
            let message = format!("variable :{name} stands where the server expects a {ty}");
            let hint =
                format!("let the server compute it, as in date '2024-01-01' + :{name}::integer");
            let error = ScriptError::new(&script.file, statement.line, (message, Some(hint)));
            return Err(PrepareError::Script(error));
        }
    }
    let parameters = vec![Value::Int(0); slots.len()];
    Ok(Prepared {
        line: statement.line,
        statement: prepared,
        slots,
        parameters,
    })
}
