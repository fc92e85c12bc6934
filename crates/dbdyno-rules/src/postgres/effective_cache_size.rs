//! What the planner believes to be cached.
//!
//! ## What it finds
//! `effective_cache_size` below `shared_buffers` (as they are, or as they are asked to be), above the
//! memory, or at its default of 4 GB on a machine with more than 8 GiB.
//!
//! ## Why it matters
//! The planner prefers an index where it expects the pages in memory. Told of too little cache it
//! reads whole tables instead; told of more than there is, it goes through an index page by page
//! from disk.
//!
//! ## What to do
//! Set it to about three quarters of the memory the server may use: shared buffers and the page
//! cache together; half is the cautious value. It reserves nothing.
//!
//! ## Risk
//! None to data. Plans may change, mostly towards indexes.
//!
//! ## When it does not apply
//! A value of the owner's own between `shared_buffers` and the memory.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-query.html>
//! - <https://www.enterprisedb.com/docs/epas/latest/database_administration/01_configuration_parameters/03_configuration_parameters_by_functionality/01_top_performance_related_parameters/13_effective_cache_size>

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::{Facts, Outcome, Severity};

use super::settings::{self, SettingEvidence};
use super::{machine, shared_buffers};
use crate::formulas::GIB;
use crate::rule::{FindingExt, Rule, humane_bytes, need, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.effective_cache_size",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-query.html",
        "https://www.enterprisedb.com/docs/epas/latest/database_administration/01_configuration_parameters/03_configuration_parameters_by_functionality/01_top_performance_related_parameters/13_effective_cache_size",
    ],
    check,
    source_text: include_str!("effective_cache_size.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const DEFAULT_BYTES: u64 = 4 * GIB;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::bytes(postgres, "effective_cache_size")?;
    let shared_buffers = settings::bytes(postgres, "shared_buffers")?;
    let memory_fact = machine::memory(facts);
    let memory = need(&memory_fact, "memory")?;
    let why = if now < shared_buffers {
        "less than shared_buffers alone".to_owned()
    } else if now > memory {
        format!("more than the {} of memory", humane_bytes(memory))
    } else if now == DEFAULT_BYTES && memory > 8 * GIB {
        format!("the default, with {} of memory", humane_bytes(memory))
    } else if now < shared_buffers::planned(facts, postgres, memory)? {
        "less than the shared_buffers that are asked for".to_owned()
    } else {
        return Ok(Outcome::Ok);
    };
    Ok(RULE
        .finding(format!(
            "effective_cache_size is {}, {why}",
            settings::humane(postgres, "effective_cache_size")
        ))
        .shows(postgres, "effective_cache_size")
        .shows(postgres, "shared_buffers")
        .evidence("memory", humane_bytes(memory), memory_fact.origin)
        .recommend(safe(
            "effective_cache_size",
            Want::Bytes(memory / 4 * 3),
            "shared buffers and page cache together, as the planner should expect them",
        ))
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, declare_tpcc, finding, healthy, ok, unknown};

    #[test]
    fn the_default_is_found_on_a_large_machine() {
        insta::assert_snapshot!(finding(&RULE, &healthy()).message, @"effective_cache_size is 4GB, the default, with 23.7 GiB of memory");
    }

    #[test]
    fn more_than_the_memory_and_less_than_shared_buffers_are_found() {
        let mut facts = healthy();
        facts.intent.memory_bytes = Some(2 << 30);
        assert!(
            finding(&RULE, &facts)
                .message
                .contains("more than the 2 GiB")
        );
        configure(&mut facts, "effective_cache_size", "8192");
        assert!(
            finding(&RULE, &facts)
                .message
                .contains("less than shared_buffers")
        );
    }

    #[test]
    fn less_than_the_buffers_will_be_is_found_before_they_are() {
        let mut facts = healthy();
        configure(&mut facts, "effective_cache_size", "131072");
        ok(&RULE, &facts);
        declare_tpcc(&mut facts);
        insta::assert_snapshot!(finding(&RULE, &facts).message, @"effective_cache_size is 1GB, less than the shared_buffers that are asked for");
    }

    #[test]
    fn a_value_of_the_owner_s_is_fine() {
        let mut facts = healthy();
        configure(&mut facts, "effective_cache_size", "1572864");
        ok(&RULE, &facts);
    }

    #[test]
    fn unknown_memory_is_named() {
        let mut facts = healthy();
        facts.host = None;
        assert!(unknown(&RULE, &facts).starts_with("memory:"));
    }
}
