//! Sessions that write pages out themselves.
//!
//! ## What it finds
//! More than 15 % of the page writes by sessions instead of the checkpointer and the background
//! writer, or a background writer that stops at its limit in more than a tenth of its rounds.
//!
//! ## Why it matters
//! A session that needs room and finds only changed pages has to write one first, in the middle of
//! its query.
//!
//! ## What to do
//! Raise `shared_buffers` first if they are small. Then let the background writer work more often
//! and further: `bgwriter_delay` 100 ms, `bgwriter_lru_maxpages` 400, `bgwriter_lru_multiplier` 4.
//!
//! ## Risk
//! None to data. Pages that change again soon are written more than once.
//!
//! ## When it does not apply
//! Bulk loads, whose sessions write their own pages by design. Below 800 MB written it is
//! not assessed.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-resource.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Checkpoints, Postgres};
use dbdyno_model::{Facts, Outcome, Severity};

use super::load::{self, Counted};
use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.background_writer",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-resource.html"],
    check,
    source_text: include_str!("background_writer.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const BACKEND_SHARE: f64 = 0.15;
const STOPPED_SHARE: f64 = 0.10;

/// Pages from which shares mean something: 800 MB written.
const ENOUGH_PAGES: f64 = 100_000.0;

/// What is asked for, and whether less of the setting is more work done.
const WANTED: [(&str, f64, &str, bool); 3] = [
    ("bgwriter_delay", 0.1, "100ms", true),
    ("bgwriter_lru_maxpages", 400.0, "400", false),
    ("bgwriter_lru_multiplier", 4.0, "4", false),
];

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let all = &postgres.checkpoints;
    let checkpointed = load::counted(all, |all| Some(all.buffers_written as f64))
        .ok_or_else(load::no_statistics)?;
    let cleaned = by_itself(postgres, |all| all.buffers_clean)?;
    let stopped = by_itself(postgres, |all| all.maxwritten_clean)?;
    let own = load::counted_since(
        all,
        |all| all.backend_age_s,
        |all| all.buffers_backend.map(|count| count as f64),
    );
    let own = own.ok_or_else(|| {
        let why = match all.latest() {
            Some(all) if all.buffers_backend.is_some() => match all.backend_age_s {
                Some(_) => "the counters cover less than a day",
                None => "since when they are counted is not known",
            },
            _ => "not counted",
        };
        Outcome::Unknown(format!("pages written by sessions: {why}"))
    })?;
    let written = checkpointed.amount + cleaned.amount + own.amount;
    // Each of the three may have been reset on another day.
    let own_share = own.per_s() / (checkpointed.per_s() + cleaned.per_s() + own.per_s());
    let rounds = stopped.seconds / settings::number(postgres, "bgwriter_delay")?.max(0.01);
    if written < ENOUGH_PAGES {
        return Err(Outcome::Unknown(format!(
            "pages written: {written:.0} were counted, too few to judge by"
        )));
    }
    let why = if own_share > BACKEND_SHARE {
        format!(
            "sessions wrote {:.0} % of the pages themselves",
            own_share * 100.0
        )
    } else if stopped.amount / rounds > STOPPED_SHARE {
        format!(
            "it stopped at its limit in {:.0} % of its rounds",
            stopped.amount / rounds * 100.0
        )
    } else {
        return Ok(Outcome::Ok);
    };
    let mut finding = RULE.finding(format!("the background writer falls behind: {why}"));
    for (name, enough, wanted, less_is_more) in WANTED {
        let now = settings::number(postgres, name)?;
        finding = finding.shows(postgres, name);
        if (less_is_more && now > enough) || (!less_is_more && now < enough) {
            finding = finding.recommend(
                safe(
                    name,
                    value(wanted),
                    "pages are written before a session needs the room",
                )
                .giving_up("pages that change again soon are written more than once"),
            );
        }
    }
    Ok(finding.into_outcome())
}

/// What the background writer counted of itself.
fn by_itself(
    postgres: &Postgres,
    counter: impl Fn(&Checkpoints) -> u64,
) -> Result<Counted, Outcome> {
    load::counted_since(
        &postgres.checkpoints,
        |all| all.cleaning_age_s,
        |all| Some(counter(all) as f64),
    )
    .ok_or_else(load::no_statistics)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        configure, finding, healthy, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::Facts;

    fn written(by_sessions: Option<u64>, stopped: u64) -> Facts {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 1.0);
        let server = postgres(&mut facts);
        server.checkpoints.after = server.checkpoints.after.clone().map(|mut all| {
            all.buffers_written = 700_000;
            all.buffers_backend = by_sessions;
            all.maxwritten_clean = stopped;
            all
        });
        facts
    }

    #[test]
    fn sessions_that_write_are_found() {
        let finding = finding(&RULE, &written(Some(300_000), 0));
        insta::assert_snapshot!(finding.message, @"the background writer falls behind: sessions wrote 30 % of the pages themselves");
        assert_eq!(finding.recommendations.len(), 3);
    }

    #[test]
    fn a_writer_at_its_limit_is_found_and_what_is_set_already_is_kept() {
        let mut facts = written(Some(1000), 100_000);
        configure(&mut facts, "bgwriter_lru_maxpages", "1000");
        let finding = finding(&RULE, &facts);
        assert!(
            finding.message.contains("23 % of its rounds"),
            "{}",
            finding.message
        );
        assert_eq!(finding.recommendations.len(), 2);
    }

    #[test]
    fn what_was_reset_apart_is_compared_by_the_second() {
        // Of a hundred days; the checkpointer's counters are of one.
        let mut facts = written(Some(3_000_000), 0);
        let server = postgres(&mut facts);
        server.checkpoints.after = server.checkpoints.after.clone().map(|mut all| {
            all.backend_age_s = all.backend_age_s.map(|age_s| age_s * 100.0);
            all
        });
        ok(&RULE, &facts);
    }

    #[test]
    fn a_writer_that_keeps_up_is_fine() {
        ok(&RULE, &written(Some(1000), 0));
    }

    #[test]
    fn young_or_missing_counters_are_unknown() {
        assert!(unknown(&RULE, &healthy()).starts_with("no statistics yet"));
        let uncounted = unknown(&RULE, &written(None, 0));
        assert_eq!(uncounted, "pages written by sessions: not counted");
        let aged = |age_s: Option<f64>| {
            let mut facts = written(Some(1000), 0);
            let after = &mut postgres(&mut facts).checkpoints.after;
            *after = after.clone().map(|mut all| {
                all.backend_age_s = age_s;
                all
            });
            unknown(&RULE, &facts)
        };
        assert!(aged(Some(60.0)).ends_with("cover less than a day"));
        assert!(aged(None).ends_with("since when they are counted is not known"));
        let mut facts = written(Some(500), 0);
        let server = postgres(&mut facts);
        server.checkpoints.after = server.checkpoints.after.clone().map(|mut all| {
            all.buffers_written = 1000;
            all.buffers_clean = 0;
            all
        });
        let why = unknown(&RULE, &facts);
        assert!(why.ends_with("were counted, too few to judge by"), "{why}");
    }
}
