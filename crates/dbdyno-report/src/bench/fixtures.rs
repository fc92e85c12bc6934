//! Documents of `bench` that the snapshots here show.

use dbdyno_model::Fact;
use dbdyno_model::bench::{Bench, Limit, Target, Warning};
use dbdyno_model::footprint::{Fill, Footprint};
use dbdyno_model::run::{Check, DriverUse, Latency, OpenLoop, Second, ServerUse, TransactionStats};
use dbdyno_model::tune::Machine;

fn latency(factor: f64) -> Latency {
    Latency {
        count: 18_960,
        mean: 2.9 * factor,
        p50: 2.41 * factor,
        p90: Some(6.3 * factor),
        p95: 8.41 * factor,
        p99: 12.6 * factor,
        p999: 31.0 * factor,
        max: 88.2 * factor,
    }
}

fn transaction(name: &str, count: u64, factor: f64) -> TransactionStats {
    TransactionStats {
        name: name.into(),
        count,
        latency_ms: Some(latency(factor)),
        ..TransactionStats::default()
    }
}

pub(super) fn closed() -> Bench {
    Bench {
        schema: Bench::SCHEMA.into(),
        dbdyno_version: "0.1.0".into(),
        command: vec!["dbdyno".into(), "bench".into(), "run".into(), "tpcc".into()],
        started_at: "2026-01-01T00:00:00Z".into(),
        complete: true,
        workload: "tpcc".into(),
        description: "TPC-C, 10 warehouses, no think time".into(),
        mode: Some("pipelined".into()),
        transport: "unix socket".into(),
        isolation: Some("read-committed".into()),
        target: Target {
            address: "postgres://app@/run/postgresql/tpcc".into(),
            engine: "PostgreSQL".into(),
            version: "15.20".into(),
            database: "tpcc".into(),
        },
        machine: Machine {
            summary: "2 × Xeon, 23.5 GiB, ext4 on vda, Linux 6.1".into(),
            ..Machine::default()
        },
        connections: 8,
        seed: 1,
        seconds: 6.0,
        warm_up_s: 2.0,
        steady: true,
        slope: Some(0.001),
        transactions: 18_960,
        tps: 3_160.0,
        tps_of_windows: vec![3_100.0, 3_180.0, 3_200.0],
        window_s: Some(2.0),
        notpm: Some(83_000.0),
        latency_from: "actual start".into(),
        latency_ms: Some(latency(1.0)),
        per_transaction: vec![
            transaction("new_order", 8_500, 1.4),
            transaction("payment", 8_200, 0.6),
        ],
        statements_per_transaction: Some(11.42),
        round_trips_per_transaction: Some(2.1),
        retries: 3,
        intended_rollbacks: 85,
        driver: DriverUse {
            cpu_us_per_transaction: Some(52.1),
            threads: 1,
            peak_rss_bytes: Some(14 << 20),
        },
        driver_busy: Some(0.16),
        server: ServerUse {
            cpu_us_per_transaction: Some(580.0),
            wal_bytes_per_transaction: Some(19_400.0),
            checkpoints_timed: Some(0),
            checkpoints_requested: Some(1),
            blocks_hit: Some(9_990),
            blocks_read: Some(10),
            read_bytes: Some(4 << 20),
            write_bytes: Some(400 << 20),
            ..ServerUse::default()
        },
        series: vec![
            Second {
                at_s: 1.0,
                transactions: 3_020,
                p50_ms: Some(2.5),
                wal_bytes: Some(1 << 20),
                steal: Some(0.01),
                ..Second::default()
            },
            Second {
                at_s: 2.0,
                transactions: 3_200,
                ..Second::default()
            },
        ],
        ..Bench::default()
    }
}

