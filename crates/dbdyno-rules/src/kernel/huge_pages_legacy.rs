//! The host has no huge pages for the large shared memory of PostgreSQL 13 or 14.
//!
//! ## What it finds
//! PostgreSQL 13 and 14 with shared_buffers of 8 GiB or more, or page tables of more than 2 % of the
//! memory, and no huge pages on the host. These versions do not say how
//! many they need; the size of the postmaster's shared mapping does.
//!
//! ## Why it matters
//! In 4 KiB pages each backend needs 1/512 of the shared buffers it touches for page tables of its
//! own: 64 GiB cost 128 MiB a backend, and every miss in the CPU's translation cache walks them.
//!
//! ## What to do
//! Reserve that many pages and restart the server, stopped first where more is asked for than is
//! available; look at HugePages_Total, and reboot where memory is too fragmented. The rounding of a
//! restart may need a few more: one in a hundred is added.
//!
//! ## Risk
//! Reserved pages are lost to page cache and processes.
//!
//! ## When it does not apply
//! PostgreSQL 15 and later (kernel.huge_pages_size), small shared memory, `huge_pages = off`. A pool
//! that is there but too small is kernel.huge_pages_fallback's. The mapping is visible to the
//! server's own user and to root only.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/14/kernel-resources.html>
//! - Tune Linux Kernel Parameters For PostgreSQL Optimization (2018-08-29)

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Host;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Outcome, Severity};

use super::huge_pages_size::{Pool, default_size, reserve};
use crate::formulas::memory::{huge_pages_for, page_table_saving_bytes};
use crate::neighbours;
use crate::rule::{
    FindingExt, Rule, host, humane_bytes, need, need_ref, server, setting_number, setting_text,
    settle,
};

pub(super) const RULE: Rule = Rule {
    id: "kernel.huge_pages_legacy",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/14/kernel-resources.html",
        "Tune Linux Kernel Parameters For PostgreSQL Optimization (2018-08-29)",
    ],
    check,
    source_text: include_str!("huge_pages_legacy.rs"),
};

const LARGE_BUFFERS_BYTES: u64 = 8 << 30;
const PAGE_TABLES_SHARE: f64 = 0.02;

/// Huge pages that the server's shared memory takes now, and those to reserve.
pub(super) struct Mapped<'a> {
    pub(super) bytes: u64,
    origin: &'a str,
    pub(super) pages: u64,
    /// The rounding of a restart may need a few more.
    pub(super) wanted: u64,
}

