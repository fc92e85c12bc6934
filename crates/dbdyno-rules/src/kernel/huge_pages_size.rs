//! The host has too few huge pages for the server's large shared memory.
//!
//! ## What it finds
//! Fewer huge pages in all than `shared_memory_size_in_huge_pages` (15 and later), where
//! shared_buffers are 8 GiB or more, or page tables already take more than 2 % of the memory.
//!
//! ## Why it matters
//! In 4 KiB pages each backend needs 1/512 of the shared buffers it touches for page tables of its
//! own: 64 GiB cost 128 MiB a backend, and every miss in the CPU's translation cache walks them.
//!
//! ## What to do
//! Reserve that many pages, and those of other servers on the host with them, and restart the server.
//! The kernel reserves what it finds and says nothing where that is less: look at HugePages_Total, and
//! reboot where memory is too fragmented. Where more is asked for than is available, stop the server
//! first: it still has the same memory in small pages. When it runs well, `huge_pages = on` keeps it
//! from starting without them.
//!
//! ## Risk
//! Reserved pages are lost to page cache and processes. With `huge_pages = on` and too few pages
//! the server does not start.
//!
//! ## When it does not apply
//! Small shared memory, `huge_pages = off`, PostgreSQL 13 and 14 (they do not say how many pages
//! they need), and a `huge_page_size` other than the host's default. A pool that is there but too
//! small is kernel.huge_pages_fallback's.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/kernel-resources.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Memory;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use crate::formulas::memory::page_table_saving_bytes;
use crate::neighbours;
use crate::paste::PasteExt;
use crate::rule::{
    FindingExt, Rule, host, humane_bytes, need, server, setting_number, setting_text, settle,
};

pub(super) const RULE: Rule = Rule {
    id: "kernel.huge_pages_size",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/kernel-resources.html"],
    check,
    source_text: include_str!("huge_pages_size.rs"),
};

const LARGE_BUFFERS_BYTES: u64 = 8 << 30;
const PAGE_TABLES_SHARE: f64 = 0.02;
/// What reserved pages cost.
const TAKEN: &str = "the reserved pages are lost to page cache and processes";

/// The host's huge pages of the default size.
pub(super) struct Pool {
    pub(super) page_bytes: u64,
    pub(super) total: u64,
    pub(super) free: u64,
    pub(super) reserved: u64,
}

impl Pool {
    pub(super) fn read(memory: &Memory) -> Result<Self, Outcome> {
        Ok(Self {
            page_bytes: need(&memory.huge_page_size_bytes, "size of a huge page")?,
            total: need(&memory.huge_pages_total, "HugePages_Total")?,
            free: need(&memory.huge_pages_free, "HugePages_Free")?,
            reserved: need(&memory.huge_pages_reserved, "HugePages_Rsvd")?,
        })
    }

    /// Free and promised to nobody: HugePages_Free still counts those that are promised.
    pub(super) fn idle(&self) -> u64 {
        self.free.saturating_sub(self.reserved)
    }

    pub(super) fn used(&self) -> u64 {
        self.total.saturating_sub(self.idle())
    }
}

/// How many of the host's default huge pages the server's shared memory needs.
pub(super) fn pages_needed(server: &Postgres, pool: &Pool) -> Result<u64, Outcome> {
    if server.major() < 15 {
        return Err(Outcome::Unknown(format!(
            "shared_memory_size_in_huge_pages: PostgreSQL {} does not have it",
            server.major()
        )));
    }
    default_size(server, pool)?;
    let pages = setting_number(server, "shared_memory_size_in_huge_pages")?;
    if pages < 0.0 {
        return Err(Outcome::NotApplicable(
            "the platform has no huge pages".to_owned(),
        ));
    }
    Ok(pages as u64)
}

/// The pool is that of the host's default size; from 14 on the server may ask for pages of another.
pub(super) fn default_size(server: &Postgres, pool: &Pool) -> Result<(), Outcome> {
    let own_size = match server.number("huge_page_size") {
        None if server.major() < 14 => 0.0,
        _ => setting_number(server, "huge_page_size")?,
    };
    if own_size > 0.0 && own_size as u64 != pool.page_bytes {
        return Err(Outcome::Unknown(format!(
            "huge pages of {}: only the default size is collected",
            humane_bytes(own_size as u64)
        )));
    }
    Ok(())
}

