//! A check of captured facts with findings of every kind, for the tests of its pages.

use dbdyno_model::facts::{CollectorFailure, Unreached};
use dbdyno_model::finding::{Confidence, NotAssessed, Want};
use dbdyno_model::plan::Rejected;
use dbdyno_model::postgres::{DatabaseAge, MissingPrivilege};
use dbdyno_model::{
    Change, Check, Class, Effect, Evidence, Fact, Facts, Finding, HostAction, Needs, Plan,
    Recommendation, RuleText, Severity,
};

use super::{Said, assessment, check_document};

/// Captured from a 2-CPU virtual machine with PostgreSQL 15.
pub(super) fn facts() -> Facts {
    serde_json::from_str(include_str!(
        "../../../../fixtures/facts/vm-2cpu-postgres15.json"
    ))
    .unwrap()
}

/// One server with findings of each severity, gaps, and a second server that was not reached.
pub(super) fn check() -> Check {
    let mut facts = facts();
    let server = facts.postgres.as_mut().unwrap();
    let setting = server.settings.get_mut("full_page_writes").unwrap();
    setting.source_file = Some("/etc/postgresql/15/main/postgresql.conf".to_owned());
    setting.source_line = Some(217);
    server.missing_privileges = vec![MissingPrivilege {
        object: "pg_file_settings".to_owned(),
        grant: "GRANT SELECT ON pg_file_settings TO (user)".to_owned(),
    }];
    let others = ["crm", "template0"].map(|name| DatabaseAge {
        name: name.to_owned(),
        is_connectable: name == "crm",
        ..DatabaseAge::default()
    });
    server.databases = Fact::known(others.to_vec(), "pg_database");
    facts.failures = vec![CollectorFailure {
        collector: "postgres.tables".to_owned(),
        why: "canceling statement due to statement timeout".to_owned(),
    }];
    facts.unreached = vec![Unreached {
        engine: None,
        port: Some(5433),
        data_directory: Some("/srv/pg/data".to_owned()),
        resident_bytes: None,
        why: "the server does not let user (user) in: role \"(user)\" does not exist".to_owned(),
        next: Some("connect as another database user with user=…".to_owned()),
    }];
    let said = said();
    let assessment = assessment(&facts, &said);
    check_document(facts, vec![assessment], "0.1.0")
}

/// Two servers on one host: what is said of the host is the same for both.
pub(super) fn two_servers() -> Check {
    let mut facts = facts();
    let mut other = facts.clone();
    let server = other.postgres.as_mut().unwrap();
    server.settings.get_mut("port").unwrap().value = "5433".to_owned();
    facts.others = vec![other];
    let assessments: Vec<_> = facts
        .each()
        .map(|facts| assessment(facts, &said()))
        .collect();
    check_document(facts, assessments, "0.1.0")
}

pub(super) fn said() -> Said {
    let not = |rule: &str, why: &str| NotAssessed {
        rule: rule.to_owned(),
        why: why.to_owned(),
    };
    Said {
        findings: findings(),
        plan: plan(),
        passed: [
            "filesystem.type",
            "kernel.clocksource",
            "kernel.zone_reclaim",
            "postgres.fsync",
            "postgres.wal_buffers",
            "schema.primary_key",
        ]
        .map(str::to_owned)
        .to_vec(),
        not_applicable: vec![
            not("kernel.numa", "the host has one node"),
            not("hardware.raid", "no md array is under the data"),
        ],
        next_vacuums: None,
    }
}

