//! What the standard requires, where results point, and what stays the same on another day.

use super::*;
use crate::check::testing;

fn sarif() -> Value {
    serde_json::from_str(&check_sarif(&testing::check(), &testing::rules())).unwrap()
}

/// The fields that the standard requires of what we write, with their types.
fn complaints(sarif: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut prints = std::collections::BTreeSet::new();
    let mut want = |is_so: bool, what: &str| {
        if !is_so {
            complaints.push(what.to_owned());
        }
    };
    want(sarif["version"] == "2.1.0", "version");
    want(sarif["$schema"].is_string(), "$schema");
    let runs = sarif["runs"].as_array().cloned().unwrap_or_default();
    want(runs.len() == 1, "one run");
    for run in &runs {
        let driver = &run["tool"]["driver"];
        want(driver["name"] == "dbdyno", "tool.driver.name");
        let rules = driver["rules"].as_array().cloned().unwrap_or_default();
        for rule in &rules {
            want(rule["id"].is_string(), "rule.id");
            for text in ["shortDescription", "fullDescription", "help"] {
                want(rule[text]["text"].is_string(), text);
            }
            let level = rule["defaultConfiguration"]["level"].as_str();
            want(
                matches!(level, Some("error" | "warning" | "note")),
                "defaultConfiguration.level",
            );
            let address = rule.get("helpUri").map(|uri| uri.as_str());
            let is_absolute =
                address.is_none_or(|uri| uri.is_some_and(|uri| uri.starts_with("https://")));
            want(is_absolute, "helpUri is absolute");
        }
        for invocation in run["invocations"].as_array().into_iter().flatten() {
            want(
                invocation["executionSuccessful"].is_boolean(),
                "executionSuccessful",
            );
        }
        for result in run["results"].as_array().into_iter().flatten() {
            want(result["message"]["text"].is_string(), "message.text");
            let level = result["level"].as_str();
            want(matches!(level, Some("error" | "warning" | "note")), "level");
            let print = result["partialFingerprints"]["dbdyno/v1"].as_str();
            want(
                print.is_some_and(|print| prints.insert(print.to_owned())),
                "each result has a fingerprint of its own",
            );
            let index = result["ruleIndex"]
                .as_u64()
                .and_then(|i| usize::try_from(i).ok());
            want(
                index.is_some_and(|index| rules[index]["id"] == result["ruleId"]),
                "ruleIndex points to ruleId",
            );
            let location = &result["locations"][0]["physicalLocation"];
            let uri = location["artifactLocation"]["uri"].as_str().unwrap_or(" ");
            want(!uri.contains([' ', '<', '>', '"', '\\']), "uri");
            if let Some(region) = location.get("region") {
                want(region["startLine"].as_u64() >= Some(1), "startLine");
            }
        }
    }
    complaints
}

#[test]
fn what_the_standard_requires_is_there() {
    assert_eq!(complaints(&sarif()), Vec::<String>::new());
    let mut broken = sarif();
    broken["runs"][0]["results"][0]["message"] = json!({});
    assert_eq!(complaints(&broken), ["message.text"]);
}

#[test]
fn a_setting_points_to_its_file_and_the_rest_to_what_it_is_about() {
    let sarif = sarif();
    let of = |rule: &str| {
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        let found = results.iter().find(|result| result["ruleId"] == rule);
        found.unwrap()["locations"][0]["physicalLocation"].clone()
    };
    let torn = of("postgres.full_page_writes");
    assert_eq!(
        torn["artifactLocation"]["uri"],
        "file:///etc/postgresql/15/main/postgresql.conf"
    );
    assert_eq!(torn["region"]["startLine"], 217);
    assert_eq!(
        of("postgres.shared_buffers")["artifactLocation"]["uri"],
        "server/shared_buffers"
    );
    assert_eq!(
        of("kernel.swappiness")["artifactLocation"]["uri"],
        "host/proc/sys/vm/swappiness"
    );
}

