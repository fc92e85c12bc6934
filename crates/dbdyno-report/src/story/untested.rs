//! What no number of a document speaks of, derived from the document alone.

use dbdyno_model::{Run, Tune};

use super::changes::{unapplied, unmeasured};
use super::is_kept;
use super::risks::{Point, point};
use crate::number;
use crate::text::{list, plural};
use crate::verdict::disclaimer;

/// Other workloads, machines and times, crashes, and the parts of the plan that were left out.
pub(crate) fn untested(tune: &Tune) -> Vec<Point> {
    let mut points = Vec::new();
    if tune.runs.is_empty() {
        points.push(point(
            "Everything",
            "No load was run. What the changes are worth rests on the rules and their sources.",
        ));
    } else {
        points.extend(load(tune));
        points.extend(surroundings(tune));
        points.push(crashes(tune));
    }
    points.extend(parts(tune));
    points
}

fn load(tune: &Tune) -> Vec<Point> {
    let mut points = Vec::new();
    if let Some(workload) = &tune.workload {
        let mut text = format!("Only {} was run", workload.name);
        if !workload.description.is_empty() {
            text.push_str(&format!(": {}", workload.description));
        }
        text.push_str(&match &tune.target {
            Some(target) => format!(". It is not what {target} does."),
            None => ". Other statements, data and mixes may answer otherwise.".to_owned(),
        });
        if let Some(said) = tune.verdict.as_ref().and_then(|v| disclaimer(tune, v)) {
            text.push_str(&format!(
                " {}.",
                super::sentence(&said).trim_end_matches('.')
            ));
        }
        points.push(point("Other workloads", text));
    }
    points.extend(connections(tune));
    points.extend(duration(tune));
    points.extend(data(tune));
    points.push(point("Other arrival rates", rates(tune)));
    points
}

fn connections(tune: &Tune) -> Option<Point> {
    let mut counts: Vec<u32> = tune
        .runs
        .iter()
        .map(|run| run.connections)
        .filter(|count| *count > 0)
        .collect();
    counts.sort_unstable();
    counts.dedup();
    let [only] = counts.as_slice() else {
        return None;
    };
    let text = format!("Every run had {}.", plural((*only).into(), "connection"));
    Some(point("More or fewer connections", text))
}

/// Seconds under load of the longest run.
fn duration(tune: &Tune) -> Option<Point> {
    let under_load = |run: &Run| {
        let closed = run.warm_up_s + run.window.seconds + run.checkpoint.seconds;
        closed + run.open_loop.as_ref().map_or(0.0, |step| step.seconds)
    };
    let longest = tune.runs.iter().map(under_load).fold(0.0, f64::max);
    (longest > 0.0).then(|| {
        let text = format!(
            "The longest run was {} under load. What builds up more slowly (bloat, vacuum debt, growing data) is in no number.",
            number::duration(longest)
        );
        point("Longer times", text)
    })
}

fn data(tune: &Tune) -> Option<Point> {
    let bytes = tune.load.as_ref()?.bytes?;
    let mut text = format!("The data had {} when it was loaded", number::bytes(bytes));
    match tune.plan.memory.memory_bytes {
        Some(memory) if bytes < memory => text.push_str(&format!(
            " and fits in the {} of memory: reads from the disk were hardly tested.",
            number::bytes(memory)
        )),
        Some(memory) => text.push_str(&format!(
            " and exceeds the {} of memory.",
            number::bytes(memory)
        )),
        None => text.push('.'),
    }
    Some(point("More data", text))
}

fn rates(tune: &Tune) -> String {
    let mut rates: Vec<String> = tune
        .runs
        .iter()
        .filter_map(|run| run.open_loop.as_ref())
        .map(|step| number::tps(step.rate_tps))
        .collect();
    rates.sort();
    rates.dedup();
    if rates.is_empty() {
        return "Each connection sent its next transaction when the last had ended (closed loop). Latency at a given arrival rate was not measured.".to_owned();
    }
    format!(
        "Latency at a given arrival rate was measured at {} alone.",
        list(&rates)
    )
}

fn surroundings(tune: &Tune) -> Vec<Point> {
    let mut points = Vec::new();
    let machine = tune.machine.summary.as_str();
    let machine = match &tune.verdict {
        Some(verdict) if machine.is_empty() => verdict.machine.as_str(),
        _ => machine,
    };
    let mut text = if machine.is_empty() {
        "One machine was used, and its facts are not known.".to_owned()
    } else {
        format!("Only this one was used: {machine}.")
    };
    if let Some(target) = &tune.target {
        text.push_str(&format!(" It ran a private twin, not {target} itself."));
    }
    points.push(point("Other machines", text));
    let server = super::server(tune);
    if !server.is_empty() {
        points.push(point("Other versions", format!("Only {server} was run.")));
    }
    points.extend(replication(tune));
    points
}

