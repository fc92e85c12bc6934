//! Your own statements as a workload: a file of weighted transactions, its setup and its checks.
//!
//! # The file
//!
//! Lines that begin with `-- dbdyno:` open a section; to any other program they are comments.
//!
//! ```sql
//! -- dbdyno: setup
//! \set rows 1000
//! CREATE TABLE digit (n int PRIMARY KEY);
//! INSERT INTO digit VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
//! CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL);
//! INSERT INTO account SELECT 1 + a.n + 10 * b.n + 100 * c.n, 0 FROM digit a, digit b, digit c;
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
//! \if :amount > 900
//! \sleep 1 ms
//! \endif
//! UPDATE account SET balance = balance + :amount WHERE id = :to;
//!
//! -- dbdyno: check nothing-lost
//! SELECT sum(balance) FROM account HAVING sum(balance) <> 0;
//! ```
//!
//! - `setup`: statements that run once, one after the other, each by itself.
//! - `transaction NAME [weight=N]`: one kind of transaction. Each terminal picks the next one by weight
//!   (1 where none is given). Several statements are wrapped in BEGIN and COMMIT; one alone is not. Where a
//!   section has its own BEGIN, COMMIT, END or ROLLBACK, nothing is added; one whose last such word is
//!   ROLLBACK counts as an intended rollback.
//! - `check NAME`: one query that must return no row. It runs after the load and after each run.
//!
//! A file without any such line is a pgbench script: one transaction named after the file, sent
//! as it stands.
//!
//! # Engines
//!
//! A file does not say whose it is. It is read by the rules of PostgreSQL and by those of MySQL and
//! MariaDB, which differ in what is a string, a name or a comment; the server decides which reading
//! counts. On MySQL's side the mysql client's DELIMITER is obeyed, for procedures and triggers.
//!
//! Statements end with `;` and may span lines. In a transaction they are sent as prepared
//! statements; what MySQL does not prepare goes as text.
//!
//! # Variables
//!
//! `\set NAME EXPRESSION` on a line of its own sets a variable; `:NAME` in a statement below sends it
//! as a parameter, except inside quotes and comments, and `::type` stays a cast. PostgreSQL's types that
//! take one: integers, floats, numeric, text, oid and boolean; cast in the statement for others
//! (`date '2024-01-01' + :day`). MySQL is sent a BIGINT, a DECIMAL or a DOUBLE and converts it. A line
//! that ends in `\` goes on in the next.
//!
//! `\sleep`, `\if`, `\elif`, `\else` and `\endif` are pgbench's, and so are operators and functions, of
//! which the guide has the list. Two differ: truth is a number, 0 or not; and `permute` and the random
//! functions draw from generators of our own.
//!
//! Variables of the setup, and those set above the first section, are drawn once and hold for
//! all sections; `client_id` is the number of the terminal, from 0. A transaction that is repeated after
//! a deadlock keeps its values.

mod body;
mod command;
mod draft;
mod error;
mod expression;
mod function;
mod grammar;
mod lexer;
mod operator;
mod parameter;
mod parse;
mod print;
mod random;
mod reader;
mod reading;
mod statement;
mod terminal;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

pub use error::ScriptError;
pub use expression::Value;
use reading::Reading;
pub(crate) use terminal::Terminal;

use crate::wire::Engine;

/// The variable that every body has: the number of its terminal.
const CLIENT_ID: &str = "client_id";

/// Setup values must not differ between the load and the runs on it.
const SETUP_SEED: u64 = 0x6462_6479_6e6f;

/// A script that has been read and found sound; only the server can find more.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    file: String,
    readings: Readings,
}

/// As each engine reads the same text.
#[derive(Debug, Clone, PartialEq)]
enum Readings {
    Both {
        postgres: Arc<Reading>,
        mysql: Arc<Reading>,
    },
    /// To the other engine it makes no sense.
    One(Arc<Reading>, ScriptError),
}

impl Script {
    /// Reads a script; `file` names it in errors, and names the transaction of a plain pgbench script.
    ///
    /// # Errors
    /// It makes sense to neither engine. What is told is the error that stands further down.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScriptError> {
        let read = |engine| parse::parse(engine, file, text).map(Arc::new);
        let readings = match (read(Engine::Postgres), read(Engine::MySql)) {
            (Ok(postgres), Ok(mysql)) => Readings::Both { postgres, mysql },
            (Ok(reading), Err(error)) | (Err(error), Ok(reading)) => Readings::One(reading, error),
            (Err(one), Err(other)) => {
                let further = (other.line, other.column) > (one.line, one.column);
                return Err(if further { other } else { one });
            }
        };
        Ok(Self {
            file: file.to_owned(),
            readings,
        })
    }

    /// Reads a script that is for this engine, whatever it is to the other.
    ///
    /// # Errors
    /// It makes no sense to the engine.
    pub fn parse_for(engine: Engine, file: &str, text: &str) -> Result<Self, ScriptError> {
        parse::parse(engine, file, text)?;
        Self::parse(file, text)
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    pub fn transactions(&self) -> Vec<String> {
        self.any().names()
    }

    /// Whether any transaction has a statement that may change data.
    pub fn writes(&self) -> bool {
        match &self.readings {
            Readings::Both { postgres, mysql } => postgres.writes() || mysql.writes(),
            Readings::One(reading, _) => reading.writes(),
        }
    }

    /// A file that the engine reads as it reads this one.
    ///
    /// # Errors
    /// It makes no sense to the engine.
    pub fn print(&self, engine: Engine) -> Result<String, ScriptError> {
        self.reading(engine).map(|reading| print::print(reading))
    }

    pub(crate) fn reading(&self, engine: Engine) -> Result<&Arc<Reading>, ScriptError> {
        match (&self.readings, engine) {
            (Readings::Both { postgres, .. }, Engine::Postgres) => Ok(postgres),
            (Readings::Both { mysql, .. }, Engine::MySql) => Ok(mysql),
            (Readings::One(reading, _), engine) if reading.engine == engine => Ok(reading),
            (Readings::One(_, error), _) => Err(error.clone()),
        }
    }

    /// For what all readings have in common.
    fn any(&self) -> &Reading {
        match &self.readings {
            Readings::Both { postgres, .. } => postgres,
            Readings::One(reading, _) => reading,
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print::print(self.any()))
    }
}
