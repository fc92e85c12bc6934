//! Sorts and hashes that spill to disk, or may use more memory than there is.
//!
//! ## What it finds
//! More than 1 MB/s of temporary files, averaged over a day or more; or a `work_mem` above its
//! default that, granted to every session at work, exceeds the memory.
//!
//! ## Why it matters
//! Each sort and each hash of each session may use `work_mem` (a hash `hash_mem_multiplier` times
//! that). Too little, and they go through temporary files; too much, and a busy minute ends in the
//! out-of-memory killer.
//!
//! ## What to do
//! Where files are written, find out by whom: `pg_stat_statements` counts them by statement,
//! `log_temp_files` logs each. Then give `work_mem` to the transaction that spills (`SET LOCAL`) or to
//! its role (`ALTER ROLE … SET work_mem`), within what the memory allows. A counter of the whole
//! database never raises it for everybody. Where the memory cannot carry what is set, lower it.
//!
//! ## Risk
//! None to data. A higher value takes memory in proportion to the sessions that set it.
//!
//! ## When it does not apply
//! Servers whose counters are younger than a day, unless short transactions are declared: those
//! sort little.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-resource.html>

use std::collections::BTreeMap;

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::postgres::{Postgres, TrackedStatement};
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use super::settings::{self, SettingEvidence};
use super::{load, machine, max_connections, shared_buffers};
use crate::formulas::memory::{budget_bytes, work_mem_ceiling_bytes};
use crate::formulas::{GIB, KIB, MIB, PAGE_BYTES};
use crate::rule::{FindingExt, RecommendationExt, Rule, humane_bytes, need, safe, server, settle};
use crate::solver::{self, humane};

