//! The settings of the groups side by side: those that differ, and how many do not.

use std::collections::BTreeSet;

use dbdyno_model::comparison::Group;

use crate::number::MISSING;

/// What stands where an arm does not set it and nothing tells what it was.
pub(super) const UNSET: &str = "unset";

/// Settings that at least one group sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    /// Name and each group's value, in the order of the names.
    pub(super) differing: Vec<(String, Vec<String>)>,
    pub(super) equal: usize,
    /// Whether the settings of every group are known.
    pub(super) known: bool,
}

impl Settings {
    pub(super) fn of(groups: &[Group]) -> Self {
        let names: BTreeSet<&String> = groups
            .iter()
            .flat_map(|group| group.settings.iter().flatten())
            .map(|(name, _)| name)
            .collect();
        let all = names.len();
        let differing: Vec<(String, Vec<String>)> = names
            .into_iter()
            .map(|name| {
                let values = groups.iter().map(|group| value(group, name)).collect();
                (name.clone(), values)
            })
            .filter(|(_, values): &(String, Vec<String>)| {
                values.iter().any(|value| *value != values[0])
            })
            .collect();
        Self {
            equal: all - differing.len(),
            differing,
            known: groups.iter().all(|group| group.settings.is_some()),
        }
    }

    /// Whether a value reads `unset`, which wants to be explained.
    pub(super) fn has_unset(&self) -> bool {
        let mut values = self.differing.iter().flat_map(|(_, values)| values);
        values.any(|value| value == UNSET)
    }
}

/// What the setting stood at in the group.
fn value(group: &Group, name: &str) -> String {
    let Some(settings) = &group.settings else {
        return MISSING.to_owned();
    };
    match settings.get(name).or_else(|| group.left_alone.get(name)) {
        Some(value) if value.is_empty() => "''".to_owned(),
        Some(value) => value.clone(),
        None => UNSET.to_owned(),
    }
}
