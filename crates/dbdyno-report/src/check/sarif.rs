//! A check in the Static Analysis Results Interchange Format, version 2.1.0.
//!
//! Source: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.

use std::collections::BTreeMap;
use std::fmt::Write;

use dbdyno_model::check::{Answer, Assessment, Place};
use dbdyno_model::{Check, RuleText, Severity};
use serde_json::{Value, json};

use super::{step, view};
use crate::to_json;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// One run with every rule of the catalogue and a result for each finding.
#[must_use]
pub fn check_sarif(check: &Check, rules: &[RuleText]) -> String {
    let indices: BTreeMap<&str, usize> = rules
        .iter()
        .enumerate()
        .map(|(index, rule)| (rule.id.as_str(), index))
        .collect();
    let servers = check.facts.each().map(|facts| facts.postgres.as_ref());
    let results: Vec<Value> = check
        .assessments
        .iter()
        .zip(servers)
        .enumerate()
        .flat_map(|(index, (assessment, server))| {
            // What is said of the host is said once, whatever runs on it.
            let (_, answers) = view::told(check, index);
            answers.into_iter().map(move |answer| {
                let setting = answer.steps.iter().find(|step| step.class.is_some());
                let setting = setting.and_then(|step| step.subject.as_deref());
                // A value that nobody changes has its place too.
                let place = setting
                    .or(answer.evidence.first().map(|item| item.fact.as_str()))
                    .and_then(|setting| step::place(server, setting));
                (assessment, answer, place)
            })
        })
        .map(|(assessment, answer, place)| {
            let mut result = result(assessment, answer, place.as_ref());
            if let Some(index) = indices.get(answer.rule.as_str()) {
                result["ruleIndex"] = json!(index);
            }
            result
        })
        .collect();
    to_json(&json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "dbdyno",
                "version": check.dbdyno_version,
                "rules": rules.iter().map(descriptor).collect::<Vec<_>>(),
            } },
            "invocations": [invocation(check)],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    }))
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "error",
        Severity::Warn => "warning",
        Severity::Info => "note",
    }
}

fn descriptor(rule: &RuleText) -> Value {
    let what = section(&rule.documentation, "What it finds");
    let mut descriptor = json!({
        "id": rule.id,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": what.unwrap_or_else(|| rule.title.clone()) },
        "help": { "text": rule.documentation, "markdown": rule.documentation },
        "defaultConfiguration": { "level": level(rule.severity) },
        "properties": {
            "tags": [rule.family],
            "confidence": rule.confidence.as_str(),
            "documentation": format!("docs/reference/rules/{}.md", rule.id),
        },
    });
    // The standard wants an absolute address here.
    let page = rule
        .sources
        .iter()
        .find(|source| source.starts_with("https://"));
    if let Some(page) = page {
        descriptor["helpUri"] = json!(page);
    }
    descriptor
}

/// The text of a section, in one line.
fn section(documentation: &str, title: &str) -> Option<String> {
    let (_, rest) = documentation.split_once(&format!("## {title}\n"))?;
    let text = rest.split("\n## ").next()?;
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn invocation(check: &Check) -> Value {
    let notify = |level: &str, text: String| json!({ "level": level, "message": { "text": text } });
    let mut notifications: Vec<Value> = check
        .facts
        .unreached
        .iter()
        .map(|server| {
            let text = format!("{} was not read: {}", view::unreached(server), server.why);
            notify("warning", text)
        })
        .collect();
    for assessment in &check.assessments {
        for item in &assessment.not_assessed {
            let text = format!("{} was not assessed: {}", item.rule, item.why);
            let mut notification = notify("note", text);
            notification["associatedRule"] = json!({ "id": item.rule });
            notifications.push(notification);
        }
        notifications.extend(assessment.failures.iter().map(|failure| {
            let text = format!("{} could not be read: {}", failure.collector, failure.why);
            notify("note", text)
        }));
    }
    let mut invocation = json!({
        "executionSuccessful": true,
        "toolExecutionNotifications": notifications,
    });
    if is_moment(&check.collected_at) {
        invocation["endTimeUtc"] = json!(check.collected_at);
    }
    invocation
}

/// `2026-11-21T20:45:00Z`: facts may have been edited by hand.
fn is_moment(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00Z";
    text.len() == FORM.len()
        && text.bytes().zip(FORM).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == *form,
        })
}

