//! Documents: JSON with DEFLATE in the store, JSON alone outside of it.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};

use dbdyno_model::{Run, Tune};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::error::Category;

use crate::error::StoreError;
use crate::resolve::LATEST;

/// No document is larger than this when unpacked; a hundred pairs come to about 100 MB.
const MOST_BYTES: u64 = 1 << 30;
/// A file name holds 255 bytes, and reports add to the name.
const LONGEST_NAME: usize = 100;

const IMPORTABLE: &str =
    "what `dbdyno runs export` and `dbdyno tune --output` write can be imported";

const NOT_OURS: &str = "it is JSON, but not a document of dbdyno";

/// Reads one trial from the JSON of its document, as it was exported.
///
/// A document from before trials had names is named after its start.
///
/// # Errors
/// `Document`, which says what it is where it is not a trial that this dbdyno reads.
pub fn read_document(bytes: &[u8]) -> Result<Tune, StoreError> {
    const WHAT: &str = "the document";
    let mut tune = parse(WHAT, bytes)?;
    if tune.name.is_empty() {
        tune.name = name_from(&tune.started_at);
    }
    check(WHAT, &tune)?;
    Ok(tune)
}

/// The trial, after its schema has been found to be ours.
pub(crate) fn parse(what: &str, json: &[u8]) -> Result<Tune, StoreError> {
    check_schema(what, json)?;
    serde_json::from_slice(json).map_err(|error| {
        let why = format!("it says that it is {}, and is not: {error}", Tune::SCHEMA);
        document(what, why, Some(IMPORTABLE.into()))
    })
}

/// Refuses what could not be stored, named or found again.
pub(crate) fn check(what: &str, tune: &Tune) -> Result<(), StoreError> {
    if tune.schema != Tune::SCHEMA {
        return Err(wrong_schema(what, &tune.schema, Some(&tune.dbdyno_version)));
    }
    check_name(what, &tune.name)?;
    let mut numbers = BTreeSet::new();
    match tune.runs.iter().find(|run| !numbers.insert(run.number)) {
        None => Ok(()),
        Some(run) => {
            let why = format!("two runs have the number {}", run.number);
            Err(document(what, why, None))
        }
    }
}

/// A name has to do as the name of a file, and beside `:ARM` and `/RUN`.
fn check_name(what: &str, name: &str) -> Result<(), StoreError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins_well = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins_well && name.bytes().all(is_plain) && name.len() <= LONGEST_NAME && name != LATEST {
        return Ok(());
    }
    let shown: String = name.chars().take(LONGEST_NAME).collect();
    let why = format!("{shown:?} is no name for a trial");
    let hint = format!(
        "letters, digits, `-`, `_` and `.`, beginning with a letter or digit, at most \
         {LONGEST_NAME}, and not `{LATEST}`"
    );
    Err(document(what, why, Some(hint)))
}

fn name_from(started_at: &str) -> String {
    let compact = started_at.chars().filter(char::is_ascii_alphanumeric);
    format!("tune-{}", compact.collect::<String>())
}

/// The fields that say what a document is, whatever else is in it.
#[derive(Deserialize)]
struct Label {
    #[serde(default)]
    schema: Option<Value>,
    #[serde(default)]
    dbdyno_version: Option<Value>,
}

fn check_schema(what: &str, json: &[u8]) -> Result<(), StoreError> {
    let label: Label = serde_json::from_slice(json).map_err(|error| {
        let why = match error.classify() {
            _ if json.trim_ascii().is_empty() => "it is empty".to_owned(),
            Category::Eof => format!("it ends too early, at line {}", error.line()),
            Category::Data => NOT_OURS.to_owned(),
            Category::Syntax | Category::Io => format!("it is not JSON: {error}"),
        };
        document(what, why, Some(IMPORTABLE.into()))
    })?;
    // What is derived takes an array of its fields too.
    if !json.trim_ascii_start().starts_with(b"{") {
        return Err(document(what, NOT_OURS.to_owned(), Some(IMPORTABLE.into())));
    }
    let written_by = label.dbdyno_version.as_ref().and_then(Value::as_str);
    match label.schema.as_ref().and_then(Value::as_str) {
        Some(Tune::SCHEMA) => Ok(()),
        Some(schema) => Err(wrong_schema(what, schema, written_by)),
        None => {
            let why = "it has no `schema`, so it is not a document of dbdyno".to_owned();
            Err(document(what, why, Some(IMPORTABLE.into())))
        }
    }
}

fn wrong_schema(what: &str, schema: &str, written_by: Option<&str>) -> StoreError {
    let shown: String = schema.chars().take(LONGEST_NAME).collect();
    let family = |text: &str| text.split_once('/').map(|(family, _)| family.to_owned());
    if family(schema) == family(Tune::SCHEMA) {
        let why = format!("it is {shown}, and this dbdyno reads {}", Tune::SCHEMA);
        let hint = match written_by {
            Some(version) => format!("dbdyno {version} wrote it: use that or a newer one"),
            None => "use a newer dbdyno".to_owned(),
        };
        return document(what, why, Some(hint));
    }
    let why = format!("it is {shown:?}, not a trial ({})", Tune::SCHEMA);
    document(what, why, Some(IMPORTABLE.into()))
}

fn document(what: &str, why: String, hint: Option<String>) -> StoreError {
    StoreError::Document {
        what: what.to_owned(),
        why,
        hint,
    }
}

/// How an error names a run.
pub(crate) fn run_of(trial: &str, number: u32) -> String {
    format!("run {number} of {trial}")
}

/// Compresses a document. The checksum of the zlib format finds what SQLite's pages would not.
pub(crate) fn pack<T: Serialize + DeserializeOwned>(
    what: &str,
    value: &T,
) -> Result<Vec<u8>, StoreError> {
    let refused = |error: &dyn std::fmt::Display| {
        let why = format!("it could not be read again: {error}");
        let hint = "a number in it is not finite; this is a defect of dbdyno".to_owned();
        document(what, why, Some(hint))
    };
    let json = serde_json::to_vec(value).map_err(|error| refused(&error))?;
    // JSON has no NaN: it is refused now, not when somebody wants it back.
    serde_json::from_slice::<T>(&json).map_err(|error| refused(&error))?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(&json)
        .and_then(|()| encoder.finish())
        .map_err(|error| refused(&error))
}

/// The JSON of a packed document, or why it is not one.
pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut json = Vec::new();
    let mut decoder = ZlibDecoder::new(packed).take(MOST_BYTES + 1);
    decoder
        .read_to_end(&mut json)
        .map_err(|error| format!("its document cannot be decompressed: {error}"))?;
    if json.len() as u64 > MOST_BYTES {
        return Err(format!("its document is larger than {MOST_BYTES} bytes"));
    }
    Ok(json)
}

pub(crate) fn unpack_run(packed: &[u8]) -> Result<Run, String> {
    serde_json::from_slice(&unpack(packed)?)
        .map_err(|error| format!("its document is not a run: {error}"))
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
