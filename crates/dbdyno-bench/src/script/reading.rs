//! A script as one engine reads it: what it sets up, runs and checks.

use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno_model::run::Check;

use super::SETUP_SEED;
use super::body::{Act, Body};
use super::error::{Place, ScriptError};
use super::expression::Value;
use super::random::Random;
use super::statement::Statement;
use crate::wire::{Engine, Link, WireError};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reading {
    pub(super) engine: Engine,
    pub(super) file: String,
    pub(super) setup: Body,
    pub(super) transactions: Vec<Transaction>,
    pub(super) checks: Vec<CheckQuery>,
    /// Whether the file had any section line.
    pub(super) sections: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Transaction {
    pub(super) name: String,
    pub(super) weight: u32,
    pub(super) body: Body,
    /// Add BEGIN and COMMIT.
    pub(super) wrap: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct CheckQuery {
    pub(super) name: String,
    pub(super) query: Statement,
}

impl Reading {
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.transactions.iter().map(|it| it.name.clone());
        names.collect()
    }

    /// Whether any transaction has a statement that may change data.
    pub(super) fn writes(&self) -> bool {
        let mut bodies = self.transactions.iter().map(|it| &it.body);
        bodies.any(|body| body.statements().any(Statement::writes))
    }

    /// Runs the setup's statements; whether it came to its end. `stop` is looked at between them.
    pub(crate) fn set_up(
        &self,
        link: &mut Link,
        stop: &AtomicBool,
        done: &mut dyn FnMut(usize, usize),
    ) -> Result<bool, ScriptError> {
        let total = self.setup.statements().count();
        let mut values = self.setup.values();
        let mut random = Random::new(SETUP_SEED, 0);
        let (mut at, mut ran) = (0, 0);
        loop {
            let act = self.setup.next(&mut at, &mut values, &mut random);
            let act = act.map_err(|located| ScriptError::new(&self.file, located))?;
            let Some(act) = act else {
                return Ok(true);
            };
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            // A setup has no pauses.
            if let Act::Run { statement, .. } = act {
                link.run(&statement.literal(&values))
                    .map_err(|error| self.refused(statement.place, &error))?;
                ran += 1;
                done(ran, total);
            }
        }
    }

    /// The script's checks, each passed if its query returned no row.
    pub(crate) fn check(&self, link: &mut Link) -> Result<Vec<Check>, ScriptError> {
        let values = self.setup_values()?;
        let mut checks = Vec::with_capacity(self.checks.len());
        for check in &self.checks {
            let sql = check.query.literal(&values);
            let mut first = None;
            link.text_rows(&sql, |row| {
                if first.is_none() {
                    first = Some(row.fields()?);
                }
                Ok(())
            })
            .map_err(|error| self.refused(check.query.place, &error))?;
            let detail = first.map(|fields| {
                let fields = fields.into_iter();
                let shown = fields.map(|field| field.unwrap_or_else(|| "null".to_owned()));
                format!("first row: {}", shown.collect::<Vec<_>>().join(", "))
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
    pub(super) fn setup_values(&self) -> Result<Vec<Value>, ScriptError> {
        let mut values = self.setup.values();
        let mut random = Random::new(SETUP_SEED, 0);
        let drawn = self.setup.draw(&mut values, &mut random);
        drawn.map_err(|located| ScriptError::new(&self.file, located))?;
        Ok(values)
    }

    /// The answer to one of the script's statements that was none, with the statement's place.
    pub(super) fn refused(&self, place: Place, error: &WireError) -> ScriptError {
        let server = error.server();
        let hint = server.and_then(|server| {
            let own = hint(&server.sqlstate, server.number);
            let own = server.read_only_hint().or(own);
            own.or(server.hint.as_deref())
        });
        let problem = (error.to_string(), hint.map(str::to_owned));
        ScriptError::new(&self.file, (place, problem))
    }
}

/// What to do about a refusal, where the server does not say it.
fn hint(sqlstate: &str, number: Option<u16>) -> Option<&'static str> {
    const NO_DATABASE: u16 = 1046;
    const UNKNOWN_FUNCTION: u16 = 1305;
    const NOT_PREPARED: u16 = 1295;
    const TOO_MANY_PREPARED: u16 = 1461;
    match (sqlstate, number) {
        (_, Some(NO_DATABASE)) => Some("name the database in the server's address"),
        (_, Some(NOT_PREPARED)) => {
            Some("MySQL prepares no such statement: without variables it is sent as text")
        }
        (_, Some(TOO_MANY_PREPARED)) => {
            Some("raise max_prepared_stmt_count, or use fewer connections")
        }
        // An undefined table, column or function.
        ("42P01" | "42703" | "42883" | "42S02" | "42S22", _) | (_, Some(UNKNOWN_FUNCTION)) => {
            Some("create it in the setup section, and load before you run")
        }
        ("42P18", _) => Some("cast the variable, as in :name::integer"),
        _ => None,
    }
}

/// Whether the server takes the statement as text alone.
pub(super) fn is_never_prepared(error: &WireError) -> bool {
    const UNSUPPORTED_PS: u16 = 1295;
    let number = error.server().and_then(|server| server.number);
    number == Some(UNSUPPORTED_PS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ServerError;

    fn refused(sqlstate: &str, number: Option<u16>, hint: Option<&str>) -> ScriptError {
        let text = "SELECT 1;\n  SELECT 2;";
        let reading = super::super::parse::parse(Engine::MySql, "load.sql", text).unwrap();
        let error = ServerError {
            sqlstate: sqlstate.to_owned(),
            number,
            message: "no".to_owned(),
            hint: hint.map(str::to_owned),
            fatal: false,
        };
        let second = reading.transactions[0].body.statements().nth(1).unwrap();
        reading.refused(second.place, &error.into())
    }

    #[test]
    fn a_refusal_has_its_place_and_the_next_step() {
        let error = refused("42S02", Some(1146), None);
        assert_eq!(error.to_string(), "load.sql:2:3: no (1146)");
        assert!(error.hint().unwrap().contains("setup"));
        for (sqlstate, number, words) in [
            ("42P01", None, "setup"),
            ("42000", Some(1305), "setup"),
            ("HY000", Some(1295), "as text"),
            ("42000", Some(1461), "max_prepared_stmt_count"),
            ("3D000", Some(1046), "database"),
            ("42P18", None, "::integer"),
            ("25006", None, "primary"),
            ("25006", Some(1792), "primary"),
        ] {
            let error = refused(sqlstate, number, Some("the server's own"));
            assert!(error.hint().unwrap().contains(words), "{sqlstate}");
        }
        let error = refused("42601", None, Some("the server's own"));
        assert_eq!(error.hint(), Some("the server's own"));
        assert_eq!(refused("42000", Some(1064), None).hint(), None);
    }

    #[test]
    fn only_one_refusal_means_that_text_may_pass() {
        let error = |number| {
            WireError::from(ServerError {
                sqlstate: "HY000".to_owned(),
                number: Some(number),
                message: "no".to_owned(),
                hint: None,
                fatal: false,
            })
        };
        assert!(is_never_prepared(&error(1295)));
        assert!(!is_never_prepared(&error(1064)));
        assert!(!is_never_prepared(&WireError::Closed));
    }
}
