//! Planted faults are found, with what to do and where; pipelines get their code.

use serde_json::Value;

use crate::{Setup, finding, findings, stderr};

fn faulty() -> Setup {
    Setup::start(&[
        ("fsync", "off"),
        ("full_page_writes", "off"),
        ("autovacuum", "off"),
        ("enable_nestloop", "off"),
        ("synchronous_commit", "off"),
    ])
}

#[test]
fn planted_faults_are_found_with_what_mends_them() {
    let setup = faulty();
    let check = setup.check(&[]);
    assert_eq!(check["schema"], "dbdyno.check/1");
    assert_eq!(check["facts"]["schema"], "dbdyno.facts/1");
    assert_eq!(check["assessments"].as_array().unwrap().len(), 1);
    for rule in [
        "postgres.fsync",
        "postgres.full_page_writes",
        "maintenance.autovacuum",
        "postgres.config_drift",
    ] {
        let found = finding(&check, rule);
        assert!(!found["evidence"].as_array().unwrap().is_empty(), "{found}");
    }
    let fsync = finding(&check, "postgres.fsync");
    assert_eq!(fsync["severity"], "critical");
    assert_eq!(fsync["effect"], "durability");
    let step = &fsync["steps"][0];
    assert_eq!(step["subject"], "fsync");
    assert_eq!(step["current"], "off");
    assert_eq!(step["recommended"], "on");
    assert_eq!(step["needs"], "reload");
    assert_eq!(step["ways"][0]["text"], "ALTER SYSTEM SET fsync = 'on';");
    let file = step["place"]["file"].as_str().unwrap();
    assert!(file.ends_with("dbdyno.conf"), "{file}");
    let line = step["place"]["line"].as_u64().unwrap();
    let conf = std::fs::read_to_string(setup.conf()).unwrap();
    let written = conf.lines().nth(usize::try_from(line).unwrap() - 1);
    assert!(written.unwrap().contains("fsync"), "{conf}");

    // The gravest stand first, on the page as well.
    let order: Vec<&str> = findings(&check)
        .iter()
        .map(|finding| finding["severity"].as_str().unwrap())
        .collect();
    let rank = |severity: &&str| {
        ["critical", "warn", "info"]
            .iter()
            .position(|s| s == severity)
    };
    assert!(order.is_sorted_by_key(rank), "{order:?}");
    let target = setup.target();
    let page = setup.does(&["check", &target]);
    assert!(page.contains("ALTER SYSTEM SET fsync = 'on';"), "{page}");
    assert!(page.contains("Checked and fine"), "{page}");
}

#[test]
fn what_was_mended_is_not_found_again() {
    let setup = faulty();
    let mut client = setup.running.client();
    let check = setup.check(&["--only", "postgres.fsync,postgres.full_page_writes"]);
    let found = findings(&check);
    assert_eq!(found.len(), 2);
    for finding in found {
        let way = finding["steps"][0]["ways"][0]["text"].as_str().unwrap();
        client.batch_execute(way).unwrap();
    }
    client.batch_execute("SELECT pg_reload_conf()").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let check = setup.check(&["--only", "postgres.fsync,postgres.full_page_writes"]);
    assert!(findings(&check).is_empty(), "{check}");
    let passed = check["assessments"][0]["passed"].as_array().unwrap();
    assert_eq!(passed.len(), 2);
}

#[test]
fn check_and_tune_never_disagree_on_a_value() {
    let setup = faulty();
    let check = setup.check(&[]);
    let target = setup.target();
    let tune = setup.does(&["tune", &target, "--json"]);
    let tune: Value = serde_json::from_str(&tune).unwrap();
    let changes = tune["plan"]["changes"].as_array().unwrap();
    let mut compared = 0;
    for finding in findings(&check) {
        let steps = finding["steps"].as_array().unwrap();
        // A statement has a class as well, and changes no setting.
        let is_setting = |step: &&Value| !step["class"].is_null() && !step["subject"].is_null();
        for step in steps.iter().filter(is_setting) {
            let change = changes
                .iter()
                .find(|change| change["setting"] == step["subject"])
                .unwrap_or_else(|| panic!("{step} is not in the plan"));
            assert_eq!(change["to"], step["recommended"], "{step}");
            assert_eq!(change["from"], step["current"], "{step}");
            compared += 1;
        }
    }
    assert!(compared >= changes.len(), "{compared} of {}", changes.len());
}

#[test]
fn a_pipeline_gets_its_code_only_where_it_asked_for_one() {
    let setup = faulty();
    let target = setup.target();
    let code = |arguments: &[&str]| {
        let output = setup.run(&[&["check", &target][..], arguments].concat());
        assert!(!output.stdout.is_empty(), "{}", stderr(&output));
        (output.status.code(), stderr(&output))
    };
    let only = ["--only", "postgres.fsync"];
    assert_eq!(code(&only).0, Some(0));
    let (crossed, told) = code(&[&only[..], &["--fail-on", "critical"]].concat());
    assert_eq!(crossed, Some(1));
    assert!(told.contains("1 finding is critical"), "{told}");
    assert!(!told.contains("error:"), "{told}");
    assert_eq!(
        code(&[&only[..], &["--fail-on", "info"]].concat()).0,
        Some(1)
    );
    // A rule that found nothing crosses nothing.
    let check = setup.check(&[]);
    let fine = check["assessments"][0]["passed"][0].as_str().unwrap();
    let passed = code(&["--only", fine, "--fail-on", "info"]);
    assert_eq!(passed.0, Some(0), "{}", passed.1);
    // A check of nothing would pass for ever.
    let nothing = ["--only", "postgres.fsync", "--skip", "postgres"];
    let refused = setup.run(&[&["check", &target][..], &nothing].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("leave no rule"));
}

#[test]
fn what_is_chosen_changes_no_value() {
    let setup = faulty();
    let (all, only) = (setup.check(&[]), setup.check(&["--only", "postgres"]));
    for finding in findings(&only) {
        let rule = finding["rule"].as_str().unwrap();
        assert!(rule.starts_with("postgres."), "{rule}");
        let whole = crate::finding(&all, rule);
        assert_eq!(whole["steps"], finding["steps"], "{rule}");
    }
}

#[test]
fn code_scanners_get_the_file_and_the_line() {
    let setup = faulty();
    let target = setup.target();
    let sarif: Value = serde_json::from_str(&setup.does(&["check", &target, "--sarif"])).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
    }
    let fsync = results
        .iter()
        .find(|result| result["ruleId"] == "postgres.fsync")
        .unwrap();
    assert_eq!(fsync["level"], "error");
    let location = &fsync["locations"][0]["physicalLocation"];
    let uri = location["artifactLocation"]["uri"].as_str().unwrap();
    assert!(
        uri.starts_with("file:///") && uri.ends_with("/dbdyno.conf"),
        "{uri}"
    );
    assert!(location["region"]["startLine"].as_u64().unwrap() >= 1);
    let markdown = setup.does(&["check", &target, "--markdown"]);
    assert!(
        markdown.contains("### critical: `postgres.fsync`"),
        "{markdown}"
    );
}
