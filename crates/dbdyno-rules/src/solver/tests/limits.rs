//! What memory there is and what the server would not start with bounds a plan.

use super::*;

#[test]
fn where_a_term_of_the_memory_is_not_known_nothing_that_takes_memory_is_raised() {
    let mut facts = healthy();
    facts.intent.memory_bytes = Some(64 << 30);
    let wants = || {
        vec![
            recommend("shared_buffers", Want::Bytes(1 << 30)),
            recommend("checkpoint_timeout", value("15min")),
        ]
    };
    let raised = planned(&facts, vec![finding("a.rule", wants())]);
    assert_eq!(conf(&raised)["shared_buffers"], "1GB");
    setting(&mut facts, "hash_mem_multiplier").source = "user".into();
    let kept = planned(&facts, vec![finding("a.rule", wants())]);
    assert!(!conf(&kept).contains_key("shared_buffers"));
    assert_eq!(conf(&kept)["checkpoint_timeout"], "15min");
    assert!(why_rejected(&kept, "shared_buffers").contains("hash_mem_multiplier"));
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
fn a_cut_ends_at_what_the_server_has_where_minus_one_would_follow_a_raised_setting() {
    let mut facts = healthy();
    facts.intent.memory_bytes = Some(945 << 20);
    configure(&mut facts, "maintenance_work_mem", "102400");
    let wants = vec![
        recommend("autovacuum_work_mem", Want::Bytes(512 << 20)),
        recommend("maintenance_work_mem", Want::Bytes(1 << 30)),
    ];
    let plan = planned(&facts, vec![finding("a.rule", wants)]);
    assert_eq!(conf(&plan)["autovacuum_work_mem"], "100MB");
    assert_eq!(conf(&plan)["maintenance_work_mem"], "1GB");
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
fn what_would_keep_the_server_from_starting_is_dropped() {
    let mut facts = healthy();
    configure(&mut facts, "max_connections", "10");
    let wants = vec![
        recommend("superuser_reserved_connections", value("10")),
        recommend("min_wal_size", value("16MB")),
    ];
    let plan = planned(&facts, vec![finding("a.rule", wants)]);
    assert_eq!(plan.changes, []);
    let why = why_rejected(&plan, "superuser_reserved_connections");
    assert!(why.contains("more than what is reserved"), "{why}");
    assert!(why_rejected(&plan, "min_wal_size").contains("two segments"));
}

#[test]
fn a_minimal_log_allows_no_senders_unless_the_plan_raises_it_as_well() {
    let mut facts = healthy();
    configure(&mut facts, "wal_level", "minimal");
    configure(&mut facts, "max_wal_senders", "0");
    let senders = recommend("max_wal_senders", value("10"));
    let alone = planned(&facts, vec![finding("a.rule", vec![senders.clone()])]);
    assert_eq!(alone.changes, []);
    assert!(why_rejected(&alone, "max_wal_senders").contains("wal_level is minimal"));
    let both = vec![senders, recommend("wal_level", value("replica"))];
    let both = conf(&planned(&facts, vec![finding("a.rule", both)]));
    assert_eq!(both["max_wal_senders"], "10");
    assert_eq!(both["wal_level"], "replica");
}

#[test]
fn buffers_that_take_huge_pages_alone_grow_no_further_than_those_do() {
    let mut facts = healthy();
    set(&mut facts, "huge_pages", "on");
    let planned = |facts: &Facts| {
        let want = recommend("shared_buffers", Want::Bytes(1 << 30));
        planned(facts, vec![finding("a.rule", vec![want])])
    };
    let with_free = |facts: &mut Facts, free: u64| {
        let memory = &mut facts.host.as_mut().unwrap().memory;
        memory.huge_page_size_bytes = Fact::known(2 << 20, "test");
        memory.huge_pages_free = Fact::known(free, "test");
        memory.huge_pages_reserved = Fact::known(0, "test");
    };
    with_free(&mut facts, 400);
    let short = planned(&facts);
    assert_eq!(short.changes, []);
    let why = why_rejected(&short, "shared_buffers");
    assert!(
        why.ends_with("of 457 more huge pages 400 are there: reserve them first"),
        "{why}"
    );
    with_free(&mut facts, 457);
    assert_eq!(planned(&facts).changes.len(), 1);
    facts.host = None;
    assert_eq!(planned(&facts).changes, []);
    postgres(&mut facts).managed_by = Some("Amazon RDS".into());
    assert_eq!(planned(&facts).changes.len(), 1);
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
