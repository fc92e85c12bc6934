//! The table of friendships with its two choices of keys, as each engine takes it.

use std::io;
use std::ops::Range;

use dbdyno_model::connection::Engine;

use super::config::{Config, Kind};
use super::rows::{Friendship, Friendships, MADE_FROM_S};
use crate::tables::Contents;
use crate::tpcc::mysql::load_data::{self, Form, Source};
use crate::tpcc::postgres::copy;
use crate::tpcc::postgres::copy_into::Copy;

pub(super) const TABLE: &str = "dbdyno_friends";
pub(super) const STORED: &str = "dbdyno_friends_load";

/// On the wire PostgreSQL counts microseconds from 2000 on.
const EPOCH_2000_S: u64 = 946_684_800;

impl Contents for Config {
    fn table(&self) -> &'static str {
        TABLE
    }

    fn stored(&self) -> &'static str {
        STORED
    }

    fn identity(&self) -> String {
        let (kind, rows) = (self.kind.name(), self.stored_rows());
        let Self { friends, seed, .. } = self;
        format!("kind={kind} rows={rows} friends={friends} seed={seed}")
    }

    fn validate(&self) -> Result<(), String> {
        self.refusal().map_or(Ok(()), Err)
    }

    fn rows(&self) -> u64 {
        self.stored_rows()
    }

    fn create(&self, engine: Engine) -> Vec<(&'static str, String)> {
        let (time, small) = match engine {
            Engine::Postgres => ("timestamptz", "smallint"),
            Engine::MySql => ("datetime", "tinyint"),
        };
        // InnoDB keeps rows in their primary key, which comes with the table.
        let key = match (engine, self.kind) {
            (Engine::Postgres, _) => "",
            (Engine::MySql, Kind::Surrogate) => ", PRIMARY KEY (id)",
            (Engine::MySql, Kind::Clustered) => ", PRIMARY KEY (user_id, friend_user_id)",
        };
        let create = format!(
            "CREATE TABLE {TABLE} (id bigint NOT NULL, user_id int NOT NULL,
                friend_user_id int NOT NULL, created {time} NOT NULL, active {small} NOT NULL{key})"
        );
        vec![(TABLE, create)]
    }

    fn indexes(&self, engine: Engine) -> Vec<String> {
        let statement = match (engine, self.kind) {
            (Engine::Postgres, kind) => {
                let (primary, other) = match kind {
                    Kind::Surrogate => (
                        "(id)",
                        "CREATE UNIQUE INDEX dbdyno_friends_user
                            ON dbdyno_friends (user_id, friend_user_id)",
                    ),
                    Kind::Clustered => (
                        "(user_id, friend_user_id)",
                        "CREATE INDEX dbdyno_friends_id ON dbdyno_friends (id)",
                    ),
                };
                return vec![
                    format!("CREATE UNIQUE INDEX dbdyno_friends_pkey ON {TABLE} {primary}"),
                    other.to_owned(),
                    format!("CREATE INDEX dbdyno_friends_friend ON {TABLE} (friend_user_id)"),
                ];
            }
            // Built one after the other anyway, but in one pass over the rows.
            (Engine::MySql, Kind::Surrogate) => {
                "ADD UNIQUE KEY user_friend (user_id, friend_user_id)"
            }
            (Engine::MySql, Kind::Clustered) => "ADD KEY id (id)",
        };
        vec![format!(
            "ALTER TABLE {TABLE} {statement}, ADD KEY friend (friend_user_id)"
        )]
    }

    fn finish(&self, engine: Engine) -> Vec<String> {
        match engine {
            Engine::Postgres => vec![format!(
                "ALTER TABLE {TABLE} ADD CONSTRAINT dbdyno_friends_pkey
                 PRIMARY KEY USING INDEX dbdyno_friends_pkey"
            )],
            Engine::MySql => Vec::new(),
        }
    }

    fn fields(&self) -> &'static str {
        "(id, user_id, friend_user_id, @made, active)
         SET created = '2025-01-01' + INTERVAL @made SECOND"
    }

    fn copy(&self, rows: Range<u64>, to: &mut Copy<'_>) -> io::Result<()> {
        to.each(in_order(self, rows), |to, row| encode(to, &row))
    }

    fn lines(&self, form: Form, rows: Range<u64>) -> Source {
        let mut rows = in_order(self, rows);
        Box::new(move |to: &mut load_data::Encoder| {
            let Some(row) = rows.next() else {
                return false;
            };
            to.row().long(row.id).long(row.user).long(row.friend);
            match form {
                Form::File => to.long(row.made_s),
                Form::Values => {
                    let made = format!("'2025-01-01' + INTERVAL {} SECOND", row.made_s);
                    to.raw(made.as_bytes())
                }
            };
            to.long(1).end();
            true
        })
    }

    fn record_bytes(&self, index: &str) -> Option<u64> {
        /// A record's header, and what a row has beside: its transaction's id and a pointer.
        const HEADER: u64 = 5;
        const VERSION: u64 = 6 + 7;
        const ID: u64 = 8;
        const USER: u64 = 4;
        const TIME_AND_ACTIVE: u64 = 5 + 1;
        // An index ends in the columns of the primary key that it does not have itself.
        let record = match (index, self.kind) {
            ("PRIMARY", _) => VERSION + ID + 2 * USER + TIME_AND_ACTIVE,
            ("user_friend", _) => 2 * USER + ID,
            ("friend", Kind::Surrogate) => USER + ID,
            ("friend", Kind::Clustered) => 2 * USER,
            ("id", _) => ID + 2 * USER,
            _ => return None,
        };
        Some(HEADER + record)
    }
}

