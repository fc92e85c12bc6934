//! What the plan changes, what became of each finding, and what every arm was set to.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use dbdyno_model::finding::NotAssessed;
use dbdyno_model::{Change, Class, Finding, HostAction, Severity, Tune};

/// What a class promises or risks.
pub(crate) fn class_words(class: Class) -> &'static str {
    match class {
        Class::Safe => "acknowledged commits survive a crash",
        Class::MayLoseLastCommits => "a crash may lose the last acknowledged commits",
        Class::MayCorrupt => "a crash may corrupt the database; never recommended",
    }
}

/// A value as it is read; an empty one would vanish.
pub(crate) fn shown(value: &str) -> &str {
    if value.is_empty() { "''" } else { value }
}

/// The finding that a change rests on.
pub(crate) fn finding_of<'a>(tune: &'a Tune, change: &Change) -> Option<&'a Finding> {
    tune.findings
        .iter()
        .find(|finding| finding.rule == change.rule)
}

/// What is not safe comes first, then what answers the gravest findings, then the plan's order.
pub(crate) fn ordered(tune: &Tune) -> Vec<&Change> {
    let severity = |change: &Change| finding_of(tune, change).map(|finding| finding.severity);
    let mut changes: Vec<&Change> = tune.plan.changes.iter().collect();
    changes.sort_by_key(|change| Reverse((change.class, severity(change))));
    changes
}

/// Something that was found and that the trial did not change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unapplied<'a> {
    pub(crate) rule: &'a str,
    pub(crate) finding: Option<&'a Finding>,
    /// What its owner can do; empty where the finding only informs.
    pub(crate) actions: Vec<&'a HostAction>,
}

impl Unapplied<'_> {
    pub(crate) fn severity(&self) -> Severity {
        self.finding
            .map_or(Severity::Info, |finding| finding.severity)
    }
}

/// Findings of which the plan changes nothing, and host actions without a finding; gravest first.
pub(crate) fn unapplied(tune: &Tune) -> Vec<Unapplied<'_>> {
    let changed: BTreeSet<&str> = tune
        .plan
        .changes
        .iter()
        .map(|change| change.rule.as_str())
        .collect();
    let mut rules: BTreeMap<&str, Unapplied<'_>> = BTreeMap::new();
    fn entry<'a, 'b>(
        rules: &'b mut BTreeMap<&'a str, Unapplied<'a>>,
        rule: &'a str,
    ) -> &'b mut Unapplied<'a> {
        rules.entry(rule).or_insert(Unapplied {
            rule,
            finding: None,
            actions: Vec::new(),
        })
    }
    for finding in &tune.findings {
        // A rule may change a setting and ask something of the host as well.
        if !changed.contains(finding.rule.as_str()) || !finding.host_actions.is_empty() {
            entry(&mut rules, &finding.rule).finding = Some(finding);
        }
    }
    let of_findings = tune.findings.iter().flat_map(|f| &f.host_actions);
    for action in tune.plan.host_actions.iter().chain(of_findings) {
        let actions = &mut entry(&mut rules, &action.rule).actions;
        if !actions.iter().any(|known| known.action == action.action) {
            actions.push(action);
        }
    }
    let mut unapplied: Vec<_> = rules.into_values().collect();
    // Stable: equals stay in the order of their rules.
    unapplied.sort_by_key(|item| Reverse(item.severity()));
    unapplied
}

/// Rules by the reason for which they could not be assessed, the commonest reason first.
pub(crate) fn by_reason(items: &[NotAssessed]) -> Vec<(&str, Vec<&str>)> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for item in items {
        by_reason.entry(&item.why).or_default().push(&item.rule);
    }
    let mut groups: Vec<_> = by_reason.into_iter().collect();
    groups.sort_by_key(|(_, rules)| Reverse(rules.len()));
    groups
}

