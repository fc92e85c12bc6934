//! Two days of one server, two servers, and sides that hold different things.

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Sender, Table, TableTotals};
use dbdyno_model::{Effect, Fact};

use super::*;
use crate::style::Style;
use crate::testing::without_colour;
use crate::text::columns;

fn facts() -> Facts {
    serde_json::from_str(include_str!(
        "../../../../fixtures/facts/vm-2cpu-postgres15.json"
    ))
    .unwrap()
}

fn judged(name: &str, facts: Facts) -> Judged {
    let servers = facts.each().map(|_| JudgedServer::default()).collect();
    Judged {
        name: name.to_owned(),
        facts,
        servers,
    }
}

fn finding(rule: &str, severity: Severity) -> Finding {
    Finding {
        rule: rule.to_owned(),
        severity,
        effect: Effect::default(),
        message: format!("{rule} is {}", severity.as_str()),
        evidence: Vec::new(),
        recommendations: Vec::new(),
        host_actions: Vec::new(),
        statements: Vec::new(),
        confidence: Confidence::High,
        sources: Vec::new(),
    }
}

fn table(name: &str, dead: u64) -> Table {
    Table {
        schema: "public".to_owned(),
        name: name.to_owned(),
        dead_tuples: dead,
        ..Table::default()
    }
}

fn days() -> (Judged, Judged) {
    let mut a = judged("monday.json", facts());
    let mut b = judged("tuesday.json", facts());
    let host = b.facts.host.as_mut().unwrap();
    host.sysctl.insert(
        "vm.swappiness".to_owned(),
        Fact::known(1, "/proc/sys/vm/swappiness"),
    );
    host.kernel_release = Fact::unknown("permission denied", "/proc/sys/kernel/osrelease");
    host.memory.available_bytes = Fact::known(7, "/proc/meminfo MemAvailable");
    let was = a.facts.postgres.as_mut().unwrap();
    was.tables = Fact::known(vec![table("orders", 1)], "pg_class");
    let is = b.facts.postgres.as_mut().unwrap();
    is.version = "15.19".to_owned();
    is.tables = Fact::known(vec![table("items", 0), table("orders", 900)], "pg_class");
    a.servers[0].settings = BTreeMap::from([
        ("work_mem".to_owned(), "4MB".to_owned()),
        ("old".to_owned(), "on".to_owned()),
    ]);
    b.servers[0].settings = BTreeMap::from([("work_mem".to_owned(), "64MB".to_owned())]);
    a.servers[0].findings = vec![
        finding("kernel.swappiness", Severity::Warn),
        finding("postgres.x", Severity::Info),
        finding("postgres.same", Severity::Warn),
    ];
    b.servers[0].findings = vec![
        finding("postgres.same", Severity::Warn),
        finding("postgres.x", Severity::Critical),
        finding("postgres.new", Severity::Warn),
    ];
    (a, b)
}

