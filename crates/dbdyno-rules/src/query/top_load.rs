//! The statements that take most of the server's time.
//!
//! ## What it finds
//! Always something, where pg_stat_statements has counted ten seconds of execution or more: the
//! statements with the largest shares of the time, and those that lead in blocks, temporary files and
//! write-ahead log.
//!
//! ## Why it matters
//! A few statements are most of the load of nearly every server. What is tuned elsewhere changes
//! little.
//!
//! ## What to do
//! Begin at the top, with `EXPLAIN (ANALYZE, BUFFERS)` of the statement with its real parameters.
//! Keep the list: the same statements before and after a change show what it did.
//!
//! ## Risk
//! None. `EXPLAIN ANALYZE` runs the statement: put one that writes into a transaction that is
//! rolled back.
//!
//! ## When it does not apply
//! The counters are sums since they were reset: a statement of last week's migration may lead them.
//! Statements beyond `pg_stat_statements.max` are forgotten, and how often that happened is told.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/pgstatstatements.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Statements, TrackedStatement};
use dbdyno_model::{Facts, Finding, Outcome, Severity};

use super::statements::{self, humane_ms, name, share};
use crate::formulas::PAGE_BYTES;
use crate::rule::{FindingExt, Rule, humane_bytes, humane_number, server, settle};
use crate::scope::{LISTED, ScopeExt, database, humane_count, humane_time, in_all};

pub(super) const RULE: Rule = Rule {
    id: "query.top_load",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/pgstatstatements.html"],
    check,
    source_text: include_str!("top_load.rs"),
};

/// Statements that took less in all are those of a start or of a test.
const LEAST_MS: f64 = 10_000.0;

/// What is told, what it counts, and its share.
type Measure = (&'static str, fn(&TrackedStatement) -> u64, String);

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let statements = statements::of(postgres)?;
    let mut by_time: Vec<&TrackedStatement> = statements.listed.iter().collect();
    by_time.sort_by(|a, b| {
        b.total_ms
            .total_cmp(&a.total_ms)
            .then_with(|| a.id.cmp(&b.id))
    });
    let Some(first) = by_time.first() else {
        return Ok(Outcome::Ok);
    };
    if statements.total_ms < LEAST_MS {
        return Err(Outcome::Unknown(format!(
            "what takes most of the time: all statements took {} so far, too little to judge by",
            humane_ms(statements.total_ms)
        )));
    }
    let origin = &postgres.statements.origin;
    let told = by_time.len().min(5);
    let together: f64 = by_time
        .iter()
        .take(told)
        .map(|statement| share(statements, statement))
        .sum();
    let since = statements
        .age_s
        .map_or(String::new(), |age| format!(" in {}", humane_time(age)));
    let mut finding = RULE
        .finding(format!(
            "{told} of {} statements took {:.0} % of the time of {}{since}, one alone {:.0} %",
            statements.statements,
            together * 100.0,
            database(postgres),
            share(statements, first) * 100.0
        ))
        .of_database(postgres);
    for statement in by_time.iter().take(LISTED) {
        finding = finding.evidence(name(statement), described(statements, statement), origin);
    }
    finding = leaders(finding, statements, &by_time, origin);
    if let Some(evictions) = statements.evictions.filter(|evictions| *evictions > 0) {
        finding = finding.evidence("statements forgotten for new ones", evictions, origin);
    }
    let more = in_all(statements.statements).saturating_sub(by_time.len().min(LISTED));
    Ok(finding.and_more(more, "statement", origin).into_outcome())
}

/// `42 %, 1.2 ms a call, 3 rows a call, 1000 calls, 12 a second in the sample`.
fn described(statements: &Statements, statement: &TrackedStatement) -> String {
    let mut text = format!("{:.1} %", share(statements, statement) * 100.0);
    if statement.calls > 0 {
        let calls = statement.calls as f64;
        text += &format!(
            ", {} a call, {} rows a call, {} calls",
            humane_ms(statement.total_ms / calls),
            humane_number(statement.rows as f64 / calls),
            humane_count(calls)
        );
    }
    if let Some(calls) = statement.calls_in_window
        && statements.window_s > 0.0
    {
        let per_s = calls as f64 / statements.window_s;
        text += &format!(", {} a second in the sample", humane_number(per_s));
    }
    text
}

