//! One round: a check of the server, its facts in a file, and a check of those.

use std::fs;

use dbdyno_model::Facts;

use super::log::{Limit, Session};
use super::site::Site;
use crate::bench::measure::{Measured, measure};
use crate::bench::series::Series;

/// What `--sample` takes at least.
const SAMPLE: &str = "--sample=1s";

/// Starts of `check --facts`, of whose times the median counts.
pub(super) const STARTS: usize = 20;

/// As dbdyno calls its sessions.
const DBDYNO: &str = "dbdyno";

/// What was measured of one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Round {
    pub(super) whole_s: f64,
    pub(super) without_sample_s: f64,
    pub(super) peak_mb: f64,
    pub(super) statements: f64,
    pub(super) server_ms: f64,
    pub(super) longest_ms: f64,
    pub(super) longest: String,
    pub(super) limit: Option<Limit>,
    pub(super) steal: f64,
    pub(super) file_kb: f64,
    pub(super) file_ms: f64,
    pub(super) file_peak_mb: f64,
    /// The most of all starts.
    pub(super) file_steal: f64,
}

/// One check of the server.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) measured: Measured,
    pub(super) session: Session,
}

/// `dbdyno check` of the server, with what the log says of it.
pub(super) fn check(site: &Site) -> Result<Checked, String> {
    let end = site.log_end()?;
    let mut command = site.dbdyno(&["check", &site.uri(), SAMPLE]);
    let measured = measure(&mut command).map_err(|failure| failure.message)?;
    let session = Session::parse(&site.log_since(end)?, DBDYNO);
    if session.statements.is_empty() {
        return Err("the server's log knows no statement of ours".to_owned());
    }
    Ok(Checked { measured, session })
}

impl Round {
    pub(super) fn run(site: &Site, tables: u32) -> Result<Self, String> {
        let Checked { measured, session } = check(site)?;
        if !session.errors.is_empty() {
            let errors = session.errors.join("; ");
            return Err(format!("statements of ours failed: {errors}"));
        }
        let longest = session.longest().ok_or("no statement")?;
        let file = File::measure(site, tables)?;
        Ok(Self {
            whole_s: measured.seconds,
            without_sample_s: measured.seconds - session.waited_s(),
            peak_mb: megabytes(&measured)?,
            statements: session.statements.len() as f64,
            server_ms: session.all_ms(),
            longest_ms: longest.ms,
            longest: longest.text.clone(),
            limit: session.limit(),
            steal: measured.steal,
            file_kb: file.kb,
            file_ms: file.ms,
            file_peak_mb: file.peak_mb,
            file_steal: file.steal,
        })
    }
}

struct File {
    kb: f64,
    ms: f64,
    peak_mb: f64,
    steal: f64,
}

impl File {
    fn measure(site: &Site, tables: u32) -> Result<Self, String> {
        let path = site.file("facts.json");
        let shown = path.display().to_string();
        let mut collect = site.dbdyno(&["collect", &site.uri(), SAMPLE, "--output", &shown]);
        measure(&mut collect).map_err(|failure| failure.message)?;
        let text = fs::read_to_string(&path).map_err(|error| format!("{shown}: {error}"))?;
        complete(&text, tables)?;
        let mut runs = Vec::with_capacity(STARTS);
        for _ in 0..STARTS {
            let mut command = site.dbdyno(&["check", "--facts", &shown]);
            runs.push(measure(&mut command).map_err(|failure| failure.message)?);
        }
        let peaks: Vec<f64> = runs.iter().map(megabytes).collect::<Result<_, _>>()?;
        let seconds = Series {
            values: runs.iter().map(|run| run.seconds).collect(),
        };
        Ok(Self {
            kb: text.len() as f64 / 1e3,
            ms: 1e3 * seconds.median(),
            peak_mb: peaks.into_iter().fold(0.0, f64::max),
            steal: runs.iter().map(|run| run.steal).fold(0.0, f64::max),
        })
    }
}

/// Facts that lack a subject, or tables, would be cheaper to read.
fn complete(text: &str, tables: u32) -> Result<(), String> {
    let facts: Facts = serde_json::from_str(text).map_err(|error| format!("the facts: {error}"))?;
    if let Some(failure) = facts.failures.first() {
        return Err(format!("{} failed: {}", failure.collector, failure.why));
    }
    let postgres = facts.postgres.ok_or("the facts are of no server")?;
    let totals = postgres.table_totals.value();
    let found = totals.map_or(0, |totals| totals.tables);
    if found != u64::from(tables) {
        return Err(format!("{found} of {tables} tables were found"));
    }
    Ok(())
}

fn megabytes(measured: &Measured) -> Result<f64, String> {
    let peak = measured.peak_rss_bytes.ok_or("its memory is not known")?;
    Ok(peak as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use dbdyno_model::Fact;
    use dbdyno_model::facts::CollectorFailure;
    use dbdyno_model::postgres::{Postgres, TableTotals};

    use super::*;

    #[test]
    fn facts_count_only_where_nothing_of_them_is_missing() {
        let totals = TableTotals {
            tables: 500,
            ..TableTotals::default()
        };
        let mut facts = Facts {
            postgres: Some(Postgres {
                table_totals: Fact::known(totals, "pg_class"),
                ..Postgres::default()
            }),
            ..Facts::default()
        };
        let judged = |facts: &Facts| complete(&serde_json::to_string(facts).unwrap(), 500);
        assert_eq!(judged(&facts), Ok(()));
        facts.failures.push(CollectorFailure {
            collector: "postgres.tables".into(),
            why: "canceled".into(),
        });
        assert_eq!(
            judged(&facts),
            Err("postgres.tables failed: canceled".to_owned())
        );
        facts.failures.clear();
        facts.postgres = Some(Postgres::default());
        assert!(judged(&facts).unwrap_err().contains("0 of 500 tables"));
    }
}