/// What stands for an arm that leaves a setting as initdb wrote it.
pub(crate) const NOT_SET: &str = "not set";

/// Every setting that any arm sets, with its value in each arm that sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) arms: Vec<String>,
    pub(crate) rows: Vec<(String, Vec<Option<String>>)>,
}

/// None where no arm was measured.
pub(crate) fn settings(tune: &Tune) -> Option<Settings> {
    if tune.arms.is_empty() {
        return None;
    }
    let names: BTreeSet<&String> = tune
        .arms
        .iter()
        .flat_map(|arm| arm.settings.keys())
        .collect();
    let rows = names
        .into_iter()
        .map(|name| {
            let values = tune.arms.iter().map(|arm| arm.settings.get(name));
            let values = values.map(|value| value.map(|value| shown(value).to_owned()));
            (name.clone(), values.collect())
        })
        .collect();
    Some(Settings {
        arms: tune.arms.iter().map(|arm| arm.name.clone()).collect(),
        rows,
    })
}

/// Changes of the plan that the judged arm was not set to: their worth is in no number.
pub(crate) fn unmeasured(tune: &Tune) -> Vec<&Change> {
    let Some(verdict) = &tune.verdict else {
        return Vec::new();
    };
    let Some(arm) = tune.arms.iter().find(|arm| arm.name == verdict.arm) else {
        return Vec::new();
    };
    tune.plan
        .changes
        .iter()
        .filter(|change| arm.settings.get(&change.setting) != Some(&change.to))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn what_was_changed_is_not_told_as_unapplied() {
        let mut tune = testing::tune();
        let rules = |tune: &Tune| -> Vec<String> {
            unapplied(tune)
                .iter()
                .map(|item| item.rule.to_owned())
                .collect()
        };
        assert_eq!(
            rules(&tune),
            [
                "postgres.full_page_writes",
                "kernel.swappiness",
                "kernel.governor",
                "kernel.thp",
                "postgres.jit"
            ]
        );
        let first = &unapplied(&tune)[1];
        assert_eq!(
            first.actions.len(),
            1,
            "named by plan and finding, told once"
        );
        tune.plan.changes[0].rule = "postgres.jit".to_owned();
        assert!(!rules(&tune).contains(&"postgres.jit".to_owned()));
    }

    #[test]
    fn a_change_that_the_arm_lacks_was_not_measured() {
        let mut tune = testing::tune();
        assert_eq!(unmeasured(&tune).len(), tune.plan.changes.len());
        let set: BTreeMap<String, String> = tune
            .plan
            .changes
            .iter()
            .map(|change| (change.setting.clone(), change.to.clone()))
            .collect();
        tune.arms[1].settings = set;
        assert!(unmeasured(&tune).is_empty());
        tune.arms[1]
            .settings
            .insert("max_wal_size".to_owned(), "2GB".to_owned());
        assert_eq!(unmeasured(&tune)[0].setting, "max_wal_size");
        let settings = settings(&tune).unwrap();
        assert_eq!(settings.rows.len(), 4);
        assert!(settings.rows.iter().all(|(_, values)| values[0].is_none()));
        tune.verdict = None;
        assert!(unmeasured(&tune).is_empty());
    }

    #[test]
    fn what_is_not_safe_comes_first() {
        let mut tune = testing::tune();
        tune.plan.changes[2].rule = "kernel.swappiness".to_owned();
        let names: Vec<&str> = ordered(&tune).iter().map(|c| c.setting.as_str()).collect();
        assert_eq!(
            names,
            [
                "synchronous_commit",
                "shared_preload_libraries",
                "max_wal_size",
                "shared_buffers"
            ]
        );
    }

    #[test]
    fn one_missing_privilege_is_one_line() {
        let plan = testing::plan();
        let groups = by_reason(&plan.not_assessed);
        assert_eq!(groups[0].0, "permission denied");
        assert_eq!(groups[0].1.len(), 4);
    }
}