pub(super) const RULE: Rule = Rule {
    id: "postgres.work_mem",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-resource.html"],
    check,
    source_text: include_str!("work_mem.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const DEFAULT_BYTES: u64 = 4 * MIB;
const SPILLING_BYTES_PER_S: f64 = 1e6;

/// More for one sort is a matter of the statement, not of memory.
const LARGEST_BYTES: u64 = GIB;

/// Statements that are named.
const NAMED: usize = 3;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::bytes(postgres, "work_mem")?;
    let memory = need(&machine::memory(facts), "memory")?;
    if let Some(why) = solver::memory_not_known(postgres) {
        return Err(Outcome::Unknown(why));
    }
    let ceiling = ceiling(facts, postgres, memory)?;
    let mut others = BTreeMap::new();
    // Where shared_buffers are what is too large, their rule gives the memory back.
    let shared_buffers = shared_buffers::planned(facts, postgres, memory)?;
    if shared_buffers < settings::bytes(postgres, "shared_buffers")? {
        others.insert("shared_buffers".to_owned(), humane::bytes(shared_buffers));
    }
    let used = solver::memory_with(facts, &others).unwrap_or(0);
    if used > budget_bytes(memory) && now > DEFAULT_BYTES {
        let wanted = what_fits(facts, memory, ceiling.min(now), others);
        return Ok(too_much(postgres, memory, used, wanted));
    }
    let bytes = load::counted(&postgres.database, |all| Some(all.temp_bytes as f64));
    let files = load::counted(&postgres.database, |all| Some(all.temp_files as f64));
    let (Some(bytes), Some(files)) = (bytes, files) else {
        let short = load::declared_writes(facts).is_some();
        return Err(if short {
            Outcome::Ok
        } else {
            load::no_statistics()
        });
    };
    if bytes.per_s() <= SPILLING_BYTES_PER_S || files.amount < 1.0 {
        return Ok(Outcome::Ok);
    }
    let average = (bytes.amount / files.amount) as u64;
    Ok(spilling(postgres, bytes.per_s(), average, ceiling))
}

/// What all sessions can be granted, once shared_buffers is what its rule asks for.
fn ceiling(facts: &Facts, postgres: &Postgres, memory: u64) -> Result<u64, Outcome> {
    let maintenance = settings::bytes(postgres, "maintenance_work_mem")?;
    let workers = settings::number(postgres, "autovacuum_max_workers")?;
    Ok(work_mem_ceiling_bytes(
        memory,
        shared_buffers::planned(facts, postgres, memory)?,
        maintenance.saturating_mul(workers as u64),
        max_connections::planned(facts, postgres)?,
        machine::active_backends(facts),
        postgres.number("hash_mem_multiplier").unwrap_or(1.0),
    ))
}

/// From the ceiling down to what the memory model carries, and no lower than the default.
fn what_fits(
    facts: &Facts,
    memory: u64,
    ceiling: u64,
    mut values: BTreeMap<String, String>,
) -> u64 {
    let mut wanted = humane::round_down(ceiling);
    while wanted > DEFAULT_BYTES {
        values.insert("work_mem".to_owned(), humane::bytes(wanted / KIB * KIB));
        if solver::memory_with(facts, &values).is_none_or(|sum| sum <= budget_bytes(memory)) {
            return wanted;
        }
        wanted = humane::round_down(wanted - 1);
    }
    DEFAULT_BYTES
}

fn too_much(postgres: &Postgres, memory: u64, used: u64, wanted: u64) -> Outcome {
    let finding = RULE
        .finding(format!(
            "work_mem is {}: with everything else, sessions at work may use {} of {}",
            settings::humane(postgres, "work_mem"),
            humane_bytes(used),
            humane_bytes(memory)
        ))
        .keeps_running()
        .shows(postgres, "work_mem")
        .shows(postgres, "hash_mem_multiplier");
    finding
        .recommend(
            safe(
                "work_mem",
                Want::Bytes(wanted),
                "what all sessions at work can be granted at once",
            )
            .giving_up("large sorts and hashes go through temporary files"),
        )
        .into_outcome()
}

fn spilling(postgres: &Postgres, per_s: f64, average: u64, ceiling: u64) -> Outcome {
    let finding = RULE
        .finding(format!(
            "{:.1} MB/s of temporary files are written, {} each on average, with work_mem at {}",
            per_s / 1e6,
            humane_bytes(average),
            settings::humane(postgres, "work_mem")
        ))
        .evidence(
            "temp_bytes",
            format!("{:.1} MB/s", per_s / 1e6),
            "pg_stat_database",
        )
        .shows(postgres, "work_mem");
    let finding = with_spillers(finding, postgres);
    let Some(now) = postgres.bytes("work_mem") else {
        return finding.into_outcome();
    };
    // Sorted rows take more room in memory than in their file: about twice.
    let wanted = humane::round_down(average.saturating_mul(2).min(ceiling) / KIB * KIB);
    if average > LARGEST_BYTES || wanted <= now {
        return finding.into_outcome();
    }
    let wanted = humane::bytes(wanted);
    finding
        .host_action(
            // By itself SET LOCAL does nothing, and whose role it is nobody knows here.
            format!(
                "in the transactions that spill: SET LOCAL work_mem = '{wanted}'; or for their role: \
                 ALTER ROLE … SET work_mem = '{wanted}'; it holds the average spill in memory, and takes \
                 as much for each sort and hash of each session that sets it"
            ),
            Needs::Online,
        )
        .into_outcome()
}

/// Who spills most, where that is counted; else how to find out.
fn with_spillers(finding: Finding, postgres: &Postgres) -> Finding {
    let listed = postgres
        .statements
        .value()
        .map_or(&[][..], |statements| statements.listed.as_slice());
    let mut spillers: Vec<&TrackedStatement> = listed
        .iter()
        .filter(|one| one.temp_blocks_written > 0)
        .collect();
    if spillers.is_empty() {
        return finding.host_action(
            "find out which statements spill: log_temp_files = 10MB logs each file, and pg_stat_statements counts them by statement",
            Needs::Reload,
        );
    }
    spillers.sort_by(|a, b| {
        b.temp_blocks_written
            .cmp(&a.temp_blocks_written)
            .then_with(|| a.id.cmp(&b.id))
    });
    spillers.iter().take(NAMED).fold(finding, |finding, one| {
        finding.evidence(
            format!("temporary files of statement {}", one.id),
            humane_bytes(one.temp_blocks_written.saturating_mul(PAGE_BYTES)),
            &postgres.statements.origin,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        configure, declare_tpcc, finding, healthy, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::finding::Want;
    use dbdyno_model::postgres::{Statements, TrackedStatement};
    use dbdyno_model::{Fact, Facts, Finding};

    fn spilling(bytes_per_day: u64, files: u64) -> Facts {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 1.0);
        let server = postgres(&mut facts);
        server.database.after = server.database.after.clone().map(|mut all| {
            (all.temp_bytes, all.temp_files) = (bytes_per_day, files);
            all
        });
        facts
    }

    fn raise(found: &Finding) -> Option<String> {
        let mut actions = found.host_actions.iter().map(|one| one.action.clone());
        actions.find(|action| action.contains("SET LOCAL work_mem"))
    }

    #[test]
    fn spills_are_found_and_never_answered_for_everybody() {
        let finding = finding(&RULE, &spilling(864_000_000_000, 80_000));
        insta::assert_snapshot!(finding.message, @"10.0 MB/s of temporary files are written, 10.3 MiB each on average, with work_mem at 4MB");
        assert_eq!(finding.recommendations, []);
        assert_eq!(finding.statements, [], "alone SET LOCAL does nothing");
        assert!(finding.host_actions[0].action.contains("log_temp_files"));
        insta::assert_snapshot!(finding.host_actions[1].action, @"in the transactions that spill: SET LOCAL work_mem = '20MB'; or for their role: ALTER ROLE … SET work_mem = '20MB'; it holds the average spill in memory, and takes as much for each sort and hash of each session that sets it");
    }

    #[test]
    fn who_spills_is_named_where_statements_are_counted() {
        let mut facts = spilling(864_000_000_000, 80_000);
        let of = |id: &str, blocks| TrackedStatement {
            id: id.into(),
            temp_blocks_written: blocks,
            ..TrackedStatement::default()
        };
        let statements = Statements {
            listed: vec![of("1", 0), of("2", 128), of("3", 131_072)],
            ..Statements::default()
        };
        postgres(&mut facts).statements = Fact::known(statements, "pg_stat_statements");
        let found = finding(&RULE, &facts);
        assert_eq!(found.host_actions.len(), 1);
        assert!(raise(&found).is_some());
        let named: Vec<&str> = found
            .evidence
            .iter()
            .filter(|one| one.origin == "pg_stat_statements")
            .map(|one| one.value.as_str())
            .collect();
        assert_eq!(named, ["1 GiB", "1 MiB"]);
    }

    #[test]
    fn the_memory_bounds_what_spills_get() {
        let mut facts = spilling(864_000_000_000, 1_000);
        let action = raise(&finding(&RULE, &facts)).unwrap();
        assert!(!action.contains("'1GB'"), "{action}");
        facts.intent.memory_bytes = Some(1 << 30);
        assert_eq!(raise(&finding(&RULE, &facts)), None);
    }

    #[test]
    fn giant_spills_are_left_to_their_query() {
        let found = finding(&RULE, &spilling(864_000_000_000, 10));
        assert_eq!(raise(&found), None);
    }

    #[test]
    fn more_than_the_memory_can_carry_is_lowered() {
        let mut facts = healthy();
        configure(&mut facts, "work_mem", "1048576");
        let finding = finding(&RULE, &facts);
        assert!(
            finding.message.contains("sessions at work may use"),
            "{}",
            finding.message
        );
        let Want::Bytes(wanted) = finding.recommendations[0].want else {
            panic!()
        };
        assert!((4 << 20..1 << 30).contains(&wanted), "{wanted}");
    }

    #[test]
    fn what_shared_buffers_will_give_back_is_not_taken_from_work_mem() {
        let mut facts = healthy();
        facts.intent.memory_bytes = Some(16 << 30);
        configure(&mut facts, "shared_buffers", "1900544");
        configure(&mut facts, "work_mem", "8192");
        unknown(&RULE, &facts);
        // Here they are within three quarters: nothing else gives way.
        configure(&mut facts, "shared_buffers", "1572864");
        configure(&mut facts, "maintenance_work_mem", "1048576");
        assert!(finding(&RULE, &facts).message.contains("work_mem is 8MB"));
    }

    #[test]
    fn little_spill_is_fine_and_so_are_short_transactions() {
        ok(&RULE, &spilling(1_000_000, 10));
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        ok(&RULE, &facts);
    }

    #[test]
    fn young_counters_are_unknown() {
        assert!(unknown(&RULE, &healthy()).starts_with("no statistics yet"));
    }
}
