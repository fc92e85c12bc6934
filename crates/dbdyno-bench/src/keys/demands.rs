//! What is demanded of the table: its number of rows, keys of the right kind, none twice.

use dbdyno_model::connection::Engine;

use super::config::{Config, Kind};
use super::layout::TABLE;
use super::value::Shape;
use crate::tables::Demand;
use crate::tpcc::When;

pub(super) fn demands(config: &Config, when: When, engine: Engine) -> Vec<Demand> {
    let letters = config.filler;
    vec![
        rows(config, when),
        key(config, when, engine),
        Demand {
            name: "duplicates",
            description: "no key is there twice".to_owned(),
            sql: format!(
                "SELECT count(*) FROM
                    (SELECT id FROM {TABLE} GROUP BY id HAVING count(*) > 1) AS twice"
            ),
        },
        Demand {
            name: "fillers",
            description: format!("every row has {letters} letters"),
            sql: format!("SELECT count(*) FROM {TABLE} WHERE length(filler) <> {letters}"),
        },
    ]
}

fn rows(config: &Config, when: When) -> Demand {
    let rows = config.rows;
    let grows = config.kind == Kind::Inserts && when == When::AfterRun;
    let (description, sql) = if grows {
        (
            format!("there are at least the {rows} rows of the load"),
            format!(
                "SELECT CASE WHEN count(*) < {rows} THEN {rows} - count(*) ELSE 0 END FROM {TABLE}"
            ),
        )
    } else {
        (
            format!("there are the {rows} rows of the load"),
            format!("SELECT abs(count(*) - {rows}) FROM {TABLE}"),
        )
    };
    Demand {
        name: "rows",
        description,
        sql,
    }
}

fn key(config: &Config, when: When, engine: Engine) -> Demand {
    let shape = Shape::of(config);
    let rows = config.rows;
    let (description, sql) = match shape {
        Shape::Dense if when == When::AfterLoad => (
            format!("keys are the numbers from 1 to {rows}"),
            format!("SELECT count(*) FROM {TABLE} WHERE id NOT BETWEEN 1 AND {rows}"),
        ),
        Shape::Dense | Shape::Spread => (
            "keys are positive".to_owned(),
            format!("SELECT count(*) FROM {TABLE} WHERE id < 1"),
        ),
        // The load's are spread over all there are.
        Shape::Random64 if rows > 1 => (
            "there are keys on either side of 0".to_owned(),
            format!("SELECT CASE WHEN min(id) < 0 AND max(id) >= 0 THEN 0 ELSE 1 END FROM {TABLE}"),
        ),
        Shape::Random64 => (
            "keys are numbers".to_owned(),
            format!("SELECT count(*) FROM {TABLE} WHERE id IS NULL"),
        ),
        Shape::UuidV4 => uuid(engine, 4),
        Shape::UuidV7 => uuid(engine, 7),
    };
    Demand {
        name: "keys",
        description,
        sql,
    }
}

/// Version and variant are digits 13 and 17, in PostgreSQL's text behind two and three hyphens.
fn uuid(engine: Engine, version: u8) -> (String, String) {
    let (text, version_at, variant_at) = match engine {
        Engine::Postgres => ("id::text", 15, 20),
        Engine::MySql => ("lower(hex(id))", 13, 17),
    };
    (
        format!("keys are UUIDs of version {version}"),
        format!(
            "SELECT count(*) FROM {TABLE} WHERE substr({text}, {version_at}, 1) <> '{version}'
             OR substr({text}, {variant_at}, 1) NOT IN ('8', '9', 'a', 'b')"
        ),
    )
}
