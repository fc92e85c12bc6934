//! Statements that follow the rows: each is run only where the catalogue does not show what it makes.

use std::collections::HashSet;

use dbdyno_model::connection::Engine;

use super::TextSql;
use crate::tpcc::{ClientError, LoadError};

/// A statement, and the table that it is about.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) table: String,
    pub(crate) sql: String,
    /// What says that it was run, where nothing in the catalogue does.
    pub(super) record: Option<String>,
}

impl Step {
    pub(crate) fn new(table: impl Into<String>, sql: impl Into<String>) -> Self {
        Self {
            table: table.into(),
            sql: sql.into(),
            record: None,
        }
    }

    pub(crate) fn run(
        &self,
        connection: &mut dyn TextSql,
        engine: Engine,
        operation: &'static str,
    ) -> Result<(), LoadError> {
        let failed = |source| LoadError::Sql {
            operation,
            object: format!("table {}", self.table),
            source,
        };
        if let Err(error) = connection.run_text(&self.sql) {
            // A server goes on with what it does for a load that was killed. Ours waited for
            // that, and then failed because it is made.
            let made = Made::read(connection, engine);
            if !made.is_ok_and(|made| made.by(self)) {
                return Err(failed(error));
            }
        }
        match &self.record {
            Some(record) => connection.run_text(record).map_err(failed),
            None => Ok(()),
        }
    }

    /// What the catalogue shows of it, as [`Made::read`] writes it: indexes, and constraints that
    /// are added or checked, by the names that our statements give them.
    pub(crate) fn marks(&self) -> Vec<String> {
        let words: Vec<&str> = self.sql.split_whitespace().collect();
        let threes = words.windows(3).filter_map(|three| {
            let kind = match (three[0], three[1]) {
                ("CREATE" | "UNIQUE" | "ADD", "INDEX" | "KEY") => "index",
                ("ADD", "CONSTRAINT") => "constraint",
                ("VALIDATE", "CONSTRAINT") => "valid",
                _ => return None,
            };
            let name = three[2].trim_end_matches(',');
            Some(format!("{} {kind} {name}", self.table))
        });
        threes.collect()
    }
}

/// Indexes and constraints of the schema or database.
struct Made(HashSet<String>);

impl Made {
    fn read(connection: &mut dyn TextSql, engine: Engine) -> Result<Self, ClientError> {
        let sql = match engine {
            Engine::Postgres => {
                "SELECT t.relname || ' index ' || i.relname FROM pg_index x
                 JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
                 JOIN pg_namespace n ON n.oid = t.relnamespace
                 WHERE n.nspname = current_schema() AND x.indisvalid
                 UNION ALL
                 SELECT t.relname || kind || c.conname FROM pg_constraint c
                 JOIN pg_class t ON t.oid = c.conrelid
                 JOIN pg_namespace n ON n.oid = t.relnamespace
                 JOIN (VALUES (' constraint '), (' valid ')) AS kinds (kind)
                     ON kind = ' constraint ' OR c.convalidated
                 WHERE n.nspname = current_schema()"
            }
            Engine::MySql => {
                // The names have collations of their own, which could not be told together.
                "SELECT concat(CAST(table_name AS char), ' index ', CAST(index_name AS char))
                 FROM information_schema.statistics WHERE table_schema = database()
                 UNION ALL
                 SELECT concat(CAST(table_name AS char), ' constraint ',
                    CAST(constraint_name AS char))
                 FROM information_schema.table_constraints WHERE table_schema = database()"
            }
        };
        Ok(Self(connection.texts(sql)?.into_iter().collect()))
    }

    /// False where it leaves no mark.
    fn by(&self, step: &Step) -> bool {
        let marks = step.marks();
        !marks.is_empty() && marks.iter().all(|mark| self.0.contains(mark))
    }
}

/// Those of the steps whose work is not there yet.
pub(crate) fn ahead(
    steps: Vec<Step>,
    connection: &mut dyn TextSql,
    engine: Engine,
) -> Result<Vec<Step>, LoadError> {
    let made = Made::read(connection, engine).map_err(|source| LoadError::Sql {
        operation: "look for",
        object: "the indexes and constraints".to_owned(),
        source,
    })?;
    Ok(steps.into_iter().filter(|step| !made.by(step)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(sql: &str) -> Vec<String> {
        Step::new("t", sql).marks()
    }

    #[test]
    fn what_a_statement_makes_is_named() {
        for (sql, expected) in [
            (
                "CREATE UNIQUE INDEX t_pkey ON t (a)",
                &["t index t_pkey"][..],
            ),
            ("CREATE INDEX t_b\n ON t (b)", &["t index t_b"]),
            (
                "ALTER TABLE t ADD CONSTRAINT t_pkey PRIMARY KEY USING INDEX t_pkey",
                &["t constraint t_pkey"],
            ),
            (
                "ALTER TABLE t ADD CONSTRAINT t_u FOREIGN KEY (a) REFERENCES u (a) NOT VALID,
                    ADD CONSTRAINT t_v FOREIGN KEY (b) REFERENCES v (b) NOT VALID",
                &["t constraint t_u", "t constraint t_v"],
            ),
            (
                "ALTER TABLE t VALIDATE CONSTRAINT t_u, VALIDATE CONSTRAINT t_v",
                &["t valid t_u", "t valid t_v"],
            ),
            (
                "ALTER TABLE t ADD UNIQUE KEY both (a, b), ADD KEY b (b), ADD INDEX c (c)",
                &["t index both", "t index b", "t index c"],
            ),
            (
                "ALTER TABLE t ADD PRIMARY KEY (id); CREATE INDEX k_1 ON t (k); SELECT 1",
                &["t index k_1"],
            ),
            ("VACUUM (ANALYZE) t", &[]),
            ("ALTER TABLE t ALTER COLUMN id RESTART WITH 7", &[]),
        ] {
            assert_eq!(marks(sql), expected, "{sql}");
        }
    }

    #[test]
    fn a_statement_is_done_when_all_that_it_makes_is_there() {
        let made = |marks: &[&str]| Made(marks.iter().map(|&mark| mark.to_owned()).collect());
        let both = Step::new("t", "ALTER TABLE t ADD INDEX a (a), ADD INDEX b (b)");
        assert!(made(&["t index a", "t index b"]).by(&both));
        assert!(!made(&["t index a", "u index b"]).by(&both));
        let unseen = Step::new("t", "VACUUM t");
        assert!(!made(&["t index a"]).by(&unseen));
    }
}
