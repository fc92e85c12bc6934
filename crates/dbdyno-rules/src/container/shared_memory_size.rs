//! /dev/shm is too small for parallel queries.
//!
//! ## What it finds
//! `/dev/shm` of 64 MiB or less (the default of Docker and Kubernetes) while parallel query is on
//! and `dynamic_shared_memory_type` is `posix`.
//!
//! ## Why it matters
//! The workers of a parallel query share their hash tables and tuples through files in `/dev/shm`.
//! When it is full the query fails with "could not resize shared memory segment: No space left on
//! device", although memory and disk are free.
//!
//! ## What to do
//! Start the container with `--shm-size`, or mount an `emptyDir` of medium `Memory` at `/dev/shm`:
//! at least 1 GiB, or parallel queries at once × (workers + 1) × work_mem × hash_mem_multiplier.
//!
//! ## Risk
//! None to data. What is stored in `/dev/shm` counts as the container's memory.
//!
//! ## When it does not apply
//! Servers without parallel query, and those that keep dynamic shared memory elsewhere (`sysv`,
//! `mmap`).
//!
//! ## Sources
//! - <https://docs.docker.com/engine/containers/run/>
//! - <https://www.postgresql.org/docs/current/runtime-config-resource.html>
//! - <https://cloudnative-pg.io/documentation/current/postgresql_conf/>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{
    FindingExt, Rule, host, humane_bytes, need, server, setting_number, setting_text, settle,
};

pub(super) const RULE: Rule = Rule {
    id: "container.shared_memory_size",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://docs.docker.com/engine/containers/run/",
        "https://www.postgresql.org/docs/current/runtime-config-resource.html",
        "https://cloudnative-pg.io/documentation/current/postgresql_conf/",
    ],
    check,
    source_text: include_str!("shared_memory_size.rs"),
};

const MIB: u64 = 1 << 20;
const CONTAINER_DEFAULT_BYTES: u64 = 64 * MIB;
const LEAST_BYTES: u64 = 1024 * MIB;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    let kind = setting_text(server, "dynamic_shared_memory_type")?;
    if kind != "posix" {
        return Err(Outcome::NotApplicable(format!(
            "dynamic_shared_memory_type is {kind}: /dev/shm is not used"
        )));
    }
    let per_gather = setting_number(server, "max_parallel_workers_per_gather")?;
    let workers = setting_number(server, "max_parallel_workers")?;
    if per_gather == 0.0 || workers == 0.0 {
        return Err(Outcome::NotApplicable("parallel query is off".to_owned()));
    }
    let host = host(facts)?;
    let fact = &host.dev_shm_bytes;
    let bytes = need(fact, "size of /dev/shm")?;
    if bytes > CONTAINER_DEFAULT_BYTES {
        return Ok(Outcome::Ok);
    }
    let at_once = (workers / per_gather).max(1.0);
    let hash = setting_number(server, "work_mem")? * setting_number(server, "hash_mem_multiplier")?;
    let wanted = (at_once * (per_gather + 1.0) * hash) as u64;
    // In whole MiB, as the options want it.
    let wanted_mib = wanted.max(LEAST_BYTES).div_ceil(MIB);
    let finding = RULE
        .finding(format!(
            "/dev/shm has {}: parallel queries ({per_gather} workers each, {workers} in all) fail \
             when their hash tables fill it",
            humane_bytes(bytes),
        ))
        .keeps_running()
        .evidence("/dev/shm", bytes, &fact.origin)
        .evidence("max_parallel_workers_per_gather", per_gather, "pg_settings");
    let mount = format!("mount -o remount,size={wanted_mib}m /dev/shm");
    let of_container = format!(
        "docker run --shm-size={wanted_mib}m, or in Kubernetes an emptyDir {{medium: Memory, \
         sizeLimit: {wanted_mib}Mi}} mounted at /dev/shm"
    );
    let finding = match host.container.get() {
        Some(false) => finding
            .host_action(&mount, Needs::Online)
            .run([mount])
            .host_action(
                format!("and for the next boot: size={wanted_mib}m for /dev/shm in /etc/fstab"),
                Needs::Online,
            ),
        Some(true) => finding.host_action(of_container, Needs::Restart),
        None => finding.host_action(
            format!("in a container: {of_container}; else: {mount}"),
            Needs::Restart,
        ),
    };
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, set, unknown};
    use dbdyno_model::{Fact, Facts};

    fn small() -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        host.dev_shm_bytes = Fact::known(64 << 20, "statvfs /dev/shm");
        host.container = Fact::known(true, "/.dockerenv");
        facts
    }

    #[test]
    fn the_container_default_is_found() {
        let finding = finding(&RULE, &small());
        insta::assert_snapshot!(finding.message, @"/dev/shm has 64 MiB: parallel queries (2 workers each, 8 in all) fail when their hash tables fill it");
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("docker run --shm-size=1024m,")
        );
    }

    #[test]
    fn on_a_plain_host_it_is_mounted_larger() {
        let mut facts = small();
        facts.host.as_mut().unwrap().container = Fact::known(false, "/proc/1/cgroup");
        let action = &finding(&RULE, &facts).host_actions[0];
        assert!(
            action
                .action
                .starts_with("mount -o remount,size=1024m /dev/shm")
        );
        assert_eq!(action.needs, dbdyno_model::Needs::Online);
    }

    #[test]
    fn where_a_container_is_not_known_both_are_told_and_none_is_run() {
        let mut facts = small();
        facts.host.as_mut().unwrap().container = Fact::default();
        let actions = finding(&RULE, &facts).host_actions;
        assert_eq!(actions.len(), 1);
        for part in [
            "in a container: docker run --shm-size=1024m",
            "else: mount -o remount,size=1024m /dev/shm",
        ] {
            assert!(actions[0].action.contains(part), "{}", actions[0].action);
        }
        assert!(actions[0].commands.is_empty());
    }

    #[test]
    fn a_large_work_mem_wants_more() {
        let mut facts = small();
        // 8/2 queries × 3 processes × 256 MB × 2.
        set(&mut facts, "work_mem", "262144");
        let finding = finding(&RULE, &facts);
        assert!(finding.host_actions[0].action.contains("--shm-size=6144m"));
    }

    #[test]
    fn half_of_the_memory_is_fine() {
        ok(&RULE, &healthy());
    }

    #[test]
    fn no_parallel_query_and_other_kinds_are_not_applicable() {
        let mut facts = small();
        set(&mut facts, "max_parallel_workers_per_gather", "0");
        not_applicable(&RULE, &facts);
        let mut facts = small();
        set(&mut facts, "dynamic_shared_memory_type", "sysv");
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn a_server_elsewhere_is_unknown() {
        let mut facts = small();
        facts.host = None;
        assert!(unknown(&RULE, &facts).starts_with("the host"));
    }
}
