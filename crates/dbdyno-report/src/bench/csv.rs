//! The seconds of runs as comma-separated values, for spreadsheets and plots.

use std::fmt::Write as _;

use dbdyno_model::Bench;
use dbdyno_model::run::Second;

const HEAD: &str = "connections,at_s,transactions,errors,retries,p50_ms,p95_ms,p99_ms,wal_bytes,\
                    checkpoints_timed,checkpoints_requested,blocks_hit,blocks_read,server_cpu_s,\
                    driver_cpu_s,steal,seconds\n";

/// A line for each second of each run under one head. What is not known is empty, never 0.
#[must_use]
pub fn bench_csv<'a>(runs: impl IntoIterator<Item = &'a Bench>) -> String {
    let mut csv = HEAD.to_owned();
    for run in runs {
        for second in &run.series {
            line(&mut csv, run.connections, second);
        }
    }
    csv
}

fn line(csv: &mut String, connections: u32, second: &Second) {
    // Writing to a String cannot fail.
    let _ = write!(
        csv,
        "{connections},{:.3},{},{},{}",
        second.at_s, second.transactions, second.errors, second.retries
    );
    let figures = |csv: &mut String, values: &[Option<f64>]| {
        for value in values {
            csv.push(',');
            if let Some(value) = value {
                let _ = write!(csv, "{value}");
            }
        }
    };
    let counts = |csv: &mut String, values: &[Option<u64>]| {
        for value in values {
            csv.push(',');
            if let Some(value) = value {
                let _ = write!(csv, "{value}");
            }
        }
    };
    figures(csv, &[second.p50_ms, second.p95_ms, second.p99_ms]);
    counts(
        csv,
        &[
            second.wal_bytes,
            second.checkpoints_timed,
            second.checkpoints_requested,
            second.blocks_hit,
            second.blocks_read,
        ],
    );
    figures(
        csv,
        &[second.server_cpu_s, second.driver_cpu_s, second.steal],
    );
    let _ = writeln!(csv, ",{:.3}", second.length_s());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::fixtures;

    #[test]
    fn every_line_has_a_value_or_nothing_for_each_column() {
        let runs = [fixtures::closed(), fixtures::nothing_known()];
        let csv = bench_csv(&runs);
        let columns = HEAD.split(',').count();
        assert!(csv.lines().all(|line| line.split(',').count() == columns));
        insta::assert_snapshot!(csv);
    }
}
