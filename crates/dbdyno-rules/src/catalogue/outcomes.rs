//! Every rule has a case for each outcome that it can return; what was not read passes nowhere.

use dbdyno_model::facts::Unreached;
use dbdyno_model::host::Host;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Outcome};

use super::catalogue;
use crate::Rule;
use crate::testing::{healthy, not_applicable, unknown};

/// The outcomes, by the words with which the cases beside the rules assert them.
const FINDING: &str = "finding";
const OK: &str = "ok";
const UNKNOWN: &str = "unknown";
const NOT_APPLICABLE: &str = "not_applicable";
const OUTCOMES: [&str; 4] = [FINDING, OK, UNKNOWN, NOT_APPLICABLE];

/// Outcomes that a rule never returns, and why. A rule that comes to return one loses its line here
/// and gets a case.
const NEVER: [(&str, &str, &str); 16] = [
    ("cloud.aurora", OK, "it tells what is so"),
    ("cloud.aurora", UNKNOWN, "not recognised is not Aurora"),
    ("cloud.managed_service", OK, "it tells what is so"),
    ("cloud.managed_service", UNKNOWN, "none is recognised"),
    ("container.host_settings", OK, "it tells what is so"),
    (
        "container.memory_limit",
        NOT_APPLICABLE,
        "every host has limits or none",
    ),
    (
        "container.memory_pressure",
        NOT_APPLICABLE,
        "the root is a cgroup, too",
    ),
    (
        "filesystem.access_time",
        NOT_APPLICABLE,
        "data lie on some file system",
    ),
    (
        "filesystem.space",
        NOT_APPLICABLE,
        "data lie on some file system",
    ),
    (
        "filesystem.type",
        NOT_APPLICABLE,
        "data lie on some file system",
    ),
    (
        "hardware.parity_raid",
        OK,
        "an array with parity is always told, one without is not its subject",
    ),
    (
        "kernel.clocksource",
        NOT_APPLICABLE,
        "every kernel has a clock",
    ),
    (
        "kernel.dirty_limits",
        NOT_APPLICABLE,
        "every kernel has limits",
    ),
    (
        "kernel.dirty_order",
        NOT_APPLICABLE,
        "every kernel has limits",
    ),
    (
        "kernel.swapping_now",
        NOT_APPLICABLE,
        "without swap there is pressure",
    ),
    (
        "kernel.transparent_huge_pages_conflict",
        OK,
        "no setting serves both servers",
    ),
];

/// Families that judge a server, and those that judge the machine under it.
const OF_THE_SERVER: [&str; 5] = ["maintenance", "postgres", "query", "replication", "schema"];
const OF_THE_MACHINE: [&str; 4] = ["container", "filesystem", "hardware", "kernel"];

/// A host and a server of which nothing could be read.
fn nothing_read() -> Facts {
    Facts {
        host: Some(Host::default()),
        postgres: Some(Postgres::default()),
        ..Facts::default()
    }
}

fn without_server() -> Facts {
    Facts {
        postgres: None,
        ..healthy()
    }
}

fn rules_of(families: &'static [&'static str]) -> impl Iterator<Item = Rule> {
    catalogue()
        .into_iter()
        .filter(move |rule| families.contains(&rule.family()))
}

fn is_not_judged(rule: &Rule, facts: &Facts) {
    let outcome = (rule.check)(facts);
    assert!(
        matches!(outcome, Outcome::Unknown(_) | Outcome::NotApplicable(_)),
        "{}: {outcome:?}",
        rule.id
    );
}

/// Whether a test in the rule's own file asserts this outcome: `unknown(&RULE, …)`.
fn has_case(rule: &Rule, outcome: &str) -> bool {
    let Some((_, tests)) = rule.source_text.split_once("#[cfg(test)]") else {
        return false;
    };
    let tests: String = tests.split_whitespace().collect();
    let call = format!("{outcome}(&RULE,");
    tests.match_indices(&call).any(|(at, _)| {
        let before = tests[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.')
    })
}

/// Whether the facts of this file bring a rule to this outcome.
fn is_shown_here(rule: &Rule, outcome: &str) -> bool {
    match outcome {
        UNKNOWN => matches!((rule.check)(&nothing_read()), Outcome::Unknown(_)),
        NOT_APPLICABLE => matches!((rule.check)(&without_server()), Outcome::NotApplicable(_)),
        _ => false,
    }
}

#[test]
fn every_outcome_of_every_rule_has_a_case() {
    let mut wrong = Vec::new();
    for rule in catalogue() {
        for outcome in OUTCOMES {
            let is_never = NEVER
                .iter()
                .any(|(id, never, _)| *id == rule.id && *never == outcome);
            let is_shown = has_case(&rule, outcome) || is_shown_here(&rule, outcome);
            if is_never && is_shown {
                wrong.push(format!("{} does return {outcome}", rule.id));
            } else if !is_never && !is_shown {
                wrong.push(format!("{} has no case for {outcome}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_call_is_a_case_and_a_word_that_ends_alike_is_none() {
    let rule = |source_text| Rule {
        source_text,
        ..catalogue()[0]
    };
    let called = rule("#[cfg(test)]\nmod tests { fn a() { ok(\n    &RULE,\n    &facts) } }");
    assert!(has_case(&called, OK));
    assert!(!has_case(&called, FINDING));
    let other = rule("#[cfg(test)]\nmod tests { fn a() { is_ok(&RULE, 1); result.ok(&RULE, 2) } }");
    assert!(!has_case(&other, OK));
    let outside = rule("fn check() { ok(&RULE, 1) }\n#[cfg(test)]\nmod tests {}");
    assert!(!has_case(&outside, OK));
}

#[test]
fn what_never_happens_is_said_of_rules_that_there_are() {
    let rules = catalogue();
    for (id, outcome, why) in NEVER {
        assert!(rules.iter().any(|rule| rule.id == id), "{id}");
        assert!(OUTCOMES.contains(&outcome) && !why.is_empty(), "{id}");
    }
}

#[test]
fn what_was_not_read_passes_nowhere_and_is_found_nowhere() {
    let facts = nothing_read();
    for rule in catalogue() {
        is_not_judged(&rule, &facts);
    }
}

#[test]
fn of_a_server_that_was_not_read_nothing_is_known() {
    let facts = Facts {
        host: None,
        ..nothing_read()
    };
    for rule in rules_of(&OF_THE_SERVER) {
        unknown(&rule, &facts);
    }
}

#[test]
fn without_a_server_no_rule_on_servers_applies() {
    let facts = without_server();
    for rule in rules_of(&OF_THE_SERVER) {
        not_applicable(&rule, &facts);
    }
}

#[test]
fn a_server_that_runs_and_was_not_read_is_not_assessed() {
    let unreached = |engine: Option<&str>| Unreached {
        engine: engine.map(str::to_owned),
        ..Unreached::default()
    };
    let closed = Facts {
        unreached: vec![unreached(Some("MariaDB")), unreached(None)],
        ..without_server()
    };
    let of_others = Facts {
        unreached: vec![unreached(Some("MariaDB"))],
        ..without_server()
    };
    for rule in rules_of(&OF_THE_SERVER) {
        unknown(&rule, &closed);
        not_applicable(&rule, &of_others);
    }
}

#[test]
fn a_machine_that_is_elsewhere_passes_no_rule_on_machines() {
    let facts = Facts {
        host: None,
        ..healthy()
    };
    for rule in rules_of(&OF_THE_MACHINE) {
        is_not_judged(&rule, &facts);
    }
}
