//! Statements that read many blocks for each row they return.
//!
//! ## What it finds
//! A `SELECT … FROM` without aggregates that passes more than 100 blocks for each row it returns and
//! takes more than 1 % of the time of all statements.
//!
//! ## Why it matters
//! A block holds many rows. Hundreds of blocks for one row are a scan that throws nearly everything
//! away, and they push what others need out of memory.
//!
//! ## What to do
//! `EXPLAIN (ANALYZE, BUFFERS)` with real parameters shows which condition no index serves: index
//! it, or rewrite the statement. The extension HypoPG shows whether a plan would use an index
//! before it is built.
//!
//! ## Risk
//! Each index costs a write for each new row.
//!
//! ## When it does not apply
//! Statements that aggregate, or whose answer is that there is nothing: those have to look at what
//! they count. PostgreSQL counts blocks, and not the rows that a scan threw away. A call of a function
//! counts the blocks of all that the function does.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/pgstatstatements.html>
//! - <https://www.postgresql.org/docs/current/using-explain.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::TrackedStatement;
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Outcome, Severity};

use super::statements::{self, name, names, share};
use crate::rule::{FindingExt, Rule, server, settle};
use crate::scope::{LISTED, ScopeExt, humane_count};

pub(super) const RULE: Rule = Rule {
    id: "query.blocks_per_row",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/pgstatstatements.html",
        "https://www.postgresql.org/docs/current/using-explain.html",
    ],
    check,
    source_text: include_str!("blocks_per_row.rs"),
};

const MANY_BLOCKS: f64 = 100.0;
const NOTABLE_SHARE: f64 = 0.01;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let statements = statements::of(postgres)?;
    let mut wasteful: Vec<(&TrackedStatement, f64)> = statements
        .listed
        .iter()
        .filter(|statement| share(statements, statement) > NOTABLE_SHARE)
        .filter(|statement| returns_what_it_finds(&statement.text))
        .map(|statement| (statement, per_row(statement)))
        .filter(|(_, blocks)| *blocks > MANY_BLOCKS)
        .collect();
    wasteful.sort_by(|(a, _), (b, _)| {
        b.total_ms
            .total_cmp(&a.total_ms)
            .then_with(|| a.id.cmp(&b.id))
    });
    let Some((worst, blocks)) = wasteful.first() else {
        return Ok(Outcome::Ok);
    };
    let origin = &postgres.statements.origin;
    let mut finding = RULE
        .finding(format!(
            "{} {} more than 100 blocks for each row: {} reads {} and takes {:.0} % of the time",
            plural(wasteful.len() as u64, "statement"),
            verb(wasteful.len() as u64, "reads", "read"),
            worst.id,
            humane_count(*blocks),
            share(statements, worst) * 100.0
        ))
        .of_database(postgres);
    for (statement, blocks) in wasteful.iter().take(LISTED) {
        let value = format!(
            "{} blocks a row, {} in {}, {:.1} % of the time",
            humane_count(*blocks),
            plural(statement.rows, "row"),
            plural(statement.calls, "call"),
            share(statements, statement) * 100.0
        );
        finding = finding.evidence(name(statement), value, origin);
    }
    Ok(finding
        .and_more(
            wasteful.len().saturating_sub(LISTED),
            "such statement",
            origin,
        )
        .into_outcome())
}

/// One that never returned a row has nothing to divide by.
fn per_row(statement: &TrackedStatement) -> f64 {
    if statement.rows == 0 {
        return 0.0;
    }
    statement.blocks() as f64 / statement.rows as f64
}

/// A SELECT whose rows are rows of a table, not sums over many.
fn returns_what_it_finds(text: &str) -> bool {
    const AGGREGATES: [&str; 9] = [
        "count(", "sum(", "avg(", "min(", "max(", "_agg(", "group by", "distinct", "exists",
    ];
    let text = text.to_lowercase();
    let is_select = text.trim_start_matches(['(', ' ']).starts_with("select");
    // Without it a function is called; a list of columns may be longer than the text that is kept.
    let has_table = text.ends_with('…') || names(&text, "from");
    is_select && has_table && !AGGREGATES.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::{RULE, returns_what_it_finds};
    use crate::query::statements::testing::{statement, with};
    use crate::testing::{finding, healthy, ok, unknown};
    use dbdyno_model::postgres::TrackedStatement;

    fn reading(text: &str, total_ms: f64, blocks: u64) -> TrackedStatement {
        TrackedStatement {
            blocks_hit: blocks / 2,
            blocks_read: blocks - blocks / 2,
            ..statement("7", text, total_ms)
        }
    }

    #[test]
    fn a_scan_for_one_row_is_found() {
        let scan = reading("SELECT * FROM orders WHERE note = $1", 4000.0, 12_000_000);
        let found = finding(&RULE, &with(vec![scan]));
        insta::assert_snapshot!(found.message, @"1 statement reads more than 100 blocks for each row: 7 reads 12 thousand and takes 40 % of the time");
        insta::assert_snapshot!(found.evidence[1].value, @"12 thousand blocks a row, 1,000 rows in 1,000 calls, 40.0 % of the time");
    }

    #[test]
    fn sums_rare_and_frugal_statements_are_fine() {
        let text = "SELECT * FROM orders WHERE note = $1";
        ok(&RULE, &with(vec![reading(text, 50.0, 12_000_000)]));
        ok(&RULE, &with(vec![reading(text, 4000.0, 50_000)]));
        let sum = reading("SELECT sum(amount) FROM lines", 4000.0, 12_000_000);
        ok(&RULE, &with(vec![sum]));
        let mut empty = reading(text, 4000.0, 12_000_000);
        empty.rows = 0;
        ok(&RULE, &with(vec![empty]));
    }

    #[test]
    fn writes_and_aggregates_are_told_apart() {
        assert!(returns_what_it_finds("(SELECT a FROM t)"));
        assert!(!returns_what_it_finds("UPDATE t SET a = $1"));
        assert!(!returns_what_it_finds("SELECT process_queue($1)"));
        assert!(returns_what_it_finds("SELECT a\nFROM t"));
        assert!(returns_what_it_finds("SELECT *FROM(SELECT a FROM t) s"));
        assert!(returns_what_it_finds("SELECT t.a, t.b, t.c…"));
        assert!(!returns_what_it_finds(
            "select a, COUNT(*) from t GROUP BY a"
        ));
    }

    #[test]
    fn uncounted_statements_are_unknown() {
        unknown(&RULE, &healthy());
    }
}
