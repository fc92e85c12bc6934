//! Statements that sort or hash more than fits into their memory.
//!
//! ## What it finds
//! A statement that writes more than 64 MiB of temporary files with each call.
//!
//! ## Why it matters
//! What does not fit into `work_mem` is written to temporary files and read again, often several
//! times.
//!
//! ## What to do
//! First the statement: an index that delivers the order, fewer columns in the sort, a condition
//! before the join. Then memory for its role alone: `ALTER ROLE … SET work_mem`, or `SET LOCAL` in
//! the transaction. `postgres.work_mem` says what the server as a whole can afford.
//!
//! ## Risk
//! Each sort and hash of each session of that role may take as much.
//!
//! ## When it does not apply
//! Nightly reports that nobody waits for. A sort of many gigabytes spills at any `work_mem`. Builds of
//! indexes sort within `maintenance_work_mem` and are not counted.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-WORK-MEM>
//! - <https://www.postgresql.org/docs/current/pgstatstatements.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::TrackedStatement;
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::statements::{self, builds_indexes, name, share, spilled_bytes_per_call};
use crate::formulas::MIB;
use crate::postgres::settings::SettingEvidence;
use crate::rule::{FindingExt, Rule, humane_bytes, server, settle};
use crate::scope::{LISTED, ScopeExt};

pub(super) const RULE: Rule = Rule {
    id: "query.spills",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-WORK-MEM",
        "https://www.postgresql.org/docs/current/pgstatstatements.html",
    ],
    check,
    source_text: include_str!("spills.rs"),
};

const MUCH_BYTES: f64 = 64.0 * MIB as f64;

/// More for one sort is a matter of the statement, not of memory.
const MOST_BYTES: f64 = 1024.0 * MIB as f64;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let statements = statements::of(postgres)?;
    let mut spilling: Vec<(&TrackedStatement, f64)> = statements
        .listed
        .iter()
        .filter(|statement| !builds_indexes(statement))
        .map(|statement| (statement, spilled_bytes_per_call(statement)))
        .filter(|(_, bytes)| *bytes > MUCH_BYTES)
        .collect();
    spilling.sort_by(|(a, _), (b, _)| {
        b.temp_blocks_written
            .cmp(&a.temp_blocks_written)
            .then_with(|| a.id.cmp(&b.id))
    });
    let Some((worst, bytes)) = spilling.first() else {
        return Ok(Outcome::Ok);
    };
    let origin = &postgres.statements.origin;
    let mut finding = RULE
        .finding(format!(
            "{} {} more than 64 MiB of temporary files a call, {} {} a call in {}",
            plural(spilling.len() as u64, "statement"),
            verb(spilling.len() as u64, "writes", "write"),
            worst.id,
            humane_bytes(*bytes as u64),
            plural(worst.calls, "call")
        ))
        .of_database(postgres)
        .shows(postgres, "work_mem");
    for (spiller, bytes) in spilling.iter().take(LISTED) {
        let value = format!(
            "{} a call, {}, {:.1} % of the time",
            humane_bytes(*bytes as u64),
            plural(spiller.calls, "call"),
            share(statements, spiller) * 100.0
        );
        finding = finding.evidence(name(spiller), value, origin);
    }
    // What was written needs about as much memory, and some more for pointers to it.
    let needed = spilling
        .iter()
        .map(|(_, bytes)| bytes * 1.5)
        .filter(|bytes| *bytes <= MOST_BYTES)
        .fold(0.0_f64, f64::max);
    if needed > 0.0 {
        let mib = (needed / MIB as f64 / 64.0).ceil() * 64.0;
        finding = finding.host_action(
            // By itself SET LOCAL does nothing, and whose role it is nobody knows here.
            format!(
                "look at the statement itself; then, in its transaction: SET LOCAL work_mem = '{mib}MB'; \
                 or for its role: ALTER ROLE … SET work_mem = '{mib}MB'; it takes as much memory for each \
                 sort and hash of each session that sets it"
            ),
            Needs::Online,
        );
    }
    Ok(finding
        .and_more(
            spilling.len().saturating_sub(LISTED),
            "such statement",
            origin,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::query::statements::testing::{statement, with};
    use crate::testing::{finding, healthy, ok, unknown};
    use dbdyno_model::postgres::TrackedStatement;

    /// Each of a thousand calls writes so many MiB.
    fn sort(mib: u64) -> TrackedStatement {
        TrackedStatement {
            temp_blocks_written: mib * 128 * 1000,
            ..statement("7", "SELECT * FROM lines ORDER BY note", 4000.0)
        }
    }

    #[test]
    fn a_sort_on_disk_is_found_with_the_memory_that_it_takes() {
        let found = finding(&RULE, &with(vec![sort(100)]));
        insta::assert_snapshot!(found.message, @"1 statement writes more than 64 MiB of temporary files a call, 7 100 MiB a call in 1,000 calls");
        assert_eq!(found.statements, [], "alone SET LOCAL does nothing");
        insta::assert_snapshot!(found.host_actions[0].action, @"look at the statement itself; then, in its transaction: SET LOCAL work_mem = '192MB'; or for its role: ALTER ROLE … SET work_mem = '192MB'; it takes as much memory for each sort and hash of each session that sets it");
        assert_eq!(found.recommendations, [], "nothing for the whole server");
    }

    /// As a restore leaves it behind.
    #[test]
    fn builds_of_indexes_take_no_work_mem() {
        for text in ["CREATE INDEX", "CREATE UNIQUE", "ALTER TABLE", "REINDEX"] {
            let build = TrackedStatement {
                text: text.into(),
                ..sort(100)
            };
            ok(&RULE, &with(vec![build]));
        }
        let kept = TrackedStatement {
            text: "CREATE TABLE".into(),
            ..sort(100)
        };
        finding(&RULE, &with(vec![kept]));
    }

    #[test]
    fn what_no_memory_holds_gets_no_memory() {
        assert_eq!(finding(&RULE, &with(vec![sort(4000)])).host_actions, []);
    }

    #[test]
    fn small_spills_are_fine_and_uncounted_ones_unknown() {
        ok(&RULE, &with(vec![sort(10)]));
        unknown(&RULE, &healthy());
    }
}
