//! Huge pages that nobody uses.
//!
//! ## What it finds
//! Idle huge pages (free and promised to nobody, and wanted by no server here) of more than 1 GiB or
//! 2 % of the memory.
//!
//! ## Why it matters
//! A reserved huge page is lost to the page cache and to every process that does not ask for it.
//! The memory is there and the host still runs out of it.
//!
//! ## What to do
//! Lower `vm.nr_hugepages` by the idle ones.
//!
//! ## Risk
//! A server that restarts with larger shared memory needs them after all: `huge_pages = on` then
//! keeps it from starting. One look is no day: check again after the busiest hour.
//!
//! ## When it does not apply
//! Hosts without huge pages, and servers that fell back (kernel.huge_pages_fallback): they should
//! use them. Without a running server it is not assessed: the pages may be waiting for it.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/mm/hugetlbpage.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Host;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::huge_pages_fallback;
use super::huge_pages_size::Pool;
use crate::neighbours;
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, humane_bytes, need, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.huge_pages_waste",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &["https://docs.kernel.org/admin-guide/mm/hugetlbpage.html"],
    check,
    source_text: include_str!("huge_pages_waste.rs"),
};

const MOST_BYTES: u64 = 1 << 30;
const MOST_SHARE: u64 = 50;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let memory = &host.memory;
    let pool = Pool::read(memory)?;
    if pool.total == 0 {
        return Err(Outcome::NotApplicable(
            "the host reserves no huge pages".to_owned(),
        ));
    }
    let total = need(&memory.total_bytes, "memory size")?;
    let keep = pool.used().max(wanted(facts, host, &pool));
    let idle = pool.total.saturating_sub(keep);
    let idle_bytes = idle.saturating_mul(pool.page_bytes);
    if idle_bytes <= MOST_BYTES.min(total / MOST_SHARE) {
        return Ok(Outcome::Ok);
    }
    if facts.postgres.is_none() {
        return Err(Outcome::Unknown(
            "the server: none was read that the pages may be for".to_owned(),
        ));
    }
    match (huge_pages_fallback::RULE.check)(facts) {
        Outcome::Finding(_) => Err(Outcome::NotApplicable(
            "the server should use them: see kernel.huge_pages_fallback".to_owned(),
        )),
        Outcome::Unknown(why) => Err(Outcome::Unknown(why)),
        Outcome::Ok | Outcome::NotApplicable(_) => Ok(RULE
            .finding(format!(
                "{} lie idle in {idle} of {} huge pages",
                humane_bytes(idle_bytes),
                pool.total
            ))
            .evidence("HugePages_Free", pool.free, &memory.huge_pages_free.origin)
            .evidence(
                "HugePages_Rsvd",
                pool.reserved,
                &memory.huge_pages_reserved.origin,
            )
            .sysctl(&[("vm.nr_hugepages", keep)], Needs::Online)
            .costing("a server that restarts with larger shared memory needs them after all")
            .into_outcome()),
    }
}

/// What all servers here would take, whether they have it now or fell back: other rules advise to
/// reserve that many.
fn wanted(facts: &Facts, host: &Host, pool: &Pool) -> u64 {
    let is_off = |server: &Postgres| {
        server
            .setting("huge_pages")
            .is_some_and(|setting| setting.value == "off")
    };
    let own = facts
        .postgres
        .as_ref()
        .filter(|server| !is_off(server))
        .and_then(|server| huge_pages_fallback::needed(server, host, pool).ok())
        .map_or(0, |(_, wanted)| wanted);
    own.saturating_add(neighbours::huge_pages(facts, pool.page_bytes))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, set, unknown};
    use dbdyno_model::{Fact, Facts};

    /// The healthy server needs 72 pages.
    fn with_pages(total: u64, free: u64, reserved: u64) -> Facts {
        let mut facts = healthy();
        let memory = &mut facts.host.as_mut().unwrap().memory;
        memory.huge_pages_total = Fact::known(total, "/proc/meminfo HugePages_Total");
        memory.huge_pages_free = Fact::known(free, "/proc/meminfo HugePages_Free");
        memory.huge_pages_reserved = Fact::known(reserved, "/proc/meminfo HugePages_Rsvd");
        facts
    }

    #[test]
    fn two_gib_beside_the_server_are_found() {
        let finding = finding(&RULE, &with_pages(1096, 1090, 66));
        insta::assert_snapshot!(finding.message, @"2 GiB lie idle in 1024 of 1096 huge pages");
        assert_eq!(
            finding.host_actions[0].action,
            "vm.nr_hugepages = 72 in /etc/sysctl.d/90-dbdyno.conf"
        );
    }

    #[test]
    fn pages_for_the_servers_beside_it_are_kept() {
        let mut facts = with_pages(472, 400, 0);
        set(&mut facts, "huge_pages_status", "on");
        assert!(finding(&RULE, &facts).message.contains("in 400 of 472"));
        facts.others = vec![healthy()];
        let of_other = |facts: &mut Facts, pages: &str| {
            let name = "shared_memory_size_in_huge_pages";
            set(&mut facts.others[0], name, pages);
        };
        of_other(&mut facts, "100");
        let finding = finding(&RULE, &facts);
        assert!(finding.message.contains("in 300 of 472 huge pages"));
        assert_eq!(
            finding.host_actions[0].action,
            "vm.nr_hugepages = 172 in /etc/sysctl.d/90-dbdyno.conf"
        );
        of_other(&mut facts, "300");
        ok(&RULE, &facts);
    }

    #[test]
    fn a_little_slack_is_fine() {
        ok(&RULE, &with_pages(100, 90, 62));
    }

    #[test]
    fn no_pool_and_a_server_that_fell_back_are_not_applicable() {
        not_applicable(&RULE, &healthy());
        assert!(not_applicable(&RULE, &with_pages(1096, 1096, 0)).contains("fallback"));
    }

    #[test]
    fn without_a_server_it_is_unknown_whom_they_wait_for() {
        let mut facts = with_pages(1096, 1096, 0);
        facts.postgres = None;
        assert!(unknown(&RULE, &facts).starts_with("the server"));
    }
}
