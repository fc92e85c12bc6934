//! Trials as they really are, for the tests of the page: many changes, host findings, drops.

use dbdyno_model::finding::NotAssessed;
use dbdyno_model::plan::Rejected;
use dbdyno_model::verdict::Word;
use dbdyno_model::{Change, Class, Finding, HostAction, Needs, Severity, Tune};

use crate::testing;

/// Setting, from, to, rule, what it gives up.
const CHANGES: [(&str, &str, &str, &str, &str); 11] = [
    (
        "autovacuum_work_mem",
        "-1",
        "384MB",
        "maintenance_work_mem",
        "",
    ),
    (
        "checkpoint_timeout",
        "5min",
        "15min",
        "checkpoint_timeout",
        "recovery time: a crash may have the log of 15 minutes to replay",
    ),
    (
        "effective_cache_size",
        "4GB",
        "16GB",
        "effective_cache_size",
        "",
    ),
    (
        "jit",
        "on",
        "off",
        "just_in_time",
        "speed of long analytical queries",
    ),
    (
        "maintenance_work_mem",
        "64MB",
        "1408MB",
        "maintenance_work_mem",
        "that much memory for each index build and manual vacuum",
    ),
    (
        "max_parallel_workers",
        "8",
        "2",
        "parallel",
        "speed of single large queries",
    ),
    (
        "max_parallel_workers_per_gather",
        "2",
        "1",
        "parallel",
        "speed of single large queries",
    ),
    (
        "max_wal_size",
        "1GB",
        "7GB",
        "max_wal_size",
        "recovery time: a crash may have up to 7 GiB of WAL to replay, and the disk holds it",
    ),
    (
        "min_wal_size",
        "80MB",
        "1792MB",
        "min_wal_size",
        "1.8 GiB of disk space",
    ),
    (
        "shared_buffers",
        "128MB",
        "5632MB",
        "shared_buffers",
        "a restart, and the memory is no longer free for other programs",
    ),
    (
        "wal_compression",
        "off",
        "lz4",
        "wal_compression",
        "CPU time for compressing full-page images",
    ),
];

/// Rule, severity, message, action on the host, what that needs.
const FINDINGS: [(&str, Severity, &str, &str, Needs); 10] = [
    (
        "hardware.cpu_steal",
        Severity::Warn,
        "the hypervisor took 5.1 % of the CPU time away over 1 s",
        "move the machine to a host with free CPUs or to a type with dedicated ones",
        Needs::Migration,
    ),
    (
        "kernel.dirty_limits",
        Severity::Warn,
        "4.6 GiB of written pages may pile up in memory before writers wait (20 % of 22.8 GiB available, vm.dirty_ratio)",
        "vm.dirty_background_bytes = 67108864 and vm.dirty_bytes = 536870912 in /etc/sysctl.d/90-dbdyno.conf",
        Needs::Online,
    ),
    (
        "kernel.scheduler",
        Severity::Warn,
        "the I/O scheduler of vda is mq-deadline and should be none",
        "ACTION==\"add|change\", KERNEL==\"vda\", ATTR{queue/scheduler}=\"none\" in /etc/udev/rules.d/zz-dbdyno.rules",
        Needs::Online,
    ),
    (
        "postgres.full_page_writes",
        Severity::Critical,
        "full_page_writes is off on ext4: a power cut may leave torn pages that nothing repairs",
        "",
        Needs::Online,
    ),
    (
        "postgres.max_wal_size",
        Severity::Warn,
        "max_wal_size is 1GB, too little for checkpoints by time",
        "",
        Needs::Online,
    ),
    (
        "postgres.shared_buffers",
        Severity::Warn,
        "shared_buffers is 128MB of 22.8 GiB of memory: no more than what a server starts with",
        "",
        Needs::Online,
    ),
    (
        "container.host_settings",
        Severity::Info,
        "the server runs in a container: actions on its host are only printed",
        "",
        Needs::Online,
    ),
    (
        "postgres.just_in_time",
        Severity::Info,
        "jit is on: compiling cannot pay for the declared workload tpcc, whose transactions are short",
        "",
        Needs::Online,
    ),
    (
        "postgres.parallel",
        Severity::Info,
        "8 parallel workers, 2 for one query, of 8 processes, on 2 CPUs",
        "",
        Needs::Online,
    ),
    (
        "postgres.wal_compression",
        Severity::Info,
        "wal_compression is off: the full-page images of the declared workload tpcc go to disk as they are",
        "",
        Needs::Online,
    ),
];