#[test]
fn a_line_that_a_finding_tells_of_is_pointed_to_and_may_move() {
    let told = |line: u32| -> Value {
        let item = |fact: &str, origin: &str| Evidence {
            fact: fact.to_owned(),
            value: String::new(),
            origin: origin.to_owned(),
        };
        let mut check = testing::check();
        for answer in &mut check.assessments[0].findings {
            if answer.rule == "kernel.swappiness" {
                let origin = format!("/etc/sysctl.d/9.conf:{line}");
                answer.evidence = vec![item("vm.swappiness", &origin)];
            } else if answer.rule == "postgres.memory_twin" {
                let (first, second) = ("/etc/pg_hba.conf:3", "/etc/pg_hba.conf:7");
                answer.message = format!("{second} lets anyone in; 1 more line is listed");
                answer.evidence = [first, second].map(|line| item(line, "view")).to_vec();
                answer.steps.clear();
            }
        }
        serde_json::from_str(&check_sarif(&check, &testing::rules())).unwrap()
    };
    let of = |sarif: &Value, rule: &str| -> Value {
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        let found = results.iter().find(|result| result["ruleId"] == rule);
        found.unwrap().clone()
    };
    let place = |result: &Value| {
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        (uri.to_owned(), place["region"]["startLine"].as_u64())
    };
    let (sarif, moved) = (told(5), told(6));
    assert_eq!(complaints(&sarif), Vec::<String>::new());
    let twin = of(&sarif, "postgres.memory_twin");
    assert_eq!(
        place(&twin),
        ("file:///etc/pg_hba.conf".to_owned(), Some(7))
    );
    let [was, is] = [&sarif, &moved].map(|sarif| of(sarif, "kernel.swappiness"));
    let file = "file:///etc/sysctl.d/9.conf";
    assert_eq!(place(&was), (file.to_owned(), Some(5)));
    assert_eq!(place(&is), (file.to_owned(), Some(6)));
    assert_eq!(was["partialFingerprints"], is["partialFingerprints"]);
    for no_line in ["/sys/devices/pci0000:00", "pg_hba.conf:7", "/etc/x:"] {
        assert_eq!(file_and_line(no_line), None, "{no_line}");
    }
}

#[test]
fn two_servers_share_what_is_said_of_their_host() {
    let check = testing::two_servers();
    let sarif = check_sarif(&check, &testing::rules());
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    assert_eq!(complaints(&sarif), Vec::<String>::new());
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let of = |rule: &str| results.iter().filter(|r| r["ruleId"] == rule).count();
    assert_eq!(of("kernel.swappiness"), 1);
    assert_eq!(of("postgres.full_page_writes"), 2);
}

#[test]
fn a_restart_changes_no_fingerprint() {
    let with = |pid: u32| {
        let mut check = testing::check();
        let answers = &mut check.assessments[0].findings;
        let answer = answers.iter_mut().find(|a| a.rule == "kernel.swappiness");
        answer.unwrap().evidence[0].origin = format!("/proc/{pid}/limits");
        let sarif = check_sarif(&check, &testing::rules());
        assert!(sarif.contains("host/proc/PID/limits"), "{sarif}");
        sarif.replace(&format!("/proc/{pid}/"), "/proc/PID/")
    };
    assert_eq!(with(4711), with(42));
}

#[test]
fn levels_and_gaps_are_told() {
    let sarif = sarif();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let levels: Vec<&str> = results
        .iter()
        .map(|result| result["level"].as_str().unwrap())
        .collect();
    assert_eq!(
        levels,
        ["error", "error", "warning", "warning", "note", "note"]
    );
    let notes = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    let text = notes.to_string();
    assert!(text.contains("kernel.limits was not assessed"), "{text}");
    assert!(text.contains("port 5433"), "{text}");
}

#[test]
fn the_same_finding_has_the_same_fingerprint_on_another_day() {
    let mut other = testing::check();
    other.collected_at = "2027-01-01T00:00:00Z".to_owned();
    let other: Value = serde_json::from_str(&check_sarif(&other, &testing::rules())).unwrap();
    let prints = |sarif: &Value| {
        let results = sarif["runs"][0]["results"].as_array().unwrap().clone();
        let prints = results.iter().map(|r| r["partialFingerprints"].to_string());
        prints.collect::<Vec<_>>()
    };
    assert_eq!(prints(&sarif()), prints(&other));
}

#[test]
fn odd_paths_and_moments_are_safe() {
    assert_eq!(file_uri("/a b/c%.conf"), "file:///a%20b/c%25.conf");
    assert_eq!(uri("ä"), "%C3%A4");
    assert!(is_moment("2026-11-21T20:45:00Z"));
    assert!(!is_moment("yesterday") && !is_moment("2026-11-21 20:45:00Z"));
}
