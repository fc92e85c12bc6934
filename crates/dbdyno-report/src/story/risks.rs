//! What applying the plan risks, takes and gives up.

use dbdyno_model::verdict::Word;
use dbdyno_model::{Class, Needs, Tune};

use super::changes::class_words;
use crate::number;
use crate::text::list;

/// More names than this are a count.
const NAMED: usize = 4;

/// A heading, its sentence, and names with what is said of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) heading: &'static str,
    pub(crate) text: String,
    pub(crate) items: Vec<(String, String)>,
}

pub(super) fn point(heading: &'static str, text: impl Into<String>) -> Point {
    Point {
        heading,
        text: text.into(),
        items: Vec::new(),
    }
}

/// Worth, safety, what it takes, what it gives up, and the times and bytes that go with it.
pub(crate) fn risks(tune: &Tune) -> Vec<Point> {
    if tune.plan.changes.is_empty() {
        return Vec::new();
    }
    let mut points: Vec<Point> = worth(tune).into_iter().collect();
    points.push(point("Safety", safety(tune)));
    points.push(point("Applying it", applying(tune)));
    points.extend(given_up(tune));
    points.extend(recovery(tune));
    points.extend(memory(tune));
    points
}

/// What stands against the risks, where it is not a gain.
fn worth(tune: &Tune) -> Option<Point> {
    let text = match tune.verdict.as_ref().map(|verdict| verdict.word) {
        Some(Word::Improved) => return None,
        Some(Word::Worse) => "The plan lowered throughput on this workload.",
        Some(_) => "No gain was proven, so nothing measured pays for what follows.",
        None => "No gain was measured, so nothing measured pays for what follows.",
    };
    Some(point("Worth", text))
}

fn given_up(tune: &Tune) -> Option<Point> {
    let items: Vec<(String, String)> = tune
        .plan
        .changes
        .iter()
        .filter_map(|change| Some((change.setting.clone(), change.gives_up.clone()?)))
        .collect();
    (!items.is_empty()).then(|| Point {
        heading: "Gives up",
        text: "What the changes cost beside safety:".to_owned(),
        items,
    })
}

fn safety(tune: &Tune) -> String {
    let risky: Vec<String> = tune
        .plan
        .changes
        .iter()
        .filter(|change| change.class != Class::Safe)
        .map(|change| {
            format!(
                "{} is {}: {}",
                change.setting,
                change.class.as_str(),
                class_words(change.class)
            )
        })
        .collect();
    if risky.is_empty() {
        return format!(
            "Every change is of class safe: {}.",
            class_words(Class::Safe)
        );
    }
    format!("{}.", risky.join("; "))
}

fn applying(tune: &Tune) -> String {
    let needs = tune.plan.needs();
    let names: Vec<String> = tune
        .plan
        .changes
        .iter()
        .filter(|change| change.needs == needs)
        .map(|change| change.setting.clone())
        .collect();
    let who = if names.len() > NAMED {
        format!("{} settings", number::count(names.len() as u64))
    } else {
        list(&names)
    };
    let what = match needs {
        Needs::Online => "takes effect at once",
        Needs::Reload => "needs a reload of the server",
        Needs::Restart => "needs a restart of the server",
        Needs::Remount => "needs a remount",
        Needs::Reboot => "needs a reboot",
        Needs::Migration => "needs a migration",
    };
    format!("The plan {what}, for {who}.")
}

fn recovery(tune: &Tune) -> Option<Point> {
    let times: Vec<String> = super::metrics::shown_arms(tune)
        .iter()
        .filter_map(|arm| {
            let seconds = arm.recovery_s?;
            Some(format!("{} {}", arm.name, number::duration(seconds)))
        })
        .collect();
    (!times.is_empty()).then(|| {
        let text = format!("Killed under load, once each: {}.", times.join(", "));
        point("Recovery", text)
    })
}

fn memory(tune: &Tune) -> Option<Point> {
    let memory = &tune.plan.memory;
    let Some(total) = memory.memory_bytes.filter(|total| *total > 0) else {
        return Some(point(
            "Memory",
            "The memory is unknown, so nothing was sized by it.",
        ));
    };
    let sum = memory.sum_bytes();
    (sum > 0).then(|| {
        let text = format!(
            "The settings may take at most {} of {} ({}).",
            number::bytes(sum),
            number::bytes(total),
            number::percent(sum as f64 / total as f64)
        );
        point("Memory", text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn of(points: &[Point], name: &str) -> Option<String> {
        let mut found = points.iter().filter(|point| point.heading == name);
        found.next().map(|point| point.text.clone())
    }

    #[test]
    fn risks_name_what_is_unsafe() {
        let mut tune = testing::tune();
        assert!(
            of(&risks(&tune), "Safety")
                .unwrap()
                .contains("synchronous_commit is may-lose")
        );
        let given_up = risks(&tune)
            .into_iter()
            .find(|point| point.heading == "Gives up");
        assert_eq!(given_up.unwrap().items[0].0, "max_wal_size");
        tune.plan
            .changes
            .retain(|change| change.class == Class::Safe);
        assert!(
            of(&risks(&tune), "Safety")
                .unwrap()
                .contains("Every change is of class safe")
        );
        assert!(
            of(&risks(&tune), "Applying it")
                .unwrap()
                .contains("restart")
        );
        tune.plan.changes.clear();
        assert!(risks(&tune).is_empty());
    }

    #[test]
    fn what_was_not_proven_pays_for_nothing() {
        assert_eq!(of(&risks(&testing::tune()), "Worth"), None);
        let undecided = testing::tune_with(Word::Undecided);
        assert!(
            of(&risks(&undecided), "Worth")
                .unwrap()
                .starts_with("No gain was proven")
        );
        let mut planned = testing::tune();
        planned.verdict = None;
        assert!(
            of(&risks(&planned), "Worth")
                .unwrap()
                .starts_with("No gain was measured")
        );
    }
}