/// A whole trial on the embedded server, with eleven changes and four findings left.
pub(super) fn tune_with(word: Word) -> Tune {
    let mut tune = testing::tune_with(word);
    tune.findings = findings(&tune.findings[0]);
    tune.plan.changes = changes();
    tune.plan.host_actions = tune
        .findings
        .iter()
        .flat_map(|finding| finding.host_actions.clone())
        .collect();
    tune.plan.rejected = vec![Rejected {
        setting: "work_mem".to_owned(),
        wanted: "64MB".to_owned(),
        rule: "postgres.work_mem".to_owned(),
        why: "the memory model allows 41MB at 100 connections".to_owned(),
    }];
    tune.plan.not_assessed = ["filesystem.wal_device", "kernel.read_ahead"]
        .map(|rule| NotAssessed {
            rule: rule.to_owned(),
            why: "a virtual disk does not say".to_owned(),
        })
        .to_vec();
    for (arm, notpm) in tune.arms.iter_mut().zip([64_300.0, 84_200.0]) {
        arm.notpm_mean = Some(notpm);
    }
    tune.arms[1].settings = tune
        .plan
        .changes
        .iter()
        .map(|change| (change.setting.clone(), change.to.clone()))
        .collect();
    for run in &mut tune.runs {
        let shipped = run.arm == "shipped";
        run.server.blocks_hit = Some(if shipped { 7_031_787 } else { 5_159_998 });
        run.server.blocks_read = Some(if shipped { 211_583 } else { 2_397 });
    }
    tune
}

fn changes() -> Vec<Change> {
    CHANGES
        .iter()
        .map(|(setting, from, to, rule, gives_up)| Change {
            setting: (*setting).to_owned(),
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            why: "The rule says so.".to_owned(),
            class: Class::Safe,
            needs: if *setting == "shared_buffers" {
                Needs::Restart
            } else {
                Needs::Reload
            },
            gives_up: (!gives_up.is_empty()).then(|| (*gives_up).to_owned()),
            rule: format!("postgres.{rule}"),
        })
        .collect()
}

fn findings(like: &Finding) -> Vec<Finding> {
    FINDINGS
        .iter()
        .map(|(rule, severity, message, action, needs)| {
            let mut finding = like.clone();
            finding.rule = (*rule).to_owned();
            finding.severity = *severity;
            finding.message = (*message).to_owned();
            if !action.is_empty() {
                finding
                    .host_actions
                    .push(HostAction::in_words(*rule, *action, *needs));
            }
            finding
        })
        .collect()
}

/// Caveats, an unsteady machine, and pairs that others disturbed.
pub(super) fn disturbed(mut tune: Tune) -> Tune {
    let Some(verdict) = tune.verdict.as_mut() else {
        return tune;
    };
    verdict.caveats = vec![
        "2 of 8 runs were not steady: their throughput still drifted".to_owned(),
        "the hypervisor took 4 % of the CPU time on average: the rates are those of a shared machine"
            .to_owned(),
    ];
    let rounds = verdict.pairs.min(3);
    verdict.discarded_pairs = rounds;
    let mut lost = Vec::new();
    for (round, steal) in (1..=rounds).zip([1.9, 2.3, 3.1]) {
        let why = format!(
            "the hypervisor took {steal:.1} % of the CPU time of one run and 0.2 % of another"
        );
        tune.notes
            .push(format!("pair {round} is discarded and repeated: {why}"));
        for run in tune.runs.iter().filter(|run| run.pair == Some(round)) {
            let mut run = run.clone();
            run.discarded = Some(why.clone());
            lost.push(run);
        }
    }
    tune.runs.splice(0..0, lost);
    for (number, run) in (1..).zip(&mut tune.runs) {
        run.number = number;
    }
    tune
}
