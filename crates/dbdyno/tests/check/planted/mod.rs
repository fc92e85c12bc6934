//! Many faults at once on a server and its host: each is found by its own rule, and the plan mends
//! what it can.

mod host;
mod namespace;
mod plan;
mod server;

use dbdyno_target::lab::Binaries;
use dbdyno_testing::every_major;
use serde_json::Value;

use crate::findings;

const MAJORS: [u32; 2] = [15, 18];

/// A rule, and words of its message that it says of the planted fault alone.
type Sign = (&'static str, &'static str);

fn servers() -> Vec<Binaries> {
    let mut servers = every_major();
    servers.retain(|binaries| MAJORS.contains(&binaries.version.major));
    assert!(
        !servers.is_empty(),
        "neither PostgreSQL 15 nor 18 to test with: run cargo xtask test"
    );
    servers
}

/// The signs that the document does not show, with what it says of their rules instead.
fn unfound(check: &Value, signs: &[Sign]) -> Vec<String> {
    let findings = findings(check);
    let server = check["assessments"][0]["name"].as_str().unwrap();
    let mut missed = Vec::new();
    for (rule, words) in signs {
        let of_rule = findings.iter().find(|finding| finding["rule"] == *rule);
        let Some(finding) = of_rule else {
            missed.push(format!("{server}: {rule}: {}", instead(check, rule)));
            continue;
        };
        let message = finding["message"].as_str().unwrap();
        if !message.contains(words) {
            missed.push(format!("{server}: {rule}: no \"{words}\" in \"{message}\""));
        }
    }
    missed
}

/// What became of a rule that found nothing.
fn instead(check: &Value, rule: &str) -> String {
    let assessment = &check["assessments"][0];
    ["not_assessed", "not_applicable", "passed"]
        .iter()
        .flat_map(|list| {
            let entries = assessment[*list].as_array().into_iter().flatten();
            entries.map(move |entry| format!("{list}: {entry}"))
        })
        .find(|entry| entry.contains(&format!("\"{rule}\"")))
        .unwrap_or_else(|| "the document does not name it".to_owned())
}

#[test]
fn each_planted_fault_has_a_rule_of_its_own() {
    for major in MAJORS {
        let signs = [server::signs(major), host::signs()].concat();
        assert!(signs.len() >= 30, "only {} faults", signs.len());
        let mut rules: Vec<&str> = signs.iter().map(|(rule, _)| *rule).collect();
        rules.sort_unstable();
        let all = rules.len();
        rules.dedup();
        assert_eq!(rules.len(), all, "{rules:?}");
    }
}
