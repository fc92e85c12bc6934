//! The solver on captured facts: what it chooses, what it refuses, and that order never matters.

use std::collections::BTreeMap;

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::{Class, Facts, Finding, Needs, Plan, Recommendation, Severity};

use super::{as_conf, current_settings, plan, rescale};
use crate::testing::{configure, declare_tpcc, healthy, postgres, set};
use crate::{Checked, check};

fn recommend(setting: &str, want: Want) -> Recommendation {
    Recommendation {
        setting: setting.into(),
        want,
        why: "test".into(),
        class: Class::Safe,
        gives_up: None,
    }
}

fn value(text: &str) -> Want {
    Want::Value(text.into())
}

fn finding(rule: &str, recommendations: Vec<Recommendation>) -> Finding {
    Finding {
        rule: rule.into(),
        severity: Severity::Warn,
        message: String::new(),
        evidence: Vec::new(),
        recommendations,
        host_actions: Vec::new(),
        confidence: Confidence::High,
        sources: Vec::new(),
    }
}

fn planned(facts: &Facts, findings: Vec<Finding>) -> Plan {
    plan(
        facts,
        &Checked {
            findings,
            ..Checked::default()
        },
    )
}

fn conf(plan: &Plan) -> BTreeMap<String, String> {
    as_conf(plan).into_iter().collect()
}

fn why_rejected<'a>(plan: &'a Plan, setting: &str) -> &'a str {
    let found = plan
        .rejected
        .iter()
        .find(|rejected| rejected.setting == setting);
    &found
        .unwrap_or_else(|| panic!("{setting} was not rejected: {:?}", plan.rejected))
        .why
}