/// Who leads in what else the time depends on.
fn leaders(
    finding: Finding,
    statements: &Statements,
    listed: &[&TrackedStatement],
    origin: &str,
) -> Finding {
    let blocks = |amount: u64| humane_bytes(amount.saturating_mul(PAGE_BYTES));
    let measures: [Measure; 3] = [
        (
            "most blocks",
            TrackedStatement::blocks,
            "hit or read".to_owned(),
        ),
        (
            "most temporary files",
            |one| one.temp_blocks_written,
            format!("of {}", blocks(statements.temp_blocks_written)),
        ),
        (
            "most write-ahead log",
            |one| one.wal_bytes,
            format!("of {}", humane_bytes(statements.wal_bytes)),
        ),
    ];
    measures
        .into_iter()
        .fold(finding, |finding, (what, amount, of)| {
            let leader = listed.iter().max_by_key(|one| amount(one));
            let Some(leader) = leader.filter(|one| amount(one) > 0) else {
                return finding;
            };
            let value = if what == "most write-ahead log" {
                humane_bytes(amount(leader))
            } else {
                blocks(amount(leader))
            };
            finding.evidence(what, format!("{}: {value} {of}", name(leader)), origin)
        })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::query::statements::testing::{statement, with};
    use crate::testing::{finding, healthy, ok, postgres, unknown};
    use dbdyno_model::Fact;

    #[test]
    fn statements_are_ranked_by_their_share_of_the_time() {
        let mut heavy = statement("2", "UPDATE stock SET quantity = $1", 6000.0);
        heavy.wal_bytes = 5 << 20;
        heavy.calls_in_window = Some(24);
        let mut sort = statement("1", "SELECT * FROM orders ORDER BY note", 500.0);
        sort.temp_blocks_written = 1280;
        sort.blocks_hit = 12_800;
        let mut facts = with(vec![sort, heavy]);
        let server = postgres(&mut facts);
        server.statements = server.statements.clone().map(|mut statements| {
            statements.window_s = 2.0;
            statements.temp_blocks_written = 2560;
            statements.wal_bytes = 10 << 20;
            statements.evictions = Some(7);
            statements
        });
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.message, @"2 of 50 statements took 65 % of the time of database postgres in 24 hours, one alone 60 %");
        let evidence: Vec<String> = found
            .evidence
            .iter()
            .map(|one| format!("{} = {}", one.fact, one.value))
            .collect();
        insta::assert_snapshot!(evidence.join("\n"), @r"
        read = database postgres; no other database of the server was
        2 UPDATE stock SET quantity = $1 = 60.0 %, 6.00 ms a call, 1 rows a call, 1000 calls, 12 a second in the sample
        1 SELECT * FROM orders ORDER BY note = 5.0 %, 0.50 ms a call, 1 rows a call, 1000 calls
        most blocks = 1 SELECT * FROM orders ORDER BY note: 100 MiB hit or read
        most temporary files = 1 SELECT * FROM orders ORDER BY note: 10 MiB of 20 MiB
        most write-ahead log = 2 UPDATE stock SET quantity = $1: 5 MiB of 10 MiB
        statements forgotten for new ones = 7
        not listed = 48 more statements
        ");
    }

    #[test]
    fn a_second_of_work_ranks_nothing() {
        let mut facts = with(vec![statement("1", "SELECT 1", 600.0)]);
        let server = postgres(&mut facts);
        server.statements = server.statements.clone().map(|mut statements| {
            statements.total_ms = 1100.0;
            statements
        });
        assert!(unknown(&RULE, &facts).contains("took 1100 ms so far"));
    }

    #[test]
    fn nothing_counted_is_fine_and_no_extension_unknown() {
        ok(&RULE, &with(Vec::new()));
        let mut facts = healthy();
        postgres(&mut facts).statements = Fact::unknown(
            "the extension is not in this database",
            "pg_stat_statements",
        );
        assert!(unknown(&RULE, &facts).contains("not in this database"));
    }
}
