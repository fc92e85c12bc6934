//! What one observation of the load measured, and its parts behind the warm-up.

use std::collections::BTreeMap;
use std::time::Instant;

use dbdyno_model::bench::FailedReconnects;
use dbdyno_model::run::{Latency, Second, TransactionStats};
use dbdyno_stats::{encode_histogram, new_histogram};
use hdrhistogram::Histogram;

use super::sampler::ServerCounters;
use super::schedule::ArrivalProcess;
use crate::recorder::{Compact, ErrorCount, SLOTS, Tally};
use crate::wire::Sent;

/// More errors than this share of all transactions make a run worthless.
pub const MAX_ERROR_SHARE: f64 = 0.01;

/// A stretch of the load. Seconds named `from_s` count from its beginning, and only whole
/// recorded seconds are left out: those that began before `from_s`.
#[derive(Debug, Clone)]
pub struct Observed {
    pub started: Instant,
    pub ended: Instant,
    /// The same moments in seconds since the load began.
    pub start_s: f64,
    pub end_s: f64,
    /// Ended transactions, committed and intended rollbacks, in each full 200 ms: for the warm-up
    /// test. A last second that is not whole is left out.
    pub counts_200ms: Vec<u64>,
    pub series: Vec<Second>,
    pub open_loop: Option<Arrivals>,
    pub threads: u32,
    pub(crate) transactions: Vec<String>,
    pub(crate) start_counters: ServerCounters,
    pub(crate) records: Vec<Record>,
}

/// An open loop's arrivals during one observation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Arrivals {
    pub rate_tps: f64,
    pub spacing: ArrivalProcess,
    /// Transactions begun during the observation.
    pub begun: u64,
    /// Due but not begun when the observation ended.
    pub backlog: u64,
}

/// Counts behind the warm-up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    pub seconds: f64,
    /// Ended: committed and intended rollbacks.
    pub transactions: u64,
    pub intended_rollbacks: u64,
    /// Given up, by SQLSTATE.
    pub errors: BTreeMap<String, u64>,
    /// The first message seen with each SQLSTATE.
    pub error_messages: BTreeMap<String, String>,
    /// Tries to make lost connections again that failed; not errors.
    pub reconnects_failed: Vec<FailedReconnects>,
    pub retries: u64,
    /// Statements and round trips, failed attempts included.
    pub sent: Sent,
    /// Of the driver threads together.
    pub driver_cpu_s: Option<f64>,
}

impl Totals {
    pub fn tps(&self) -> f64 {
        if self.seconds > 0.0 {
            self.transactions as f64 / self.seconds
        } else {
            0.0
        }
    }

    /// Share of all transactions, ended or given up, that were given up.
    pub fn error_share(&self) -> f64 {
        let errors: u64 = self.errors.values().sum();
        errors as f64 / (errors + self.transactions).max(1) as f64
    }

    /// Whether so many failed that the run cannot be used.
    pub fn too_many_errors(&self) -> bool {
        self.error_share() > MAX_ERROR_SHARE
    }
}

/// Latency overall and by transaction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latencies {
    pub overall: Option<Latency>,
    pub per_transaction: Vec<TransactionStats>,
}

/// One second, kept for merging.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// Since the load began.
    pub(crate) begin_s: f64,
    pub(crate) end_s: f64,
    pub(crate) kinds: Vec<KindRecord>,
    pub(crate) rolled_back: u64,
    pub(crate) sent: Sent,
    pub(crate) errors: Vec<ErrorCount>,
    pub(crate) refused: Vec<FailedReconnects>,
    pub(crate) driver_cpu_s: Option<f64>,
    pub(crate) counters: ServerCounters,
}

#[derive(Debug, Clone)]
pub(crate) struct KindRecord {
    pub(crate) latency: Compact,
    pub(crate) ended: u64,
    pub(crate) retries: u64,
}

impl KindRecord {
    pub(crate) fn of(tally: &Tally) -> Vec<Self> {
        tally
            .kinds
            .iter()
            .map(|kind| Self {
                latency: Compact::of(&kind.latency),
                ended: kind.ended,
                retries: kind.retries,
            })
            .collect()
    }
}

impl Observed {
    pub fn seconds(&self) -> f64 {
        self.end_s - self.start_s
    }

    pub(crate) fn from(&self, from_s: f64) -> impl Iterator<Item = &Record> {
        // Half a millisecond for what rounding does to seconds since the start.
        let from_s = self.start_s + from_s - 0.0005;
        self.records
            .iter()
            .filter(move |record| record.begin_s >= from_s)
    }

