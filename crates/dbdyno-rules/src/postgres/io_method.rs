//! Reads that wait for too few I/O workers.
//!
//! ## What it finds
//! PostgreSQL 18 or later with `io_method = sync`; or with `worker`, fewer `io_workers` than a
//! quarter of the CPUs, while more than a fifth of the sessions at work wait for reads.
//!
//! ## Why it matters
//! From 18 on, scans hand their reads to worker processes and go on. Three workers, the default,
//! are soon all busy on a large machine; with `sync` sessions read for themselves, as before 18, and
//! only advise the kernel of what they will need.
//!
//! ## What to do
//! Set `io_workers` to a quarter of the CPUs, at least 3 and at most 32. Where the build offers
//! `io_uring` and the kernel allows it, try that on another server first.
//!
//! ## Risk
//! None to data. `io_uring` keeps a server from starting where the kernel, a container or its
//! limits do not allow it: dbdyno never puts it into a plan.
//!
//! ## When it does not apply
//! Before PostgreSQL 18. How sessions wait is known from one look over the sample only; with too few
//! at work meanwhile it is not assessed.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/18/runtime-config-resource.html>
//! - <https://github.com/docker-library/postgres/issues/1365>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use super::{machine, releases, waits};
use crate::formulas::io::io_workers;
use crate::rule::{FindingExt, RecommendationExt, Rule, need, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.io_method",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/18/runtime-config-resource.html",
        "https://github.com/docker-library/postgres/issues/1365",
    ],
    check,
    source_text: include_str!("io_method.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const READING_SHARE: f64 = 0.20;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    releases::since(postgres, 18, "asynchronous I/O")?;
    match settings::text(postgres, "io_method")? {
        "worker" => {}
        "sync" => return Ok(synchronous(postgres)),
        _ => return Ok(Outcome::Ok),
    }
    let now = settings::number(postgres, "io_workers")?;
    let share = waits::share(postgres, is_read)?;
    if share <= READING_SHARE {
        return Ok(Outcome::Ok);
    }
    let cpus_fact = machine::cpus(facts);
    let cpus = need(&cpus_fact, "CPUs")?;
    let wanted = io_workers(cpus);
    if now >= f64::from(wanted) {
        return Ok(Outcome::Ok);
    }
    let finding = RULE
        .finding(format!(
            "{:.0} % of the sessions at work wait for reads, which {now} I/O workers do on {cpus} CPUs",
            share * 100.0
        ))
        .shows(postgres, "io_method")
        .shows(postgres, "io_workers")
        .evidence("CPUs", cpus, cpus_fact.origin)
        .recommend(
            safe(
                "io_workers",
                value(wanted.to_string()),
                "more reads are under way at the same time",
            )
            .giving_up("a process for each worker, and a larger share of the storage"),
        );
    Ok(with_io_uring(facts, postgres, finding).into_outcome())
}

fn is_read(event: &str) -> bool {
    event == "IO:DataFileRead" || event.starts_with("IO:Aio")
}

fn synchronous(postgres: &Postgres) -> Outcome {
    RULE.finding("io_method is sync: each session reads for itself and waits for it")
        .shows(postgres, "io_method")
        .recommend(
            safe(
                "io_method",
                value("worker"),
                "scans go on while pages are read",
            )
            .giving_up("a restart"),
        )
        .into_outcome()
}

/// Said only where the build has it and the kernel does not forbid it; a test of the start is
/// left to the owner, because nothing else tells whether it succeeds.
fn with_io_uring(facts: &Facts, postgres: &Postgres, finding: Finding) -> Finding {
    let offered = postgres
        .setting("io_method")
        .is_some_and(|setting| setting.enum_values.iter().any(|value| value == "io_uring"));
    let disabled = facts
        .host
        .as_ref()
        .and_then(|host| host.sysctl.get("kernel.io_uring_disabled"))
        .and_then(|fact| fact.get());
    if !offered || disabled != Some(0) {
        return finding;
    }
    finding.host_action(
        "io_method = io_uring is offered here: start a copy of the server with it first, since a \
         server that may not use it does not start",
        Needs::Restart,
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, set, setting, unknown};
    use dbdyno_model::finding::Want;
    use dbdyno_model::postgres::Waits;
    use dbdyno_model::{Fact, Facts};

    fn waiting(method: &str, reading: u64) -> Facts {
        let mut facts = healthy();
        facts.intent.cpus = Some(64);
        let server = postgres(&mut facts);
        server.version_num = 180_006;
        server.waits = Fact::known(
            Waits {
                looks: 10,
                active: 100,
                events: [("IO:AioIoCompletion".to_owned(), reading)].into(),
                ..Waits::default()
            },
            "pg_stat_activity",
        );
        set(&mut facts, "io_method", method);
        set(&mut facts, "io_workers", "3");
        facts
    }

    #[test]
    fn few_workers_are_found_where_sessions_wait_for_reads() {
        let finding = finding(&RULE, &waiting("worker", 40));
        assert_eq!(
            finding.message,
            "40 % of the sessions at work wait for reads, which 3 I/O workers do on 64 CPUs"
        );
        assert_eq!(finding.recommendations[0].want, Want::Value("16".into()));
        assert_eq!(finding.host_actions, []);
    }

    #[test]
    fn io_uring_is_named_only_where_it_may_be_used_and_never_planned() {
        let mut facts = waiting("worker", 40);
        let setting = setting(&mut facts, "io_method");
        setting.enum_values = vec!["sync".into(), "worker".into(), "io_uring".into()];
        let host = facts.host.as_mut().unwrap();
        let name = "kernel.io_uring_disabled";
        host.sysctl.insert(name.into(), Fact::known(2, "/proc/sys"));
        assert_eq!(finding(&RULE, &facts).host_actions, []);
        let host = facts.host.as_mut().unwrap();
        host.sysctl.insert(name.into(), Fact::known(0, "/proc/sys"));
        let finding = finding(&RULE, &facts);
        assert!(finding.host_actions[0].action.contains("io_uring"));
        assert!(
            finding
                .recommendations
                .iter()
                .all(|one| one.setting == "io_workers")
        );
    }

    #[test]
    fn waiting_for_each_read_is_found() {
        let finding = finding(&RULE, &waiting("sync", 0));
        assert_eq!(
            finding.recommendations[0].want,
            Want::Value("worker".into())
        );
    }

    #[test]
    fn enough_workers_few_waits_and_io_uring_are_fine() {
        let mut facts = waiting("worker", 40);
        set(&mut facts, "io_workers", "16");
        ok(&RULE, &facts);
        ok(&RULE, &waiting("worker", 10));
        ok(&RULE, &waiting("io_uring", 40));
    }

    #[test]
    fn older_servers_are_not_applicable_and_unread_waits_unknown() {
        not_applicable(&RULE, &healthy());
        let mut facts = waiting("worker", 40);
        postgres(&mut facts).waits = Fact::default();
        assert!(unknown(&RULE, &facts).starts_with("what sessions wait for"));
    }
}
