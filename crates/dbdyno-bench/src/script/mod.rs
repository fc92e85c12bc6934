//! Your own statements as a workload: a file of weighted transactions, its setup and its checks.
//!
//! # The file
//!
//! Lines that begin with `-- dbdyno:` open a section; to any other program they are comments.
//!
//! ```sql
//! -- dbdyno: setup
//! \set rows 100000
//! CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL);
//! INSERT INTO account SELECT id, 0 FROM generate_series(1, :rows) AS id;
//!
//! -- dbdyno: transaction look weight=9
//! \set id random_zipfian(1, :rows, 1.1)
//! SELECT balance FROM account WHERE id = :id;
//!
//! -- dbdyno: transaction transfer
//! \set from random(1, :rows)
//! \set to :from % :rows + 1
//! \set amount random_gaussian(1, 1000, 2.5)
//! UPDATE account SET balance = balance - :amount WHERE id = :from;
//! UPDATE account SET balance = balance + :amount WHERE id = :to;
//!
//! -- dbdyno: check nothing-lost
//! SELECT sum(balance) FROM account HAVING sum(balance) <> 0;
//! ```
//!
//! - `setup`: statements that run once, one after the other, each by itself.
//! - `transaction NAME [weight=N]`: one kind of transaction. Each terminal picks the next one by weight
//!   (1 where none is given). Several statements are wrapped in BEGIN and COMMIT; one alone is not. Where a
//!   section has its own BEGIN, COMMIT, END or ROLLBACK, nothing is added; one whose last word is
//!   ROLLBACK counts as an intended rollback.
//! - `check NAME`: one query that must return no row. It runs after the load and after each run.
//!
//! A file without any such line is a pgbench script: one transaction named after the file, sent
//! as it stands.
//!
//! Statements end with `;` and may span lines. They are sent as prepared statements.
//!
//! # Variables
//!
//! `\set NAME EXPRESSION` on a line of its own sets a variable; `:NAME` in a statement below sends it
//! as a parameter, except inside quotes, comments and dollar quotes, and `::type` stays a cast. Server
//! types that take one: integers, floats, numeric, text, oid and boolean; cast in the statement for others
//! (`date '2024-01-01' + :day`). A line that ends in `\` goes on in the next.
//!
//! - Integers and floats, `:NAME`, `+ - * / %`, parentheses. Integers divide to integers.
//! - `random(lo, hi)`: uniform, both ends included.
//! - `random_gaussian(lo, hi, p)`: a bell, cut off at p ≥ 2 standard deviations.
//! - `random_exponential(lo, hi, p)`: falls by e^−p from lo to hi, p > 0.
//! - `random_zipfian(lo, hi, p)`: lo is the most frequent, 1.001 ≤ p ≤ 1000.
//!
//! Variables of the setup, and those set above the first section, are drawn once and hold for
//! all sections; `client_id` is the number of the terminal, from 0. A transaction that is repeated after
//! a deadlock keeps its values.

mod expression;
mod grammar;
mod parameter;
mod parse;
mod print;
mod random;
mod reader;
mod statement;
mod terminal;
#[cfg(test)]
mod tests;

use std::fmt;

use dbdyno_model::run::Check;

pub use expression::Value;
use expression::{Expression, Problem};
use random::Random;
use statement::{Piece, Statement, is_control};
pub(crate) use terminal::Terminal;

use crate::wire::WireError;

/// The variable that every body has: the number of its terminal.
const CLIENT_ID: &str = "client_id";

/// Setup values must not differ between the load and the runs on it.
const SETUP_SEED: u64 = 0x6462_6479_6e6f;

/// A script that has been read and found sound; only the server can find more.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    file: String,
    setup: Body,
    transactions: Vec<Transaction>,
    checks: Vec<CheckQuery>,
    /// Whether the file had any section line.
    sections: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Transaction {
    name: String,
    weight: u32,
    body: Body,
    /// Add BEGIN and COMMIT.
    wrap: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct CheckQuery {
    name: String,
    query: Statement,
}

/// What a section does, and the names of the variables it knows.
#[derive(Debug, Clone, Default, PartialEq)]
struct Body {
    names: Vec<String>,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Set {
        line: usize,
        slot: usize,
        expression: Expression,
    },
    Run(Statement),
}

/// A script that cannot be used as it is, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct ScriptError {
    pub file: String,
    pub line: usize,
    pub message: String,
    hint: Option<String>,
}

impl ScriptError {
    pub(crate) fn new(file: &str, line: usize, (message, hint): Problem) -> Self {
        Self {
            file: file.to_owned(),
            line,
            message,
            hint,
        }
    }

    /// The next step, where the message alone does not say it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl Script {
    /// Reads a script; `file` names it in errors, and names the transaction of a plain pgbench script.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScriptError> {
        parse::parse(file, text)
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    pub fn transactions(&self) -> Vec<String> {
        self.transactions
            .iter()
            .map(|transaction| transaction.name.clone())
            .collect()
    }

