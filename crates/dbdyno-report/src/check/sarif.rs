//! A check in the Static Analysis Results Interchange Format, version 2.1.0.
//!
//! Source: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.

use std::collections::BTreeMap;
use std::fmt::Write;

use dbdyno_model::check::{Answer, Assessment, Place};
use dbdyno_model::{Check, Evidence, RuleText, Severity};
use serde_json::{Value, json};

use super::{step, view};
use crate::text::without_processes;
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
                    .and_then(|setting| step::place(server, setting))
                    .or_else(|| place_told(answer));
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

/// Where the line stands that the message begins with, else the first of the evidence.
fn place_told(answer: &Answer) -> Option<Place> {
    let of_message = |item: &&Evidence| answer.message.starts_with(&item.fact);
    let told = answer.evidence.iter().find(of_message);
    told.into_iter()
        .chain(&answer.evidence)
        .find_map(|item| file_and_line(&item.fact).or_else(|| file_and_line(&item.origin)))
}

/// `/etc/sysctl.d/90-local.conf:3`, as rules write where a line stands.
fn file_and_line(text: &str) -> Option<Place> {
    let (file, line) = text.rsplit_once(':')?;
    let line: u32 = line.parse().ok()?;
    // What the kernel shows has colons of its own, and no lines that anybody wrote.
    let is_kernels = ["/proc/", "/sys/", "/dev/"]
        .iter()
        .any(|directory| file.starts_with(directory));
    (file.starts_with('/') && !is_kernels).then(|| Place {
        file: file.to_owned(),
        line,
    })
}

/// `server/shared_buffers`, `host/proc/sys/vm/swappiness`: what the finding is about.
fn object(answer: &Answer) -> String {
    if view::is_of_host(&answer.rule) {
        // `/proc/meminfo MemTotal`, a line of a file, which moves, or a call that is no path.
        let origin = answer.evidence.first().map(|item| {
            let place = file_and_line(&item.origin);
            place.map_or_else(|| without_processes(&item.origin), |place| place.file)
        });
        let path = origin
            .as_deref()
            .and_then(|origin| origin.split_whitespace().next())
            .and_then(|origin| origin.strip_prefix('/'))
            .filter(|path| !path.is_empty());
        return format!("host/{}", path.unwrap_or(&answer.rule));
    }
    let setting = answer.steps.iter().find_map(|step| step.subject.as_deref());
    format!("server/{}", setting.unwrap_or(&answer.rule))
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
mod tests;
