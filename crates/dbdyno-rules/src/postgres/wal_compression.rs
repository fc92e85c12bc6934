//! Full-page images that are logged uncompressed.
//!
//! ## What it finds
//! `wal_compression` off where full-page images may make up more than 30 % of the log and a fifth
//! of the CPU time is idle; or where a writing load is declared.
//!
//! ## Why it matters
//! After each checkpoint every changed page goes into the log whole. Compressed, the log of a
//! published TPC-C run shrank from 3,359 to 1,962 GB and its throughput rose by 21 %.
//!
//! ## What to do
//! Set `wal_compression` to `lz4`, else `zstd` (both from PostgreSQL 15, where the build has them),
//! else `on`.
//!
//! ## Risk
//! None to data. Compressing takes CPU time, `on` (pglz) more than `lz4`.
//!
//! ## When it does not apply
//! Servers without CPU time to spare.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Finding, Outcome, Severity};

use super::load;
use super::settings::{self, SettingEvidence};
use crate::formulas::wal::full_page_image_share;
use crate::rule::{FindingExt, RecommendationExt, Rule, host, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.wal_compression",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-wal.html"],
    check,
    source_text: include_str!("wal_compression.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const IMAGE_SHARE: f64 = 0.30;
const IDLE_SHARE: f64 = 0.20;

/// In the order of what they cost for what they save; before 15 the setting only knows `on`.
const METHODS: [&str; 4] = ["lz4", "zstd", "pglz", "on"];

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if settings::text(postgres, "wal_compression")? != "off" {
        return Ok(Outcome::Ok);
    }
    let (confidence, because) = match image_share(postgres) {
        Some(share) if share > IMAGE_SHARE => {
            if idle_share(facts)? < IDLE_SHARE {
                return Ok(Outcome::Ok);
            }
            let share = format!("full-page images, up to {:.0} % of the log,", share * 100.0);
            (RULE.confidence, share)
        }
        known => match (load::declared_writes(facts), known) {
            (Some(name), _) => (
                Confidence::Medium,
                format!("the full-page images of the declared workload {name}"),
            ),
            (None, Some(_)) => return Ok(Outcome::Ok),
            (None, None) if facts.intent.workload.is_some() => return Ok(Outcome::Ok),
            (None, None) => return Err(load::no_wal_statistics(postgres)),
        },
    };
    let finding = RULE
        .finding(format!(
            "wal_compression is off: {because} go to disk as they are"
        ))
        .shows(postgres, "wal_compression");
    Ok(Finding {
        confidence,
        ..finding
    }
    .recommend(
        safe(
            "wal_compression",
            Want::FirstOf(METHODS.map(str::to_owned).to_vec()),
            "less log to write, for CPU time",
        )
        .giving_up("CPU time for compressing full-page images"),
    )
    .into_outcome())
}

fn image_share(postgres: &Postgres) -> Option<f64> {
    let images = load::counted(&postgres.wal, |wal| {
        wal.full_page_images.map(|count| count as f64)
    })?;
    let bytes = load::counted(&postgres.wal, |wal| wal.bytes.map(|count| count as f64))?;
    full_page_image_share(images.amount, bytes.amount)
}

fn idle_share(facts: &Facts) -> Result<f64, Outcome> {
    let time = &host(facts)?.cpu_time;
    let idle = time.rate(|time| Some(time.idle as f64));
    let total = time
        .rate(|time| Some(time.total() as f64))
        .filter(|total| *total > 0.0);
    idle.zip(total)
        .map(|(idle, total)| idle / total)
        .ok_or_else(|| Outcome::Unknown("CPU idle time: two samples are needed".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        configure, declare_tpcc, finding, healthy, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::{Fact, Facts};

    fn with_images(images: u64, bytes: u64) -> Facts {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 2.0);
        let server = postgres(&mut facts);
        server.wal.after = server.wal.after.clone().map(|mut wal| {
            (wal.full_page_images, wal.bytes) = (Some(images), Some(bytes));
            wal
        });
        facts
    }

    #[test]
    fn counted_images_are_found() {
        let finding = finding(&RULE, &with_images(500_000, 8_192_000_000));
        insta::assert_snapshot!(finding.message, @"wal_compression is off: full-page images, up to 50 % of the log, go to disk as they are");
    }

    #[test]
    fn a_declared_writing_load_is_found() {
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        insta::assert_snapshot!(finding(&RULE, &facts).message, @"wal_compression is off: the full-page images of the declared workload tpcc go to disk as they are");
    }

    #[test]
    fn few_images_busy_cpus_and_compression_are_fine() {
        ok(&RULE, &with_images(5_000, 8_192_000_000));
        let mut busy = with_images(500_000, 8_192_000_000);
        let host = busy.host.as_mut().unwrap();
        host.cpu_time.after = host.cpu_time.after.clone().map(|mut time| {
            time.user += 10_000;
            time
        });
        ok(&RULE, &busy);
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        configure(&mut facts, "wal_compression", "pglz");
        ok(&RULE, &facts);
    }

    #[test]
    fn unknown_without_counters_or_without_cpu_time() {
        assert!(unknown(&RULE, &healthy()).starts_with("no statistics yet"));
        let mut facts = with_images(500_000, 8_192_000_000);
        facts.host.as_mut().unwrap().cpu_time.after = Fact::default();
        assert!(unknown(&RULE, &facts).starts_with("CPU idle time"));
    }
}
