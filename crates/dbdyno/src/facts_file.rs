//! Facts from a file: as `collect` wrote them, or inside the document of a `check` or a `tune`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use dbdyno_model::{Check, Facts, Tune};
use serde::Deserialize;

use crate::exit::{Exit, Failure};
use crate::json_path::path_at;

/// No server has as much to say: what is larger is something else.
const LARGEST_BYTES: u64 = 256 << 20;

const READABLE: &str =
    "a file that `dbdyno collect`, `dbdyno check --json` or `dbdyno tune --json` wrote can be read";

/// What every document of ours begins with.
#[derive(Deserialize)]
struct Head {
    schema: Option<serde_json::Value>,
    dbdyno_version: Option<serde_json::Value>,
}

/// A document that holds facts.
#[derive(Deserialize)]
struct Holder {
    facts: Facts,
}

/// Whether newer facts may take the file's place: it is empty, or facts are all it holds.
pub(crate) fn may_replace(path: &Path) -> bool {
    let Ok(bytes) = bytes(path) else { return false };
    if bytes.is_empty() {
        return true;
    }
    let (name, _) = Facts::SCHEMA.split_once('/').unwrap_or((Facts::SCHEMA, ""));
    let head: Option<Head> = serde_json::from_slice(&bytes).ok();
    let schema = head.and_then(|head| head.schema);
    let schema = schema.as_ref().and_then(serde_json::Value::as_str);
    // Those of another version are facts, too.
    schema.is_some_and(|schema| schema.split('/').next() == Some(name))
}

fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(LARGEST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the facts in a file.
pub(crate) fn read(path: &Path) -> Result<Facts, Failure> {
    let shown = path.display();
    let bytes = bytes(path)
        .map_err(|error| Failure::usage(format!("cannot read {shown}: {error}"), READABLE))?;
    if bytes.len() as u64 > LARGEST_BYTES {
        let message = format!("{shown} is larger than {} MiB", LARGEST_BYTES >> 20);
        return Err(Failure::usage(message, READABLE));
    }
    parse(&bytes).map_err(|failure| Failure {
        message: format!("{shown}: {}", failure.message),
        ..failure
    })
}

fn parse(bytes: &[u8]) -> Result<Facts, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("it is not text from byte {} on", error.valid_up_to() + 1);
        Failure::usage(message, READABLE)
    })?;
    if text.trim().is_empty() {
        return Err(Failure::usage("it is empty", READABLE));
    }
    if !text.trim_start().starts_with('{') {
        return Err(Failure::usage("it is not a document of dbdyno", READABLE));
    }
    let head: Head = serde_json::from_str(text).map_err(|error| broken(text, &error))?;
    let schema = head.schema.as_ref().and_then(serde_json::Value::as_str);
    let read = match schema {
        Some(Facts::SCHEMA) => serde_json::from_str(text),
        Some(Check::SCHEMA | Tune::SCHEMA) => {
            serde_json::from_str::<Holder>(text).map(|holder| holder.facts)
        }
        other => {
            let version = head.dbdyno_version.as_ref();
            return Err(foreign(other, version.and_then(serde_json::Value::as_str)));
        }
    };
    let facts = read.map_err(|error| broken(text, &error))?;
    // A server's facts stand in `others` once; deeper ones were never written.
    if facts.others.iter().any(|other| !other.others.is_empty()) {
        let message = "others: a further server has further servers of its own";
        return Err(Failure::usage(message, READABLE));
    }
    Ok(facts)
}

/// Names the place and the field; text that ends too early is most often a copy that was cut off.
fn broken(text: &str, error: &serde_json::Error) -> Failure {
    let (line, column) = (error.line(), error.column());
    let place = format!("line {line}, column {column}");
    if error.is_eof() {
        let message = format!("it ends too early, at {place}: the end of the file is missing");
        return Failure::usage(message, "copy or collect it again");
    }
    if !error.is_data() {
        let message = format!("it is not JSON at {place}: {}", what(error));
        return Failure::usage(message, READABLE);
    }
    let path = path_at(text, line, column);
    let field = if path.is_empty() {
        String::new()
    } else {
        format!("{path}, ")
    };
    Failure::usage(
        format!("{field}{place}: {}", what(error)),
        "undo what was edited there, or collect it again",
    )
}

/// The error without its place, in the words of a document.
fn what(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(end.as_str()).unwrap_or(&text);
    if text.contains("no variant of enum State") {
        return "a fact has neither `value` nor `unknown`".to_owned();
    }
    text.to_owned()
}

