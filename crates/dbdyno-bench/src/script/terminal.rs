//! One connection that runs a script's transactions.

use std::sync::Arc;

use tokio_postgres::Client;

use super::expression::Value;
use super::parameter::accepts;
use super::random::Random;
use super::{Script, ScriptError, is_control};
use crate::driver::is_client_error;
use crate::workload::{End, Failure, PrepareError};

#[derive(Debug)]
pub(crate) struct Terminal {
    client: Client,
    script: Arc<Script>,
    begin: tokio_postgres::Statement,
    commit: tokio_postgres::Statement,
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
    statement: tokio_postgres::Statement,
    slots: Vec<usize>,
    parameters: Vec<Value>,
}

impl Terminal {
    pub(crate) async fn prepare(
        client: Client,
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
                statements
                    .push(prepare(&client, &script, &transaction.body.names, statement).await?);
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
        let begin = client
            .prepare("BEGIN")
            .await
            .map_err(PrepareError::Postgres)?;
        let commit = client
            .prepare("COMMIT")
            .await
            .map_err(PrepareError::Postgres)?;
        let weights = script.transactions.iter().scan(0, |sum, transaction| {
            *sum += u64::from(transaction.weight);
            Some(*sum)
        });
        let weights = weights.collect();
        let random = Random::new(seed, u64::from(index));
        Ok(Self {
            client,
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
        let program = &self.programs[self.current];
        let mut rest = program.statements.iter();
        if program.wrap
            && let Some(first) = rest.next()
        {
            // BEGIN goes out with the first statement, as the usual drivers send it.
            let begin = self.client.execute_raw(&self.begin, NOTHING);
            let (begun, done) = tokio::join!(biased; begin, self.run(first));
            begun.map_err(Failure::Postgres)?;
            done?;
        }
        for prepared in rest {
            self.run(prepared).await?;
        }
        if program.wrap {
            self.client
                .execute_raw(&self.commit, NOTHING)
                .await
                .map_err(Failure::Postgres)?;
        }
        Ok(program.end)
    }

    async fn run(&self, prepared: &Prepared) -> Result<(), Failure> {
        let parameters = prepared.parameters.iter().copied();
        match self
            .client
            .execute_raw(&prepared.statement, parameters)
            .await
        {
            Ok(_) => Ok(()),
            Err(error) if is_client_error(&error) => {
                Err(Failure::Script(self.script.refused(prepared.line, &error)))
            }
            Err(error) => Err(Failure::Postgres(error)),
        }
    }

    pub(crate) async fn rollback(&mut self) -> Result<(), tokio_postgres::Error> {
        self.client.batch_execute("ROLLBACK").await
    }

    pub(crate) fn may_retry(&self) -> bool {
        self.programs[self.current].may_retry
    }
}

const NOTHING: [Value; 0] = [];

async fn prepare(
    client: &Client,
    script: &Script,
    names: &[String],
    statement: &super::Statement,
) -> Result<Prepared, PrepareError> {
    let prepared = client.prepare(&statement.sql()).await;
    let prepared =
        prepared.map_err(|error| PrepareError::Script(script.refused(statement.line, &error)))?;
    let slots: Vec<usize> = statement.variables().collect();
    for (slot, ty) in slots.iter().zip(prepared.params()) {
        if !accepts(ty) {
            let name = &names[*slot];
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
