//! Figures of all rounds beside what is wanted of them.

use serde_json::{Value, json};

use super::round::{Round, STARTS};
use crate::bench::series::{Series, spread};
use crate::bench::steal;
use crate::bench::table::{Line, judged, missing};

/// The weakest mode that a query can take.
const WANTED_LOCK: &str = "AccessShareLock";

/// As much of the longest statement as tells which one it is.
const SHOWN: usize = 60;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    what: String,
    measured: String,
    /// In the order of the rounds; empty for what is no number.
    values: Vec<f64>,
    wanted: String,
    is_met: Option<bool>,
    /// Of what was running meanwhile.
    steal: Vec<f64>,
}

/// How a figure is taken out of a round.
type Take = fn(&Round) -> f64;

/// `rounds` holds one at least.
pub(super) fn rows(rounds: &[Round], strongest_lock: &str) -> Vec<Row> {
    let check = |what: &str, below, take| numbers(rounds, what, below, take, |round| round.steal);
    let file =
        |what: &str, below, take| numbers(rounds, what, below, take, |round| round.file_steal);
    vec![
        check("check, the sample of 1 s included, s", Some(2.0), |round| {
            round.whole_s
        }),
        check(
            "the same without what it waited in the sample, s",
            None,
            |round| round.without_sample_s,
        ),
        check("its peak memory, MB", Some(80.0), |round| round.peak_mb),
        check(
            "its longest statement, server time, ms",
            Some(200.0),
            |round| round.longest_ms,
        ),
        longest(rounds),
        check("all its statements, server time, ms", None, |round| {
            round.server_ms
        }),
        check("its statements", None, |round| round.statements),
        limit(rounds),
        words(
            "strongest lock that it asks for on a table or sequence",
            strongest_lock,
            WANTED_LOCK,
            strongest_lock == WANTED_LOCK,
        ),
        file("facts file, KB", None, |round| round.file_kb),
        file(
            &format!("check --facts, median of {STARTS} starts, ms"),
            Some(50.0),
            |round| round.file_ms,
        ),
        file("its peak memory, MB", None, |round| round.file_peak_mb),
    ]
}

fn numbers(rounds: &[Round], what: &str, below: Option<f64>, take: Take, stolen: Take) -> Row {
    let series = Series {
        values: rounds.iter().map(take).collect(),
    };
    let median = series.median();
    Row {
        what: what.to_owned(),
        measured: spread(median, &series),
        values: series.values,
        wanted: below.map_or_else(missing, |below| format!("< {below}")),
        is_met: below.map(|below| median < below),
        steal: rounds.iter().map(stolen).collect(),
    }
}

fn words(what: &str, measured: &str, wanted: &str, is_met: bool) -> Row {
    Row {
        what: what.to_owned(),
        measured: measured.to_owned(),
        values: Vec::new(),
        wanted: wanted.to_owned(),
        is_met: Some(is_met),
        steal: Vec::new(),
    }
}

/// Which statement is the longest of the longest.
fn longest(rounds: &[Round]) -> Row {
    let by_time = |a: &&Round, b: &&Round| a.longest_ms.total_cmp(&b.longest_ms);
    let longest = rounds.iter().max_by(by_time);
    let text = longest.map_or("", |round| round.longest.as_str());
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = folded.chars().take(SHOWN).collect();
    Row {
        is_met: None,
        ..words("which begins with", &shown, &missing(), false)
    }
}

/// Set in every round, or not set.
fn limit(rounds: &[Round]) -> Row {
    let limits: Option<Vec<_>> = rounds.iter().map(|round| round.limit.as_ref()).collect();
    let last = limits.and_then(|limits| limits.last().copied());
    let text = match last {
        Some(limit) => format!("{}, behind {} statements", limit.value, limit.before),
        None => "not set".to_owned(),
    };
    let is_met = last.is_some_and(|limit| !matches!(limit.value.as_str(), "" | "0"));
    words("statement_timeout that it sets", &text, "set", is_met)
}

impl Line<4> for Row {
    const HEADINGS: [&'static str; 4] = ["figure", "measured", "wanted", "steal"];

    fn cells(&self) -> [String; 4] {
        [
            self.what.clone(),
            self.measured.clone(),
            judged(&self.wanted, self.is_met),
            steal::shown(&self.steal),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "what": self.what,
            "measured": self.measured,
            "values": self.values,
            "wanted": self.wanted,
            "met": self.is_met,
            "steal": self.steal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::log::Limit;
    use super::*;
    use crate::bench::table::{document, markdown};

    fn round(whole_s: f64, longest_ms: f64) -> Round {
        Round {
            whole_s,
            without_sample_s: whole_s - 1.0,
            peak_mb: 20.0,
            statements: 120.0,
            server_ms: 700.0,
            longest_ms,
            longest: format!("WITH a AS (\n    SELECT {longest_ms} || b)"),
            limit: Some(Limit {
                value: "5s".into(),
                before: 3,
            }),
            steal: 0.01,
            file_kb: 500.0,
            file_ms: 50.0,
            file_peak_mb: 12.0,
            file_steal: 0.2,
        }
    }

    #[test]
    fn medians_are_held_against_what_is_wanted() {
        let rounds = [round(1.5, 150.0), round(2.5, 250.0), round(1.75, 90.0)];
        let text = markdown(&rows(&rounds, "AccessShareLock"));
        for line in [
            "| check, the sample of 1 s included, s | 1.75 (1.50 to 2.50) | < 2: met | 1 % |",
            "| its longest statement, server time, ms | 150 (90.0 to 250) | < 200: met | 1 % |",
            "| which begins with | WITH a AS ( SELECT 250 \\|\\| b) | – | – |",
            "| statement_timeout that it sets | 5s, behind 3 statements | set: met | – |",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        // What has to be below a bound does not reach it.
        let line =
            "| check --facts, median of 20 starts, ms | 50.0 (50.0 to 50.0) | < 50: not met |";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn a_lock_that_is_stronger_and_a_limit_that_is_not_set_are_not_what_is_wanted() {
        let mut other = round(1.5, 150.0);
        other.limit = None;
        let rows = rows(&[round(1.5, 150.0), other], "RowExclusiveLock");
        let text = markdown(&rows);
        for part in [
            "| RowExclusiveLock | AccessShareLock: not met |",
            "| not set | set: not met |",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let document = document(&json!({}), &rows);
        assert_eq!(document["rows"][0]["values"], json!([1.5, 1.5]));
        assert_eq!(document["rows"][0]["met"], json!(true));
    }
}
