//! What holds for every plan, whatever the machine, the server and its load.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::{Class, Effect, Fact, Facts, Finding, Plan, Recommendation, Severity};
use proptest::prelude::*;

use super::{gate, humane, memory_with, plan};
use crate::formulas::memory::budget_bytes;
use crate::testing::{
    configure, declare_tpcc, healthy, postgres, setting, with_statistics_of_days,
};
use crate::{Checked, check};

const MIB: u64 = 1 << 20;

/// The server as it is once the plan is carried out.
fn carried_out(facts: &Facts, plan: &Plan) -> Facts {
    let mut after = facts.clone();
    for change in &plan.changes {
        let setting = &after.postgres.as_ref().unwrap().settings[&change.setting];
        let value = humane::with_value(setting, &change.to).unwrap().value;
        configure(&mut after, &change.setting, &value);
    }
    // A server shows what wal_buffers = −1 came to, and still calls that its default.
    if !plan
        .changes
        .iter()
        .any(|change| change.setting == "wal_buffers")
    {
        setting(&mut after, "wal_buffers").source = "default".into();
    }
    after
}

/// What the facts of a case are made from: small enough to read when one fails.
#[derive(Debug, Clone)]
struct Case {
    memory_mib: u64,
    cpus: u32,
    active: Option<u32>,
    free_gib: u64,
    shared_pages: u64,
    work_mem_kib: u64,
    maintenance_kib: u64,
    max_connections: u64,
    declared: bool,
    /// Bytes and files spilled, and requested checkpoints, in three days.
    counted: Option<(u64, u64, u64)>,
}

prop_compose! {
    fn cases()(
        memory_mib in 64_u64..2_000_000,
        cpus in 1_u32..256,
        active in proptest::option::of(1_u32..2000),
        free_gib in 0_u64..10_000,
        shared_pages in prop_oneof![Just(16_384_u64), 16_u64..40_000_000],
        work_mem_kib in prop_oneof![Just(4096_u64), 64_u64..8_000_000],
        maintenance_kib in prop_oneof![Just(65_536_u64), 1024_u64..8_000_000],
        max_connections in 10_u64..5000,
        declared in any::<bool>(),
        counted in proptest::option::of(
            (1_u64..1_000_000_000_000, 1_u64..1_000_000, 0_u64..100_000)
        ),
    ) -> Case {
        Case {
            memory_mib, cpus, active, free_gib, shared_pages, work_mem_kib, maintenance_kib,
            max_connections, declared, counted,
        }
    }
}

impl Case {
    fn facts(&self) -> Facts {
        static BASE: LazyLock<Facts> = LazyLock::new(healthy);
        let mut facts = BASE.clone();
        facts.intent.memory_bytes = Some(self.memory_mib * MIB);
        facts.intent.cpus = Some(self.cpus);
        facts.intent.active_connections = self.active;
        if self.declared {
            declare_tpcc(&mut facts);
        }
        let host = facts.host.as_mut().unwrap();
        host.wal = host.wal.clone().map(|mut storage| {
            storage.free_bytes = Fact::known(self.free_gib << 30, "test");
            storage
        });
        configure(&mut facts, "shared_buffers", &self.shared_pages.to_string());
        configure(&mut facts, "work_mem", &self.work_mem_kib.to_string());
        configure(
            &mut facts,
            "maintenance_work_mem",
            &self.maintenance_kib.to_string(),
        );
        configure(
            &mut facts,
            "max_connections",
            &self.max_connections.to_string(),
        );
        if let Some((temp_bytes, temp_files, requested)) = self.counted {
            count(&mut facts, temp_bytes, temp_files, requested);
        }
        facts
    }
}

fn count(facts: &mut Facts, temp_bytes: u64, temp_files: u64, requested: u64) {
    with_statistics_of_days(facts, 3.0);
    let server = postgres(facts);
    server.database.after = server.database.after.clone().map(|mut all| {
        (all.temp_bytes, all.temp_files) = (temp_bytes, temp_files);
        (all.blocks_read, all.blocks_hit) = (temp_bytes / 8192, 1_000_000);
        all.size_bytes = Some(temp_bytes);
        all
    });
    server.checkpoints.after = server.checkpoints.after.clone().map(|mut all| {
        (all.timed, all.requested) = (800, requested);
        all
    });
    server.wal.after = server.wal.after.clone().map(|mut all| {
        all.bytes = Some(temp_bytes * 10);
        all
    });
}

fn setting_names() -> impl Strategy<Value = String> {
    let names: Vec<String> = healthy().postgres.unwrap().settings.into_keys().collect();
    prop_oneof![
        4 => proptest::sample::select(names),
        2 => proptest::sample::select(super::memory::CUT_ORDER.map(str::to_owned).to_vec()),
        1 => Just("no_such_setting".to_owned()),
    ]
}

