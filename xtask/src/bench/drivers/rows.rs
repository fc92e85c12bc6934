//! Figures of ours beside a peer's, and what is wanted of them.

use serde_json::{Value, json};

use super::contest::Outcome;
use super::figures::{Absent, Figure, Ratio, Reach, Run};
use crate::bench::series::{Series, spread};
use crate::bench::steal;
use crate::bench::table::{Line, judged, missing};

/// One figure of ours, where there is one beside a peer's, and what is wanted of it.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// The load: `TPC-C batched, 8 connections, TCP`.
    what: String,
    server: &'static str,
    figure: Figure,
    ours: Side,
    peer: Option<Side>,
    reach: Reach,
}

#[derive(Debug, Clone)]
struct Side {
    name: String,
    series: Result<Series, Absent>,
    steal: Vec<f64>,
}

impl Side {
    fn of(outcome: &Outcome, figure: Figure) -> Self {
        let runs: &[Run] = outcome.runs.as_deref().unwrap_or_default();
        let series = match &outcome.runs {
            Err(absent) => Err(absent.clone()),
            Ok(runs) => Series::of(runs, figure)
                .ok_or_else(|| Absent::NotMeasured(format!("{} does not tell it", outcome.name))),
        };
        Self {
            name: outcome.name.clone(),
            series,
            steal: runs.iter().map(|run| run.steal).collect(),
        }
    }

    fn is_failed(&self) -> bool {
        matches!(self.series, Err(Absent::Failed(_)))
    }

    fn text(&self) -> String {
        match &self.series {
            Ok(series) => spread(series.median(), series),
            Err(absent) => absent.to_string(),
        }
    }

    fn json(&self) -> Value {
        match &self.series {
            Ok(series) => json!({
                "name": self.name,
                "median": series.median(),
                "values": series.values,
                "steal": self.steal,
            }),
            Err(absent) => json!({ "name": self.name, "absent": absent.to_string() }),
        }
    }
}

impl Row {
    pub(super) fn new(
        what: &str,
        server: &'static str,
        figure: Figure,
        ours: &Outcome,
        peer: Option<&Outcome>,
        reach: Reach,
    ) -> Self {
        Self {
            what: what.to_owned(),
            server,
            figure,
            ours: Side::of(ours, figure),
            peer: peer.map(|peer| Side::of(peer, figure)),
            reach,
        }
    }

    /// Whether something that should have been measured was not.
    pub(super) fn is_failed(&self) -> bool {
        self.ours.is_failed() || self.peer.as_ref().is_some_and(Side::is_failed)
    }

    fn ratio(&self) -> Option<Ratio> {
        let theirs = self.peer.as_ref()?.series.as_ref().ok()?;
        Some(Ratio::of(self.ours.series.as_ref().ok()?, theirs))
    }

    fn is_met(&self) -> Option<bool> {
        let ours = self.ours.series.as_ref().ok()?;
        self.reach.is_met(ours, self.ratio().as_ref())
    }

    /// Of all its runs.
    fn steal(&self) -> Vec<f64> {
        let peer = self.peer.iter().flat_map(|peer| &peer.steal);
        self.ours.steal.iter().chain(peer).copied().collect()
    }
}

impl Line<9> for Row {
    const HEADINGS: [&'static str; 9] = [
        "load", "server", "figure", "ours", "peer", "theirs", "ratio", "wanted", "steal",
    ];

    fn cells(&self) -> [String; 9] {
        let peer = self.peer.as_ref();
        [
            self.what.clone(),
            self.server.to_owned(),
            self.figure.name().to_owned(),
            self.ours.text(),
            peer.map_or_else(missing, |peer| peer.name.clone()),
            peer.map_or_else(missing, Side::text),
            self.ratio()
                .map_or_else(missing, |ratio| spread(ratio.value, &ratio.of_pairs)),
            judged(&self.reach.to_string(), self.is_met()),
            steal::shown(&self.steal()),
        ]
    }

    fn json(&self) -> Value {
        let ratio = self.ratio();
        json!({
            "what": self.what,
            "server": self.server,
            "figure": self.figure.name(),
            "ours": self.ours.json(),
            "peer": self.peer.as_ref().map(Side::json),
            "ratio": ratio.as_ref().map(|ratio| ratio.value),
            "ratios_of_pairs": ratio.map(|ratio| ratio.of_pairs.values),
            "reach": self.reach.to_string(),
            "met": self.is_met(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::table::{document, markdown};

    fn outcome(name: &str, values: &[f64], steal: f64) -> Outcome {
        let run = |value: &f64| Run {
            figures: [(Figure::Cpu, *value)].into(),
            steal,
        };
        Outcome {
            name: name.to_owned(),
            runs: Ok(values.iter().map(run).collect()),
        }
    }

    fn absent(name: &str, why: Absent) -> Outcome {
        Outcome {
            name: name.to_owned(),
            runs: Err(why),
        }
    }

    fn row(ours: &Outcome, peer: Option<&Outcome>, reach: Reach) -> Row {
        Row::new("TPC-C", "MariaDB", Figure::Cpu, ours, peer, reach)
    }

    #[test]
    fn a_row_shows_medians_spread_ratio_and_whether_it_is_met() {
        let (ours, theirs) = (
            outcome("dbdyno", &[200.0, 210.0, 190.0], 0.01),
            outcome("go-tpc", &[600.0, 500.0, 700.0], 0.2),
        );
        let row = row(&ours, Some(&theirs), Reach::RatioAtMost(0.35));
        let expected = "| TPC-C | MariaDB | driver CPU a transaction, µs | 200 (190 to 210) | \
             go-tpc | 600 (500 to 700) | 0.333 (0.271 to 0.420) | ≤ 0.35 ×: met | \
             **20 %**, 3 of 6 runs over 5 % |";
        assert_eq!(
            markdown(std::slice::from_ref(&row)).lines().nth(2),
            Some(expected)
        );
        assert!(!row.is_failed());
        let document = document(&json!({}), &[row]);
        let told = &document["rows"][0];
        assert_eq!(told["peer"]["values"], json!([600.0, 500.0, 700.0]));
        assert_eq!(told["met"], json!(true));
        assert_eq!(told["ours"]["steal"], json!([0.01, 0.01, 0.01]));
    }

    #[test]
    fn what_is_absent_is_said_and_only_a_failure_is_one() {
        let ours = outcome("dbdyno", &[7.5], 0.0);
        let nobody = absent("go-tpc", Absent::NotMeasured("no --go-tpc".into()));
        let without = row(&ours, Some(&nobody), Reach::RatioAtMost(0.35));
        let line = markdown(std::slice::from_ref(&without));
        assert!(
            line.contains("| 7.50 | go-tpc | not measured: no --go-tpc | – | ≤ 0.35 × | 0 % |")
        );
        assert!(!without.is_failed());
        let broken = absent("go-tpc", Absent::Failed("a | b\nc".into()));
        let failed = row(&ours, Some(&broken), Reach::OursAtMost(7.0));
        let line = markdown(std::slice::from_ref(&failed));
        assert!(
            line.contains("failed: a \\| b c | – | ≤ 7: not met |"),
            "{line}"
        );
        assert!(failed.is_failed());
        let silent = Row::new("x", "y", Figure::Tps, &ours, None, Reach::Nothing);
        let line = markdown(&[silent]);
        assert!(
            line.contains("not measured: dbdyno does not tell it"),
            "{line}"
        );
    }
}
