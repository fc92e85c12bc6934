//! Shared buffers far from a quarter of the memory.
//!
//! ## What it finds
//! `shared_buffers` of 128 MB (the default) or less on a machine with at least 1 GiB; less than
//! half of a quarter of the memory while the cache misses; more than three quarters of the memory.
//!
//! ## Why it matters
//! Every page that is not in shared buffers costs a system call at best and a disk read at worst,
//! and every change to it is written out by whoever needs the room. Too large, and the page cache,
//! sessions and maintenance have nothing left to work with.
//!
//! ## What to do
//! Set `shared_buffers` to a quarter of the memory the server may use. Where the data that is in
//! use fits into more, up to three quarters with huge pages can be faster: measure it.
//!
//! ## Risk
//! None to data. It needs a restart, after which the cache is cold.
//!
//! ## When it does not apply
//! A server whose data, all of them, already fit into what it has, unless a load is declared for
//! it. What misses is unknown while the counters cover less than a day or few reads.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-resource.html>

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Outcome, Severity};

use super::settings::{self, SettingEvidence};
use super::{load, machine};
use crate::formulas::{GIB, MIB};
use crate::rule::{FindingExt, RecommendationExt, Rule, humane_bytes, need, safe, server, settle};
use crate::solver::humane;

pub(super) const RULE: Rule = Rule {
    id: "postgres.shared_buffers",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-resource.html"],
    check,
    source_text: include_str!("shared_buffers.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const DEFAULT_BYTES: u64 = 128 * MIB;
const MISSING_SHARE: f64 = 0.01;

/// Block reads from which a hit ratio means something.
const ENOUGH_READS: f64 = 100_000.0;

/// What the rule asks for: a quarter of the memory, in a humane step.
fn quarter(memory: u64) -> u64 {
    humane::round_down(memory / 4)
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::bytes(postgres, "shared_buffers")?;
    let memory_fact = machine::memory(facts);
    let memory = need(&memory_fact, "memory")?;
    let wanted = quarter(memory);
    let Some(why) = reason(facts, postgres, now, memory)? else {
        return Ok(Outcome::Ok);
    };
    let finding = RULE.finding(format!(
        "shared_buffers is {} of {} of memory: {why}",
        settings::humane(postgres, "shared_buffers"),
        humane_bytes(memory)
    ));
    let finding = if is_too_much(now, memory) {
        finding.keeps_running()
    } else {
        finding
    };
    Ok(finding
        .shows(postgres, "shared_buffers")
        .evidence("memory", humane_bytes(memory), memory_fact.origin)
        .recommend(
            safe(
                "shared_buffers",
                Want::Bytes(wanted),
                "a quarter of the memory: start here, then measure",
            )
            .giving_up("a restart, and the memory is no longer free for other programs"),
        )
        .into_outcome())
}

/// What shared_buffers will be once the plan is carried out.
pub(crate) fn planned(facts: &Facts, postgres: &Postgres, memory: u64) -> Result<u64, Outcome> {
    let now = settings::bytes(postgres, "shared_buffers")?;
    // What is not known changes nothing.
    let changes = matches!(reason(facts, postgres, now, memory), Ok(Some(_)));
    Ok(if changes { quarter(memory) } else { now })
}

/// Three quarters is what an article measured as the best of one machine: beyond that lies only the
/// out-of-memory killer.
fn is_too_much(now: u64, memory: u64) -> bool {
    now > memory / 4 * 3
}

/// None where there is nothing to say.
fn reason(
    facts: &Facts,
    postgres: &Postgres,
    now: u64,
    memory: u64,
) -> Result<Option<String>, Outcome> {
    if is_too_much(now, memory) {
        let why = "too little is left for sessions and the page cache";
        return Ok(Some(why.to_owned()));
    }
    let fits = fits_already(facts, postgres, now);
    if now <= DEFAULT_BYTES && memory >= GIB {
        let why = "no more than what a server starts with on any machine";
        return Ok((!fits).then(|| why.to_owned()));
    }
    if fits || now >= quarter(memory) / 2 {
        return Ok(None);
    }
    let misses = miss_share(facts, postgres)?;
    if misses <= MISSING_SHARE {
        return Ok(None);
    }
    let data = load::latest(&postgres.database, "size of the database")?.size_bytes;
    let data = data.ok_or_else(|| Outcome::Unknown("size of the database: not read".to_owned()))?;
    Ok((data > now).then(|| format!("{:.1} % of the block reads miss it", misses * 100.0)))
}

/// Everything this server holds is known, and fits.
fn fits_already(facts: &Facts, postgres: &Postgres, now: u64) -> bool {
    if facts.intent.workload.is_some() {
        return false;
    }
    let (Some(database), Some(all)) = (postgres.database.latest(), postgres.databases.value())
    else {
        return false;
    };
    let alone = all.iter().all(|other| {
        other.name == database.name
            || other.name.starts_with("template")
            || other.name == "postgres"
    });
    alone && database.size_bytes.is_some_and(|size| size < now)
}

fn miss_share(facts: &Facts, postgres: &Postgres) -> Result<f64, Outcome> {
    let read = load::counted(&postgres.database, |all| Some(all.blocks_read as f64));
    let hit = load::counted(&postgres.database, |all| Some(all.blocks_hit as f64));
    let (Some(read), Some(hit)) = (read, hit) else {
        // A load that is declared does not say what it misses.
        return Err(match facts.intent.workload {
            None => load::no_statistics(),
            Some(_) => Outcome::Unknown(
                "block reads: the counters cover less than a day, or nobody knows how long"
                    .to_owned(),
            ),
        });
    };
    let all = read.amount + hit.amount;
    if all < ENOUGH_READS {
        return Err(Outcome::Unknown(format!(
            "block reads: {all:.0} were counted, too few to judge by"
        )));
    }
    Ok(read.amount / all)
}

#[cfg(test)]
mod tests {
    use super::{RULE, planned};
    use crate::testing::{
        configure, declare_tpcc, finding, healthy, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::finding::Want;
    use dbdyno_model::postgres::Database;
    use dbdyno_model::{Effect, Facts};

    #[test]
    fn the_default_is_found_where_a_load_is_declared() {
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"shared_buffers is 128MB of 23.7 GiB of memory: no more than what a server starts with on any machine");
        assert_eq!(finding.recommendations[0].want, Want::Bytes(5632 << 20));
    }

    #[test]
    fn data_that_fit_already_are_left_alone_unless_others_are_unseen() {
        let mut facts = healthy();
        ok(&RULE, &facts);
        let server = postgres(&mut facts);
        server.databases = server.databases.clone().map(|mut all| {
            all.push(dbdyno_model::postgres::DatabaseAge {
                name: "shop".into(),
                ..Default::default()
            });
            all
        });
        finding(&RULE, &facts);
    }

    fn missing(hits: u64) -> Facts {
        let mut facts = healthy();
        configure(&mut facts, "shared_buffers", "65536");
        with_statistics_of_days(&mut facts, 7.0);
        let server = postgres(&mut facts);
        server.database.after = server.database.after.clone().map(|mut all| {
            (all.blocks_read, all.blocks_hit, all.size_bytes) = (100_000, hits, Some(50 << 30));
            all
        });
        facts
    }

    #[test]
    fn a_cache_that_misses_is_found_and_one_that_does_not_is_fine() {
        assert!(
            finding(&RULE, &missing(900_000))
                .message
                .contains("10.0 % of the block reads")
        );
        ok(&RULE, &missing(99_900_000));
    }

    #[test]
    fn what_was_not_counted_for_long_is_not_a_cache_that_hits() {
        let mut facts = missing(900_000);
        let set_database = |facts: &mut Facts, change: fn(&mut Database)| {
            let after = &mut postgres(facts).database.after;
            *after = after.clone().map(|mut all| {
                change(&mut all);
                all
            });
        };
        let mut sizeless = facts.clone();
        set_database(&mut sizeless, |all| all.size_bytes = None);
        assert_eq!(unknown(&RULE, &sizeless), "size of the database: not read");
        set_database(&mut facts, |all| all.stats_age_s = None);
        assert!(unknown(&RULE, &facts).starts_with("no statistics yet"));
        let server = facts.postgres.as_ref().unwrap();
        assert_eq!(planned(&facts, server, 24 << 30), Ok(512 << 20));
        declare_tpcc(&mut facts);
        assert!(unknown(&RULE, &facts).starts_with("block reads: the counters"));
        let mut idle = missing(90_000);
        set_database(&mut idle, |all| all.blocks_read = 1000);
        assert_eq!(
            unknown(&RULE, &idle),
            "block reads: 91000 were counted, too few to judge by"
        );
    }

    #[test]
    fn from_half_a_quarter_on_no_counter_is_asked() {
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        configure(&mut facts, "shared_buffers", "360448");
        ok(&RULE, &facts);
        configure(&mut facts, "shared_buffers", "360447");
        unknown(&RULE, &facts);
    }

    #[test]
    fn more_than_three_quarters_is_found() {
        let mut facts = healthy();
        configure(&mut facts, "shared_buffers", "2621440");
        let finding = finding(&RULE, &facts);
        assert!(finding.message.contains("too little is left"));
        assert_eq!(finding.effect, Effect::Availability);
    }

    #[test]
    fn a_quarter_is_fine() {
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        configure(&mut facts, "shared_buffers", "720896");
        ok(&RULE, &facts);
    }

    #[test]
    fn a_server_elsewhere_asks_for_its_memory() {
        let mut facts = healthy();
        facts.host = None;
        insta::assert_snapshot!(unknown(&RULE, &facts), @"memory: the server runs on another machine; give --memory");
    }
}