    /// Whether any transaction has a statement that is not a SELECT.
    pub fn writes(&self) -> bool {
        let statements = self
            .transactions
            .iter()
            .flat_map(|transaction| transaction.body.statements());
        statements.into_iter().any(|statement| {
            let keyword = statement.keyword();
            keyword != "SELECT" && !is_control(&keyword)
        })
    }

    /// Runs the setup's statements. `stop` is looked at between them.
    pub(crate) fn set_up(
        &self,
        client: &mut postgres::Client,
        stop: &std::sync::atomic::AtomicBool,
        done: &mut dyn FnMut(usize, usize),
    ) -> Result<bool, ScriptError> {
        let total = self.setup.statements().count();
        let mut values = self.setup.values();
        let mut random = Random::new(SETUP_SEED, 0);
        let mut ran = 0;
        for step in &self.setup.steps {
            if stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Ok(false);
            }
            match step {
                Step::Set {
                    line,
                    slot,
                    expression,
                } => {
                    values[*slot] = self.evaluate(*line, expression, &values, &mut random)?;
                }
                Step::Run(statement) => {
                    client
                        .batch_execute(&statement.literal(&values))
                        .map_err(|error| self.refused_setup(statement.line, &error))?;
                    ran += 1;
                    done(ran, total);
                }
            }
        }
        Ok(true)
    }

    /// The script's checks, each passed if its query returned no row.
    pub(crate) fn check(
        &self,
        connection: &mut postgres::Client,
    ) -> Result<Vec<Check>, postgres::Error> {
        let values = self.setup_values().unwrap_or_else(|_| self.setup.values());
        let mut checks = Vec::with_capacity(self.checks.len());
        for check in &self.checks {
            let sql = check.query.literal(&values);
            let messages = connection.simple_query(&sql)?;
            let row = messages.iter().find_map(|message| match message {
                postgres::SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            });
            let detail = row.map(|row| {
                let fields = (0..row.len()).map(|at| row.get(at).unwrap_or("null").to_owned());
                format!("first row: {}", fields.collect::<Vec<_>>().join(", "))
            });
            checks.push(Check {
                name: check.name.clone(),
                description: sql,
                passed: detail.is_none(),
                detail,
            });
        }
        Ok(checks)
    }

    /// The setup's variables as all later sections see them.
    fn setup_values(&self) -> Result<Vec<Value>, ScriptError> {
        let mut values = self.setup.values();
        self.draw(
            &self.setup,
            &mut values,
            &mut Random::new(SETUP_SEED, 0),
            |_, _| (),
        )?;
        Ok(values)
    }

    /// Walks through a body: sets its variables, and shows each statement the values it finds.
    fn draw(
        &self,
        body: &Body,
        values: &mut [Value],
        random: &mut Random,
        mut run: impl FnMut(&Statement, &[Value]),
    ) -> Result<(), ScriptError> {
        for step in &body.steps {
            match step {
                Step::Set {
                    line,
                    slot,
                    expression,
                } => {
                    values[*slot] = self.evaluate(*line, expression, values, random)?;
                }
                Step::Run(statement) => run(statement, values),
            }
        }
        Ok(())
    }

    fn evaluate(
        &self,
        line: usize,
        expression: &Expression,
        values: &[Value],
        random: &mut Random,
    ) -> Result<Value, ScriptError> {
        expression
            .evaluate(values, random)
            .map_err(|message| ScriptError::new(&self.file, line, (message, None)))
    }

    /// The server's answer to one of the script's statements, with the statement's line.
    fn refused(&self, line: usize, error: &WireError) -> ScriptError {
        let server = error.server();
        self.refusal(
            line,
            error.to_string(),
            server.map(|server| server.sqlstate.as_str()),
            server.and_then(|server| server.hint.as_deref()),
        )
    }

    /// The same for the setup, which the client library sends.
    fn refused_setup(&self, line: usize, error: &postgres::Error) -> ScriptError {
        self.refusal(
            line,
            crate::driver::deepest(error),
            error.code().map(postgres::error::SqlState::code),
            error.as_db_error().and_then(|server| server.hint()),
        )
    }

    fn refusal(
        &self,
        line: usize,
        message: String,
        sqlstate: Option<&str>,
        hint: Option<&str>,
    ) -> ScriptError {
        let hint = match sqlstate {
            Some("42P01" | "42703" | "42883") => {
                Some("create it in the setup section, and load before you run")
            }
            Some("42P18") => Some("cast the variable, as in :name::integer"),
            _ => hint,
        };
        ScriptError::new(&self.file, line, (message, hint.map(str::to_owned)))
    }
}

impl Body {
    fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.steps.iter().filter_map(|step| match step {
            Step::Run(statement) => Some(statement),
            Step::Set { .. } => None,
        })
    }

    fn values(&self) -> Vec<Value> {
        vec![Value::Int(0); self.names.len()]
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print::print(self))
    }
}