#[test]
fn the_plan_for_tpcc_on_the_captured_machine() {
    let mut facts = healthy();
    declare_tpcc(&mut facts);
    let plan = plan(&facts, &check(&facts));
    let lines: Vec<String> = plan
        .changes
        .iter()
        .map(|change| {
            format!(
                "{} {} → {} ({})",
                change.setting,
                change.from,
                change.to,
                change.needs.as_str()
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
        autovacuum_work_mem -1 → 384MB (reload)
        checkpoint_timeout 5min → 15min (reload)
        effective_cache_size 4GB → 16GB (reload)
        maintenance_work_mem 64MB → 1408MB (reload)
        max_wal_size 1GB → 8GB (reload)
        min_wal_size 80MB → 2GB (reload)
        shared_buffers 128MB → 5632MB (restart)
        ");
    assert_eq!(plan.rejected, []);
    assert_eq!(plan.class(), Class::Safe);
    assert_eq!(plan.memory.memory_bytes, Some(25_455_230_976));
    assert!(plan.memory.sum_bytes() <= 25_455_230_976 / 100 * 85);
    assert_eq!(
        plan.memory.wal_buffers_bytes,
        16 << 20,
        "follows the planned shared_buffers"
    );
}

#[test]
fn the_same_facts_give_the_same_plan_in_any_order_of_findings() {
    let mut facts = healthy();
    declare_tpcc(&mut facts);
    let checked = check(&facts);
    let first = serde_json::to_string(&plan(&facts, &checked)).unwrap();
    assert_eq!(
        first,
        serde_json::to_string(&plan(&facts, &checked)).unwrap()
    );
    let mut shuffled = checked.clone();
    shuffled.findings.reverse();
    shuffled.not_assessed.reverse();
    let middle = shuffled.findings.len() / 2;
    shuffled.findings.rotate_left(middle);
    assert_eq!(
        first,
        serde_json::to_string(&plan(&facts, &shuffled)).unwrap()
    );
}

#[test]
fn the_graver_finding_wins_and_the_other_is_told() {
    let facts = healthy();
    let grave = Finding {
        severity: Severity::Critical,
        confidence: Confidence::Low,
        ..finding("a.grave", vec![recommend("work_mem", value("8MB"))])
    };
    let light = finding("a.light", vec![recommend("work_mem", value("16MB"))]);
    for findings in [vec![grave.clone(), light.clone()], vec![light, grave]] {
        let plan = planned(&facts, findings);
        assert_eq!(conf(&plan)["work_mem"], "8MB");
        assert_eq!(
            why_rejected(&plan, "work_mem"),
            "a.grave asks for 8MB and is graver"
        );
        assert_eq!(plan.rejected[0].wanted, "16MB");
    }
}

#[test]
fn the_surer_finding_wins_then_the_one_that_gives_up_nothing() {
    let facts = healthy();
    let sure = finding("a.sure", vec![recommend("work_mem", value("8MB"))]);
    let unsure = Finding {
        confidence: Confidence::Low,
        ..finding("a.a_guess", vec![recommend("work_mem", value("16MB"))])
    };
    let plan = planned(&facts, vec![unsure, sure.clone()]);
    assert!(why_rejected(&plan, "work_mem").ends_with("is surer"));
    let mut dear = finding("a.dear", vec![recommend("work_mem", value("32MB"))]);
    dear.recommendations[0].gives_up = Some("much".into());
    let plan = planned(&facts, vec![dear, sure]);
    assert_eq!(conf(&plan)["work_mem"], "8MB");
    assert!(why_rejected(&plan, "work_mem").ends_with("gives up nothing"));
}

#[test]
fn agreement_is_no_contradiction_and_the_present_value_no_change() {
    let facts = healthy();
    let one = finding("a.one", vec![recommend("work_mem", value("8MB"))]);
    let other = finding("a.other", vec![recommend("work_mem", value("8192kB"))]);
    let same = finding(
        "a.same",
        vec![recommend("shared_buffers", Want::Bytes(128 << 20))],
    );
    let plan = planned(&facts, vec![one, other, same]);
    assert_eq!(plan.changes.len(), 1);
    assert_eq!(plan.rejected, []);
    assert_eq!(plan.changes[0].from, "4MB");
    assert_eq!(plan.changes[0].needs, Needs::Reload);
}

#[test]
fn what_the_server_lacks_or_fixes_is_rejected() {
    let facts = healthy();
    let wants = vec![
        recommend("io_method", value("io_uring")),
        recommend("data_checksums", value("on")),
        recommend("wal_level", value("minimal")),
        recommend("autovacuum", value("off")),
        recommend("synchronous_commit", value("off")),
        recommend("wal_compression", value("brotli")),
    ];
    let plan = planned(&facts, vec![finding("a.rule", wants)]);
    assert_eq!(plan.changes, []);
    assert_eq!(
        why_rejected(&plan, "io_method"),
        "PostgreSQL 15 has no such setting"
    );
    assert!(why_rejected(&plan, "data_checksums").starts_with("fixed when the server is built"));
    assert!(why_rejected(&plan, "wal_level").starts_with("a plan never lowers wal_level"));
    assert!(why_rejected(&plan, "autovacuum").starts_with("a plan never lowers autovacuum"));
    assert!(why_rejected(&plan, "synchronous_commit").contains("from on to off"));
    assert!(why_rejected(&plan, "wal_compression").starts_with("this server offers pglz, lz4"));
}

#[test]
fn only_safe_changes_are_recommended() {
    let mut want = recommend("commit_delay", value("100"));
    want.class = Class::MayLoseLastCommits;
    let plan = planned(&healthy(), vec![finding("a.rule", vec![want])]);
    assert_eq!(plan.changes, []);
    assert_eq!(
        why_rejected(&plan, "commit_delay"),
        "may-lose-last-commits is never recommended"
    );
}

#[test]
fn a_limit_of_the_server_cuts_the_value_and_is_told() {
    let want = vec![recommend("effective_io_concurrency", value("4000"))];
    let plan = planned(&healthy(), vec![finding("a.rule", want)]);
    assert_eq!(conf(&plan)["effective_io_concurrency"], "1000");
    assert_eq!(plan.rejected[0].wanted, "4000");
    assert!(
        plan.rejected[0]
            .why
            .starts_with("this server takes at most 1000")
    );
}

#[test]
fn a_value_that_the_command_line_would_shadow_is_refused() {
    let mut facts = healthy();
    configure(&mut facts, "work_mem", "4096");
    postgres(&mut facts)
        .settings
        .get_mut("work_mem")
        .unwrap()
        .source = "command line".into();
    let want = vec![recommend("work_mem", value("8MB"))];
    let plan = planned(&facts, vec![finding("a.rule", want)]);
    assert_eq!(plan.changes, []);
    assert!(why_rejected(&plan, "work_mem").contains("command line"));
}

#[test]
fn memory_is_cut_in_the_stated_order() {
    let mut facts = healthy();
    facts.intent.memory_bytes = Some(2 << 30);
    let wants = vec![
        recommend("maintenance_work_mem", Want::Bytes(512 << 20)),
        recommend("shared_buffers", Want::Bytes(1 << 30)),
    ];
    let plan = planned(&facts, vec![finding("a.rule", wants)]);
    assert_eq!(
        conf(&plan)["shared_buffers"],
        "1GB",
        "maintenance gives way first"
    );
    assert!(plan.memory.sum_bytes() <= (2_u64 << 30) / 100 * 85);
    let taken = &conf(&plan)["maintenance_work_mem"];
    assert!(why_rejected(&plan, "maintenance_work_mem").contains(taken.as_str()));
    assert_eq!(plan.rejected[0].wanted, "512MB");
}

#[test]
fn a_configuration_that_breaks_the_model_already_is_kept_and_told() {
    let mut facts = healthy();
    facts.intent.memory_bytes = Some(1 << 30);
    configure(&mut facts, "work_mem", "131072");
    let want = vec![recommend("shared_buffers", Want::Bytes(256 << 20))];
    let plan = planned(&facts, vec![finding("a.rule", want)]);
    assert_eq!(plan.changes, []);
    assert!(why_rejected(&plan, "shared_buffers").contains("left as it is"));
    assert!(why_rejected(&plan, "memory").starts_with("the server's own settings may use"));
}

#[test]
fn unknown_memory_sizes_nothing() {
    let mut facts = healthy();
    declare_tpcc(&mut facts);
    facts.host = None;
    let plan = plan(&facts, &check(&facts));
    assert_eq!(plan.memory.memory_bytes, None);
    assert!(!conf(&plan).contains_key("shared_buffers"));
    assert!(
        plan.not_assessed
            .iter()
            .any(|one| one.rule == "postgres.shared_buffers")
    );
}

#[test]
fn older_and_newer_servers_get_what_they_know() {
    let mut thirteen = healthy();
    declare_tpcc(&mut thirteen);
    let server = postgres(&mut thirteen);
    server.version_num = 130_014;
    let compression = server.settings.get_mut("wal_compression").unwrap();
    compression.vartype = "bool".into();
    compression.enum_values.clear();
    set(&mut thirteen, "hash_mem_multiplier", "1");
    set(&mut thirteen, "checkpoint_completion_target", "0.5");
    let old = conf(&plan(&thirteen, &check(&thirteen)));
    assert_eq!(old["wal_compression"], "on");
    assert_eq!(old["checkpoint_completion_target"], "0.9");

    let mut eighteen = healthy();
    declare_tpcc(&mut eighteen);
    let server = postgres(&mut eighteen);
    server.version_num = 180_001;
    set(&mut eighteen, "effective_io_concurrency", "16");
    let new = conf(&plan(&eighteen, &check(&eighteen)));
    assert_eq!(new["wal_compression"], "lz4");
    assert!(!new.contains_key("effective_io_concurrency"));
    assert!(!new.contains_key("io_method"));
}

#[test]
fn no_server_no_changes() {
    let mut facts = healthy();
    facts.postgres = None;
    assert_eq!(plan(&facts, &check(&facts)).changes, []);
}

#[test]
fn own_settings_are_what_the_owner_set_and_a_twin_can_have() {
    let mut facts = healthy();
    assert_eq!(
        current_settings(&facts),
        BTreeMap::new(),
        "initdb's own are the defaults"
    );
    configure(&mut facts, "shared_buffers", "524288");
    configure(&mut facts, "checkpoint_timeout", "900");
    configure(&mut facts, "port", "5433");
    configure(&mut facts, "ssl", "on");
    configure(&mut facts, "archive_mode", "on");
    configure(&mut facts, "synchronous_standby_names", "replica");
    configure(&mut facts, "shared_preload_libraries", "timescaledb");
    configure(&mut facts, "statement_timeout", "30000");
    configure(&mut facts, "log_lock_waits", "on");
    set(&mut facts, "timescaledb.max_background_workers", "8");
    let own = current_settings(&facts);
    let own: Vec<_> = own
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        own,
        [
            "checkpoint_timeout=15min",
            "log_lock_waits=on",
            "shared_buffers=4GB"
        ]
    );
}

fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect()
}

#[test]
fn a_twin_with_less_memory_gets_the_same_share() {
    let mut facts = healthy();
    facts.intent.memory_bytes = Some(64 << 30);
    let own = settings(&[
        ("autovacuum_work_mem", "-1"),
        ("checkpoint_timeout", "15min"),
        ("max_wal_size", "100GB"),
        ("shared_buffers", "16GB"),
        ("work_mem", "64MB"),
    ]);
    let twin = rescale(&facts, &own, 8 << 30);
    assert_eq!(
        twin,
        settings(&[
            ("autovacuum_work_mem", "-1"),
            ("checkpoint_timeout", "15min"),
            ("max_wal_size", "100GB"),
            ("shared_buffers", "2GB"),
            ("work_mem", "8MB"),
        ])
    );
    assert_eq!(
        rescale(&facts, &own, 64 << 30),
        own,
        "nothing changes on equal memory"
    );
    assert_eq!(rescale(&facts, &own, 128 << 30), own, "nothing grows");
}

#[test]
fn a_twin_of_a_server_of_unknown_memory_is_cut_until_it_fits() {
    let mut facts = healthy();
    facts.host = None;
    let own = settings(&[("shared_buffers", "16GB"), ("work_mem", "4MB")]);
    let twin = rescale(&facts, &own, 4 << 30);
    assert_eq!(
        twin,
        settings(&[("shared_buffers", "2560MB"), ("work_mem", "4MB")])
    );
    assert_eq!(
        rescale(&facts, &twin, 4 << 30),
        twin,
        "what fits is left alone"
    );
    // Nothing fits into this; it ends all the same, at the server's minimum.
    assert_eq!(rescale(&facts, &own, 1 << 20)["shared_buffers"], "128kB");
}
