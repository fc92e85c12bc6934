//! Prefetching made for a single turning disk.
//!
//! ## What it finds
//! PostgreSQL 17 or older with `effective_io_concurrency` at 0 or 1 while no disk under the data
//! turns.
//!
//! ## Why it matters
//! Bitmap scans ask for that many pages ahead. Solid-state storage serves hundreds of reads at once
//! and idles while it is asked for one.
//!
//! ## What to do
//! Set `effective_io_concurrency` to 200. PostgreSQL 18 starts at 16 and reads ahead in more
//! places: raise it there only for network volumes, by measurement.
//!
//! ## Risk
//! None to data. Scans take a larger share of the storage.
//!
//! ## When it does not apply
//! PostgreSQL 18 and later; turning disks; systems without `posix_fadvise`. Of a virtual disk that
//! says it turns only its host knows the truth.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-resource.html>
//! - <https://www.postgresql.org/docs/18/release-18.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::machine::rotational;
use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, need, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.io_concurrency",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-resource.html",
        "https://www.postgresql.org/docs/18/release-18.html",
    ],
    check,
    source_text: include_str!("io_concurrency.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// From here on the default is meant for solid-state storage.
const NEW_DEFAULT_SINCE: u32 = 18;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if postgres.major() >= NEW_DEFAULT_SINCE {
        let why = format!(
            "PostgreSQL {} reads ahead by its own default",
            postgres.major()
        );
        return Err(Outcome::NotApplicable(why));
    }
    let now = settings::number(postgres, "effective_io_concurrency")?;
    if now > 1.0 {
        return Ok(Outcome::Ok);
    }
    let rotational_fact = rotational(facts);
    if need(&rotational_fact, "medium under the data")? {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "effective_io_concurrency is {now}: bitmap scans read one page at a time from storage that serves many"
        ))
        .shows(postgres, "effective_io_concurrency")
        .evidence("rotational", "0", rotational_fact.origin)
        .recommend(
            safe(
                "effective_io_concurrency",
                value("200"),
                "bitmap scans read ahead as far as solid-state storage can follow",
            )
            .giving_up("a larger share of the storage for each scan"),
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};

    #[test]
    fn the_default_of_15_is_found_on_solid_state_storage() {
        let finding = finding(&RULE, &healthy());
        insta::assert_snapshot!(finding.message, @"effective_io_concurrency is 1: bitmap scans read one page at a time from storage that serves many");
        assert!(finding.recommendations[0].gives_up.is_some());
    }

    #[test]
    fn a_value_of_the_owner_s_is_fine() {
        let mut facts = healthy();
        configure(&mut facts, "effective_io_concurrency", "64");
        ok(&RULE, &facts);
    }

    #[test]
    fn eighteen_is_left_alone_and_a_server_elsewhere_unknown() {
        let mut facts = healthy();
        facts.host = None;
        unknown(&RULE, &facts);
        postgres(&mut facts).version_num = 180_001;
        not_applicable(&RULE, &facts);
    }
}
