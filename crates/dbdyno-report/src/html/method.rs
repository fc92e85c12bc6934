//! To reproduce: versions, machine, settings, noise, every run, the checks and the command.

use dbdyno_model::run::Check;
use dbdyno_model::{Run, Tune};

use super::table::{Cell, headed, pairs, scrolled, table};
use super::tree::{Html, el};
use super::{badge, glued};
use crate::number;
use crate::story::{self, changes, machine, noise, rounds};

pub(super) fn section(tune: &Tune) -> Html {
    let about = el("div")
        .class("columns")
        .child(
            el("div")
                .child(el("h3").text("Versions"))
                .child(pairs(machine::versions(tune))),
        )
        .children(block("Workload and load", machine::workload(tune)))
        .children(block("Noise", noise::spread(tune)));
    super::section("method", "To reproduce")
        .child(about)
        .children(conditions(tune))
        .children(rounds_table(tune))
        .children(runs_table(tune))
        .children(settings(tune))
        .child(host(tune))
        .children(consistency(tune))
        .children(script(tune))
        .children(notes(tune))
        .children(command(tune))
}

fn block(title: &str, rows: Vec<(&'static str, String)>) -> Option<Html> {
    (!rows.is_empty()).then(|| el("div").child(el("h3").text(title)).child(pairs(rows)))
}

fn folded(summary: String, content: Html) -> Html {
    el("details")
        .child(el("summary").text(summary))
        .child(content)
}

fn conditions(tune: &Tune) -> Option<Html> {
    let conditions = noise::conditions(tune);
    if conditions.is_empty() {
        return None;
    }
    let dropped = tune.runs.iter().any(|run| run.discarded.is_some());
    let head = ["share of the time of a run", "kept runs", "dropped runs"];
    let rows = conditions.into_iter().map(|condition| {
        let mut cells = vec![
            Cell::Text(condition.name.to_owned()),
            Cell::Number(condition.kept),
        ];
        if dropped {
            cells.push(Cell::Number(condition.dropped));
        }
        cells
    });
    let head = if dropped { &head[..] } else { &head[..2] };
    Some(table(
        "What else happened on the machine, lowest to highest run",
        head,
        rows.collect(),
    ))
}

/// Every round as it was run: what counts, and what was dropped and why.
fn rounds_table(tune: &Tune) -> Option<Html> {
    let rounds = rounds::rounds(tune);
    let arms: Vec<&str> = arm_names(tune);
    if rounds.is_empty() {
        return None;
    }
    let order = |round: &rounds::Round<'_>| {
        let numbers: Vec<String> = round
            .runs
            .iter()
            .map(|run| run.number.to_string())
            .collect();
        numbers.join(", ")
    };
    let rows = rounds.iter().map(|round| {
        let mut cells = vec![Cell::Text(round.pair.to_string()), Cell::Text(order(round))];
        for arm in &arms {
            let tps = round.of(arm).map(|run| run.tps_with_checkpoint);
            cells.push(Cell::Number(number::or_missing(tps, number::measured)));
        }
        cells.push(Cell::Text(match round.discarded() {
            None => "counts".to_owned(),
            Some(why) => format!("dropped: {why}"),
        }));
        cells
    });
    let heads: Vec<String> = arms.iter().map(|arm| format!("TPS, {arm}")).collect();
    let mut head = vec!["pair", "runs, in order"];
    head.extend(heads.iter().map(String::as_str));
    head.push("counts?");
    let dropped = rounds.iter().filter(|round| round.discarded().is_some());
    let summary = format!(
        "Pairs: {} run, {} dropped and repeated",
        number::count(rounds.len() as u64),
        number::count(dropped.count() as u64)
    );
    Some(folded(
        summary,
        headed("Pairs in the order they were run", &head, rows.collect()),
    ))
}

/// Names of the arms as they come in summaries and runs.
fn arm_names(tune: &Tune) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let of_runs = tune.runs.iter().map(|run| run.arm.as_str());
    for name in tune.arms.iter().map(|arm| arm.name.as_str()).chain(of_runs) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn runs_table(tune: &Tune) -> Option<Html> {
    if tune.runs.is_empty() {
        return None;
    }
    let head = [
        "run",
        "arm",
        "pair",
        "counts?",
        "started",
        "TPS, checkpoint charged",
        "TPS",
        "warm-up cut",
        "window",
        "steady",
        "drift",
        "steal",
        "strangers",
        "errors",
        "retries",
        "recovery",
    ];
    let fastest = tune
        .runs
        .iter()
        .map(|run| run.tps_with_checkpoint)
        .fold(0.0, f64::max);
    let rows = tune.runs.iter().map(|run| run_row(run, fastest)).collect();
    let summary = format!("Runs: all {}", number::count(tune.runs.len() as u64));
    Some(folded(summary, headed("Every run", &head, rows)).class("wide"))
}

