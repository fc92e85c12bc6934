//! What a reader must know before quoting a number of a comparison.

use dbdyno_model::comparison::{Caveat, Difference, Group, Method};
use dbdyno_model::verdict::Word;
use dbdyno_model::words::verb;

use super::group::Picked;
use crate::number;
use crate::plan::class_words;
use crate::text::{list, plural};

/// Mean fraction of CPU time stolen from which it is told.
const WORTH_SAYING_STEAL: f64 = 0.01;

/// Severe ones first.
pub(super) fn of(
    picked: &[Picked<'_>],
    groups: &[Group],
    differences: &[Difference],
) -> Vec<Caveat> {
    let mut caveats = Caveats::default();
    for group in picked {
        broken(group, &mut caveats);
        discarded(group, &mut caveats);
    }
    for group in groups {
        unsafe_class(group, &mut caveats);
    }
    drift(differences, &mut caveats);
    for group in picked {
        trial(group, &mut caveats);
        if group.number.is_some() || group.tune.verdict.is_none() {
            conditions(group, &mut caveats);
        }
    }
    latency(groups, &mut caveats);
    caveats.0.sort_by_key(|caveat| !caveat.severe);
    caveats.0
}

/// Each text once, with the groups that it is about.
#[derive(Default)]
struct Caveats(Vec<Caveat>);

impl Caveats {
    fn add(&mut self, group: &str, severe: bool, text: String) {
        if let Some(said) = self.0.iter_mut().find(|caveat| caveat.text == text) {
            said.groups.push(group.to_owned());
            return;
        }
        self.0.push(Caveat {
            groups: vec![group.to_owned()],
            text,
            severe,
        });
    }
}

/// Checks that failed on the trial's data or after the runs of the group.
fn broken(picked: &Picked<'_>, caveats: &mut Caveats) {
    let of_runs = picked.runs.iter().flat_map(|run| &run.consistency);
    let mut names: Vec<String> = Vec::new();
    for check in picked.tune.consistency.iter().chain(of_runs) {
        if !check.passed && !names.contains(&check.name) {
            names.push(check.name.clone());
        }
    }
    if !names.is_empty() {
        let names = list(&names);
        let text = format!("consistency check failed ({names}): the numbers are worthless");
        caveats.add(picked.name, true, text);
    }
}

/// A run that its trial did not count; only a run that was chosen alone can be one.
fn discarded(picked: &Picked<'_>, caveats: &mut Caveats) {
    for run in &picked.runs {
        if let Some(why) = &run.discarded {
            let text = format!("its trial discarded this run: {why}");
            caveats.add(picked.name, true, text);
        }
    }
}

fn unsafe_class(group: &Group, caveats: &mut Caveats) {
    if let Some(words) = group.class.and_then(class_words) {
        let text = format!("{words}: its throughput is a price, not an offer");
        caveats.add(&group.name, false, text);
    }
}

/// Only pairs cancel what changed on the machine between the groups.
fn drift(differences: &[Difference], caveats: &mut Caveats) {
    for difference in differences {
        if difference.method == Method::Unpaired {
            let text = "measured apart from the base: a drift of the machine in between does not cancel and is not in the interval";
            caveats.add(&difference.group, false, text.to_owned());
        }
    }
}

/// What the trial itself had to say.
fn trial(picked: &Picked<'_>, caveats: &mut Caveats) {
    let tune = picked.tune;
    if !tune.complete {
        caveats.add(picked.name, false, "its trial did not finish".to_owned());
    }
    let Some(verdict) = &tune.verdict else {
        return;
    };
    if verdict.word == Word::TooNoisy {
        let text = format!(
            "its trial was given up because others disturbed the machine: {} dropped",
            plural(verdict.discarded_pairs.into(), "pair")
        );
        caveats.add(picked.name, false, text);
    }
    for caveat in &verdict.caveats {
        caveats.add(picked.name, false, format!("its trial says: {caveat}"));
    }
}

/// What the trial's verdict would have said of these runs alone.
fn conditions(picked: &Picked<'_>, caveats: &mut Caveats) {
    let all = picked.runs.len();
    let unsteady = picked.runs.iter().filter(|run| !run.steady).count();
    if unsteady > 0 {
        let runs = if all == 1 {
            "the run was".to_owned()
        } else {
            let were = verb(unsteady as u64, "was", "were");
            format!("{unsteady} of {} {were}", plural(all as u64, "run"))
        };
        let text = format!("{runs} not steady: the throughput still drifted");
        caveats.add(picked.name, false, text);
    }
    let stolen: Vec<f64> = picked
        .runs
        .iter()
        .filter_map(|run| run.conditions.steal)
        .collect();
    let mean = stolen.iter().sum::<f64>() / stolen.len() as f64;
    if mean > WORTH_SAYING_STEAL {
        let text = format!(
            "the hypervisor took {} of the CPU time: the rates are those of a shared machine",
            number::percent(mean)
        );
        caveats.add(picked.name, false, text);
    }
}

/// Percentiles from different starts or rates stand side by side, but tell nothing together.
fn latency(groups: &[Group], caveats: &mut Caveats) {
    let mut origins = groups
        .iter()
        .filter_map(|group| group.latency_origin.as_ref());
    let first = origins.next();
    if origins.any(|origin| Some(origin) != first) {
        caveats.0.push(Caveat {
            groups: Vec::new(),
            text: "the latencies do not count from the same start or at the same rate: they cannot be compared"
                .to_owned(),
            severe: false,
        });
    }
}
