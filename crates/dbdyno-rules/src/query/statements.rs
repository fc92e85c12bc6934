//! The statements that pg_stat_statements counted, as rules ask for them.

use dbdyno_model::Outcome;
use dbdyno_model::postgres::{Postgres, Statements, TrackedStatement};

use crate::formulas::PAGE_BYTES;
use crate::rule::need_ref;

/// Characters of a statement that a finding shows.
const SHOWN: usize = 120;

pub(super) fn of(postgres: &Postgres) -> Result<&Statements, Outcome> {
    need_ref(&postgres.statements, "statements (pg_stat_statements)")
}

/// Share of the time of all statements of the database.
pub(super) fn share(statements: &Statements, statement: &TrackedStatement) -> f64 {
    if statements.total_ms <= 0.0 {
        return 0.0;
    }
    statement.total_ms / statements.total_ms
}

/// As evidence is named: its id and how it begins.
pub(super) fn name(statement: &TrackedStatement) -> String {
    let mut text: String = statement.text.chars().take(SHOWN).collect();
    if text.len() < statement.text.len() {
        text.push('…');
    }
    format!("{} {text}", statement.id)
}

/// Temporary files that one call writes, on average.
pub(super) fn spilled_bytes_per_call(statement: &TrackedStatement) -> f64 {
    let blocks = statement.per_call(statement.temp_blocks_written);
    blocks.unwrap_or(0.0) * PAGE_BYTES as f64
}

/// Commands that build indexes sort within maintenance_work_mem, and not within work_mem.
pub(super) fn builds_indexes(statement: &TrackedStatement) -> bool {
    const BUILDERS: [&str; 6] = [
        "create index",
        "create unique",
        "reindex",
        "alter",
        "cluster",
        "vacuum",
    ];
    let text = statement.text.to_lowercase();
    BUILDERS.iter().any(|command| text.starts_with(command))
}

/// Whether the text has the name as a word of its own.
pub(super) fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Milliseconds as a person reads them.
pub(super) fn humane_ms(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.2} ms")
    } else if ms < 10_000.0 {
        format!("{ms:.0} ms")
    } else {
        crate::scope::humane_time(ms / 1000.0)
    }
}

#[cfg(test)]
pub(super) mod testing {
    use dbdyno_model::postgres::{Statements, TrackedStatement};
    use dbdyno_model::{Fact, Facts};

    use crate::testing::{healthy, postgres};

    pub(crate) fn statement(id: &str, text: &str, total_ms: f64) -> TrackedStatement {
        TrackedStatement {
            id: id.into(),
            text: text.into(),
            calls: 1000,
            total_ms,
            rows: 1000,
            ..TrackedStatement::default()
        }
    }

    /// A database whose statements took ten seconds together.
    pub(crate) fn with(listed: Vec<TrackedStatement>) -> Facts {
        let mut facts = healthy();
        let statements = Statements {
            age_s: Some(86_400.0),
            statements: 50,
            calls: 100_000,
            total_ms: 10_000.0,
            listed,
            ..Statements::default()
        };
        postgres(&mut facts).statements = Fact::known(statements, "pg_stat_statements");
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::testing::statement;
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let long = statement("7", &"é".repeat(200), 1.0);
        let name = name(&long);
        assert!(name.starts_with("7 é") && name.ends_with('…'));
        assert_eq!(name.chars().count(), 2 + SHOWN + 1);
        assert_eq!(super::name(&statement("7", "SELECT ?", 1.0)), "7 SELECT ?");
    }

    #[test]
    fn what_was_never_called_spills_nothing() {
        let mut sort = statement("7", "SELECT ?", 1.0);
        sort.temp_blocks_written = 1_280_000;
        assert_eq!(spilled_bytes_per_call(&sort), 10_485_760.0);
        sort.calls = 0;
        assert_eq!(spilled_bytes_per_call(&sort), 0.0);
    }

    #[test]
    fn milliseconds_are_humane() {
        assert_eq!(humane_ms(0.1234), "0.12 ms");
        assert_eq!(humane_ms(120.4), "120 ms");
        assert_eq!(humane_ms(40_000.0), "40 seconds");
    }
}
