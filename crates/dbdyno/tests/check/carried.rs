//! Facts that are carried elsewhere give the same answers there; files that are not whole are told so.

use std::fs;

use serde_json::{Value, json};

use crate::{Setup, dbdyno, finding, read, refuses, stdout_of};

#[test]
fn facts_give_the_same_answers_elsewhere_byte_for_byte() {
    let setup = Setup::start(&[("fsync", "off")]);
    let target = setup.target();
    let here = setup.does(&["check", &target, "--json"]);
    let document: Value = serde_json::from_str(&here).unwrap();
    let facts = setup.file("facts.json");
    fs::write(&facts, serde_json::to_vec(&document["facts"]).unwrap()).unwrap();
    let path = facts.display().to_string();
    // Neither the user nor the directory nor the environment is that of the first.
    let elsewhere = |arguments: &[&str]| {
        let mut command = dbdyno(arguments);
        command
            .current_dir("/")
            .env("HOME", "/nonexistent")
            .env("USER", "somebody");
        stdout_of(&command.output().unwrap(), arguments)
    };
    assert_eq!(elsewhere(&["check", "--facts", &path, "--json"]), here);
    // The check's own document holds its facts.
    let whole = setup.file("check.json");
    fs::write(&whole, &here).unwrap();
    let whole = whole.display().to_string();
    assert_eq!(elsewhere(&["check", "--facts", &whole, "--json"]), here);
    for form in [&["--sarif"][..], &["--markdown"], &[]] {
        let from = |path: &str| elsewhere(&[&["check", "--facts", path][..], form].concat());
        assert_eq!(from(&path), from(&whole), "{form:?}");
    }
}

#[test]
fn a_server_elsewhere_is_sized_by_the_memory_that_is_given() {
    let setup = Setup::start(&[]);
    let target = setup.target();
    setup.does(&["collect", &target, "-o", "facts.json"]);
    let mut facts = read(&setup.file("facts.json"));
    // As they are read from another machine.
    facts["host"] = Value::Null;
    fs::write(setup.file("elsewhere.json"), facts.to_string()).unwrap();
    let check = |more: &[&str]| -> Value {
        let fixed = ["check", "--facts", "elsewhere.json", "--json"];
        serde_json::from_str(&setup.does(&[&fixed[..], more].concat())).unwrap()
    };
    let silent = check(&[]);
    let still = &silent["assessments"][0]["not_assessed"];
    let mut still = still.as_array().unwrap().iter();
    let cache = still.find(|item| item["rule"] == "postgres.effective_cache_size");
    let why = cache.unwrap()["why"].as_str().unwrap();
    assert!(why.ends_with("another machine; give --memory"), "{why}");

    let told = check(&["--memory", "64GB"]);
    let cache = finding(&told, "postgres.effective_cache_size");
    assert_eq!(cache["steps"][0]["subject"], "effective_cache_size");
    assert_eq!(told["facts"]["intent"]["memory_bytes"], 64_u64 << 30);
    let still = &told["assessments"][0]["not_assessed"];
    assert!(!still.to_string().contains("--memory"), "{still}");
    // The document carries what was said, as it carries what was read.
    fs::write(setup.file("told.json"), told.to_string()).unwrap();
    let again = setup.does(&["check", "--facts", "told.json", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), told);
    // Of a server that runs here it says what it may have, as with tune.
    let here = setup.check(&["--memory", "1GB"]);
    assert_eq!(here["facts"]["intent"]["memory_bytes"], 1_u64 << 30);
}

#[test]
fn memory_for_several_servers_or_none_is_refused() {
    let setup = Setup::start(&[]);
    setup.does(&["collect", &setup.target(), "-o", "facts.json"]);
    let facts = read(&setup.file("facts.json"));
    let (mut several, mut none) = (facts.clone(), facts.clone());
    several["others"] = json!([facts]);
    none["postgres"] = Value::Null;
    for (name, facts, told) in [
        ("several.json", several, "the facts hold several"),
        ("none.json", none, "the facts hold no server"),
    ] {
        let path = setup.file(name);
        fs::write(&path, facts.to_string()).unwrap();
        let path = path.display().to_string();
        refuses(&["check", "--facts", &path, "--memory", "64GB"], told);
    }
}