/// At a fixed rate that the server does not keep up with, with errors and a failed check.
pub(super) fn overloaded() -> Bench {
    Bench {
        open_loop: Some(OpenLoop {
            rate_tps: 5_000.0,
            seconds: 6.0,
            transactions: 18_960,
            backlog: 11_040,
            ..OpenLoop::default()
        }),
        latency_from: "intended start".into(),
        steady: false,
        errors: [("40P01".to_owned(), 12), ("08006".to_owned(), 8)].into(),
        error_messages: [
            ("40P01".to_owned(), "deadlock detected".to_owned()),
            ("08006".to_owned(), "the server closed the connection".to_owned()),
        ]
        .into(),
        consistency: vec![
            Check {
                name: "3.3.2.1".into(),
                description: "W_YTD = sum(D_YTD)".into(),
                passed: true,
                detail: None,
            },
            Check {
                name: "3.3.2.2".into(),
                description: "D_NEXT_O_ID - 1 = max(O_ID)".into(),
                passed: false,
                detail: Some("warehouse 1, district 3: 3,011 and 3,010".into()),
            },
        ],
        warnings: vec![Warning {
            what: "the server does not keep up with 5,000 TPS: 11,040 transactions were due and not begun".into(),
            next: "take a lower --rate; without --rate the run says what it can do".into(),
        }],
        ..closed()
    }
}

/// Inserts into a table whose size is known, but not all of how full it is.
pub(super) fn inserts() -> Bench {
    let origin = "pgstattuple";
    Bench {
        workload: "inserts".into(),
        description: "inserts: uuid_v4 keys in random order, 10 rows a statement, autocommit, \
                      1000000 rows loaded"
            .into(),
        mode: None,
        notpm: None,
        rows_per_s: Some(31_600.0),
        footprint: Some(Footprint {
            rows: 1_189_600,
            table_bytes: Fact::known(170 << 20, origin),
            index_bytes: Fact::known(52 << 20, origin),
            total_bytes: Fact::known(222 << 20, origin),
            allocated_bytes: Fact::unknown("PostgreSQL does not tell", origin),
            fills: vec![
                Fill {
                    name: "dbdyno_keys".into(),
                    pages: Fact::known(21_760, origin),
                    fill: Fact::known(0.973, origin),
                },
                Fill {
                    name: "dbdyno_keys_pkey".into(),
                    pages: Fact::unknown("extension pgstattuple is not installed", origin),
                    fill: Fact::unknown("extension pgstattuple is not installed", origin),
                },
            ],
            cache_bytes: Some(128 << 20),
        }),
        ..closed()
    }
}

/// Users at the terminals of ten warehouses; one kind of transaction is too slow, one never came.
pub(super) fn thinking() -> Bench {
    let limit = |name: &str, limit_s: f64, p90_ms: Option<f64>| Limit {
        transaction: name.into(),
        limit_s,
        p90_ms,
        passed: p90_ms.map(|ms| ms < limit_s * 1e3),
    };
    Bench {
        description: "TPC-C, 10 warehouses, keying and think times".into(),
        think: Some(1.0),
        notpm: Some(124.3),
        notpm_most: Some(128.6),
        limits: vec![
            limit("new_order", 5.0, Some(8.82)),
            limit("payment", 5.0, Some(3.78)),
            limit("order_status", 5.0, None),
            limit("delivery", 5.0, Some(5_210.0)),
            limit("stock_level", 20.0, Some(12.4)),
        ],
        connections: 100,
        ..closed()
    }
}

pub(super) fn nothing_known() -> Bench {
    Bench {
        complete: false,
        latency_ms: None,
        per_transaction: Vec::new(),
        notpm: None,
        mode: None,
        isolation: None,
        statements_per_transaction: None,
        round_trips_per_transaction: None,
        tps: 0.0,
        transactions: 0,
        tps_of_windows: Vec::new(),
        driver: DriverUse::default(),
        driver_busy: None,
        server: ServerUse::default(),
        series: vec![Second {
            at_s: 0.4,
            cut_to_s: Some(0.4),
            ..Second::default()
        }],
        ..closed()
    }
}
