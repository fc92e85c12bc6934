//! The walk over two hosts or servers, as their documents have them.

use std::collections::{BTreeMap, BTreeSet};

use dbdyno_model::diff::Difference;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Pair;
use crate::number;

/// What counts, or tells how things stand at one moment: it differs between any two readings.
const MOMENTARY: &[&str] = &[
    "aio-nr",
    "autovacuum_workers",
    "available_bytes",
    "committed_bytes",
    "deleted",
    "free_bytes",
    "free_inodes",
    "frozen_pages",
    "hot_updated",
    "huge_pages_free",
    "huge_pages_reserved",
    "index_rows",
    "index_scans",
    "inserted",
    "inserted_since_vacuum",
    "modified_since_analyze",
    "newpage_updated",
    "oom_kills",
    "page_tables_bytes",
    "pages",
    "periods",
    "pid",
    "resident_bytes",
    "retained_bytes",
    "row_bytes",
    "rows_estimate",
    "sequential_rows",
    "sequential_scans",
    "since_analyze_s",
    "since_vacuum_s",
    "size_bytes",
    "stats_reset",
    "swap_bytes",
    "swap_free_bytes",
    "throttled",
    "updated",
    "vacuums",
];
const MOMENTARY_ENDINGS: &[&str] = &[
    "_age",
    "_age_s",
    "_at",
    "_avg10",
    "_avg60",
    "_total_us",
    "_tuples",
    "_us",
];
/// Parts that are momentary but for what is named beside them.
const MOMENTARY_PARTS: &[(&str, &[&str])] = &[
    ("activity", &["prepared_transactions", "standbys"]),
    ("foreign_keys", &["foreign_keys", "unindexed"]),
    ("indexes", &["indexes", "invalid", "redundant"]),
    ("lock_waits", &[]),
    ("open_transactions", &[]),
    ("pressure", &[]),
    ("sequences", &["sequences", "wide"]),
    ("statements", &[]),
    (
        "table_totals",
        &["tables", "without_primary_key", "excluded_from_autovacuum"],
    ),
    ("xmin_holders", &[]),
];

/// What is compared elsewhere, or stands in another field as well.
const ELSEWHERE: &[&str] = &["settings", "version_num"];

/// A part of the facts under one title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    HostKernel,
    HostSysctl,
    HostCpu,
    HostMemory,
    HostStorage,
    HostVirtualisation,
    HostProcess,
    HostOther,
    ServerVersion,
    ServerObjects,
    ServerOther,
}

impl Part {
    /// By the first word of a fact's path.
    fn of_host(path: &str) -> Self {
        match first(path) {
            "sysctl" => Self::HostSysctl,
            "kernel_release" | "clocksource" | "transparent_huge_pages" => Self::HostKernel,
            "cpu" | "numa_nodes" | "governors" | "frequency_drivers" | "energy_preferences" => {
                Self::HostCpu
            }
            "memory" => Self::HostMemory,
            "data" | "wal" | "dev_shm_bytes" => Self::HostStorage,
            "virtualisation" | "container" => Self::HostVirtualisation,
            "server_process" => Self::HostProcess,
            _ => Self::HostOther,
        }
    }

    fn of_server(path: &str) -> Self {
        match first(path) {
            "version" | "extensions" => Self::ServerVersion,
            "tables" | "table_totals" | "indexes" | "foreign_keys" | "sequences" | "databases"
            | "slots" => Self::ServerObjects,
            _ => Self::ServerOther,
        }
    }

    pub(super) fn is_of_host(self) -> bool {
        self <= Self::HostOther
    }

    /// A part of the host that belongs to one of its servers.
    pub(super) fn is_of_server(self) -> bool {
        matches!(self, Self::HostStorage | Self::HostProcess)
    }

    pub(super) fn title(self, server: &str, is_alone: bool) -> String {
        let title = match self {
            Self::HostKernel => "kernel",
            Self::HostSysctl => "kernel settings",
            Self::HostCpu => "CPU",
            Self::HostMemory => "memory",
            Self::HostStorage => "storage",
            Self::HostVirtualisation => "virtualisation",
            Self::HostProcess => "the server's process",
            Self::HostOther | Self::ServerOther => "other facts",
            Self::ServerVersion => "version and extensions",
            Self::ServerObjects => "databases, tables and slots",
        };
        if self.is_of_host() && (is_alone || !self.is_of_server()) {
            format!("host: {title}")
        } else {
            format!("{server}: {title}")
        }
    }
}

/// The differences of one part, and what differs and was not told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Compared {
    pub(super) differences: Vec<Difference>,
    pub(super) left_out: BTreeSet<String>,
}

pub(super) fn hosts(pair: Pair<'_>) -> BTreeMap<Part, Compared> {
    let (a, b) = (pair.a.0.host.as_ref(), pair.b.0.host.as_ref());
    both("host", a, b, Part::of_host)
}

pub(super) fn servers(pair: Pair<'_>) -> BTreeMap<Part, Compared> {
    let (a, b) = (pair.a.0.postgres.as_ref(), pair.b.0.postgres.as_ref());
    both("server", a, b, Part::of_server)
}

fn both<T: Serialize>(
    name: &str,
    a: Option<&T>,
    b: Option<&T>,
    part: fn(&str) -> Part,
) -> BTreeMap<Part, Compared> {
    if let (Some(a), Some(b)) = (a, b) {
        return compare(&Flat::of(a), &Flat::of(b), part);
    }
    if a.is_none() && b.is_none() {
        return BTreeMap::new();
    }
    let was_read = |side: Option<&T>| side.map(|_| "read".to_owned());
    let difference = Difference {
        what: name.to_owned(),
        a: was_read(a),
        b: was_read(b),
    };
    let compared = Compared {
        differences: vec![difference],
        ..Compared::default()
    };
    BTreeMap::from([(part(name), compared)])
}

