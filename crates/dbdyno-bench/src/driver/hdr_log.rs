//! HdrHistogram's interval log, format 1.3: every second of every transaction, for its own tools.

use std::fmt::Write as _;
use std::time::Duration;

use dbdyno_stats::{encode_histogram, new_histogram};

use super::observed::Observed;

/// The log's maxima are in milliseconds, the histograms in nanoseconds.
const NANOS_PER_MS: f64 = 1e6;

impl Observed {
    /// The seconds behind the warm-up, a line for each and each transaction that ended in it, tagged
    /// with its name. The load began `since_epoch` after 1970.
    #[must_use]
    pub fn hdr_log(&self, from_s: f64, since_epoch: Duration) -> String {
        let mut log = format!(
            "#[Histogram log format version 1.3]\n#[StartTime: {:.3} (seconds since epoch)]\n\
             \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
             \"Interval_Compressed_Histogram\"\n",
            since_epoch.as_secs_f64()
        );
        for record in self.from(from_s) {
            for (name, kind) in self.transactions.iter().zip(&record.kinds) {
                let mut histogram = new_histogram::<u64>();
                kind.latency.add_to(&mut histogram);
                if histogram.is_empty() {
                    continue;
                }
                // Writing to a String cannot fail.
                let _ = writeln!(
                    log,
                    "Tag={},{:.3},{:.3},{:.3},{}",
                    tag(name),
                    record.begin_s,
                    record.end_s - record.begin_s,
                    histogram.max() as f64 / NANOS_PER_MS,
                    encode_histogram(&histogram)
                );
            }
        }
        log
    }
}

/// A tag ends at a comma, a blank or the end of its line.
fn tag(name: &str) -> String {
    name.replace(|c: char| c == ',' || c.is_whitespace(), "_")
}
