//! Servers that share a host: what the others hold is not there for the one that is judged.

use std::borrow::Cow;

use dbdyno_model::facts::Unreached;
use dbdyno_model::host::Host;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Fact, Facts};

use crate::formulas::memory::huge_pages_for;
use crate::postgres::{machine, shared_buffers};

/// Each server of the facts as the one that is judged, with the others of its host beside it.
pub fn side_by_side(facts: &Facts) -> Vec<Cow<'_, Facts>> {
    if facts.others.is_empty() {
        return vec![Cow::Borrowed(facts)];
    }
    let all: Vec<&Facts> = facts.each().collect();
    let seen_from = |(at, one): (usize, &&Facts)| {
        let others = all.iter().enumerate().filter(|(other, _)| *other != at);
        Cow::Owned(Facts {
            others: others.map(|(_, other)| in_short(other)).collect(),
            unreached: facts.unreached.clone(),
            ..Facts::clone(one)
        })
    };
    all.iter().enumerate().map(seen_from).collect()
}

/// What of a server bears on the memory of those beside it.
fn in_short(facts: &Facts) -> Facts {
    Facts {
        host: facts.host.clone(),
        postgres: facts.postgres.as_ref().map(|server| Postgres {
            version_num: server.version_num,
            settings: server.settings.clone(),
            database: server.database.clone(),
            databases: server.databases.clone(),
            ..Postgres::default()
        }),
        intent: facts.intent.clone(),
        ..Facts::default()
    }
}

/// What the others leave of the memory that the host has for one server.
pub(crate) fn left(facts: &Facts, host: &Host, alone: Fact<u64>) -> Fact<u64> {
    let (Some(bytes), Some(total)) = (alone.get(), host.memory.total_bytes.get()) else {
        return alone;
    };
    let hidden = |server: &&Unreached| server.resident_bytes.is_none();
    if let Some(server) = facts.unreached.iter().find(hidden) {
        let port = server.port.map(|port| format!(" on port {port}"));
        let why = format!(
            "the server{} was not read, nor what it holds; give --memory",
            port.unwrap_or_default()
        );
        return Fact::unknown(why, alone.origin);
    }
    let servers: Vec<(&Facts, u64)> = facts
        .others
        .iter()
        .map(|other| (other, buffers(other)))
        .collect();
    let unread: u64 = facts
        .unreached
        .iter()
        .filter_map(|server| server.resident_bytes)
        .fold(0, u64::saturating_add);
    let of_host = sum(servers.iter().map(|(_, held)| *held)).saturating_add(unread);
    let limits = host.memory.limits.value().map_or(&[][..], Vec::as_slice);
    let left = limits
        .iter()
        .map(|limit| {
            let within = servers
                .iter()
                .filter(|(other, _)| is_under(other, &limit.cgroup));
            limit
                .bytes
                .saturating_sub(sum(within.map(|(_, held)| *held)))
        })
        .chain([total.saturating_sub(of_host)])
        .min()
        .unwrap_or(bytes);
    if left >= bytes {
        alone
    } else if left == 0 {
        let why = "the other database servers here hold as much as there is; give --memory";
        Fact::unknown(why, alone.origin)
    } else {
        let origin = format!(
            "{}, less what other database servers here hold",
            alone.origin
        );
        Fact::known(left, origin)
    }
}

/// Shared buffers as they are, or as the other's own plan will make them.
fn buffers(other: &Facts) -> u64 {
    let Some(server) = &other.postgres else {
        return 0;
    };
    let now = server.bytes("shared_buffers").unwrap_or(0);
    let planned = machine::memory(other)
        .get()
        .and_then(|memory| shared_buffers::planned(other, server, memory).ok());
    planned.map_or(now, |planned| planned.max(now))
}

fn sum(held: impl Iterator<Item = u64>) -> u64 {
    held.fold(0, u64::saturating_add)
}

fn is_under(other: &Facts, cgroup: &str) -> bool {
    let limits = other
        .host
        .as_ref()
        .and_then(|host| host.memory.limits.value());
    limits.is_some_and(|limits| limits.iter().any(|limit| limit.cgroup == cgroup))
}

/// Huge pages of the default size that the other servers of the host would take.
pub(crate) fn huge_pages(facts: &Facts, page_bytes: u64) -> u64 {
    sum(facts
        .others
        .iter()
        .filter_map(|one| huge_pages_of(one, page_bytes)))
}