fn wants() -> impl Strategy<Value = Want> {
    prop_oneof![
        any::<u64>().prop_map(Want::Bytes),
        (0_u64..64 << 30).prop_map(Want::Bytes),
        any::<i32>().prop_map(|number| Want::Value(number.to_string())),
        proptest::sample::select(vec!["on", "off", "minimal", "15min", "8GB", "0.5", "lz4"])
            .prop_map(|text| Want::Value(text.to_owned())),
        Just(Want::FirstOf(vec![
            "lz4".into(),
            "zstd".into(),
            "on".into()
        ])),
    ]
}

fn findings() -> impl Strategy<Value = Vec<Finding>> {
    let one = (setting_names(), wants(), 0..3_usize, 0..3_usize, 0..6_usize);
    proptest::collection::vec(one, 0..30).prop_map(|all| {
        all.into_iter()
            .map(|(setting, want, severity, confidence, rule)| Finding {
                rule: format!("test.rule_{rule}"),
                severity: [Severity::Info, Severity::Warn, Severity::Critical][severity],
                effect: Effect::default(),
                message: String::new(),
                evidence: Vec::new(),
                recommendations: vec![Recommendation {
                    setting,
                    want,
                    why: "test".into(),
                    class: Class::Safe,
                    gives_up: None,
                }],
                host_actions: Vec::new(),
                statements: Vec::new(),
                confidence: [Confidence::Low, Confidence::Medium, Confidence::High][confidence],
                sources: Vec::new(),
            })
            .collect()
    })
}

fn assert_sound(facts: &Facts, plan: &Plan) -> Result<(), TestCaseError> {
    let server = facts.postgres.as_ref().unwrap();
    let mut names: Vec<&String> = plan.changes.iter().map(|change| &change.setting).collect();
    prop_assert!(names.is_sorted());
    names.dedup();
    prop_assert_eq!(names.len(), plan.changes.len(), "one value a setting");
    for change in &plan.changes {
        let setting = server.setting(&change.setting);
        prop_assert!(setting.is_some(), "{} does not exist", change.setting);
        let setting = setting.unwrap();
        prop_assert_ne!(&setting.context, "internal");
        prop_assert!(change.class == Class::Safe);
        prop_assert!(gate::forbidden(&change.setting, setting, &change.to).is_none());
        prop_assert_ne!(&change.from, &change.to);
        if matches!(setting.vartype.as_str(), "integer" | "real") {
            let raw = humane::raw(setting, &change.to);
            prop_assert!(raw.is_some(), "{} = {}", change.setting, change.to);
            for (bound, crossed) in [(&setting.min, -1.0), (&setting.max, 1.0)] {
                if let Some(bound) = bound.as_ref().and_then(|bound| bound.parse::<f64>().ok()) {
                    prop_assert!(
                        (raw.unwrap() - bound) * crossed <= 0.0,
                        "{} = {}",
                        change.setting,
                        change.to
                    );
                }
            }
        }
    }
    let planned = |name: &str| {
        let setting = &server.settings[name];
        let change = plan.changes.iter().find(|change| change.setting == name);
        change.map_or(setting.number(), |change| humane::raw(setting, &change.to))
    };
    prop_assert!(
        planned("superuser_reserved_connections") < planned("max_connections"),
        "nobody could connect"
    );
    let budget = budget_bytes(plan.memory.memory_bytes.unwrap());
    let now = memory_with(facts, &BTreeMap::new()).unwrap();
    if now <= budget {
        prop_assert!(
            plan.memory.sum_bytes() <= budget,
            "a plan broke what was sound"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_from_the_rules_is_sound_and_carrying_it_out_leaves_nothing_to_change(
        case in cases()
    ) {
        let facts = case.facts();
        let first = plan(&facts, &check(&facts));
        assert_sound(&facts, &first)?;
        let after = carried_out(&facts, &first);
        let second = plan(&after, &check(&after));
        prop_assert_eq!(second.changes, vec![], "after {:#?}", first.changes);
    }

    #[test]
    fn a_plan_from_any_findings_is_sound_and_their_order_does_not_matter(
        case in cases(), findings in findings(), seed in any::<u64>()
    ) {
        let facts = case.facts();
        let planned = plan(&facts, &Checked { findings: findings.clone(), ..Checked::default() });
        assert_sound(&facts, &planned)?;
        let mut shuffled = findings;
        shuffled.sort_by_key(|finding| {
            let text = format!("{finding:?}");
            text.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
        });
        let again = plan(&facts, &Checked { findings: shuffled, ..Checked::default() });
        prop_assert_eq!(serde_json::to_string(&planned).unwrap(), serde_json::to_string(&again).unwrap());
    }
}
