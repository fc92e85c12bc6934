//! Every rule there is, in the order of ids, and a walk over them.

use dbdyno_model::finding::NotAssessed;
use dbdyno_model::{Facts, Finding, Outcome};

use crate::Rule;
use crate::{
    cloud, container, filesystem, hardware, kernel, maintenance, postgres, query, replication,
    schema,
};

/// All rules, in the order of their ids.
pub fn catalogue() -> Vec<Rule> {
    let families = [
        cloud::RULES,
        container::RULES,
        filesystem::RULES,
        hardware::RULES,
        kernel::RULES,
        maintenance::RULES,
        postgres::RULES,
        query::RULES,
        replication::RULES,
        schema::RULES,
    ];
    let mut rules: Vec<Rule> = families.concat();
    rules.sort_by_key(|rule| rule.id);
    rules
}

/// What all rules say of one set of facts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Checked {
    /// Worst first, then by what is at stake, then by id.
    pub findings: Vec<Finding>,
    pub not_assessed: Vec<NotAssessed>,
    /// Ids of the rules that found nothing to say.
    pub passed: Vec<&'static str>,
    pub not_applicable: Vec<NotAssessed>,
}

/// Runs every rule.
pub fn check(facts: &Facts) -> Checked {
    let mut checked = Checked::default();
    for rule in catalogue() {
        let outcome = match cloud::out_of_reach(&rule, facts) {
            Some(why) => Outcome::NotApplicable(why),
            None => (rule.check)(facts),
        };
        match outcome {
            Outcome::Ok => checked.passed.push(rule.id),
            Outcome::Finding(finding) => checked.findings.push(*finding),
            Outcome::Unknown(why) => {
                checked.not_assessed.push(NotAssessed {
                    rule: rule.id.to_owned(),
                    why,
                });
            }
            Outcome::NotApplicable(why) => {
                checked.not_applicable.push(NotAssessed {
                    rule: rule.id.to_owned(),
                    why,
                });
            }
        }
    }
    checked.findings.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| b.effect.cmp(&a.effect))
            .then_with(|| a.rule.cmp(&b.rule))
    });
    checked
}

#[cfg(test)]
mod tests {
    use super::catalogue;

    const SECTIONS: [&str; 6] = [
        "## What it finds",
        "## Why it matters",
        "## What to do",
        "## Risk",
        "## When it does not apply",
        "## Sources",
    ];

    #[test]
    fn every_rule_has_its_own_id_and_complete_documentation() {
        let rules = catalogue();
        for pair in rules.windows(2) {
            assert_ne!(pair[0].id, pair[1].id);
        }
        for rule in &rules {
            let documentation = rule.documentation();
            for section in SECTIONS {
                assert!(
                    documentation.contains(section),
                    "{} lacks {section}",
                    rule.id
                );
            }
            assert!(!rule.sources.is_empty(), "{} has no source", rule.id);
            assert!(
                rule.source_text.contains(&format!("\"{}\"", rule.id)),
                "{}",
                rule.id
            );
        }
    }
}
