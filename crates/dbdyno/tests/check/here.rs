//! Without a target: this host, and the servers that are found on it.

use std::time::Duration;

use dbdyno_target::connection::connect;
use dbdyno_target::lab::Account;
use serde_json::Value;

use crate::Setup;

/// Data directories of all servers that were read; those of other tests are among them.
fn directories(facts: &Value) -> Vec<String> {
    let others = facts["others"].as_array().into_iter().flatten();
    std::iter::once(facts)
        .chain(others)
        .filter_map(|facts| facts["postgres"]["settings"]["data_directory"]["value"].as_str())
        .map(str::to_owned)
        .collect()
}

fn shared_buffers(setup: &Setup) -> u64 {
    let sql = "SELECT pg_size_bytes(current_setting('shared_buffers'))";
    let bytes: i64 = setup.running.client().query_one(sql, &[]).unwrap().get(0);
    u64::try_from(bytes).unwrap()
}

#[test]
fn what_others_hold_is_not_there_for_the_one_that_is_named() {
    let (setup, other) = (Setup::start(&[]), Setup::start(&[]));
    let [own, beside] =
        [&setup, &other].map(|setup| setup.running.server.data().display().to_string());
    let target = setup.target();
    for arguments in [
        &["check", target.as_str(), "--json", "--with-names"][..],
        &["tune", target.as_str(), "--json"],
    ] {
        let document: Value = serde_json::from_str(&setup.does(arguments)).unwrap();
        let unreached = document["facts"]["unreached"].as_array().unwrap();
        let of = |directory: &str| {
            let mut servers = unreached.iter();
            servers.find(|server| server["data_directory"] == directory)
        };
        let held = of(&beside).unwrap()["resident_bytes"].as_u64().unwrap();
        assert!(held > shared_buffers(&other), "{arguments:?} {unreached:?}");
        assert!(of(&own).is_none(), "{arguments:?} {unreached:?}");
    }
}

#[test]
fn a_server_that_runs_here_is_found_and_read() {
    let setup = Setup::start(&[("fsync", "off")]);
    let data = setup.running.server.data().display().to_string();
    let facts: Value = serde_json::from_str(&setup.does(&["collect", "--with-names"])).unwrap();
    assert!(facts["host"].is_object());
    assert!(
        directories(&facts).contains(&data),
        "{:?}",
        directories(&facts)
    );
    let text = setup.does(&["check", "--json", "--with-names"]);
    let check: Value = serde_json::from_str(&text).unwrap();
    let (assessment, facts) = assessment(&check, &data);
    let found = assessment["findings"].as_array().unwrap();
    assert!(
        found
            .iter()
            .any(|finding| finding["rule"] == "postgres.fsync")
    );
    // Host and server belong together: the server's own process was looked at.
    let process = &facts["host"]["server_process"]["value"];
    assert_eq!(process["pid"], setup.running.server.pid());
    // Whatever others do on this machine meanwhile, each section has a name of its own.
    let assessments = check["assessments"].as_array().unwrap();
    let mut names: Vec<&str> = assessments
        .iter()
        .map(|assessment| assessment["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), assessments.len());
}

/// What a check of this host says of the server with this data directory.
fn assessment<'a>(check: &'a Value, data: &str) -> (&'a Value, &'a Value) {
    let read = directories(&check["facts"]);
    let at = read.iter().position(|directory| directory == data).unwrap();
    let facts = match at {
        0 => &check["facts"],
        at => &check["facts"]["others"][at - 1],
    };
    (&check["assessments"][at], facts)
}

fn names<'a>(items: &'a Value, key: &str) -> Vec<&'a str> {
    let items = items.as_array().into_iter().flatten();
    let name = |item: &'a Value| match key {
        "" => item.as_str(),
        key => item[key].as_str(),
    };
    items.filter_map(name).collect()
}