fn encode(to: &mut copy::Encoder, row: &Friendship) {
    let micros = (MADE_FROM_S - EPOCH_2000_S + row.made_s) * 1_000_000;
    to.row(5)
        .field(&row.id.to_be_bytes())
        .field(&(row.user as u32).to_be_bytes())
        .field(&(row.friend as u32).to_be_bytes())
        .field(&micros.to_be_bytes())
        .field(&1_u16.to_be_bytes());
}

/// Rows as they arrived, or as the composite key has them.
fn in_order(config: &Config, rows: Range<u64>) -> Box<dyn Iterator<Item = Friendship>> {
    let all = Friendships::new(config);
    match config.kind {
        Kind::Surrogate => Box::new(rows.map(move |arrival| all.of_arrival(arrival))),
        Kind::Clustered => {
            let mut user = Vec::new();
            let mut whose = None;
            Box::new(rows.map(move |place| {
                let (number, nth) = all.place(place);
                if whose != Some(number) {
                    all.of_user(number, &mut user);
                    whose = Some(number);
                }
                user[nth]
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(kind: Kind) -> Config {
        Config {
            rows: 1_000,
            friends: 7,
            ..Config::new(kind)
        }
    }

    #[test]
    fn units_begin_anywhere_within_a_user() {
        for kind in Kind::ALL {
            let config = config(kind);
            let rows = config.stored_rows();
            let whole: Vec<Friendship> = in_order(&config, 0..rows).collect();
            let parts = [0..10, 10..11, 11..500, 500..rows];
            let parts = parts.into_iter().flat_map(|part| in_order(&config, part));
            assert_eq!(parts.collect::<Vec<_>>(), whole, "{kind:?}");
        }
    }

    #[test]
    fn only_one_of_them_lies_by_user() {
        let by_user = |kind| {
            let rows = in_order(&config(kind), 0..1_001);
            rows.map(|row| (row.user, row.friend)).is_sorted()
        };
        assert!(by_user(Kind::Clustered));
        assert!(!by_user(Kind::Surrogate));
    }

    #[test]
    fn a_row_of_copy_has_all_fields() {
        let mut encoder = copy::Encoder::default();
        in_order(&config(Kind::Clustered), 0..3).for_each(|row| encode(&mut encoder, &row));
        assert_eq!(encoder.bytes().len(), 3 * (2 + 5 * 4 + 8 + 4 + 4 + 8 + 2));
        assert_eq!(encoder.clear(), 3);
    }
}