    /// Latency behind the warm-up, merged from the seconds' histograms.
    pub fn latency(&self, from_s: f64) -> Latencies {
        let mut overall = new_histogram::<u64>();
        let mut per_transaction = Vec::with_capacity(self.transactions.len());
        for (index, name) in self.transactions.iter().enumerate() {
            let (mut merged, mut count, mut retries) = (new_histogram::<u64>(), 0, 0);
            for record in self.from(from_s) {
                let kind = &record.kinds[index];
                kind.latency.add_to(&mut merged);
                count += kind.ended;
                retries += kind.retries;
            }
            let _ = overall.add(&merged);
            let latency_ms = summarise(&merged);
            per_transaction.push(TransactionStats {
                name: name.clone(),
                count,
                retries,
                latency_ms,
                histogram: (!merged.is_empty()).then(|| encode_histogram(&merged)),
            });
        }
        Latencies {
            overall: summarise(&overall),
            per_transaction,
        }
    }

    /// Counts behind the warm-up.
    pub fn totals(&self, from_s: f64) -> Totals {
        let mut totals = Totals {
            driver_cpu_s: Some(0.0),
            ..Totals::default()
        };
        for record in self.from(from_s) {
            totals.seconds += record.end_s - record.begin_s;
            totals.transactions += record.kinds.iter().map(|kind| kind.ended).sum::<u64>();
            totals.retries += record.kinds.iter().map(|kind| kind.retries).sum::<u64>();
            totals.intended_rollbacks += record.rolled_back;
            totals.sent.add(record.sent);
            totals.driver_cpu_s = totals
                .driver_cpu_s
                .zip(record.driver_cpu_s)
                .map(|(sum, more)| sum + more);
            for error in &record.errors {
                *totals.errors.entry(error.code.clone()).or_default() += error.count;
                totals
                    .error_messages
                    .entry(error.code.clone())
                    .or_insert_with(|| error.message.clone());
            }
            for refused in &record.refused {
                refused.clone().count_into(&mut totals.reconnects_failed);
            }
        }
        totals
    }

    /// The server's counters as they stood at the beginning of what `from_s` leaves in.
    pub fn counters_at(&self, from_s: f64) -> ServerCounters {
        let left_out = self.records.len() - self.from(from_s).count();
        match left_out.checked_sub(1) {
            Some(last) => self.records[last].counters,
            None => self.start_counters,
        }
    }

    pub fn counters_end(&self) -> ServerCounters {
        self.records
            .last()
            .map_or(self.start_counters, |record| record.counters)
    }

    /// Joins the observation that followed at once, as when a warm-up took longer than hoped.
    pub fn append(&mut self, more: Observed) {
        self.ended = more.ended;
        self.end_s = more.end_s;
        self.counts_200ms.extend(more.counts_200ms);
        self.series.extend(more.series);
        self.records.extend(more.records);
        self.open_loop = match (self.open_loop, more.open_loop) {
            (Some(first), Some(second)) => Some(Arrivals {
                begun: first.begun + second.begun,
                ..second
            }),
            (first, second) => second.or(first),
        };
    }

    /// Takes in a second (or a part of one) that all threads have ended.
    pub(crate) fn push(&mut self, tally: &Tally, record: Record, mut second: Second, whole: bool) {
        if whole {
            self.counts_200ms.extend_from_slice(&tally.slots[..SLOTS]);
        }
        second.transactions = record.kinds.iter().map(|kind| kind.ended).sum();
        second.retries = record.kinds.iter().map(|kind| kind.retries).sum();
        second.errors = record.errors.iter().map(|error| error.count).sum();
        let mut all = new_histogram::<u64>();
        for kind in &record.kinds {
            kind.latency.add_to(&mut all);
        }
        if !all.is_empty() {
            second.p50_ms = Some(ms(all.value_at_quantile(0.5)));
            second.p95_ms = Some(ms(all.value_at_quantile(0.95)));
            second.p99_ms = Some(ms(all.value_at_quantile(0.99)));
        }
        self.end_s = record.end_s;
        self.series.push(second);
        self.records.push(record);
    }
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// The percentiles that documents hold.
pub fn summarise(histogram: &Histogram<u64>) -> Option<Latency> {
    (!histogram.is_empty()).then(|| {
        let at = |quantile| ms(histogram.value_at_quantile(quantile));
        Latency::of(histogram.len(), histogram.mean() / 1e6, at)
    })
}