fn compare(a: &Flat, b: &Flat, part: fn(&str) -> Part) -> BTreeMap<Part, Compared> {
    let mut parts: BTreeMap<Part, Compared> = BTreeMap::new();
    let mut missing: Option<&str> = None;
    let paths: BTreeSet<&String> = a.lasting.keys().chain(b.lasting.keys()).collect();
    for path in paths {
        // Of an object that only one side has, its name is enough.
        if missing.is_some_and(|object| is_within(path, object)) {
            continue;
        }
        let (was, is) = (a.lasting.get(path), b.lasting.get(path));
        if was == is {
            continue;
        }
        missing = (was.is_none() || is.is_none()).then_some(path.as_str());
        let difference = Difference {
            what: path.clone(),
            a: was.cloned(),
            b: is.cloned(),
        };
        let compared = parts.entry(part(path)).or_default();
        compared.differences.push(difference);
    }
    for (path, was) in &a.momentary {
        if b.momentary.get(path).is_some_and(|is| is != was) {
            let compared = parts.entry(part(path)).or_default();
            compared.left_out.insert(without_names(path));
        }
    }
    parts
}

fn is_within(path: &str, object: &str) -> bool {
    let rest = path.strip_prefix(object);
    rest.is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// A document as paths and texts.
#[derive(Debug, Default)]
struct Flat {
    lasting: BTreeMap<String, String>,
    momentary: BTreeMap<String, String>,
}

impl Flat {
    fn of<T: Serialize>(part: &T) -> Self {
        let mut flat = Self::default();
        // Facts have string keys only, so that this cannot fail.
        if let Ok(Value::Object(fields)) = serde_json::to_value(part) {
            for (key, value) in &fields {
                if !ELSEWHERE.contains(&key.as_str()) {
                    flat.walk(key, value);
                }
            }
        }
        flat
    }

    fn walk(&mut self, path: &str, value: &Value) {
        match value {
            Value::Null => {}
            Value::Object(fields) if is_sampled(fields) => {
                self.momentary.insert(path.to_owned(), value.to_string());
            }
            Value::Object(fields) if is_fact(fields) => match fields.get("value") {
                Some(value) => self.walk(path, value),
                None => {
                    let why = fields.get("unknown").and_then(Value::as_str);
                    self.put(path, format!("unknown: {}", why.unwrap_or_default()));
                }
            },
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.walk(&format!("{path}.{key}"), value);
                }
            }
            Value::Array(items) => self.walk_list(path, items),
            scalar => self.put(path, shown(path, scalar)),
        }
    }

    /// Objects by their names, so that one more does not shift all others.
    fn walk_list(&mut self, path: &str, items: &[Value]) {
        // Whether it would hold texts or objects cannot be seen of a list that holds nothing.
        if items.is_empty() {
            return;
        }
        if !items.iter().any(Value::is_object) {
            let texts: Vec<String> = items.iter().map(|item| shown(path, item)).collect();
            self.put(path, texts.join(", "));
            return;
        }
        self.put(
            &format!("{path} (number)"),
            number::count(items.len() as u64),
        );
        for (index, item) in items.iter().enumerate() {
            let name = name(item).unwrap_or_else(|| (index + 1).to_string());
            let path = format!("{path}[{name}]");
            self.put(&path, "there".to_owned());
            self.walk(&path, item);
        }
    }

    fn put(&mut self, path: &str, text: String) {
        let map = if is_momentary(path) {
            &mut self.momentary
        } else {
            &mut self.lasting
        };
        map.insert(path.to_owned(), text);
    }
}

/// What `Fact` looks like in a document.
fn is_fact(fields: &Map<String, Value>) -> bool {
    fields.contains_key("origin")
        && (fields.contains_key("value") || fields.contains_key("unknown"))
}

/// What `Sampled` looks like: counters at both ends of a window.
fn is_sampled(fields: &Map<String, Value>) -> bool {
    ["before", "after", "seconds"]
        .iter()
        .all(|key| fields.contains_key(*key))
}

fn is_momentary(path: &str) -> bool {
    let leaf = path.rsplit(['.', ']']).next().unwrap_or(path);
    let of_part = MOMENTARY_PARTS
        .iter()
        .any(|(part, lasting)| first(path) == *part && !lasting.contains(&leaf));
    of_part
        || MOMENTARY.contains(&leaf)
        || MOMENTARY_ENDINGS
            .iter()
            .any(|ending| leaf.ends_with(ending))
}

fn first(path: &str) -> &str {
    path.split(['.', '[', ' ']).next().unwrap_or(path)
}

/// `public.orders`, `vda`.
fn name(item: &Value) -> Option<String> {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let name = text("name")
        .or_else(|| text("object"))
        .or_else(|| text("cgroup"))?;
    Some(match text("schema") {
        Some(schema) => format!("{schema}.{name}"),
        None => name.to_owned(),
    })
}

fn shown(path: &str, scalar: &Value) -> String {
    match scalar {
        Value::String(text) => text.clone(),
        Value::Number(bytes) if path.ends_with("_bytes") => bytes
            .as_u64()
            .map_or_else(|| bytes.to_string(), number::bytes),
        other => other.to_string(),
    }
}

/// `tables[public.t].size_bytes` is told once for all tables.
fn without_names(path: &str) -> String {
    let mut text = String::new();
    let mut depth = 0_usize;
    for c in path.chars() {
        match c {
            '[' => {
                depth += 1;
                if depth == 1 {
                    text.push_str("[…]");
                }
            }
            ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => text.push(c),
            _ => {}
        }
    }
    text
}
