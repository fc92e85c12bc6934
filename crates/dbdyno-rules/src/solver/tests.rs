//! The solver on captured facts: what it chooses, what it refuses, and that order never matters.

mod limits;

use std::collections::BTreeMap;

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::{Class, Effect, Fact, Facts, Finding, Needs, Plan, Recommendation, Severity};

use super::{as_conf, plan};
use crate::testing::{configure, declare_tpcc, healthy, postgres, set, setting};
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
        effect: Effect::default(),
        message: String::new(),
        evidence: Vec::new(),
        recommendations,
        host_actions: Vec::new(),
        statements: Vec::new(),
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
        effective_io_concurrency 1 → 200 (reload)
        jit on → off (reload)
        log_lock_waits off → on (reload)
        log_temp_files -1 → 10MB (reload)
        maintenance_work_mem 64MB → 1408MB (reload)
        max_parallel_workers 8 → 2 (reload)
        max_parallel_workers_per_gather 2 → 1 (reload)
        max_wal_size 1GB → 8GB (reload)
        min_wal_size 80MB → 2GB (reload)
        random_page_cost 4 → 1.1 (reload)
        shared_buffers 128MB → 5632MB (restart)
        wal_compression off → lz4 (reload)
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
    setting(&mut facts, "work_mem").source = "command line".into();
    let want = vec![recommend("work_mem", value("8MB"))];
    let plan = planned(&facts, vec![finding("a.rule", want)]);
    assert_eq!(plan.changes, []);
    assert!(why_rejected(&plan, "work_mem").contains("command line"));
    // Patroni keeps it in its own configuration.
    postgres(&mut facts).managed_by = Some("Patroni".into());
    let want = vec![recommend("work_mem", value("8MB"))];
    let managed = planned(&facts, vec![finding("a.rule", want)]);
    assert_eq!(conf(&managed)["work_mem"], "8MB");
}

#[test]
fn a_value_that_a_role_has_is_not_planned_for_everyone() {
    let refused = |source: &str| {
        let mut facts = healthy();
        setting(&mut facts, "work_mem").source = source.into();
        let want = vec![recommend("work_mem", value("8MB"))];
        let plan = planned(&facts, vec![finding("a.rule", want)]);
        assert_eq!(plan.changes, [], "{source}");
        why_rejected(&plan, "work_mem").to_owned()
    };
    assert!(refused("user").contains("ALTER ROLE"));
    assert!(refused("database").contains("ALTER DATABASE"));
    assert!(refused("client").contains("options of this connection"));
    assert!(refused("global").contains("ALTER ROLE ALL"));
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
fn a_change_that_only_makes_sense_beside_a_lost_one_is_dropped() {
    let mut unknown = recommend("max_wal_size", value("8GB"));
    unknown.class = Class::MayCorrupt;
    let wants = vec![recommend("min_wal_size", value("2GB")), unknown];
    let plan = planned(&healthy(), vec![finding("a.rule", wants)]);
    assert_eq!(plan.changes, []);
    assert_eq!(
        why_rejected(&plan, "min_wal_size"),
        "min_wal_size would exceed max_wal_size"
    );
}

#[test]
fn advice_comes_gravest_first_and_each_line_once() {
    let action =
        |rule: &str, text: &str| dbdyno_model::HostAction::in_words(rule, text, Needs::Online);
    let mut light = finding("a.light", Vec::new());
    light.host_actions = vec![action("a.light", "later"), action("a.light", "later")];
    let mut grave = Finding {
        severity: Severity::Critical,
        ..finding("b.grave", Vec::new())
    };
    grave.host_actions = vec![action("b.grave", "now")];
    let plan = planned(&healthy(), vec![light, grave]);
    let lines: Vec<_> = plan
        .host_actions
        .iter()
        .map(|one| one.action.as_str())
        .collect();
    assert_eq!(lines, ["now", "later"]);
}

#[test]
fn sql_is_advice_as_well() {
    let mut unused = finding("schema.unused_index", Vec::new());
    unused.statements = vec![crate::sql::statement(
        "DROP INDEX CONCURRENTLY public.note",
        "nothing scans it",
    )];
    let plan = planned(&healthy(), vec![unused]);
    let action = &plan.host_actions[0];
    assert_eq!(action.action, "DROP INDEX CONCURRENTLY public.note");
    assert_eq!(
        (action.rule.as_str(), action.needs),
        ("schema.unused_index", Needs::Online)
    );
}