/// An action of its own that reserves so many pages in all.
pub(super) fn reserve(finding: Finding, memory: &Memory, pool: &Pool, pages: u64) -> Finding {
    let more = pages
        .saturating_sub(pool.total)
        .saturating_mul(pool.page_bytes);
    let available = memory.available_bytes.get();
    let finding = match available.filter(|available| more > *available) {
        Some(available) => finding.host_action(
            format!(
                "stop the server before the next step and start it after that: {} more are reserved \
                 and {} are available, so the kernel would swap to find them",
                humane_bytes(more),
                humane_bytes(available)
            ),
            Needs::Restart,
        ),
        None => finding,
    };
    finding
        .sysctl(&[("vm.nr_hugepages", pages)], Needs::Restart)
        // Less than that many is no error to the kernel.
        .run(["grep HugePages_Total /proc/meminfo"])
        .costing(TAKEN)
}

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    if server.major() < 15 {
        let why = format!(
            "PostgreSQL {} does not say how many it needs",
            server.major()
        );
        return Err(Outcome::NotApplicable(why));
    }
    let mode = setting_text(server, "huge_pages")?;
    if mode == "off" {
        return Err(Outcome::NotApplicable("huge_pages is off".to_owned()));
    }
    let memory = &host(facts)?.memory;
    let buffers = setting_number(server, "shared_buffers")? as u64;
    let tables = &memory.page_tables_bytes;
    if buffers < LARGE_BUFFERS_BYTES {
        let total = need(&memory.total_bytes, "memory size")?;
        if need(tables, "page tables")? as f64 <= total as f64 * PAGE_TABLES_SHARE {
            return Err(Outcome::NotApplicable(format!(
                "shared_buffers of {} are too small for huge pages to pay",
                humane_bytes(buffers)
            )));
        }
    }
    let pool = Pool::read(memory)?;
    let needed = pages_needed(server, &pool)?;
    if pool.total >= needed {
        return Ok(Outcome::Ok);
    }
    if pool.total > 0 {
        return Err(Outcome::NotApplicable(
            "there are huge pages, but too few: see kernel.huge_pages_fallback".to_owned(),
        ));
    }
    let page = humane_bytes(pool.page_bytes);
    let of_others = neighbours::huge_pages(facts, pool.page_bytes);
    let in_all = needed.saturating_add(of_others);
    let finding = RULE
        .finding(format!(
            "{} of shared memory lie in 4 KiB pages, which costs up to {} of page tables a \
             backend: {needed} huge pages of {page} are needed and none is reserved",
            humane_bytes(needed * pool.page_bytes),
            humane_bytes(page_table_saving_bytes(buffers)),
        ))
        .evidence("shared_memory_size_in_huge_pages", needed, "pg_settings")
        .evidence(
            "HugePages_Total",
            pool.total,
            &memory.huge_pages_total.origin,
        );
    let finding = if of_others > 0 {
        finding.evidence("huge pages of other servers here", of_others, "pg_settings")
    } else {
        finding
    };
    Ok(reserve(finding, memory, &pool, in_all).into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, set, unknown};
    use dbdyno_model::{Fact, Facts};

    fn with_pages(total: u64) -> Facts {
        let mut facts = healthy();
        // 8 GiB in 8 KiB blocks.
        set(&mut facts, "shared_buffers", "1048576");
        set(&mut facts, "shared_memory_size_in_huge_pages", "4213");
        let memory = &mut facts.host.as_mut().unwrap().memory;
        memory.huge_pages_total = Fact::known(total, "/proc/meminfo HugePages_Total");
        facts
    }

    #[test]
    fn none_for_eight_gib_is_found() {
        let finding = finding(&RULE, &with_pages(0));
        insta::assert_snapshot!(finding.message, @"8.2 GiB of shared memory lie in 4 KiB pages, which costs up to 16 MiB of page tables a backend: 4213 huge pages of 2 MiB are needed and none is reserved");
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("vm.nr_hugepages = 4213 in")
        );
    }

    #[test]
    fn what_the_kernel_found_is_looked_at() {
        let commands = &finding(&RULE, &with_pages(0)).host_actions[0].commands;
        assert_eq!(commands[1], "grep HugePages_Total /proc/meminfo");
    }

    /// The running server has the same memory in small pages.
    #[test]
    fn where_so_much_is_not_available_the_server_stops_first() {
        let mut facts = with_pages(0);
        let memory = &mut facts.host.as_mut().unwrap().memory;
        memory.available_bytes = Fact::known(6 << 30, "/proc/meminfo MemAvailable");
        let actions = finding(&RULE, &facts).host_actions;
        assert!(
            actions[0]
                .action
                .starts_with("stop the server before the next step")
        );
        assert!(
            actions[0]
                .action
                .contains("8.2 GiB more are reserved and 6 GiB are available")
        );
        assert!(actions[1].action.starts_with("vm.nr_hugepages = 4213 in"));
    }

    #[test]
    fn the_pages_of_another_server_here_are_reserved_with_them() {
        let mut facts = with_pages(0);
        facts.others = vec![with_pages(0)];
        let finding = finding(&RULE, &facts);
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("vm.nr_hugepages = 8426 in")
        );
    }

    #[test]
    fn enough_pages_are_fine() {
        ok(&RULE, &with_pages(4300));
    }

    #[test]
    fn page_tables_that_grew_count_too() {
        let mut facts = healthy();
        let memory = &mut facts.host.as_mut().unwrap().memory;
        memory.page_tables_bytes = Fact::known(1 << 30, "/proc/meminfo PageTables");
        assert!(finding(&RULE, &facts).message.contains("72 huge pages"));
    }

    #[test]
    fn small_buffers_older_servers_and_too_small_a_pool_are_not_applicable() {
        not_applicable(&RULE, &healthy());
        not_applicable(&RULE, &with_pages(100));
        let mut facts = with_pages(0);
        facts.postgres.as_mut().unwrap().version_num = 140_022;
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn another_page_size_is_unknown() {
        let mut facts = with_pages(0);
        // 1 GiB in kB.
        set(&mut facts, "huge_page_size", "1048576");
        assert_eq!(
            unknown(&RULE, &facts),
            "huge pages of 1 GiB: only the default size is collected"
        );
    }
}
