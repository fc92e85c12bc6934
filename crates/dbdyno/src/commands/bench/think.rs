//! What `--think` asks of a run: how many terminals, and what TPC-C says of the result.

use dbdyno_bench::tpcc;
use dbdyno_bench::workload::Workload;
use dbdyno_model::Bench;
use dbdyno_model::bench::Limit;
use dbdyno_model::run::TransactionStats;

use crate::cli::BenchRun;
use crate::exit::Failure;

/// Connections where neither `--connections` nor `--think` says how many.
const CONNECTIONS: u32 = 8;

/// The numbers of connections to drive it with, a run each.
pub(super) fn connections(arguments: &BenchRun, workload: &Workload) -> Result<Vec<u32>, Failure> {
    let given = &arguments.connections;
    let Some(needed) = arguments.think.and_then(|_| workload.terminals()) else {
        return Ok(match given.is_empty() {
            true => vec![CONNECTIONS],
            false => given.clone(),
        });
    };
    if !given.is_empty() && *given != [needed] {
        return Err(Failure::usage(
            format!(
                "--think needs {needed} terminals, ten for each warehouse: --connections cannot be \
                 another number"
            ),
            "leave --connections away; the warehouses are those that were loaded",
        ));
    }
    Ok(vec![needed])
}

/// NOTPM that the specification's times leave room for.
pub(super) fn most_notpm(workload: &Workload) -> Option<f64> {
    let warehouses = workload.terminals()? / tpcc::TERMINALS;
    Some(Bench::MOST_NOTPM * f64::from(warehouses))
}

/// The response times that clause 5.2.5.3 asks for, and whether they were kept.
pub(super) fn limits(measured: &[TransactionStats]) -> Vec<Limit> {
    let of = |(name, limit_s): (&str, f64)| {
        let stats = measured.iter().find(|stats| stats.name == name);
        let p90_ms = stats.and_then(|stats| stats.latency_ms?.p90);
        Limit {
            transaction: name.to_owned(),
            limit_s,
            p90_ms,
            passed: p90_ms.map(|ms| ms < limit_s * 1e3),
        }
    };
    tpcc::response_limits_s().map(of).to_vec()
}

#[cfg(test)]
mod tests {
    use dbdyno_model::run::Latency;

    use super::*;

    #[test]
    fn a_limit_is_kept_below_it_and_unknown_without_a_transaction() {
        let of = |name: &str, p90_ms: f64| TransactionStats {
            name: name.to_owned(),
            latency_ms: Some(Latency {
                p90: Some(p90_ms),
                ..Latency::default()
            }),
            ..TransactionStats::default()
        };
        let measured = [
            of("new_order", 4_999.0),
            of("payment", 5_000.0),
            of("stock_level", 19_999.0),
        ];
        let limits = limits(&measured);
        let passed: Vec<Option<bool>> = limits.iter().map(|limit| limit.passed).collect();
        assert_eq!(passed, [Some(true), Some(false), None, None, Some(true)]);
    }

    #[test]
    fn a_warehouse_has_its_own_most() {
        let config = tpcc::Config {
            warehouses: 5,
            ..tpcc::Config::default()
        };
        let workload = Workload::Tpcc(config, tpcc::Mode::default());
        let most = most_notpm(&workload).unwrap();
        assert!((most - 64.3).abs() < 1e-9, "{most}");
    }
}
