//! Which rules a user wants to hear of: ids and families, taken or left out.

use std::collections::BTreeSet;

use crate::exit::Failure;
use crate::suggest::nearest;

/// What `--only` and `--skip` say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// All rules where it is empty.
    only: Vec<String>,
    skip: Vec<String>,
}

impl Choice {
    /// Refuses a name that is neither a rule nor a family.
    pub(super) fn of(only: &[String], skip: &[String]) -> Result<Self, Failure> {
        let choice = Self {
            only: names(only),
            skip: names(skip),
        };
        // A variable of a script that is not set must not turn into every rule.
        if choice.only.is_empty() && !only.is_empty() {
            let message = "--only is given, and names no rule";
            return Err(Failure::usage(message, "`dbdyno rule list` shows them"));
        }
        let rules = dbdyno_rules::catalogue();
        let known: BTreeSet<&str> = rules
            .iter()
            .flat_map(|rule| [rule.id, rule.family()])
            .collect();
        for (option, names) in [("--only", &choice.only), ("--skip", &choice.skip)] {
            if let Some(name) = names.iter().find(|name| !known.contains(name.as_str())) {
                return Err(unknown(option, name, &known));
            }
        }
        if !rules.iter().any(|rule| choice.takes(rule.id)) {
            let message = "--only and --skip together leave no rule";
            return Err(Failure::usage(message, "leave one of them out"));
        }
        Ok(choice)
    }

    pub(super) fn takes(&self, rule: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| is_of(rule, name));
        (self.only.is_empty() || is_named(&self.only)) && !is_named(&self.skip)
    }
}

/// `postgres` is every rule of that family.
fn is_of(rule: &str, name: &str) -> bool {
    let rest = rule.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn names(given: &[String]) -> Vec<String> {
    let names = given.iter().map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

fn unknown(option: &str, name: &str, known: &BTreeSet<&str>) -> Failure {
    let message = format!("{option} {name:?} is neither a rule nor a family");
    match nearest(name, known.iter().copied()) {
        Some(nearest) => Failure::usage(message, format!("did you mean {nearest}?")),
        None => Failure::usage(message, "`dbdyno rule list` shows all of them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(only: &[&str], skip: &[&str]) -> Result<Choice, Failure> {
        let owned = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        Choice::of(&owned(only), &owned(skip))
    }

    #[test]
    fn families_and_rules_are_taken_and_left_out() {
        let rules = dbdyno_rules::catalogue();
        let (first, family) = (rules[0].id, rules[0].family());
        let other = rules
            .iter()
            .find(|rule| rule.family() != family)
            .unwrap()
            .id;
        let all = choice(&[], &[]).unwrap();
        assert!(all.takes(first) && all.takes(other));
        let of_family = choice(&[family], &[]).unwrap();
        assert!(of_family.takes(first) && !of_family.takes(other));
        let without = choice(&[family], &[first]).unwrap();
        assert!(!without.takes(first));
        assert!(!choice(&[], &[family]).unwrap().takes(first));
        // A family is not the beginning of another one's name.
        assert!(!is_of("postgresql.x", "postgres"));
    }

    #[test]
    fn a_choice_of_nothing_is_refused() {
        let (name, none) = ("postgres.fsync", "");
        let cases: [(&[&str], &[&str]); 3] =
            [(&[none], &[]), (&[name], &[name]), (&[name], &["postgres"])];
        for (only, skip) in cases {
            let failure = choice(only, skip).unwrap_err();
            assert!(failure.message.contains("--only"), "{}", failure.message);
        }
        assert!(choice(&[], &[none]).is_ok());
    }

    #[test]
    fn a_name_that_nobody_has_is_answered_with_the_nearest() {
        let rules = dbdyno_rules::catalogue();
        let written = format!("{}x", rules[0].id);
        let failure = choice(&[&written], &[]).unwrap_err();
        assert!(failure.message.contains("--only"), "{}", failure.message);
        assert!(failure.hint.unwrap().contains(rules[0].id));
        let failure = choice(&[], &["zzzzzz"]).unwrap_err();
        assert!(failure.hint.unwrap().contains("rule list"));
    }
}