#[test]
fn the_database_that_is_written_to_is_read_and_the_others_are_named() {
    let setup = Setup::start(&[]);
    let data = setup.running.server.data().display().to_string();
    let shop = setup.running.database("shop");
    setup.running.database("quiet");
    let mut client = connect(&shop).unwrap();
    let orders = "CREATE TABLE orders AS SELECT generate_series(1, 50000) AS id";
    client.batch_execute(orders).unwrap();
    drop(client);
    let written = "SELECT tup_inserted >= 50000 FROM pg_stat_database WHERE datname = 'shop'";
    while !setup
        .running
        .client()
        .query_one(written, &[])
        .unwrap()
        .get::<_, bool>(0)
    {
        std::thread::sleep(Duration::from_millis(100));
    }
    let check = |arguments: &[&str]| -> Value {
        let arguments = [&["check", "--json", "--with-names"], arguments].concat();
        serde_json::from_str(&setup.does(&arguments)).unwrap()
    };
    let all = check(&[]);
    let (said, facts) = assessment(&all, &data);
    assert_eq!(
        names(&facts["postgres"]["tables"]["value"], "name"),
        ["orders"]
    );
    assert_eq!(
        names(&said["databases_not_read"], ""),
        ["postgres", "quiet"]
    );

    let chosen = check(&["--database", "quiet"]);
    let (said, facts) = assessment(&chosen, &data);
    assert_eq!(facts["postgres"]["tables"]["value"], serde_json::json!([]));
    assert_eq!(names(&said["databases_not_read"], ""), ["postgres", "shop"]);

    let missing = check(&["--database", "nowhere"]);
    let unreached = missing["facts"]["unreached"].as_array().unwrap();
    let ours = unreached
        .iter()
        .find(|one| one["data_directory"] == data.as_str());
    let why = ours.unwrap()["why"].as_str().unwrap();
    assert!(why.contains("nowhere"), "{why}");
}

#[test]
fn needs_root_the_servers_account_is_let_in_by_peer() {
    let setup = Setup::start(&[]);
    let account = Account::for_server().unwrap().unwrap();
    let mut client = setup.running.client();
    if account.name != "postgres" {
        let create = format!("CREATE ROLE \"{}\" LOGIN SUPERUSER", account.name);
        client.batch_execute(&create).unwrap();
    }
    let hba = setup.running.server.data().join("pg_hba.conf");
    std::fs::write(&hba, "local all all peer\n").unwrap();
    client.batch_execute("SELECT pg_reload_conf()").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let data = setup.running.server.data().display().to_string();
    let facts: Value = serde_json::from_str(&setup.does(&["collect", "--with-names"])).unwrap();
    assert!(
        directories(&facts).contains(&data),
        "{}",
        facts["unreached"]
    );
}

#[test]
fn a_server_that_lets_nobody_in_is_named_with_the_reason() {
    let setup = Setup::start(&[]);
    let shared_buffers = shared_buffers(&setup);
    let hba = setup.running.server.data().join("pg_hba.conf");
    std::fs::write(&hba, "local all all reject\n").unwrap();
    let mut client = setup.running.client();
    client.batch_execute("SELECT pg_reload_conf()").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let data = setup.running.server.data().display().to_string();
    let check: Value =
        serde_json::from_str(&setup.does(&["check", "--json", "--with-names"])).unwrap();
    let unreached = check["facts"]["unreached"].as_array().unwrap();
    let ours = unreached
        .iter()
        .find(|server| server["data_directory"] == data.as_str())
        .unwrap_or_else(|| panic!("{unreached:?}"));
    assert!(
        ours["why"].as_str().unwrap().contains("pg_hba.conf"),
        "{ours}"
    );
    assert!(ours["next"].is_string(), "{ours}");
    let held = ours["resident_bytes"].as_u64().unwrap();
    assert!(held > shared_buffers, "{ours}");
    assert!(setup.does(&["check"]).contains("not read"));
    // A pipeline that looks at the code alone is told that it is not of all servers.
    let output = setup.run(&["check", "--fail-on", "critical"]);
    let told = crate::stderr(&output);
    assert!(told.contains("could not be read: --fail-on"), "{told}");
}
