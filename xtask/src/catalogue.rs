//! Tests that the accounts of the catalogue and the rules agree, and that planted trees are found out.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use dbdyno_model::Facts;
use dbdyno_rules::{catalogue, check};
use dbdyno_target::host::{self, HostOptions, Root};

use crate::command;

/// The accounts, each of its own families.
const ACCOUNTS: [&str; 3] = [
    "catalogue.md",
    "catalogue-postgres.md",
    "catalogue-schema.md",
];

/// One line of a table: row id, outcome, reason.
fn rows() -> Vec<[String; 3]> {
    let mut rows = Vec::new();
    for account in ACCOUNTS {
        let path = command::root().join("docs/reference").join(account);
        let text = fs::read_to_string(path).unwrap();
        let cells = text
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'))
            .filter_map(|line| {
                let cells: Vec<&str> = line.split(" |").map(str::trim).collect();
                let [row, outcome, why, ..] = cells[..] else {
                    return None;
                };
                Some([row, outcome, why].map(str::to_owned))
            })
            .filter(|[row, ..]| row != "row" && !row.starts_with("---"));
        rows.extend(cells);
    }
    rows
}

/// Words in backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_row_has_an_outcome_and_every_rule_that_it_names_exists() {
    let ids: BTreeSet<&str> = catalogue().iter().map(|rule| rule.id).collect();
    let rows = rows();
    assert!(rows.len() >= 153, "{} rows", rows.len());
    let mut seen = BTreeSet::new();
    for [row, outcome, why] in &rows {
        assert!(row == "(none)" || seen.insert(row), "{row} stands twice");
        let words = ["built", "merged", "dropped", "corrected", "later"];
        let is_known = words.iter().any(|word| outcome.starts_with(word));
        assert!(is_known, "{row}: {outcome}");
        let names = quoted(outcome);
        let needs_name = !outcome.starts_with("dropped") && !outcome.starts_with("later");
        assert_eq!(names.is_empty(), !needs_name, "{row}: {outcome}");
        for name in names {
            assert!(ids.contains(name), "{row} names {name}, which is no rule");
        }
        assert!(
            outcome.starts_with("built") || outcome.starts_with("merged") || !why.is_empty(),
            "{row} lacks a reason"
        );
    }
}

#[test]
fn every_rule_is_accounted_for() {
    let rows = rows();
    let named: BTreeSet<&str> = rows
        .iter()
        .flat_map(|[_, outcome, _]| quoted(outcome))
        .collect();
    for rule in catalogue() {
        assert!(named.contains(rule.id), "{} is in no row", rule.id);
    }
}

/// What the rules find in a captured or constructed tree.
fn found(tree: &str, data: &str, server: Option<u32>) -> BTreeSet<String> {
    let root = Root::new(command::root().join("fixtures/hosts").join(tree));
    let options = HostOptions {
        data_directory: Some(PathBuf::from(data)),
        wal_directory: None,
        server_pid: server,
    };
    let facts = Facts {
        host: Some(host::collect(&root, &options)),
        ..Facts::default()
    };
    let findings = check(&facts).findings;
    findings.into_iter().map(|finding| finding.rule).collect()
}

fn assert_found(found: &BTreeSet<String>, planted: &[&str]) {
    for rule in planted {
        assert!(found.contains(*rule), "{rule} is not among {found:?}");
    }
}

#[test]
fn files_that_contradict_each_other_are_found() {
    let found = found("rhel-tuned", "/var/lib/pgsql/16/data", Some(700));
    assert_found(
        &found,
        &[
            "filesystem.write_barriers",
            "kernel.dead_sysctls",
            "kernel.dirty_both_forms",
            "kernel.elevator_option",
            "kernel.sysctl_drift",
            "kernel.tuned_conflict",
        ],
    );
    assert!(!found.contains("kernel.swappiness"));
    assert!(!found.contains("kernel.time_sync"));
}

#[test]
fn a_wrong_volume_on_a_broken_array_is_found() {
    let found = found("lvm-on-md", "/data/pg", None);
    assert_found(
        &found,
        &[
            "filesystem.xfs_stripe",
            "hardware.lvm_alignment",
            "hardware.parity_raid",
            "hardware.raid_degraded",
            "hardware.raid_stripe_cache",
            "hardware.raid_write_hole",
        ],
    );
    assert!(!found.contains("hardware.partition_alignment"));
}

#[test]
fn a_slice_out_of_memory_and_time_is_found() {
    let found = found("cgroup2-oom", "/", Some(900));
    assert_found(
        &found,
        &[
            "container.cpu_throttled",
            "container.memory_limit",
            "container.memory_pressure",
            "kernel.time_sync",
        ],
    );
}

#[test]
fn a_rented_machine_is_found() {
    let found = found("ec2-nvme", "/", None);
    assert_found(&found, &["cloud.burstable_machine", "cloud.nvme_timeout"]);
}

#[test]
fn one_full_node_and_a_partition_off_its_boundary_are_found() {
    let found = found("numa-md-raid", "/var/lib/my data/16/main", None);
    assert_found(
        &found,
        &[
            "hardware.numa_balance",
            "hardware.partition_alignment",
            "kernel.scheduler",
        ],
    );
    assert!(!found.contains("hardware.parity_raid"));
}