pub(super) fn findings() -> Vec<Finding> {
    let mut buffers = finding(
        "postgres.shared_buffers",
        Severity::Warn,
        "shared_buffers is 128MB of 23.7 GiB memory",
        &[("shared_buffers", "128MB", "pg_settings")],
    );
    buffers.recommendations = vec![recommendation("shared_buffers", "6016MB")];
    let mut twin = finding(
        "postgres.memory_twin",
        Severity::Info,
        "another rule has another opinion of the same setting",
        &[],
    );
    twin.recommendations = vec![recommendation("shared_buffers", "4GB")];
    let mut torn = finding(
        "postgres.full_page_writes",
        Severity::Critical,
        "full_page_writes is off on ext4: a power cut may leave torn pages that nothing repairs",
        &[
            ("full_page_writes", "off", "pg_settings"),
            ("filesystem", "ext4", "/proc/self/mountinfo"),
        ],
    );
    torn.effect = Effect::Durability;
    torn.recommendations = vec![recommendation("full_page_writes", "on")];
    let mut swappiness = finding(
        "kernel.swappiness",
        Severity::Warn,
        "vm.swappiness is 60: the kernel may swap the server's memory out to keep page cache",
        &[("vm.swappiness", "60", "/proc/sys/vm/swappiness")],
    );
    swappiness.host_actions = vec![action(
        "kernel.swappiness",
        "vm.swappiness = 1 in /etc/sysctl.d/90-dbdyno.conf",
        Needs::Online,
    )];
    let mut space = finding(
        "filesystem.space",
        Severity::Critical,
        "/srv has 1.2 GiB free, less than twice max_wal_size (1 GiB)",
        &[("free bytes", "1288490188", "statvfs")],
    );
    space.effect = Effect::Availability;
    space.host_actions = vec![action(
        "filesystem.space",
        "add space to /srv; look first for inactive replication slots",
        Needs::Online,
    )];
    let governor = finding(
        "kernel.governor",
        Severity::Info,
        "the CPU governor is powersave",
        &[],
    );
    vec![twin, governor, swappiness, buffers, space, torn]
}

fn finding(
    rule: &str,
    severity: Severity,
    message: &str,
    evidence: &[(&str, &str, &str)],
) -> Finding {
    Finding {
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
    }
}

fn recommendation(setting: &str, value: &str) -> Recommendation {
    Recommendation {
        setting: setting.to_owned(),
        want: Want::Value(value.to_owned()),
        why: "for a test".to_owned(),
        class: Class::Safe,
        gives_up: None,
    }
}

fn action(rule: &str, action: &str, needs: Needs) -> HostAction {
    HostAction::in_words(rule, action, needs)
}

fn plan() -> Plan {
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
    let mut buffers = change(
        "shared_buffers",
        "128MB",
        "6016MB",
        "A quarter of the memory holds the working set.",
        Needs::Restart,
        "postgres.shared_buffers",
    );
    buffers.gives_up = Some("the page cache has that much less".to_owned());
    let denied = "pg_file_settings: permission denied";
    let not = |rule: &str, why: &str| NotAssessed {
        rule: rule.to_owned(),
        why: why.to_owned(),
    };
    Plan {
        schema: Plan::SCHEMA.to_owned(),
        changes: vec![
            change(
                "full_page_writes",
                "off",
                "on",
                "A torn page cannot be mended without its image.",
                Needs::Reload,
                "postgres.full_page_writes",
            ),
            buffers,
        ],
        rejected: vec![Rejected {
            setting: "shared_buffers".to_owned(),
            wanted: "4GB".to_owned(),
            rule: "postgres.memory_twin".to_owned(),
            why: "postgres.shared_buffers asks for 6016MB and is graver".to_owned(),
        }],
        not_assessed: vec![
            not("kernel.limits", "limits: permission denied"),
            not("postgres.config_drift", denied),
        ],
        ..Plan::default()
    }
}

pub(super) fn rules() -> Vec<RuleText> {
    let rule = |id: &str, severity, sources: &[&str]| RuleText {
        id: id.to_owned(),
        family: id.split('.').next().unwrap_or_default().to_owned(),
        severity,
        confidence: Confidence::High,
        title: format!("What {id} finds."),
        sources: sources.iter().map(|source| (*source).to_owned()).collect(),
        documentation: format!("# {id}\n\nWhat {id} finds.\n\n## What to do\nMend `it`.\n"),
    };
    vec![
        rule("filesystem.space", Severity::Critical, &["a book"]),
        rule("kernel.governor", Severity::Info, &[]),
        rule("kernel.limits", Severity::Warn, &[]),
        rule(
            "kernel.swappiness",
            Severity::Warn,
            &["https://docs.kernel.org/"],
        ),
        rule("postgres.config_drift", Severity::Warn, &[]),
        rule("postgres.full_page_writes", Severity::Critical, &[]),
        rule("postgres.memory_twin", Severity::Info, &[]),
        rule("postgres.shared_buffers", Severity::Warn, &[]),
    ]
}
