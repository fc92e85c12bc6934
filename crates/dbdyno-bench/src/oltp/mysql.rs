//! Fills the tables on MySQL and MariaDB: rows by LOAD DATA LOCAL or INSERT, then keys, then statistics.

use std::time::Instant;

use super::load::Order;
use super::rows::{part, parts};
use super::tables::name;
use super::{Config, LoadError};
use crate::driver::target;
use crate::tpcc::crew::{Crew, refused};
use crate::tpcc::mysql::load_data::{Encoder, Source};
use crate::tpcc::mysql::loader::{Place, form, open_for_load, send_rows};
use crate::tpcc::{self, Loaded};
use crate::wire::Link;

/// Makes the tables as soon as the server has admitted all connections, and fills them.
pub(super) fn fill(
    order: Order<'_>,
    create: impl FnOnce() -> Result<(), LoadError>,
) -> Result<Loaded, LoadError> {
    let config = *order.config;
    let target = target(order.connect).map_err(|error| order.unreachable(error))?;
    let open = || open_for_load(&target).map_err(|error| order.unreachable(error));
    let crew = Crew {
        target: &target,
        threads: order.threads,
        open: &open,
        progress: order.progress,
        stop: order.stop,
    };
    let mut all: Vec<Link> = (0..crew.threads)
        .map(|_| open())
        .collect::<Result<_, _>>()?;
    let form = form(&mut all[0]).map_err(|source| tpcc::LoadError::Sql {
        operation: "read",
        object: "@@local_infile".to_owned(),
        source: source.into(),
    })?;
    drop(all);
    let start = Instant::now();
    create()?;
    let units = parts(&config);
    let rows = crew.work(
        "rows",
        &units,
        config.rows(),
        &|link, &(table, index), meter| {
            let rows = || source(config, table, index);
            send_rows(link, form, Place::columns_of(&name(table)), &rows, meter)
        },
    )?;
    let seconds_rows = start.elapsed().as_secs_f64();
    statements(&crew, &config, ("keys", "index"), &|table, name| {
        format!("CREATE INDEX k_{table} ON {name} (k)")
    })?;
    let seconds_keys = start.elapsed().as_secs_f64() - seconds_rows;
    statements(&crew, &config, ("analyze", "analyze"), &|_, name| {
        format!("ANALYZE TABLE {name}")
    })?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Loaded {
        rows,
        seconds,
        seconds_rows,
        seconds_analyze: seconds - seconds_rows - seconds_keys,
        seconds_keys,
    })
}

/// What each table needs in a phase, of which the name and what it does are given.
fn statements(
    crew: &Crew<'_>,
    config: &Config,
    (phase, operation): (&'static str, &'static str),
    statement: &(dyn Fn(u32, &str) -> String + Sync),
) -> Result<(), LoadError> {
    let tables: Vec<u32> = (1..=config.tables).collect();
    let total = tables.len() as u64;
    crew.work(phase, &tables, total, &|link, &table, meter| {
        let name = name(table);
        let done = link.run(&statement(table, &name));
        done.map_err(refused(operation, &name))?;
        meter.add(1);
        Ok(())
    })?;
    Ok(())
}

/// The rows of a part in the order of the primary key, all columns of each.
fn source(config: Config, table: u32, index: u64) -> Source {
    let mut rows = part(config, table, index);
    Box::new(move |to: &mut Encoder| match rows.next() {
        Some(row) => {
            to.row()
                .int(row.id)
                .int(row.k)
                .quoted(row.c.as_bytes())
                .quoted(row.pad.as_bytes())
                .end();
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;
    use crate::tpcc::mysql::load_data::Form;

    #[test]
    fn rows_have_four_columns_in_their_order() {
        let config = Config {
            table_size: 3,
            ..Config::new(Kind::ReadWrite)
        };
        let mut encoder = Encoder::new(Form::File);
        assert!(encoder.fill(&mut source(config, 1, 0), usize::MAX, u64::MAX));
        let mut bytes = Vec::new();
        assert_eq!(encoder.take(&mut bytes), 3);
        let text = String::from_utf8(bytes).unwrap();
        for (line, id) in text.lines().zip(1..) {
            let fields: Vec<&str> = line.split('\t').collect();
            let lengths: Vec<usize> = fields[2..].iter().map(|field| field.len()).collect();
            assert_eq!(
                (fields[0], lengths),
                (format!("{id}").as_str(), vec![119, 59])
            );
        }
    }
}
