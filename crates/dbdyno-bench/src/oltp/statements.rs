//! The statements that a connection has prepared, those of a kind once for each table.

use std::hint::black_box;

use super::input::{Command, Input, Step, Values};
use super::tables::name;
use super::{Config, Kind};
use crate::tpcc::sql::{prepare, repeated};
use crate::wire::{Engine, Params, Row, Session, Statement, WireError};

#[derive(Debug)]
pub(crate) struct Statements {
    tables: Vec<[Option<Statement>; Command::COUNT]>,
}

impl Statements {
    pub(crate) async fn prepare(session: &mut Session, config: &Config) -> Result<Self, WireError> {
        let commands = commands(config);
        // The two that read the secondary index know one table only.
        let count = match config.kind {
            Kind::SelectRandomPoints | Kind::SelectRandomRanges => 1,
            _ => config.tables,
        };
        let mut tables = Vec::with_capacity(count as usize);
        for table in 1..=count {
            let mut prepared: [Option<Statement>; Command::COUNT] = std::array::from_fn(|_| None);
            for &command in &commands {
                let sql = sql(command, &name(table), config, session.engine());
                prepared[command as usize] = Some(prepare(session, &sql).await?);
            }
            tables.push(prepared);
        }
        Ok(Self { tables })
    }

    pub(crate) fn queue(
        &self,
        session: &mut Session,
        input: &Input,
        step: &Step,
    ) -> Result<(), WireError> {
        session.queue(self.get(step)?, |params| fill(params, input, step))
    }

    /// Takes the answer of a step. Columns are only found: decoding them is no work of the server's.
    pub(crate) async fn take(&self, session: &mut Session, step: &Step) -> Result<(), WireError> {
        let statement = self.get(step)?;
        let columns = statement.columns.len();
        let read = |mut row: Row<'_>| {
            for _ in 0..columns {
                black_box(row.try_bytes()?);
            }
            Ok(())
        };
        session.rows(statement, read).await?;
        Ok(())
    }

    fn get(&self, step: &Step) -> Result<&Statement, WireError> {
        let table = self.tables.get(step.table as usize - 1);
        let statement = table.and_then(|table| table[step.command as usize].as_ref());
        statement.ok_or_else(|| WireError::protocol("a step has no statement prepared for it"))
    }
}

/// The statements that transactions are made of.
fn commands(config: &Config) -> Vec<Command> {
    let ranges = [
        (Command::SimpleRange, config.simple_ranges),
        (Command::SumRange, config.sum_ranges),
        (Command::OrderRange, config.order_ranges),
        (Command::DistinctRange, config.distinct_ranges),
    ];
    let point = [(Command::PointSelect, config.point_selects)];
    let updates = [
        (Command::UpdateIndex, config.index_updates),
        (Command::UpdateNonIndex, config.non_index_updates),
    ];
    let again = [
        (Command::Delete, config.delete_inserts),
        (Command::Insert, config.delete_inserts),
    ];
    let counted: Vec<(Command, u32)> = match config.kind {
        Kind::PointSelect => point.to_vec(),
        Kind::ReadOnly => [&point[..], &ranges].concat(),
        Kind::ReadWrite => [&point[..], &ranges, &updates, &again].concat(),
        Kind::WriteOnly => [updates, again].concat(),
        Kind::UpdateIndex => updates[..1].to_vec(),
        Kind::UpdateNonIndex => updates[1..].to_vec(),
        Kind::Delete => vec![(Command::Delete, 1)],
        Kind::Insert => vec![(Command::Append, 1)],
        Kind::SelectRandomPoints => vec![(Command::RandomPoints, 1)],
        Kind::SelectRandomRanges => vec![(Command::RandomRanges, 1)],
    };
    let used = counted.into_iter().filter(|(_, count)| *count > 0);
    used.map(|(command, _)| command).collect()
}

fn sql(command: Command, table: &str, config: &Config, engine: Engine) -> String {
    match command {
        Command::PointSelect => format!("SELECT c FROM {table} WHERE id = ?"),
        Command::SimpleRange => format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ?"),
        Command::SumRange => format!("SELECT sum(k) FROM {table} WHERE id BETWEEN ? AND ?"),
        Command::OrderRange => {
            format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c")
        }
        Command::DistinctRange => {
            format!("SELECT DISTINCT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c")
        }
        Command::RandomPoints => {
            let values = repeated("?", config.random_points as usize);
            format!("SELECT id, k, c, pad FROM {table} WHERE k IN ({values})")
        }
        Command::RandomRanges => {
            let ranges = vec!["k BETWEEN ? AND ?"; config.number_of_ranges as usize];
            let ranges = ranges.join(" OR ");
            format!("SELECT count(k) FROM {table} WHERE {ranges}")
        }
        Command::UpdateIndex => format!("UPDATE {table} SET k = k + 1 WHERE id = ?"),
        Command::UpdateNonIndex => format!("UPDATE {table} SET c = ? WHERE id = ?"),
        Command::Delete => format!("DELETE FROM {table} WHERE id = ?"),
        Command::Insert => format!("INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
        Command::Append => match engine {
            Engine::Postgres => format!("INSERT INTO {table} (k, c, pad) VALUES (?, ?, ?)"),
            // For which the server takes the next number.
            Engine::MySql => format!("INSERT INTO {table} (id, k, c, pad) VALUES (0, ?, ?, ?)"),
        },
    }
}

fn fill(params: &mut Params<'_>, input: &Input, step: &Step) {
    match &step.values {
        Values::Id(id) => {
            params.int((*id).into());
        }
        Values::Range { first, last } => {
            params.int((*first).into()).int((*last).into());
        }
        Values::Text { c, id } => {
            params.text(c.as_str()).int((*id).into());
        }
        Values::Row { id, k, c, pad } => {
            if let Some(id) = id {
                params.int((*id).into());
            }
            params.int((*k).into()).text(c.as_str()).text(pad.as_str());
        }
        Values::Numbers => {
            for number in &input.numbers {
                params.int((*number).into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::input::Dealer;
    use super::*;

    #[test]
    fn every_step_has_its_statement_with_as_many_placeholders() {
        for kind in Kind::ALL {
            let config = Config::new(kind);
            let commands = commands(&config);
            let mut input = Input::default();
            Dealer::new(&config, 1, 0).deal(&mut input);
            for step in &input.steps {
                assert!(commands.contains(&step.command), "{kind:?}: {step:?}");
                let parameters = match step.values {
                    Values::Id(_) => 1,
                    Values::Range { .. } | Values::Text { .. } => 2,
                    Values::Row { id, .. } => 3 + usize::from(id.is_some()),
                    Values::Numbers => input.numbers.len(),
                };
                for engine in [Engine::Postgres, Engine::MySql] {
                    let sql = sql(step.command, "sbtest1", &config, engine);
                    assert_eq!(sql.matches('?').count(), parameters, "{sql}");
                }
            }
            let used = |command: &Command| input.steps.iter().any(|step| step.command == *command);
            assert!(commands.iter().all(used), "{kind:?}");
        }
    }

    #[test]
    fn what_is_never_sent_is_not_prepared() {
        let config = Config {
            simple_ranges: 0,
            sum_ranges: 0,
            order_ranges: 0,
            distinct_ranges: 0,
            ..Config::new(Kind::ReadOnly)
        };
        assert_eq!(commands(&config), [Command::PointSelect]);
    }
}
