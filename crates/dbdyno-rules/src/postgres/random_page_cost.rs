//! A planner that takes solid-state storage for turning disks.
//!
//! ## What it finds
//! `random_page_cost` at 4 or more while no disk under the data turns.
//!
//! ## Why it matters
//! At 4, the planner believes that fetching a page by index costs four times as much as reading the
//! next one. On solid-state storage it costs about the same, and plans read whole tables where an
//! index would do.
//!
//! ## What to do
//! Set `random_page_cost` to 1.1, and compare the plans of the most frequent queries. Where
//! tablespaces lie on different media, set it per tablespace.
//!
//! ## Risk
//! None to data. Plans move towards indexes.
//!
//! ## When it does not apply
//! Turning disks; storage that does not say what it is, and virtual disks that say they turn: so does
//! any disk that a hypervisor gives to its guests unless it is told otherwise.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-query.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::machine::rotational;
use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, Rule, need, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.random_page_cost",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-query.html"],
    check,
    source_text: include_str!("random_page_cost.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const DEFAULT: f64 = 4.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::number(postgres, "random_page_cost")?;
    if now < DEFAULT {
        return Ok(Outcome::Ok);
    }
    let rotational_fact = rotational(facts);
    if need(&rotational_fact, "medium under the data")? {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "random_page_cost is {now}, but no disk under the data turns"
        ))
        .shows(postgres, "random_page_cost")
        .evidence("rotational", "0", rotational_fact.origin)
        .recommend(safe(
            "random_page_cost",
            value("1.1"),
            "reading any page costs about as much as reading the next one",
        ))
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, on_bare_metal, unknown};
    use dbdyno_model::Fact;

    fn with_medium(rotational: Fact<bool>) -> dbdyno_model::Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        host.data = host.data.clone().map(|mut storage| {
            storage.devices = storage.devices.map(|mut devices| {
                devices[0].rotational = rotational;
                devices
            });
            storage
        });
        facts
    }

    #[test]
    fn the_default_is_found_on_solid_state_storage() {
        insta::assert_snapshot!(finding(&RULE, &healthy()).message, @"random_page_cost is 4, but no disk under the data turns");
    }

    #[test]
    fn turning_disks_and_a_value_of_the_owner_s_are_fine() {
        let mut facts = with_medium(Fact::known(true, "test"));
        // A hypervisor says so of any disk.
        unknown(&RULE, &facts);
        on_bare_metal(&mut facts);
        ok(&RULE, &facts);
        let mut facts = healthy();
        configure(&mut facts, "random_page_cost", "1.1");
        ok(&RULE, &facts);
    }

    #[test]
    fn an_unknown_medium_is_unknown() {
        assert!(unknown(&RULE, &with_medium(Fact::default())).starts_with("medium under the data"));
        let mut facts = healthy();
        facts.host = None;
        unknown(&RULE, &facts);
    }
}
