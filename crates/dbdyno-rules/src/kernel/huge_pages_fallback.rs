//! Huge pages are reserved, and the server silently does without them.
//!
//! ## What it finds
//! `huge_pages = try` on a host with huge pages where `huge_pages_status` is off (17 and later), or
//! where fewer pages are in use than the server's shared memory needs.
//!
//! ## Why it matters
//! The memory is paid for twice: the reserved pages lie idle, and the server took the same amount
//! again in 4 KiB pages. `try` says nothing in the log.
//!
//! ## What to do
//! Reserve enough pages and restart the server. Where enough are free now, a restart is all; if it
//! falls back again, look at the hugetlb limit of its cgroup.
//!
//! ## Risk
//! Reserved pages are lost to page cache and processes.
//!
//! ## When it does not apply
//! Hosts without huge pages, `huge_pages` on (the server would not have started) or off. Before 15
//! the server does not say how many pages it needs: the size of its shared mapping does, where it is
//! visible; else only a pool that nobody uses is found. Where several servers share a host, nothing
//! before 17 says which of them uses the pages: unless there are enough for all it is not assessed.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-preset.html>
//! - <https://www.postgresql.org/docs/current/kernel-resources.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Host;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::huge_pages_legacy::mapped;
use super::huge_pages_size::{Pool, default_size, pages_needed, reserve};
use crate::neighbours;
use crate::rule::{FindingExt, Rule, host, humane_bytes, server, setting_text, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.huge_pages_fallback",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-preset.html",
        "https://www.postgresql.org/docs/current/kernel-resources.html",
    ],
    check,
    source_text: include_str!("huge_pages_fallback.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    let mode = setting_text(server, "huge_pages")?;
    let status = server
        .setting("huge_pages_status")
        .map(|setting| setting.value.as_str());
    match (mode, status) {
        ("off", _) => return Err(Outcome::NotApplicable("huge_pages is off".to_owned())),
        ("on", _) | (_, Some("on")) => return Ok(Outcome::Ok),
        _ => {}
    }
    let host = host(facts)?;
    let memory = &host.memory;
    let pool = Pool::read(memory)?;
    if pool.total == 0 {
        return Err(Outcome::NotApplicable(
            "the host reserves no huge pages".to_owned(),
        ));
    }
    let needed = needed(server, host, &pool);
    // Other servers here may be among who uses some, or have fallen back, too.
    let of_others = neighbours::huge_pages(facts, pool.page_bytes);
    let in_use = match &needed {
        _ if status == Some("off") => false,
        Ok((pages, _)) if pool.used() < *pages => false,
        Ok((pages, _)) if pool.used() < pages.saturating_add(of_others) => {
            return Err(Outcome::Unknown(format!(
                "which of the servers uses them: {} huge pages are in use, {pages} are for this one \
                 and {of_others} for those beside it",
                pool.used()
            )));
        }
        Ok(_) => true,
        // Nobody uses any, so neither does the server.
        Err(_) if pool.used() == 0 => false,
        Err(why) => return Err(why.clone()),
    };
    if in_use {
        return Ok(Outcome::Ok);
    }
    let idle = pool.idle();
    let page = humane_bytes(pool.page_bytes);
    let wants = match &needed {
        Ok((pages, _)) => format!(", and the server needs {pages}"),
        Err(_) => String::new(),
    };
    let finding = RULE
        .finding(format!(
            "huge_pages = try fell back to 4 KiB pages: {idle} of {} huge pages of {page} are \
             idle{wants}",
            pool.total
        ))
        .evidence(
            "HugePages_Total",
            pool.total,
            &memory.huge_pages_total.origin,
        )
        .evidence("idle huge pages", idle, &memory.huge_pages_free.origin);
    let finding = match needed {
        Ok((_, wanted)) if wanted > idle => {
            let pages = pool.used().max(of_others).saturating_add(wanted);
            reserve(finding, memory, &pool, pages)
        }
        Ok(_) => finding.host_action(
            "restart the server; if it falls back again, raise the hugetlb limit of its cgroup",
            Needs::Restart,
        ),
        Err(_) if server.major() < 15 && default_size(server, &pool).is_ok() => finding.host_action(
            "run check as root or as the server's user, who see how large its shared mapping is: \
             that gives the number",
            Needs::Online,
        ),
        Err(_) => finding.host_action(
            "reserve more huge pages of the size that huge_page_size asks for, then restart the \
             server",
            Needs::Restart,
        ),
    };
    Ok(finding.into_outcome())
}

