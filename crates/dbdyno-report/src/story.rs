//! What a report says in words, from the document alone: one story for HTML, Markdown and the terminal.

use dbdyno_model::run::Check;
use dbdyno_model::{Run, Tune};

use crate::number;
use crate::quote::shell_word;
use crate::text::plural;

pub(crate) mod changes;
pub(crate) mod machine;
pub(crate) mod metrics;
pub(crate) mod noise;
mod opening;
pub(crate) mod risks;
pub(crate) mod rounds;
pub(crate) mod untested;

pub(crate) use opening::{Big, Sign, big_numbers, headline};

/// Share of failed transactions from which they are told beside the verdict.
const WORTH_SAYING_ERRORS: f64 = 0.001;

/// Settings whose names look like words.
const PLAIN_NAMES: [&str; 6] = ["autovacuum", "fsync", "geqo", "jit", "port", "ssl"];

/// `PostgreSQL 17.5`; empty where neither is known.
pub(crate) fn server(tune: &Tune) -> String {
    format!("{} {}", tune.server.engine, tune.server.version)
        .trim()
        .to_owned()
}

/// The day alone: who needs the second finds it under the facts.
pub(crate) fn day(tune: &Tune) -> &str {
    tune.started_at.get(..10).unwrap_or(&tune.started_at)
}

/// The report's name: an older document has none, and is known by its beginning.
pub(crate) fn name(tune: &Tune) -> String {
    if tune.name.is_empty() {
        format!("tune of {}", tune.started_at)
    } else {
        tune.name.clone()
    }
}

/// The consistency conditions that were broken, each once, with what broke them.
pub(crate) fn broken(tune: &Tune) -> Vec<String> {
    let of_runs = tune.runs.iter().flat_map(|run| &run.consistency);
    let mut told: Vec<String> = Vec::new();
    for check in tune
        .consistency
        .iter()
        .chain(of_runs)
        .filter(|it| !it.passed)
    {
        let mut text = format!("{} does not hold: {}", check.name, check.description);
        if let Some(detail) = &check.detail {
            text.push_str(&format!(" ({detail})"));
        }
        if !told.contains(&text) {
            told.push(text);
        }
    }
    told
}

/// How many checks were made and passed, after the load and after the runs.
pub(crate) fn consistency(tune: &Tune) -> String {
    let count = |checks: &[&Check]| {
        let passed = checks.iter().filter(|check| check.passed).count();
        format!(
            "{} of {}",
            number::count(passed as u64),
            number::count(checks.len() as u64)
        )
    };
    let load: Vec<&Check> = tune.consistency.iter().collect();
    let runs: Vec<&Check> = tune.runs.iter().flat_map(|run| &run.consistency).collect();
    let parts: Vec<String> = [(load, "after the load"), (runs, "after the runs")]
        .iter()
        .filter(|(checks, _)| !checks.is_empty())
        .map(|(checks, when)| format!("{} passed {when}", count(checks)))
        .collect();
    format!("Consistency checks: {}", parts.join(", "))
}

/// What must stand beside the verdict, loud: an unfinished trial, the document's caveats, errors.
pub(crate) fn alerts(tune: &Tune) -> Vec<String> {
    let mut alerts = Vec::new();
    if !tune.complete && (!tune.runs.is_empty() || tune.verdict.is_some()) {
        alerts.push("The trial did not finish.".to_owned());
    }
    if let Some(verdict) = &tune.verdict {
        alerts.extend(verdict.caveats.iter().map(|caveat| sentence(caveat)));
    } else {
        alerts.extend(tune.notes.iter().map(|note| sentence(note)));
    }
    alerts.extend(errors(tune));
    alerts
}

/// Transactions that failed in kept runs, where they are too many to be passed over.
fn errors(tune: &Tune) -> Option<String> {
    let (mut failed, mut done) = (0_u64, 0_u64);
    for run in tune.runs.iter().filter(|run| is_kept(run)) {
        failed = run
            .errors
            .values()
            .fold(failed, |sum, count| sum.saturating_add(*count));
        for segment in [run.window, run.checkpoint] {
            done = done.saturating_add(segment.transactions);
        }
    }
    let share = failed as f64 / (failed as f64 + done as f64).max(1.0);
    (share > WORTH_SAYING_ERRORS).then(|| {
        format!(
            "{} failed in the kept runs ({} of all); the runs' table counts them.",
            plural(failed, "transaction"),
            number::percent(share)
        )
    })
}

/// A run that belongs to a pair that counts.
pub(crate) fn is_kept(run: &Run) -> bool {
    run.pair.is_some() && run.discarded.is_none()
}

/// The text with a capital at its beginning and a full stop at its end.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut chars = text.chars();
    let Some(first) = chars.next() else {
        return String::new();
    };
    // A setting's or arm's name is not a word to be capitalised.
    let name = text.split_whitespace().next().is_some_and(|word| {
        word.contains(['_', '-', '/', '.', '=']) || PLAIN_NAMES.contains(&word)
    });
    let mut sentence = if name {
        text.to_owned()
    } else {
        first.to_uppercase().chain(chars).collect()
    };
    if !sentence.ends_with(['.', '!', '?', ':']) {
        sentence.push('.');
    }
    sentence
}

/// The command as a shell takes it.
pub(crate) fn command(tune: &Tune) -> String {
    let words: Vec<String> = tune.command.iter().map(|word| shell_word(word)).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn sentences_and_words() {
        assert_eq!(sentence("no trial was run"), "No trial was run.");
        assert_eq!(sentence("work_mem is 4MB."), "work_mem is 4MB.");
        assert_eq!(sentence("jit is on"), "jit is on.");
        assert_eq!(sentence("  "), "");
        let mut tune = testing::tune();
        tune.command = ["dbdyno", "tune", "host=/tmp user=me", "it's", ""]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(
            command(&tune),
            r"dbdyno tune 'host=/tmp user=me' 'it'\''s' ''"
        );
    }

    #[test]
    fn errors_are_told_only_where_they_weigh() {
        let mut tune = testing::tune();
        tune.runs[0].errors.insert("40001".to_owned(), 3);
        assert!(alerts(&tune).is_empty());
        tune.runs[0].errors.insert("53300".to_owned(), 900_000);
        assert!(alerts(&tune)[0].starts_with("900,003 transactions failed"));
        tune.runs[0].discarded = Some("steal".to_owned());
        assert!(alerts(&tune).is_empty());
    }
}