/// Measured by the postmaster's shared mapping: before 15 the server does not say it.
pub(super) fn mapped<'a>(
    server: &Postgres,
    host: &'a Host,
    pool: &Pool,
) -> Result<Mapped<'a>, Outcome> {
    default_size(server, pool)?;
    let process = need_ref(&host.server_process, "the server's process")?;
    let shared = &process.shared_memory_bytes;
    let bytes = need(shared, "the server's shared mapping")?;
    let pages = huge_pages_for(bytes, pool.page_bytes)
        .ok_or_else(|| Outcome::Unknown("size of a huge page: it is 0".to_owned()))?;
    Ok(Mapped {
        bytes,
        origin: &shared.origin,
        pages,
        wanted: pages.saturating_add(pages.div_ceil(100)),
    })
}

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    if server.major() >= 15 {
        return Err(Outcome::NotApplicable(format!(
            "PostgreSQL {} says itself how many it needs: see kernel.huge_pages_size",
            server.major()
        )));
    }
    if setting_text(server, "huge_pages")? == "off" {
        return Err(Outcome::NotApplicable("huge_pages is off".to_owned()));
    }
    let host = host(facts)?;
    let memory = &host.memory;
    let buffers = setting_number(server, "shared_buffers")? as u64;
    if buffers < LARGE_BUFFERS_BYTES {
        let total = need(&memory.total_bytes, "memory size")?;
        let tables = need(&memory.page_tables_bytes, "page tables")?;
        if tables as f64 <= total as f64 * PAGE_TABLES_SHARE {
            return Err(Outcome::NotApplicable(format!(
                "shared_buffers of {} are too small for huge pages to pay",
                humane_bytes(buffers)
            )));
        }
    }
    let pool = Pool::read(memory)?;
    let Mapped {
        bytes,
        origin,
        pages: exact,
        wanted,
    } = mapped(server, host, &pool)?;
    if pool.total >= exact {
        return Ok(Outcome::Ok);
    }
    if pool.total > 0 {
        return Err(Outcome::NotApplicable(
            "there are huge pages, but too few: see kernel.huge_pages_fallback".to_owned(),
        ));
    }
    let page = humane_bytes(pool.page_bytes);
    let in_all = wanted.saturating_add(neighbours::huge_pages(facts, pool.page_bytes));
    let finding = RULE
        .finding(format!(
            "{} of shared memory need {exact} huge pages of {page}, and the host has 0: in small \
             pages it costs up to {} of page tables a backend",
            humane_bytes(bytes),
            humane_bytes(page_table_saving_bytes(buffers))
        ))
        .evidence("shared mapping", bytes, origin)
        .evidence(
            "HugePages_Total",
            pool.total,
            &memory.huge_pages_total.origin,
        );
    Ok(reserve(finding, memory, &pool, in_all).into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        finding, healthy, host, not_applicable, ok, postgres, process, set, unknown,
    };
    use dbdyno_model::{Fact, Facts};

    const GIB: u64 = 1 << 30;

    fn fourteen(mapped: Fact<u64>, total: u64) -> Facts {
        let mut facts = healthy();
        postgres(&mut facts).version_num = 140_012;
        // In pages of 8 kB: 8 GiB.
        set(&mut facts, "shared_buffers", "1048576");
        process(&mut facts, |process| process.shared_memory_bytes = mapped);
        host(&mut facts).memory.huge_pages_total = Fact::known(total, "/proc/meminfo");
        facts
    }

    #[test]
    fn a_large_mapping_without_huge_pages_is_found() {
        let mapped = Fact::known(8 * GIB + 300 * (1 << 20), "/proc/4242/maps");
        let finding = finding(&RULE, &fourteen(mapped, 0));
        insta::assert_snapshot!(finding.message, @"8.3 GiB of shared memory need 4246 huge pages of 2 MiB, and the host has 0: in small pages it costs up to 16 MiB of page tables a backend");
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("vm.nr_hugepages = 4289 in")
        );
    }

    #[test]
    fn enough_pages_are_fine() {
        ok(&RULE, &fourteen(Fact::known(8 * GIB, "maps"), 4096));
    }

    #[test]
    fn pages_of_another_size_are_not_counted_in_those_of_the_default() {
        let mut facts = fourteen(Fact::known(8 * GIB, "maps"), 0);
        // In kB: 1 GiB.
        set(&mut facts, "huge_page_size", "1048576");
        let why = unknown(&RULE, &facts);
        assert_eq!(
            why,
            "huge pages of 1 GiB: only the default size is collected"
        );
    }

    #[test]
    fn newer_servers_and_small_ones_are_not_applicable() {
        assert!(not_applicable(&RULE, &healthy()).contains("PostgreSQL 15"));
        let mut facts = fourteen(Fact::default(), 0);
        set(&mut facts, "shared_buffers", "16384");
        assert!(not_applicable(&RULE, &facts).contains("too small"));
        set(&mut facts, "huge_pages", "off");
        not_applicable(&RULE, &facts);
        let small = fourteen(Fact::known(8 * GIB, "maps"), 100);
        assert!(not_applicable(&RULE, &small).contains("huge_pages_fallback"));
    }

    #[test]
    fn an_invisible_mapping_is_unknown() {
        assert_eq!(
            unknown(&RULE, &fourteen(Fact::default(), 0)),
            "the server's shared mapping: not collected"
        );
    }
}
