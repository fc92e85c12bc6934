//! What a plan may not combine: the server would refuse to start with it.

use std::collections::BTreeMap;

use dbdyno_model::Facts;
use dbdyno_model::plan::Rejected;
use dbdyno_model::postgres::{Postgres, Setting};

use super::gather::Candidate;
use super::humane;
use crate::cloud::is_service;
use crate::formulas::memory::huge_pages_for;

type Chosen = BTreeMap<String, Candidate>;

/// The first two have to leave connections to everybody else; in the order in which they give way.
///
/// Source: <https://www.postgresql.org/docs/current/runtime-config-connection.html>
const CONNECTIONS: [&str; 3] = [
    "superuser_reserved_connections",
    "reserved_connections",
    "max_connections",
];

/// What a server has to have off, or at 0, while its log is minimal.
///
/// Source: <https://www.postgresql.org/docs/current/runtime-config-wal.html>
const MORE_THAN_MINIMAL: [&str; 3] = ["archive_mode", "max_wal_senders", "summarize_wal"];

/// What has to have room for two segments of the log.
///
/// Source: PostgreSQL's source, src/backend/access/transam/xlog.c
const TWO_SEGMENTS: [&str; 2] = ["max_wal_size", "min_wal_size"];

/// Drops what would keep the server from starting.
pub(super) fn keep(
    facts: &Facts,
    postgres: &Postgres,
    chosen: &mut Chosen,
    rejected: &mut Vec<Rejected>,
) {
    for name in CONNECTIONS {
        if !leaves_connections(postgres, chosen) {
            let why = "max_connections has to be more than what is reserved of it";
            give_up(chosen, rejected, name, why);
        }
    }
    let is_minimal = text(postgres, chosen, "wal_level").as_deref() == Some("minimal");
    for name in MORE_THAN_MINIMAL {
        let value = text(postgres, chosen, name);
        let is_off = matches!(value.as_deref(), None | Some("off" | "0"));
        if is_minimal && !is_off {
            give_up(chosen, rejected, name, "wal_level is minimal");
        }
    }
    let segment = postgres.bytes("wal_segment_size").unwrap_or(0);
    for name in TWO_SEGMENTS {
        let room = after(postgres, chosen, name).and_then(|setting| setting.bytes());
        if room.is_some_and(|room| room < segment.saturating_mul(2)) {
            let why = "it has no room for two segments of the log";
            give_up(chosen, rejected, name, why);
        }
    }
    if let Some(why) = pages_missing(facts, postgres, chosen) {
        give_up(chosen, rejected, "shared_buffers", &why);
    }
}

fn give_up(chosen: &mut Chosen, rejected: &mut Vec<Rejected>, name: &str, why: &str) {
    if let Some(candidate) = chosen.remove(name) {
        rejected.push(candidate.reject(format!("the server would not start: {why}")));
    }
}

fn leaves_connections(postgres: &Postgres, chosen: &Chosen) -> bool {
    let number = |name: &str| after(postgres, chosen, name).and_then(|setting| setting.number());
    let [of_superusers, of_roles, all] = CONNECTIONS.map(number);
    let reserved = of_superusers.unwrap_or(0.0) + of_roles.unwrap_or(0.0);
    all.is_none_or(|all| reserved < all)
}

/// With `huge_pages = on` the server takes no other pages. A service sees to them by itself.
fn pages_missing(facts: &Facts, postgres: &Postgres, chosen: &Chosen) -> Option<String> {
    let now = postgres.bytes("shared_buffers")?;
    let wanted = after(postgres, chosen, "shared_buffers")?.bytes()?;
    let is_forced = text(postgres, chosen, "huge_pages").as_deref() == Some("on");
    let is_services = postgres.managed_by.as_deref().is_some_and(is_service);
    if wanted <= now || !is_forced || is_services {
        return None;
    }
    let Some((page_bytes, idle)) = idle_pages(facts, postgres) else {
        let why = "huge_pages is on, and how many huge pages are left is not known";
        return Some(why.to_owned());
    };
    // What describes the buffers grows with them.
    let grown = wanted - now;
    let more = huge_pages_for(grown.saturating_add(grown / 50), page_bytes)?;
    (idle < more).then(|| {
        format!(
            "huge_pages is on, and of {more} more huge pages {idle} are there: reserve them first"
        )
    })
}

/// The size of a huge page as the server takes them, and how many are free and promised to nobody.
fn idle_pages(facts: &Facts, postgres: &Postgres) -> Option<(u64, u64)> {
    let memory = &facts.host.as_ref()?.memory;
    let page_bytes = memory.huge_page_size_bytes.get()?;
    let own_bytes = postgres.number("huge_page_size").unwrap_or(0.0);
    if own_bytes > 0.0 && own_bytes as u64 != page_bytes {
        return None;
    }
    let free = memory.huge_pages_free.get()?;
    Some((
        page_bytes,
        free.saturating_sub(memory.huge_pages_reserved.get()?),
    ))
}

/// A setting as the plan leaves it.
pub(super) fn after(postgres: &Postgres, chosen: &Chosen, name: &str) -> Option<Setting> {
    let now = postgres.setting(name)?;
    match chosen.get(name) {
        Some(candidate) => humane::with_value(now, &candidate.value),
        None => Some(now.clone()),
    }
}

fn text(postgres: &Postgres, chosen: &Chosen, name: &str) -> Option<String> {
    after(postgres, chosen, name).map(|setting| setting.value)
}
