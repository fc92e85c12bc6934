//! More parallel workers than CPUs.
//!
//! ## What it finds
//! `max_parallel_workers` above the CPUs the server may use; `max_parallel_workers_per_gather`
//! above half of them; or `max_worker_processes` below `max_parallel_workers`.
//!
//! ## Why it matters
//! One report with parallel workers on every CPU makes each short transaction wait its turn.
//! Workers that `max_worker_processes` does not provide are silently missing from plans that were
//! made for them.
//!
//! ## What to do
//! Set `max_parallel_workers` to the CPUs, `max_parallel_workers_per_gather` to at most half of
//! them (at most 4, and 2 beside short transactions), and `max_worker_processes` above
//! `max_parallel_workers` by what extensions and replication need.
//!
//! ## Risk
//! None to data. Single large queries may take longer. A standby with fewer `max_worker_processes`
//! than its primary stops replaying: raise them there first.
//!
//! ## When it does not apply
//! Servers for one analysis at a time.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-resource.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use super::{load, machine};
use crate::rule::{FindingExt, RecommendationExt, Rule, need, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.parallel",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-resource.html"],
    check,
    source_text: include_str!("parallel.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// Background workers of extensions and logical replication beside the parallel ones.
const OTHER_WORKERS: f64 = 8.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let workers = settings::number(postgres, "max_parallel_workers")?;
    let per_gather = settings::number(postgres, "max_parallel_workers_per_gather")?;
    let processes = settings::number(postgres, "max_worker_processes")?;
    let cpus_fact = machine::cpus(facts);
    let cpus = f64::from(need(&cpus_fact, "CPUs")?);
    let wanted_per_gather = (cpus / 2.0).floor();
    let wanted = workers.min(cpus);
    let too_many = workers > cpus;
    let too_wide = per_gather > wanted_per_gather;
    let too_few = processes < wanted;
    if !(too_many || too_wide || too_few) {
        return Ok(Outcome::Ok);
    }
    let mut finding = RULE
        .finding(format!(
            "{workers} parallel workers, {per_gather} for one query, of {processes} processes, on {cpus} CPUs"
        ))
        .shows(postgres, "max_parallel_workers")
        .shows(postgres, "max_parallel_workers_per_gather")
        .shows(postgres, "max_worker_processes")
        .evidence("CPUs", cpus, cpus_fact.origin);
    let slower = "speed of single large queries";
    if too_many {
        let why = "no more parallel workers than CPUs";
        finding = finding.recommend(
            safe("max_parallel_workers", value(wanted.to_string()), why).giving_up(slower),
        );
    }
    if too_wide {
        let most = if load::declared_writes(facts).is_some() {
            2.0
        } else {
            4.0
        };
        let wide = value(wanted_per_gather.min(most).to_string());
        let why = "one query leaves CPUs to the others";
        finding =
            finding.recommend(safe("max_parallel_workers_per_gather", wide, why).giving_up(slower));
    }
    if too_few {
        let processes = value((wanted + OTHER_WORKERS).to_string());
        let why = "the parallel workers that are allowed can start";
        let restart = "a restart; on standbys it has to be raised first";
        finding =
            finding.recommend(safe("max_worker_processes", processes, why).giving_up(restart));
    }
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, unknown};
    use dbdyno_model::Facts;

    fn wants(facts: &Facts) -> Vec<String> {
        let finding = finding(&RULE, facts);
        finding
            .recommendations
            .iter()
            .map(|one| format!("{} {:?}", one.setting, one.want))
            .collect()
    }

    #[test]
    fn the_defaults_are_found_on_two_cpus() {
        insta::assert_snapshot!(finding(&RULE, &healthy()).message, @"8 parallel workers, 2 for one query, of 8 processes, on 2 CPUs");
        assert_eq!(
            wants(&healthy()),
            [
                r#"max_parallel_workers Value("2")"#,
                r#"max_parallel_workers_per_gather Value("1")"#
            ]
        );
    }

    #[test]
    fn one_cpu_runs_nothing_in_parallel() {
        let mut facts = healthy();
        facts.intent.cpus = Some(1);
        assert!(
            wants(&facts).contains(&r#"max_parallel_workers_per_gather Value("0")"#.to_owned())
        );
    }

    #[test]
    fn workers_that_cannot_start_are_found() {
        let mut facts = healthy();
        facts.intent.cpus = Some(32);
        configure(&mut facts, "max_parallel_workers", "16");
        assert_eq!(wants(&facts), [r#"max_worker_processes Value("24")"#]);
    }

    #[test]
    fn the_defaults_are_fine_on_sixteen_cpus() {
        let mut facts = healthy();
        facts.intent.cpus = Some(16);
        ok(&RULE, &facts);
    }

    #[test]
    fn unknown_cpus_are_named() {
        let mut facts = healthy();
        facts.host = None;
        assert_eq!(
            unknown(&RULE, &facts),
            "CPUs: the server runs on another machine, and its CPUs are not known"
        );
    }
}
