//! A plan and findings as the rules would give them.

use dbdyno_model::finding::{Confidence, NotAssessed};
use dbdyno_model::plan::{MemoryModel, Rejected};
use dbdyno_model::{Change, Class, Effect, Evidence, Finding, HostAction, Needs, Plan, Severity};

/// Safe changes, one that is opt-in, host actions, and gaps.
pub(crate) fn plan() -> Plan {
    let change = |setting: &str, from: &str, to: &str, why: &str, needs, rule: &str| Change {
        setting: setting.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        why: why.to_owned(),
        class: Class::Safe,
        needs,
        gives_up: None,
        rule: rule.to_owned(),
    };
    let mut max_wal = change(
        "max_wal_size",
        "1GB",
        "8GB",
        "A checkpoint was forced every 20 s; each makes the next write of a page carry its full image.",
        Needs::Reload,
        "postgres.max_wal_size",
    );
    max_wal.gives_up = Some("crash recovery may take up to 40 s instead of 5 s".to_owned());
    let mut commit = change(
        "synchronous_commit",
        "on",
        "off",
        "Asked for by name with --allow may-lose-last-commits.",
        Needs::Reload,
        "postgres.synchronous_commit",
    );
    commit.class = Class::MayLoseLastCommits;
    let gap = |rule: &str, why: &str| NotAssessed {
        rule: rule.to_owned(),
        why: why.to_owned(),
    };
    let denied = "permission denied";
    Plan {
        schema: Plan::SCHEMA.to_owned(),
        changes: vec![
            max_wal,
            change(
                "shared_buffers",
                "128MB",
                "6016MB",
                "A quarter of the memory holds the working set; 128 MB missed 31 % of block reads.",
                Needs::Restart,
                "postgres.shared_buffers",
            ),
            change(
                "shared_preload_libraries",
                "",
                "pg_stat_statements, auto_explain",
                "The queries that take the time are not known without it.",
                Needs::Restart,
                "postgres.statements",
            ),
            commit,
        ],
        rejected: vec![Rejected {
            setting: "work_mem".to_owned(),
            wanted: "256MB".to_owned(),
            rule: "postgres.work_mem".to_owned(),
            why: "the memory model allows 41MB at 100 connections".to_owned(),
        }],
        host_actions: vec![
            HostAction::in_words(
                "kernel.swappiness",
                "vm.swappiness = 1 in /etc/sysctl.d/90-dbdyno.conf",
                Needs::Online,
            ),
            HostAction::in_words(
                "kernel.thp",
                "transparent_hugepage=madvise on the kernel's command line, in GRUB_CMDLINE_LINUX of /etc/default/grub",
                Needs::Reboot,
            ),
        ],
        not_assessed: vec![
            gap("hardware.smart", "smartctl is not installed"),
            gap("kernel.dirty_bytes", denied),
            gap("kernel.oom", denied),
            gap("kernel.limits", denied),
            gap("filesystem.barriers", denied),
        ],
        memory: MemoryModel {
            memory_bytes: Some(25_233_051_648),
            shared_buffers_bytes: 6_308_233_216,
            wal_buffers_bytes: 16_777_216,
            autovacuum_bytes: 1_572_864_000,
            active_bytes: 3_355_443_200,
            parallel_bytes: 0,
        },
    }
}

/// One of each severity, and one more that informs.
pub(crate) fn findings() -> Vec<Finding> {
    let finding = |rule: &str, severity, message: &str, evidence: &[(&str, &str, &str)]| Finding {
        rule: rule.to_owned(),
        severity,
        effect: Effect::default(),
        message: message.to_owned(),
        evidence: evidence
            .iter()
            .map(|(fact, value, origin)| Evidence {
                fact: (*fact).to_owned(),
                value: (*value).to_owned(),
                origin: (*origin).to_owned(),
            })
            .collect(),
        recommendations: Vec::new(),
        host_actions: Vec::new(),
        statements: Vec::new(),
        confidence: Confidence::High,
        sources: vec!["https://www.postgresql.org/docs/current/wal-configuration.html".to_owned()],
    };
    let mut swappiness = finding(
        "kernel.swappiness",
        Severity::Warn,
        "vm.swappiness is 60: the kernel may swap the server's memory out to keep page cache",
        &[("vm.swappiness", "60", "/proc/sys/vm/swappiness")],
    );
    swappiness.host_actions = vec![HostAction::in_words(
        "kernel.swappiness",
        "vm.swappiness = 1 in /etc/sysctl.d/90-dbdyno.conf",
        Needs::Online,
    )];
    vec![
        finding(
            "postgres.jit",
            Severity::Info,
            "jit is on for short queries",
            &[],
        ),
        swappiness,
        finding(
            "postgres.full_page_writes",
            Severity::Critical,
            "full_page_writes is off on ext4: a power cut may leave torn pages that nothing repairs",
            &[
                ("full_page_writes", "off", "pg_settings"),
                ("filesystem", "ext4", "/proc/self/mountinfo"),
            ],
        ),
        finding(
            "kernel.governor",
            Severity::Info,
            "the CPU governor is powersave",
            &[],
        ),
    ]
}
