//! Maintenance memory left at its default on a large machine.
//!
//! ## What it finds
//! `maintenance_work_mem` at its default of 64 MB on a machine with at least 8 GiB.
//!
//! ## Why it matters
//! Index builds sort in it, and vacuum collects dead rows in it: when it is full, all indexes of
//! the table are read once more.
//!
//! ## What to do
//! Set `maintenance_work_mem` to a sixteenth of the memory, at most 2 GB; and `autovacuum_work_mem`
//! so that all workers together stay within 5 % of the memory.
//!
//! ## Risk
//! None to data. Each index build and each worker may use that much.
//!
//! ## When it does not apply
//! Machines with less than 8 GiB, or a value of the owner's own.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-resource.html>

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::{Facts, Outcome, Severity};

use super::machine;
use super::settings::{self, SettingEvidence};
use crate::formulas::{GIB, MIB};
use crate::rule::{FindingExt, RecommendationExt, Rule, humane_bytes, need, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.maintenance_work_mem",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-resource.html"],
    check,
    source_text: include_str!("maintenance_work_mem.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const DEFAULT_BYTES: u64 = 64 * MIB;
const SMALLEST_MEMORY: u64 = 8 * GIB;
const MOST_BYTES: u64 = 2 * GIB;

/// Before 17 vacuum cannot use more for its list of dead rows.
const VACUUM_MOST_BYTES: u64 = GIB;

/// All autovacuum workers together.
const WORKERS_SHARE: f64 = 0.05;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::bytes(postgres, "maintenance_work_mem")?;
    let memory_fact = machine::memory(facts);
    let memory = need(&memory_fact, "memory")?;
    if now != DEFAULT_BYTES || memory < SMALLEST_MEMORY {
        return Ok(Outcome::Ok);
    }
    let finding = RULE
        .finding(format!(
            "maintenance_work_mem is {}, the default, with {} of memory",
            settings::humane(postgres, "maintenance_work_mem"),
            humane_bytes(memory)
        ))
        .shows(postgres, "maintenance_work_mem")
        .evidence("memory", humane_bytes(memory), memory_fact.origin)
        .recommend(
            safe(
                "maintenance_work_mem",
                Want::Bytes((memory / 16).min(MOST_BYTES)),
                "index builds sort in memory",
            )
            .giving_up("that much memory for each index build and manual vacuum"),
        );
    // −1 would let every worker take what is meant for one index build.
    if settings::number(postgres, "autovacuum_work_mem")? >= 0.0 {
        return Ok(finding.into_outcome());
    }
    let workers = settings::number(postgres, "autovacuum_max_workers")?.max(1.0);
    let each = (memory as f64 * WORKERS_SHARE / workers) as u64;
    Ok(finding
        .shows(postgres, "autovacuum_work_mem")
        .recommend(
            safe(
                "autovacuum_work_mem",
                Want::Bytes(each.clamp(DEFAULT_BYTES, VACUUM_MOST_BYTES)),
                "vacuum reads the indexes once; all workers stay within 5 % of the memory",
            )
            .giving_up("that much memory for each worker"),
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, unknown};
    use dbdyno_model::finding::Want;

    #[test]
    fn the_default_is_found_and_workers_get_their_own_share() {
        let finding = finding(&RULE, &healthy());
        insta::assert_snapshot!(finding.message, @"maintenance_work_mem is 64MB, the default, with 23.7 GiB of memory");
        let wants: Vec<_> = finding
            .recommendations
            .iter()
            .map(|one| &one.want)
            .collect();
        let memory = 25_455_230_976_u64;
        assert_eq!(*wants[0], Want::Bytes(memory / 16));
        let Want::Bytes(each) = wants[1] else {
            panic!()
        };
        assert!(each * 3 <= memory / 20);
    }

    #[test]
    fn the_owner_s_share_for_workers_is_kept() {
        let mut facts = healthy();
        configure(&mut facts, "autovacuum_work_mem", "131072");
        assert_eq!(finding(&RULE, &facts).recommendations.len(), 1);
    }

    #[test]
    fn small_machines_and_the_owner_s_values_are_fine() {
        let mut facts = healthy();
        configure(&mut facts, "maintenance_work_mem", "262144");
        ok(&RULE, &facts);
        let mut facts = healthy();
        facts.intent.memory_bytes = Some(4 << 30);
        ok(&RULE, &facts);
    }

    #[test]
    fn unknown_memory_is_named() {
        let mut facts = healthy();
        facts.host = None;
        assert!(unknown(&RULE, &facts).contains("--memory"));
    }
}