fn result(assessment: &Assessment, answer: &Answer, place: Option<&Place>) -> Value {
    let object = object(answer);
    let physical = match place {
        Some(place) => json!({
            "artifactLocation": { "uri": file_uri(&place.file) },
            "region": { "startLine": place.line.max(1) },
        }),
        None => json!({ "artifactLocation": { "uri": uri(&object) } }),
    };
    json!({
        "ruleId": answer.rule,
        "level": level(answer.severity),
        "kind": "fail",
        "message": { "text": message(answer) },
        "locations": [{
            "physicalLocation": physical,
            "logicalLocations": [{
                "name": object,
                "fullyQualifiedName": format!("{}/{object}", assessment.name),
            }],
        }],
        "partialFingerprints": { "dbdyno/v1": fingerprint(assessment, answer, &object) },
        "properties": {
            "server": assessment.name,
            "effect": answer.effect.as_str(),
            "confidence": answer.confidence.as_str(),
            "evidence": answer.evidence,
            "steps": answer.steps,
            "sources": answer.sources,
        },
    })
}

/// `server/shared_buffers`, `host/proc/sys/vm/swappiness`: what the finding is about.
fn object(answer: &Answer) -> String {
    if view::is_of_host(&answer.rule) {
        // `/proc/meminfo MemTotal`, or a call that is no path.
        let origin = answer.evidence.first().map(|item| item.origin.as_str());
        let path = origin
            .and_then(|origin| origin.split_whitespace().next())
            .and_then(|origin| origin.strip_prefix('/'))
            .filter(|path| !path.is_empty());
        let path = path.unwrap_or(&answer.rule);
        return format!("host/{}", without_process(path));
    }
    let setting = answer.steps.iter().find_map(|step| step.subject.as_deref());
    format!("server/{}", setting.unwrap_or(&answer.rule))
}

/// `proc/4711/limits` is another path after each restart of the server.
fn without_process(path: &str) -> String {
    let rest = path.strip_prefix("proc/").and_then(|rest| rest.split_once('/'));
    match rest {
        Some((pid, rest)) if pid.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("proc/PID/{rest}")
        }
        _ => path.to_owned(),
    }
}

/// The same finding of the same object has it again, on whatever host and day; servers of one host
/// are told apart by their ports.
fn fingerprint(assessment: &Assessment, answer: &Answer, object: &str) -> String {
    match assessment.name.split_once(", ") {
        Some((_, port)) => format!("{}|{object}|{port}", answer.rule),
        None => format!("{}|{object}", answer.rule),
    }
}

/// What is so, and what to do about it: viewers show nothing else.
fn message(answer: &Answer) -> String {
    let mut text = answer.message.clone();
    for step in &answer.steps {
        if let Some(change) = view::change(step) {
            let _ = write!(text, "\n{change} ({})", view::conditions(step));
        }
        if let Some(way) = step.ways.first() {
            let _ = write!(text, "\n{}", way.text);
        }
    }
    text
}

fn file_uri(file: &str) -> String {
    if file.starts_with('/') {
        format!("file://{}", uri(file))
    } else {
        uri(file)
    }
}

/// Everything but what a path may hold is encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~!$&'()*+,;=@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
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
                want(
                    matches!(level, Some("error" | "warning" | "note")),
                    "level",
                );
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
        assert_eq!(without_process("proc/4711/limits"), "proc/PID/limits");
        for path in ["proc/self/limits", "proc/meminfo", "proc/", "sys/4711/x"] {
            assert_eq!(without_process(path), path);
        }
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
}