/// A document of another kind or of a later version.
fn foreign(schema: Option<&str>, written_by: Option<&str>) -> Failure {
    let Some(schema) = schema else {
        return Failure::usage(
            "it has no `schema`: it is not a document of dbdyno",
            READABLE,
        );
    };
    // The text comes from a file: it must not be a page long.
    let shown: String = schema.chars().take(60).collect();
    let known = [Facts::SCHEMA, Check::SCHEMA, Tune::SCHEMA];
    let newer = known.iter().find(|known| is_newer(schema, known));
    let Some(newer) = newer else {
        let message = format!("it is {shown:?}, which holds no facts");
        return Failure::usage(message, READABLE);
    };
    let by = match written_by {
        Some(version) => {
            let version: String = version.chars().take(30).collect();
            format!(" (dbdyno {version} wrote it)")
        }
        None => String::new(),
    };
    Failure::new(
        Exit::Usage,
        format!("it is {shown}{by}, and this dbdyno reads {newer} at most"),
        Some(format!(
            "install a newer dbdyno than {}, or collect the facts with this one",
            env!("CARGO_PKG_VERSION")
        )),
    )
}

fn is_newer(schema: &str, known: &str) -> bool {
    let parts = |schema: &str| {
        let (name, version) = schema.rsplit_once('/')?;
        Some((name.to_owned(), version.parse::<u32>().ok()?))
    };
    match (parts(schema), parts(known)) {
        (Some((name, version)), Some((ours, newest))) => name == ours && version > newest,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPTURED: &str = include_str!("../../../fixtures/facts/vm-2cpu-postgres15.json");

    fn refused(text: &str) -> (String, String) {
        let failure = parse(text.as_bytes()).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        (failure.message, failure.hint.unwrap_or_default())
    }

    #[test]
    fn captured_facts_and_documents_around_them_are_read() {
        let facts = parse(CAPTURED.as_bytes()).unwrap();
        let check = Check {
            schema: Check::SCHEMA.to_owned(),
            facts: facts.clone(),
            ..Check::default()
        };
        let check = serde_json::to_string(&check).unwrap();
        assert_eq!(parse(check.as_bytes()).unwrap(), facts);
    }

    #[test]
    fn a_truncated_file_says_where_it_ends() {
        let half = &CAPTURED[..CAPTURED.len() / 2];
        let (message, hint) = refused(half);
        assert!(message.contains("ends too early, at line "), "{message}");
        assert!(hint.contains("collect it again"), "{hint}");
    }

    #[test]
    fn an_edited_field_is_named_with_its_place() {
        let edited = CAPTURED.replacen("25455230976", "\"much\"", 1);
        let (message, hint) = refused(&edited);
        assert!(message.contains("host.memory.total_bytes"), "{message}");
        assert!(
            message.contains("line ") && message.contains("much"),
            "{message}"
        );
        assert!(hint.contains("undo"), "{hint}");
        let edited = CAPTURED.replacen("\"value\": \"6.18.44\"", "\"valu\": \"6.18.44\"", 1);
        let (message, _) = refused(&edited);
        assert!(message.contains("host.kernel_release"), "{message}");
        assert!(
            message.contains("neither `value` nor `unknown`"),
            "{message}"
        );
    }

    #[test]
    fn a_newer_document_names_both_versions() {
        let newer = "{\"schema\": \"dbdyno.facts/2\", \"dbdyno_version\": \"9.1.0\", \"host\": 7}";
        let (message, hint) = refused(newer);
        assert!(
            message.contains("dbdyno.facts/2") && message.contains("9.1.0"),
            "{message}"
        );
        assert!(hint.contains("newer dbdyno"), "{hint}");
    }

    #[test]
    fn what_is_not_ours_is_told_apart() {
        for (text, told) in [
            ("", "it is empty"),
            ("  \n", "it is empty"),
            ("{\"a\": }", "not JSON at line 1"),
            ("{\"a\": 1}", "no `schema`"),
            ("{\"schema\": 1}", "no `schema`"),
            ("{\"schema\": \"dbdyno.comparison/1\"}", "holds no facts"),
            ("{\"schema\": \"dbdyno.facts/0\"}", "holds no facts"),
            ("[]", "not a document"),
            ("{\"schema\": \"dbdyno.check/1\"}", "missing field `facts`"),
        ] {
            let (message, hint) = refused(text);
            assert!(message.contains(told), "{text}: {message}");
            assert!(!hint.is_empty(), "{text}");
        }
        let failure = parse(b"\x1f\x8b\x08").unwrap_err();
        assert!(
            failure.message.contains("not text from byte 2"),
            "{}",
            failure.message
        );
    }
}