fn told(diff: &Diff, group: &str) -> Vec<(String, Option<String>, Option<String>)> {
    let found = diff.groups.iter().find(|found| found.name == group);
    let differences = found.map_or(&[][..], |group| group.differences.as_slice());
    let told = differences.iter().cloned();
    told.map(|item| (item.what, item.a, item.b)).collect()
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn facts_settings_and_findings_are_told_by_their_kind() {
    let (a, b) = days();
    let diff = diff(&a, &b, "0.1.0");
    assert_eq!(
        told(&diff, "host: kernel settings"),
        [("sysctl.vm.swappiness".to_owned(), text("60"), text("1"))]
    );
    assert_eq!(
        told(&diff, "host: kernel"),
        [(
            "kernel_release".to_owned(),
            text("6.18.44"),
            text("unknown: permission denied")
        )]
    );
    assert_eq!(
        told(&diff, "server: settings"),
        [
            ("old".to_owned(), text("on"), None),
            ("work_mem".to_owned(), text("4MB"), text("64MB"))
        ]
    );
    assert_eq!(
        told(&diff, "server: databases, tables and slots"),
        [
            ("tables (number)".to_owned(), text("1"), text("2")),
            ("tables[public.items]".to_owned(), None, text("there"))
        ]
    );
    let findings: Vec<(&str, Option<Severity>, Option<Severity>)> = diff
        .findings
        .iter()
        .map(|change| (change.rule.as_str(), change.a, change.b))
        .collect();
    assert_eq!(
        findings,
        [
            ("postgres.x", Some(Severity::Info), Some(Severity::Critical)),
            ("kernel.swappiness", Some(Severity::Warn), None),
            ("postgres.new", None, Some(Severity::Warn)),
        ]
    );
}

#[test]
fn what_always_differs_is_named_and_not_told() {
    let (a, b) = days();
    let diff = diff(&a, &b, "0.1.0");
    assert_eq!(
        diff.left_out,
        ["memory.available_bytes", "tables[…].dead_tuples"]
    );
    let groups = serde_json::to_string(&diff.groups).unwrap();
    assert!(!groups.contains("available_bytes"), "{groups}");
}

#[test]
fn a_list_that_only_one_side_could_read_is_one_line() {
    let mut a = judged("a", facts());
    let mut b = judged("b", facts());
    let tables = vec![table("items", 0), table("orders", 0)];
    a.facts.postgres.as_mut().unwrap().tables = Fact::known(tables, "pg_class");
    b.facts.postgres.as_mut().unwrap().tables = Fact::unknown("permission denied", "pg_class");
    let diff = diff(&a, &b, "0.1.0");
    assert_eq!(
        told(&diff, "server: databases, tables and slots"),
        [(
            "tables".to_owned(),
            text("2"),
            text("unknown: permission denied")
        )]
    );
}

#[test]
fn of_many_tables_those_that_are_listed_are_no_difference() {
    let with = |name: &str, listed: &str| {
        let mut judged = judged(name, facts());
        let server = judged.facts.postgres.as_mut().unwrap();
        server.tables = Fact::known(vec![table("orders", 0), table(listed, 0)], "pg_class");
        let totals = TableTotals {
            tables: 10_000,
            listed: 2,
            ..TableTotals::default()
        };
        server.table_totals = Fact::known(totals, "pg_class");
        judged
    };
    let diff = diff(&with("a", "items"), &with("b", "lines"), "0.1.0");
    assert_eq!(diff.groups, []);
    assert!(diff.left_out.contains(&"tables[…]".to_owned()), "{diff:?}");
}

#[test]
fn objects_of_one_name_do_not_hide_each_other() {
    let sender = |state: &str| Sender {
        application_name: "walreceiver".to_owned(),
        state: state.to_owned(),
        ..Sender::default()
    };
    let with = |name: &str, first: &str| {
        let mut judged = judged(name, facts());
        let senders = vec![sender(first), sender("streaming")];
        let server = judged.facts.postgres.as_mut().unwrap();
        server.replication.senders = Fact::known(senders, "pg_stat_replication");
        judged
    };
    let diff = diff(&with("a", "streaming"), &with("b", "catchup"), "0.1.0");
    assert_eq!(
        told(&diff, "server: other facts"),
        [(
            "replication.senders[walreceiver].state".to_owned(),
            text("streaming"),
            text("catchup")
        )]
    );
}

#[test]
fn of_several_findings_of_a_rule_the_gravest_counts() {
    let mut a = judged("a", facts());
    let mut b = judged("b", facts());
    a.servers[0].findings = vec![
        finding("kernel.x", Severity::Critical),
        finding("kernel.x", Severity::Info),
    ];
    b.servers[0].findings = vec![
        finding("kernel.x", Severity::Info),
        finding("kernel.x", Severity::Critical),
    ];
    assert_eq!(diff(&a, &b, "0.1.0").findings, []);
}

#[test]
fn a_document_does_not_differ_from_itself() {
    let a = judged("a.json", facts());
    let diff = diff(&a, &a, "0.1.0");
    assert_eq!(diff.groups, []);
    assert_eq!(diff.findings, []);
    assert_eq!(diff.left_out, Vec::<String>::new());
    let page = diff_page(&diff, 80, Style::Plain);
    assert!(
        page.contains("No fact, setting or finding differs."),
        "{page}"
    );
}

#[test]
fn servers_are_matched_by_their_ports() {
    let on_port = |port: &str| {
        let mut facts = facts();
        let server = facts.postgres.as_mut().unwrap();
        server.settings.get_mut("port").unwrap().value = port.to_owned();
        facts
    };
    let mut a = on_port("5432");
    a.others = vec![on_port("5433")];
    let mut b = on_port("5433");
    b.others = vec![on_port("5440")];
    b.postgres.as_mut().unwrap().version = "15.19".to_owned();
    let diff = diff(&judged("a", a), &judged("b", b), "0.1.0");
    assert_eq!(
        told(&diff, "servers"),
        [
            ("PostgreSQL 15.18, port 5432".to_owned(), text("read"), None),
            ("PostgreSQL 15.18, port 5440".to_owned(), None, text("read"))
        ]
    );
    assert_eq!(diff.groups.len(), 2, "{:?}", diff.groups);
    assert_eq!(
        diff.groups[1].name,
        "PostgreSQL 15.19, port 5433: version and extensions"
    );
    let narrow = diff_page(&diff, 40, Style::Plain);
    assert!(narrow.lines().all(|line| columns(line) <= 40), "{narrow}");
}

#[test]
fn memory_that_was_given_on_one_side_is_told() {
    let a = judged("a.json", facts());
    let mut b = judged("b.json", facts());
    b.facts.intent.memory_bytes = Some(64 << 30);
    let diff = diff(&a, &b, "0.1.0");
    assert_eq!(
        told(&diff, "server: given"),
        [("memory to size for".to_owned(), None, text("64 GiB"))]
    );
    assert_eq!(diff.groups.len(), 1);
}

#[test]
fn nothing_in_facts_steers_the_terminal() {
    let (mut a, b) = (facts(), facts());
    let server = a.postgres.as_mut().unwrap();
    server.settings.get_mut("port").unwrap().value = "1\u{1b}[2J".to_owned();
    server.version = "15\u{9b}2J".to_owned();
    let mut diff = diff(&judged("a", a), &judged("b", b), "0.1.0");
    diff.groups.push(Group {
        name: "n\u{1b}[2J".to_owned(),
        differences: vec![Difference {
            what: "t\u{1b}[2J".to_owned(),
            a: text("\u{1b}[2J"),
            b: None,
        }],
    });
    let page = diff_page(&diff, 80, Style::Plain);
    let steers = |c: char| c.is_control() && c != '\n';
    assert!(!page.contains(steers), "{page:?}");
}

#[test]
fn a_host_on_one_side_only_is_one_line() {
    let a = judged("a.json", facts());
    let mut b = judged("b.json", facts());
    b.facts.host = None;
    let diff = diff(&a, &b, "0.1.0");
    assert_eq!(
        told(&diff, "host: other facts"),
        [("host".to_owned(), text("read"), None)]
    );
    assert_eq!(diff.groups.len(), 1);
}

#[test]
fn pages() {
    let (a, b) = days();
    let diff = diff(&a, &b, "0.1.0");
    let narrow = diff_page(&diff, 40, Style::Plain);
    assert!(narrow.lines().all(|line| columns(line) <= 40), "{narrow}");
    for width in [60, 80, 120] {
        let plain = diff_page(&diff, width, Style::Plain);
        assert!(plain.lines().all(|line| columns(line) <= width), "{plain}");
        insta::assert_snapshot!(format!("diff_{width}"), plain);
        let coloured = diff_page(&diff, width, Style::Coloured);
        assert_eq!(without_colour(&coloured), plain);
    }
}
