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
            Outcome::Finding(finding) => {
                let finding = kernel::next_boot::outlasting(*finding, facts);
                checked.findings.push(finding);
            }
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
mod outcomes;

#[cfg(test)]
mod tests {
    use super::{catalogue, check};
    use crate::testing::{configure, healthy};

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

    #[test]
    fn the_guide_names_rules_that_there_are() {
        let guide = include_str!("../../../docs/guide/check.md");
        let rules = catalogue();
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
        let mut named = 0;
        for word in guide.split(|c: char| !is_of_word(c)) {
            let word = word.trim_end_matches('.');
            let family = word.split_once('.').map_or("", |(family, _)| family);
            if rules.iter().any(|rule| rule.family() == family) {
                assert!(rules.iter().any(|rule| rule.id == word), "{word}");
                named += 1;
            }
        }
        assert!(named > 0);
    }

    #[test]
    fn ids_are_a_family_and_a_name_in_whole_words() {
        let is_word = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_lowercase())
                && text
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        for rule in catalogue() {
            let (family, name) = rule.id.split_once('.').unwrap();
            assert!(is_word(family) && is_word(name), "{}", rule.id);
        }
    }

    #[test]
    fn the_title_is_a_sentence_and_every_section_says_something() {
        for rule in catalogue() {
            assert!(rule.title().ends_with('.'), "{}: {}", rule.id, rule.title());
            let documentation = rule.documentation();
            let mut rest = documentation.as_str();
            for section in SECTIONS {
                let (before, after) = rest
                    .split_once(&format!("\n{section}\n"))
                    .unwrap_or_else(|| panic!("{}: {section} is not in its place", rule.id));
                let is_empty = before.trim().is_empty();
                assert!(!is_empty, "{}: nothing before {section}", rule.id);
                rest = after;
            }
            assert!(!rest.trim().is_empty(), "{}: no source", rule.id);
        }
    }

    /// A link says so itself where nobody could read what is behind it.
    #[test]
    fn every_source_is_a_link_or_a_dated_title_and_stands_in_the_documentation() {
        const UNVERIFIED: &str = " (unverified)";
        for rule in catalogue() {
            let documentation = rule.documentation();
            let (_, listed) = documentation.split_once("## Sources\n").unwrap();
            let lines: Vec<&str> = listed.lines().filter(|line| !line.is_empty()).collect();
            assert_eq!(lines.len(), rule.sources.len(), "{}", rule.id);
            for source in rule.sources {
                let url = source.strip_suffix(UNVERIFIED).unwrap_or(source);
                let Some(address) = url.strip_prefix("https://") else {
                    let is_dated = source.contains(" 20") || source.contains("(20");
                    let is_source = source.starts_with("PostgreSQL's source, ");
                    assert!(is_dated || is_source, "{}: {source}", rule.id);
                    let is_listed = lines.iter().any(|line| line[2..].starts_with(source));
                    assert!(is_listed, "{}: {source}", rule.id);
                    continue;
                };
                let (host, _) = address.split_once('/').unwrap();
                let is_host = host.contains('.')
                    && host
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-');
                let is_odd = |c: char| c.is_whitespace() || "<>()".contains(c);
                let is_clean = !address.contains(is_odd);
                assert!(is_host && is_clean, "{}: {source}", rule.id);
                let mark = &source[url.len()..];
                let line = format!("- <{url}>{mark}");
                assert!(lines.contains(&line.as_str()), "{}: {source}", rule.id);
            }
        }
    }

    #[test]
    fn what_keeps_data_stands_before_what_keeps_the_server_up() {
        let mut facts = healthy();
        configure(&mut facts, "autovacuum", "off");
        configure(&mut facts, "fsync", "off");
        let findings = check(&facts).findings;
        let place = |rule: &str| findings.iter().position(|one| one.rule == rule).unwrap();
        assert!(place("postgres.fsync") < place("maintenance.autovacuum"));
    }
}