/// A lab server has no replica, and its facts say whether it archives.
fn replication(tune: &Tune) -> Option<Point> {
    if !tune.facts.intent.lab {
        return None;
    }
    let archives = tune
        .facts
        .postgres
        .as_ref()
        .and_then(|postgres| postgres.setting("archive_mode"));
    let text = match archives.map(|setting| setting.value.as_str()) {
        Some("off") => {
            "The server was a private one: no replica was connected, and WAL was not archived."
        }
        _ => "The server was a private one: no replica was connected.",
    };
    Some(point("Replication", text))
}

fn crashes(tune: &Tune) -> Point {
    let recoveries = tune
        .runs
        .iter()
        .filter(|run| run.recovery.is_some())
        .count();
    let killed = match recoveries {
        0 => "No server was killed: recovery after a crash was not timed.".to_owned(),
        _ => format!(
            "Servers were killed {}, and their recovery timed: a time without an interval.",
            plural(recoveries as u64, "time")
        ),
    };
    let text = format!(
        "{killed} No power was cut: what the disk keeps of an acknowledged commit was not tested."
    );
    point("Crashes", text)
}

/// Parts of the plan, and of the machine, that are in no number.
fn parts(tune: &Tune) -> Vec<Point> {
    let mut points = Vec::new();
    let measured = tune.verdict.is_some() && tune.runs.iter().any(is_kept);
    let changes = tune.plan.changes.len();
    let left_out = unmeasured(tune);
    if measured && !left_out.is_empty() {
        let names: Vec<String> = left_out.iter().map(|c| c.setting.clone()).collect();
        let arm = tune.verdict.as_ref().map_or("", |verdict| &verdict.arm);
        points.push(point(
            "Changes left out",
            format!(
                "The arm {arm} was not set to what the plan says of {}.",
                list(&names)
            ),
        ));
    }
    if measured && changes.saturating_sub(left_out.len()) > 1 {
        points.push(point(
            "Each change alone",
            format!(
                "{} were measured together: what one of them is worth is not known.",
                plural((changes - left_out.len()) as u64, "change")
            ),
        ));
    }
    let host = unapplied(tune)
        .iter()
        .map(|item| item.actions.len())
        .sum::<usize>();
    if host > 0 && !tune.runs.is_empty() {
        points.push(point(
            "The host",
            format!(
                "{} that rules ask of the host: the runs went without.",
                plural(host as u64, "change")
            ),
        ));
    }
    let gaps = tune.plan.not_assessed.len();
    if gaps > 0 {
        points.push(point(
            "What could not be read",
            format!("{} could not be assessed.", plural(gaps as u64, "rule")),
        ));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use dbdyno_model::run::{OpenLoop, Recovery};
    use dbdyno_model::tune::Load;

    fn of(points: &[Point], name: &str) -> Option<String> {
        let mut found = points.iter().filter(|point| point.heading == name);
        found.next().map(|point| point.text.clone())
    }

    #[test]
    fn what_was_not_tested_follows_from_the_document() {
        let mut tune = testing::tune();
        for run in &mut tune.runs {
            run.open_loop = None;
        }
        let points = untested(&tune);
        assert!(
            of(&points, "Other arrival rates")
                .unwrap()
                .contains("closed loop")
        );
        assert!(of(&points, "Crashes").unwrap().contains("not timed"));
        assert!(
            of(&points, "Changes left out")
                .unwrap()
                .contains("max_wal_size")
        );
        assert_eq!(
            of(&points, "Replication"),
            None,
            "nobody said that it was a lab"
        );
        assert_eq!(of(&points, "More data"), None);

        tune.facts.intent.lab = true;
        tune.runs[1].open_loop = Some(OpenLoop {
            rate_tps: 1_690.0,
            seconds: 12.0,
            ..OpenLoop::default()
        });
        tune.runs.push(Run {
            recovery: Some(Recovery::default()),
            ..Run::default()
        });
        tune.load = Some(Load {
            bytes: Some(1 << 30),
            ..Load::default()
        });
        for change in &tune.plan.changes {
            let (name, value) = (change.setting.clone(), change.to.clone());
            tune.arms[1].settings.insert(name, value);
        }
        let points = untested(&tune);
        assert!(
            of(&points, "Other arrival rates")
                .unwrap()
                .contains("1,690 TPS alone")
        );
        assert!(of(&points, "Longer times").unwrap().contains("1 min 22 s"));
        assert!(
            of(&points, "More data")
                .unwrap()
                .contains("fits in the 23.5 GiB")
        );
        assert!(
            of(&points, "Crashes")
                .unwrap()
                .starts_with("Servers were killed 1 time,")
        );
        assert!(of(&points, "Replication").unwrap().contains("no replica"));
        assert_eq!(of(&points, "Changes left out"), None);
        assert!(
            of(&points, "Each change alone")
                .unwrap()
                .starts_with("4 changes")
        );
        assert!(of(&points, "The host").unwrap().contains("2 changes"));
    }

    #[test]
    fn a_plan_alone_was_not_tested_at_all() {
        let mut tune = testing::tune();
        tune.verdict = None;
        tune.runs.clear();
        let points = untested(&tune);
        assert_eq!(points[0].heading, "Everything");
        assert_eq!(of(&points, "Other machines"), None);
    }
}