/// Huge pages that the server takes, and those to reserve for it.
pub(super) fn needed(server: &Postgres, host: &Host, pool: &Pool) -> Result<(u64, u64), Outcome> {
    if server.major() < 15 {
        mapped(server, host, pool).map(|mapped| (mapped.pages, mapped.wanted))
    } else {
        pages_needed(server, pool).map(|pages| (pages, pages))
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, process, set, unknown};
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
    fn a_pool_for_one_of_two_servers_grows_for_both() {
        let mut facts = with_pages(60, 60, 0);
        facts.others = vec![healthy()];
        let finding = finding(&RULE, &facts);
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("vm.nr_hugepages = 144 in")
        );
    }

    #[test]
    fn pages_that_are_enough_for_one_of_two_servers_may_be_the_others() {
        let mut facts = with_pages(100, 28, 0);
        ok(&RULE, &facts);
        facts.others = vec![healthy()];
        assert_eq!(
            unknown(&RULE, &facts),
            "which of the servers uses them: 72 huge pages are in use, 72 are for this one and 72 \
             for those beside it"
        );
        set(&mut facts, "huge_pages_status", "on");
        ok(&RULE, &facts);
        let mut enough = with_pages(150, 6, 0);
        enough.others = vec![healthy()];
        ok(&RULE, &enough);
    }

    #[test]
    fn a_pool_that_is_too_small_is_found() {
        let finding = finding(&RULE, &with_pages(60, 50, 0));
        insta::assert_snapshot!(finding.message, @"huge_pages = try fell back to 4 KiB pages: 50 of 60 huge pages of 2 MiB are idle, and the server needs 72");
        // Ten belong to somebody else.
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("vm.nr_hugepages = 82 in")
        );
    }

    #[test]
    fn enough_idle_pages_ask_for_a_restart_only() {
        let finding = finding(&RULE, &with_pages(100, 100, 0));
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("restart the server")
        );
    }

    #[test]
    fn promised_pages_are_in_use() {
        ok(&RULE, &with_pages(80, 75, 67));
    }

    #[test]
    fn the_servers_own_word_counts_from_17_on() {
        let mut facts = with_pages(80, 0, 0);
        set(&mut facts, "huge_pages_status", "off");
        finding(&RULE, &facts);
        set(&mut facts, "huge_pages_status", "on");
        ok(&RULE, &facts);
    }

    #[test]
    fn no_pool_and_no_wish_are_not_applicable() {
        not_applicable(&RULE, &healthy());
        let mut facts = with_pages(60, 60, 0);
        set(&mut facts, "huge_pages", "off");
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn who_uses_the_pages_of_an_older_server_is_unknown() {
        let mut facts = with_pages(60, 50, 0);
        facts.postgres.as_mut().unwrap().version_num = 140_022;
        assert_eq!(
            unknown(&RULE, &facts),
            "the server's shared mapping: not collected"
        );
    }

    /// Nobody else gives another number for the same pool.
    #[test]
    fn an_older_servers_mapping_says_how_many_it_needs() {
        let mut facts = with_pages(60, 60, 0);
        postgres(&mut facts).version_num = 140_022;
        let asks = |facts: &Facts| finding(&RULE, facts).host_actions[0].action.clone();
        assert!(asks(&facts).starts_with("run check as root"));
        let mut of_another_size = facts.clone();
        set(&mut of_another_size, "huge_page_size", "1048576");
        assert!(asks(&of_another_size).starts_with("reserve more huge pages of the size"));
        process(&mut facts, |process| {
            process.shared_memory_bytes = Fact::known(200 << 20, "/proc/4242/maps");
        });
        // A hundred, and one for the rounding of a restart.
        assert!(asks(&facts).starts_with("vm.nr_hugepages = 101 in"));
        // In pages of 8 kB: 8 GiB.
        set(&mut facts, "shared_buffers", "1048576");
        let legacy = crate::catalogue()
            .into_iter()
            .find(|rule| rule.id == "kernel.huge_pages_legacy")
            .unwrap();
        not_applicable(&legacy, &facts);
    }
}
