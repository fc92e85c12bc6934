//! The walk over two hosts or servers, as their documents have them.

use std::collections::{BTreeMap, BTreeSet};

use dbdyno_model::diff::Difference;
use dbdyno_model::postgres::Postgres;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Pair;
use super::momentary::{first, is_momentary, is_momentary_beside, is_sampled};
use crate::number;
use crate::text::without_processes;

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
            "sysctl" | "sysctl_lines" | "tuned" => Self::HostSysctl,
            "kernel_release"
            | "kernel_options"
            | "clocksource"
            | "transparent_huge_pages"
            | "selinux"
            | "apparmor" => Self::HostKernel,
            "cpu" | "numa_nodes" | "governors" | "frequency_drivers" | "energy_preferences" => {
                Self::HostCpu
            }
            "memory" | "numa" | "zfs_cache_max_bytes" => Self::HostMemory,
            "data" | "wal" | "tablespaces" | "dev_shm_bytes" | "mounts" => Self::HostStorage,
            "virtualisation" | "container" | "vendor" | "product" => Self::HostVirtualisation,
            "server_process" | "cgroups" => Self::HostProcess,
            _ => Self::HostOther,
        }
    }

    fn of_server(path: &str) -> Self {
        match first(path) {
            "version" | "extensions" | "available_extensions" => Self::ServerVersion,
            "tables" | "table_totals" | "indexes" | "foreign_keys" | "sequences" | "databases"
            | "slots" | "tablespaces" => Self::ServerObjects,
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
    let mut parts = both("server", a, b, Part::of_server);
    if is_partial(a) || is_partial(b) {
        for compared in parts.values_mut() {
            leave_out_unlisted(compared);
        }
    }
    parts
}

/// Whether there are more tables than are listed.
fn is_partial(server: Option<&Postgres>) -> bool {
    let totals = server.and_then(|server| server.table_totals.value());
    totals.is_some_and(|totals| totals.listed < totals.tables)
}

/// Which tables are listed follows from what is busy just now: that one side has a table and the
/// other has not says nothing of whether it is there.
fn leave_out_unlisted(compared: &mut Compared) {
    let is_of_list = |difference: &Difference| {
        let is_one_sided = difference.a.is_none() || difference.b.is_none();
        let name = difference.what.as_str();
        name == "tables (number)"
            || (is_one_sided && name.starts_with("tables[") && name.ends_with(']'))
    };
    let all = compared.differences.len();
    compared
        .differences
        .retain(|difference| !is_of_list(difference));
    if compared.differences.len() < all {
        compared.left_out.insert("tables[…]".to_owned());
    }
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
            a: was.or_else(|| a.count(path)).cloned(),
            b: is.or_else(|| b.count(path)).cloned(),
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
    rest.is_some_and(|rest| rest.starts_with(['.', '[', ' ']))
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

    /// How many a list has that the other side could not read.
    fn count(&self, path: &str) -> Option<&String> {
        self.lasting.get(&number_of(path))
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
                    let why = without_processes(why.unwrap_or_default());
                    self.put(path, format!("unknown: {why}"));
                }
            },
            Value::Object(fields) => {
                for (key, value) in fields {
                    let path = format!("{path}.{key}");
                    if is_momentary_beside(key, fields) {
                        self.momentary.insert(path, value.to_string());
                    } else {
                        self.walk(&path, value);
                    }
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
        self.put(&number_of(path), number::count(items.len() as u64));
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            let name = name(item).unwrap_or_else(|| (index + 1).to_string());
            let before = seen.entry(name.clone()).or_default();
            *before += 1;
            let path = match *before {
                1 => format!("{path}[{name}]"),
                number => format!("{path}[{name} #{number}]"),
            };
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

fn number_of(path: &str) -> String {
    format!("{path} (number)")
}

/// What `Fact` looks like in a document.
fn is_fact(fields: &Map<String, Value>) -> bool {
    fields.contains_key("origin")
        && (fields.contains_key("value") || fields.contains_key("unknown"))
}

/// `public.orders`, `vda`, `/etc/postgresql/15/main/pg_hba.conf:97`.
fn name(item: &Value) -> Option<String> {
    /// What tells objects of one list apart, where they have no name.
    const KEYS: [&str; 8] = [
        "name",
        "object",
        "cgroup",
        "application_name",
        "device",
        "place",
        "path",
        "number",
    ];
    let text = |key: &str| match item.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let name = KEYS.iter().find_map(|key| text(key))?;
    // Of a control group each limit is listed, of a section of tuned each name.
    let outer = text("schema").or_else(|| text("section"));
    Some(match (outer, text("control")) {
        (Some(outer), _) => format!("{outer}.{name}"),
        (None, Some(control)) => format!("{name}/{control}"),
        (None, None) => name,
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