fn run_row(run: &Run, fastest: f64) -> Vec<Cell> {
    let percent = |value: Option<f64>| Cell::Number(number::or_missing(value, number::percent));
    // A run that timed a recovery was killed: it has no closing checkpoint, and is not judged.
    let judged = run.pair.is_some().then_some(run.tps_with_checkpoint);
    let share = judged.map_or(0.0, |tps| tps / fastest);
    let judged = number::or_missing(judged, number::measured);
    let recovery = run.recovery.map(|recovery| recovery.seconds);
    let errors: Vec<String> = run
        .errors
        .iter()
        .map(|(code, count)| format!("{code}: {}", number::count(*count)))
        .collect();
    vec![
        Cell::Text(run.number.to_string()),
        Cell::Text(run.arm.clone()),
        Cell::Text(number::or_missing(run.pair, |pair| pair.to_string())),
        Cell::Word(
            match (&run.discarded, run.pair) {
                (Some(_), _) => "dropped",
                (None, Some(_)) => "counts",
                (None, None) => "timed the recovery",
            }
            .to_owned(),
        ),
        Cell::Word(run.started_at.clone()),
        Cell::Bar(share, judged),
        Cell::Number(number::measured(run.tps)),
        Cell::Number(number::duration(run.warm_up_s)),
        Cell::Number(number::duration(run.window.seconds)),
        Cell::Text(steady(run)),
        percent(run.slope),
        percent(run.conditions.steal),
        percent(run.conditions.strangers_cpu),
        if errors.is_empty() {
            Cell::Number("0".to_owned())
        } else {
            Cell::Text(errors.join(", "))
        },
        Cell::Number(number::count(run.retries)),
        Cell::Number(number::or_missing(recovery, number::duration)),
    ]
}

/// Nobody asked whether a run was steady that was to be killed.
fn steady(run: &Run) -> String {
    match (run.pair, run.steady) {
        (None, _) => number::MISSING,
        (_, true) => "yes",
        (_, false) => "no",
    }
    .to_owned()
}

fn settings(tune: &Tune) -> Option<Html> {
    let settings = changes::settings(tune)?;
    let summary = format!(
        "Settings of each arm: {} beside what initdb wrote",
        number::count(settings.rows.len() as u64)
    );
    if settings.rows.is_empty() {
        return Some(folded(
            summary,
            el("p").text("No arm set anything beside what initdb wrote."),
        ));
    }
    let mut head = vec!["setting"];
    head.extend(settings.arms.iter().map(String::as_str));
    let rows = settings.rows.into_iter().map(|(name, values)| {
        std::iter::once(Cell::Code(name))
            .chain(values.into_iter().map(|value| match value {
                Some(value) => Cell::Code(value),
                None => Cell::Text(changes::NOT_SET.to_owned()),
            }))
            .collect()
    });
    Some(folded(
        summary,
        headed("Settings of each arm", &head, rows.collect()),
    ))
}

fn host(tune: &Tune) -> Html {
    let rows = machine::host(tune).into_iter().map(|row| {
        vec![
            Cell::Text(row.name),
            Cell::Text(row.value),
            Cell::Text(row.origin),
        ]
    });
    let summary = if tune.machine.summary.is_empty() {
        "Machine: not known".to_owned()
    } else {
        format!("Machine: {}", tune.machine.summary)
    };
    folded(
        summary,
        headed(
            "Facts of the machine",
            &["fact", "value", "read from"],
            rows.collect(),
        ),
    )
}

fn consistency(tune: &Tune) -> Option<Html> {
    let after: Vec<&Check> = tune.runs.iter().flat_map(|run| &run.consistency).collect();
    if tune.consistency.is_empty() && after.is_empty() {
        return None;
    }
    let summary = story::consistency(tune);
    let failed_after = tune.runs.iter().flat_map(|run| {
        let failed = run.consistency.iter().filter(|check| !check.passed);
        failed.map(|check| (format!("after run {}", run.number), check))
    });
    let of_load = tune
        .consistency
        .iter()
        .map(|check| ("after the load".to_owned(), check));
    let checks: Vec<(String, &Check)> = of_load.chain(failed_after).collect();
    if checks.is_empty() {
        return Some(el("p").text(format!("{summary}.")));
    }
    let broken = checks.iter().any(|(_, check)| !check.passed);
    let rows = checks.into_iter().map(|(when, check)| {
        let mut cells = vec![
            Cell::Text(check.name.clone()),
            Cell::Html(badge::passed(check.passed)),
            Cell::Word(when),
            Cell::Text(check.description.clone()),
        ];
        if broken {
            cells.push(Cell::Text(check.detail.clone().unwrap_or_default()));
        }
        cells
    });
    let head = [
        "condition",
        "result",
        "when",
        "what must hold",
        "what broke it",
    ];
    let head = if broken { &head[..] } else { &head[..4] };
    let details = folded(summary, headed("Consistency checks", head, rows.collect()));
    Some(if broken {
        details.attr("open", "")
    } else {
        details
    })
}

fn notes(tune: &Tune) -> Vec<Html> {
    if tune.notes.is_empty() {
        return Vec::new();
    }
    let notes = tune.notes.iter();
    vec![
        el("h3").text("Notes of the trial"),
        el("ul").children(notes.map(|note| el("li").text(glued(&story::sentence(note))))),
    ]
}

fn script(tune: &Tune) -> Option<Html> {
    let text = tune.workload.as_ref()?.script.as_deref()?;
    let code = el("pre").child(el("code").text(text));
    let summary = "The statements of the workload".to_owned();
    Some(folded(summary, scrolled("The statements", code)))
}

fn command(tune: &Tune) -> Vec<Html> {
    if tune.command.is_empty() {
        return vec![el("p").text("The command is not in the document.")];
    }
    let code = el("pre")
        .class("command")
        .child(el("code").text(story::command(tune)));
    vec![
        el("h3").text("The command"),
        scrolled("The command that reproduces this report", code),
    ]
}