/// As the server says from 15 on; before, by the size of its shared mapping.
fn huge_pages_of(one: &Facts, page_bytes: u64) -> Option<u64> {
    let server = one.postgres.as_ref()?;
    let own_size = server.number("huge_page_size").unwrap_or(0.0);
    let is_default = own_size <= 0.0 || own_size as u64 == page_bytes;
    if !is_default || server.setting("huge_pages")?.value == "off" {
        return None;
    }
    match server.number("shared_memory_size_in_huge_pages") {
        Some(pages) => (pages > 0.0).then_some(pages as u64),
        None => {
            let process = one.host.as_ref()?.server_process.value()?;
            huge_pages_for(process.shared_memory_bytes.get()?, page_bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formulas::{GIB, MIB};
    use crate::testing::{declare_tpcc, healthy, host, set};
    use dbdyno_model::host::MemoryLimit;

    const TOTAL: u64 = 25_455_230_976;

    /// Two servers on one machine, each with so many blocks of 8 KiB as shared buffers.
    fn two(blocks: &str) -> Facts {
        let mut facts = healthy();
        set(&mut facts, "shared_buffers", blocks);
        facts.others = vec![facts.clone()];
        facts
    }

    fn memories(facts: &Facts) -> Vec<Fact<u64>> {
        side_by_side(facts)
            .iter()
            .map(|one| machine::memory(one))
            .collect()
    }

    #[test]
    fn one_server_has_all_and_two_have_what_the_other_leaves() {
        let alone = healthy();
        assert_eq!(memories(&alone)[0].get(), Some(TOTAL));
        // 4 GiB each.
        let both = memories(&two("524288"));
        assert_eq!(both.len(), 2);
        for memory in both {
            assert_eq!(memory.get(), Some(TOTAL - 4 * GIB));
            assert!(memory.origin.contains("other database servers"));
        }
    }

    #[test]
    fn two_plans_together_take_no_more_than_one_would_leave() {
        let mut facts = two("16384");
        declare_tpcc(&mut facts);
        declare_tpcc(&mut facts.others[0]);
        let planned: Vec<u64> = side_by_side(&facts)
            .iter()
            .map(|one| {
                let server = one.postgres.as_ref().unwrap();
                let memory = machine::memory(one).get().unwrap();
                shared_buffers::planned(one, server, memory).unwrap()
            })
            .collect();
        assert!(
            planned.iter().all(|bytes| *bytes < 5632 * MIB),
            "{planned:?}"
        );
        assert_eq!(planned[0], planned[1]);
        for one in &side_by_side(&facts) {
            let plan = crate::plan(one, &crate::check(one));
            let memory = plan.memory.memory_bytes.unwrap();
            assert!(memory < TOTAL - 5 * GIB, "{memory}");
        }
    }

    #[test]
    fn servers_of_other_engines_count_with_what_they_hold() {
        let mut facts = healthy();
        facts.unreached = vec![Unreached {
            engine: Some("MariaDB".into()),
            resident_bytes: Some(10 * GIB),
            ..Unreached::default()
        }];
        assert_eq!(memories(&facts)[0].get(), Some(TOTAL - 10 * GIB));
        facts.unreached[0].resident_bytes = Some(TOTAL);
        let why = memories(&facts).remove(0);
        assert!(
            why.why_unknown()
                .is_some_and(|why| why.contains("--memory"))
        );
        let server = &mut facts.unreached[0];
        (server.port, server.resident_bytes) = (Some(5440), None);
        assert_eq!(
            memories(&facts)[0].why_unknown(),
            Some("the server on port 5440 was not read, nor what it holds; give --memory")
        );
        facts.intent.memory_bytes = Some(GIB);
        assert_eq!(memories(&facts)[0].get(), Some(GIB));
    }

    #[test]
    fn a_limit_of_its_own_is_shared_with_nobody() {
        let mut facts = two("524288");
        let limited = |cgroup: &str| {
            let limit = MemoryLimit {
                cgroup: cgroup.into(),
                control: "memory.max".into(),
                bytes: 8 * GIB,
            };
            Fact::known(vec![limit], "memory.max")
        };
        let memory = &mut host(&mut facts).memory;
        memory.limits = limited("/a");
        memory.effective_bytes = Fact::known(8 * GIB, "memory.max");
        let other = &mut host(&mut facts.others[0]).memory;
        other.limits = limited("/b");
        other.effective_bytes = Fact::known(8 * GIB, "memory.max");
        assert_eq!(memories(&facts)[0].get(), Some(8 * GIB));
        host(&mut facts.others[0]).memory.limits = limited("/a");
        assert_eq!(memories(&facts)[0].get(), Some(4 * GIB));
    }

    #[test]
    fn huge_pages_of_all_are_added_up() {
        let mut facts = two("524288");
        set(
            &mut facts.others[0],
            "shared_memory_size_in_huge_pages",
            "2100",
        );
        let seen = side_by_side(&facts);
        assert_eq!(huge_pages(&seen[0], 2 * MIB), 2100);
        let mut off = facts.clone();
        set(&mut off.others[0], "huge_pages", "off");
        assert_eq!(huge_pages(&off, 2 * MIB), 0);
    }
}
