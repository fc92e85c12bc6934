//! Fills the tables on MySQL and MariaDB: rows by LOAD DATA LOCAL or INSERT, then keys, then statistics.

use std::time::Instant;

use dbdyno_model::connection::Engine;

use super::load::{Order, part_name};
use super::rows::part;
use super::tables::name;
use super::{Config, LoadError};
use crate::generate::Encoded;
use crate::ledger::{Done, TextSql, ahead};
use crate::tpcc::crew::Crew;
use crate::tpcc::mysql::load_data::{Encoder, Source};
use crate::tpcc::mysql::loader::{Place, encode_nowhere, form, send_rows};
use crate::tpcc::shift::Meter;
use crate::tpcc::{self, Loaded};

/// Makes the tables as soon as the server has admitted all connections, and fills them.
pub(super) fn fill(
    order: Order<'_>,
    begin: impl FnOnce(&mut dyn TextSql) -> Result<Done, LoadError>,
) -> Result<Loaded, LoadError> {
    let (config, ledger) = (*order.config, order.ledger);
    let (crew, mut own) = Crew::open(order.connect, order.threads, order.progress, order.stop)?;
    let form = form(&mut own).map_err(|source| tpcc::LoadError::Sql {
        operation: "read",
        object: "@@local_infile".to_owned(),
        source: source.into(),
    })?;
    let clock = Instant::now();
    let done = begin(&mut own)?;
    let (parts, total) = order.parts(&done)?;
    let rows = crew.work("rows", &parts, total, &|link, unit, meter| {
        let record = ledger.record_unit(&part_name(unit));
        let &(table, index) = unit;
        let rows = || source(config, table, index);
        let name = name(table);
        let place = Place::columns_of(&name);
        send_rows(link, form, place, &record, &rows, meter)
    })?;
    let seconds_rows = clock.elapsed().as_secs_f64();
    let keys = ahead(order.steps(key), &mut own, Engine::MySql)?;
    crew.steps("keys", "index", &keys)?;
    let seconds_keys = clock.elapsed().as_secs_f64() - seconds_rows;
    let analyze = order.steps(|name| format!("ANALYZE TABLE {name}"));
    let analyze = ledger.recorded(&done, "analyze", analyze);
    crew.steps("analyze", "analyze", &analyze)?;
    ledger.close(&mut own, None)?;
    let seconds = clock.elapsed().as_secs_f64();
    Ok(Loaded {
        rows,
        seconds,
        seconds_rows,
        seconds_analyze: seconds - seconds_rows - seconds_keys,
        seconds_keys,
    })
}

/// Under sysbench's name.
fn key(name: &str) -> String {
    let number = name.trim_start_matches("sbtest");
    format!("CREATE INDEX k_{number} ON {name} (k)")
}

/// The rows of a part without a server, as a file.
pub(super) fn encode_part_nowhere(
    config: Config,
    &(table, index): &(u32, u64),
    meter: &Meter<'_>,
) -> Result<Encoded, tpcc::LoadError> {
    encode_nowhere(source(config, table, index), meter)
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