#[test]
fn collected_facts_say_when_and_how_they_were_read() {
    let setup = Setup::start(&[]);
    let target = setup.target();
    // A bare name, as most people write it.
    let output = setup.run(&["collect", &target, "-o", "facts.json"]);
    assert!(stdout_of(&output, &["collect"]).is_empty());
    let facts = read(&setup.file("facts.json"));
    assert_eq!(facts["schema"], "dbdyno.facts/1");
    assert_eq!(facts["dbdyno_version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(facts["window_s"], 1.0);
    assert!(facts["collected_at"].as_str().unwrap().ends_with('Z'));
    assert!(facts["host"].is_object() && facts["postgres"].is_object());
    assert!(facts["postgres"]["wal"]["seconds"].as_f64().unwrap() > 0.9);
    let left = fs::read_dir(&setup.place.root).unwrap().flatten();
    let temporary: Vec<_> = left
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().ends_with(".tmp"))
        .collect();
    assert_eq!(temporary, Vec::<std::ffi::OsString>::new());
    let printed: Value =
        serde_json::from_str(&setup.does(&["collect", &target, "-o", "-"])).unwrap();
    assert_eq!(printed["schema"], "dbdyno.facts/1");
}

#[test]
fn a_file_that_is_not_whole_is_refused_with_its_place() {
    let setup = Setup::start(&[]);
    let target = setup.target();
    setup.does(&["collect", &target, "-o", "facts.json"]);
    let text = fs::read_to_string(setup.file("facts.json")).unwrap();
    let refused = |name: &str, text: &str, told: &str| {
        let path = setup.file(name);
        fs::write(&path, text).unwrap();
        let path = path.display().to_string();
        let said = refuses(&["check", "--facts", &path], told);
        assert!(said.contains(name), "{said}");
        refuses(&["diff", &path, &path], told);
    };
    let half: String = text.chars().take(text.len() / 2).collect();
    refused("half.json", &half, "ends too early, at line ");
    let newer = text.replacen("dbdyno.facts/1", "dbdyno.facts/2", 1);
    refused("newer.json", &newer, "dbdyno.facts/2");
    let mut edited: Value = serde_json::from_str(&text).unwrap();
    edited["host"]["memory"]["total_bytes"]["value"] = json!("much");
    let edited = serde_json::to_string_pretty(&edited).unwrap();
    refused("edited.json", &edited, "host.memory.total_bytes");
    refused("empty.json", "", "it is empty");
    refused(
        "other.json",
        "{\"schema\": \"dbdyno.comparison/1\"}",
        "holds no facts",
    );
    refuses(&["check", "--facts", "/nowhere.json"], "/nowhere.json");
}

#[test]
fn a_diff_tells_settings_facts_and_findings_and_always_ends_well() {
    let setup = Setup::start(&[]);
    let target = setup.target();
    setup.does(&["collect", &target, "-o", "monday.json"]);
    let mut client = setup.running.client();
    for statement in [
        "ALTER SYSTEM SET fsync = off",
        "ALTER SYSTEM SET work_mem = '8MB'",
        "SELECT pg_reload_conf()",
        "CREATE TABLE orders (a int)",
    ] {
        client.batch_execute(statement).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    setup.does(&["collect", &target, "-o", "tuesday.json"]);
    let text = setup.does(&["diff", "monday.json", "tuesday.json", "--json"]);
    let diff: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(diff["schema"], "dbdyno.diff/1");
    let groups = diff["groups"].as_array().unwrap();
    let of = |name: &str, what: &str| -> Value {
        let group = groups.iter().find(|group| group["name"] == name);
        let group = group.unwrap_or_else(|| panic!("no {name} in {diff}"));
        let differences = group["differences"].as_array().unwrap();
        let found = differences.iter().find(|found| found["what"] == what);
        found
            .unwrap_or_else(|| panic!("no {what} in {group}"))
            .clone()
    };
    let work_mem = of("server: settings", "work_mem");
    assert_eq!(
        (&work_mem["a"], &work_mem["b"]),
        (&json!("4MB"), &json!("8MB"))
    );
    let table = of(
        "server: databases, tables and slots",
        "tables[public.orders]",
    );
    assert_eq!((&table["a"], &table["b"]), (&Value::Null, &json!("there")));
    let appeared = diff["findings"].as_array().unwrap().iter();
    let mut fsync = appeared.filter(|change| change["rule"] == "postgres.fsync");
    let change = fsync.next().unwrap();
    assert_eq!(
        (&change["a"], &change["b"]),
        (&Value::Null, &json!("critical"))
    );
    assert!(
        !text.contains("\"what\": \"database"),
        "counters are left out"
    );
    let page = setup.does(&["diff", "monday.json", "tuesday.json"]);
    assert!(
        page.contains("4MB → 8MB") && page.contains("Left out"),
        "{page}"
    );
    let same = setup.does(&["diff", "monday.json", "monday.json"]);
    assert!(
        same.contains("No fact, setting or finding differs."),
        "{same}"
    );
}

#[test]
fn two_readings_of_an_idle_server_differ_in_nothing() {
    let setup = Setup::start(&[]);
    let mut client = setup.running.client();
    client
        .batch_execute("CREATE TABLE t AS SELECT generate_series(1, 1000) AS a; ANALYZE t")
        .unwrap();
    let target = setup.target();
    let mut told = String::new();
    // Others may change the host meanwhile, but not each time.
    for _ in 0..3 {
        for name in ["before.json", "after.json"] {
            setup.does(&["collect", &target, "-o", name]);
        }
        told = setup.does(&["diff", "before.json", "after.json", "--json"]);
        let diff: Value = serde_json::from_str(&told).unwrap();
        assert!(!diff["left_out"].as_array().unwrap().is_empty());
        if diff["groups"].as_array().unwrap().is_empty() {
            return;
        }
    }
    panic!("{told}");
}
