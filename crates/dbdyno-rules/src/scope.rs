//! What the counters of a database can be asked: which database they are of, and for how long.

use dbdyno_model::postgres::{Postgres, ReplicationRole};
use dbdyno_model::words::plural;
use dbdyno_model::{Finding, Outcome};

use crate::rule::{FindingExt, humane_number, need};

/// Names that a finding lists before it only counts.
pub(crate) const LISTED: usize = 10;

pub(crate) const MINUTE_S: f64 = 60.0;
pub(crate) const HOUR_S: f64 = 3600.0;
pub(crate) const DAY_S: f64 = 86_400.0;

/// `database shop`.
pub(crate) fn database(postgres: &Postgres) -> String {
    match postgres.database.latest() {
        Some(database) if !database.name.is_empty() => format!("database {}", database.name),
        _ => "the connected database".to_owned(),
    }
}

/// Seconds since the counters of the database began.
pub(crate) fn statistics_age_s(postgres: &Postgres) -> Option<f64> {
    postgres.database.latest()?.stats_age_s
}

/// Seconds since the counters hold what a primary does: while it was a standby the server counted
/// what was read from it alone.
pub(crate) fn primary_age_s(postgres: &Postgres) -> Option<f64> {
    let age_s = statistics_age_s(postgres)?;
    Some(promotion_age_s(postgres).map_or(age_s, |promoted_s| age_s.min(promoted_s)))
}

fn promotion_age_s(postgres: &Postgres) -> Option<f64> {
    postgres.replication.promotion.value()?.age_s
}

/// Seconds since the counters of the database began, or the outcome that says what could not be judged
/// by counters that young.
pub(crate) fn statistics_of(postgres: &Postgres, least_s: f64, what: &str) -> Result<f64, Outcome> {
    let Some(age_s) = statistics_age_s(postgres) else {
        return Err(Outcome::Unknown(format!(
            "{what}: since when the database counts is not known: it was never reset, and pg_stat_file() or the views that all databases share do not date it"
        )));
    };
    if age_s < least_s {
        let is = format!("the statistics are {} old", humane_time(age_s));
        return Err(too_young(what, &is, least_s));
    }
    Ok(age_s)
}

/// The same of what a primary alone does.
pub(crate) fn primary_statistics_of(
    postgres: &Postgres,
    least_s: f64,
    what: &str,
) -> Result<f64, Outcome> {
    let age_s = statistics_of(postgres, least_s, what)?;
    let Some(promoted_s) = promotion_age_s(postgres).filter(|since| *since < age_s) else {
        return Ok(age_s);
    };
    if promoted_s < least_s {
        let is = format!(
            "the server was a standby until {} ago",
            humane_time(promoted_s)
        );
        return Err(too_young(what, &is, least_s));
    }
    Ok(promoted_s)
}

fn too_young(what: &str, is: &str, least_s: f64) -> Outcome {
    let needed = humane_time(least_s);
    Outcome::Unknown(format!("{what}: {is}, {needed} are needed"))
}

/// Ends a check of what only the primary knows or can change.
pub(crate) fn on_primary(postgres: &Postgres, what: &str) -> Result<(), Outcome> {
    match need(&postgres.role, "role of the server")? {
        ReplicationRole::Primary => Ok(()),
        ReplicationRole::Standby => Err(Outcome::NotApplicable(format!(
            "a standby: {what} is the primary's"
        ))),
    }
}

/// `40 seconds`, `3.5 hours`, `12 days`.
pub(crate) fn humane_time(seconds: f64) -> String {
    let (amount, unit) = if seconds < 2.0 * MINUTE_S {
        (seconds, "second")
    } else if seconds < 2.0 * HOUR_S {
        (seconds / MINUTE_S, "minute")
    } else if seconds < 2.0 * DAY_S {
        (seconds / HOUR_S, "hour")
    } else {
        (seconds / DAY_S, "day")
    };
    let amount = humane_number(amount);
    // Not a count: `1.5 hours`.
    let ending = if amount == "1" { "" } else { "s" };
    format!("{amount} {unit}{ending}")
}

/// `65,000` is hard to tell from `650,000`: `65 thousand`, `1.2 million`.
pub(crate) fn humane_count(count: f64) -> String {
    if count < 10_000.0 {
        humane_number(count)
    } else if count < 999_950.0 {
        format!("{} thousand", humane_number(count / 1e3))
    } else if count < 999.95e6 {
        format!("{} million", humane_number(count / 1e6))
    } else {
        format!("{} thousand million", humane_number(count / 1e9))
    }
}

/// Says where a finding looked, and what its list leaves out.
pub(crate) trait ScopeExt: Sized {
    #[must_use]
    fn of_database(self, postgres: &Postgres) -> Self;
    /// One of those is named by `one`: `such table`.
    #[must_use]
    fn and_more(self, more: usize, one: &str, origin: &str) -> Self;
}

impl ScopeExt for Finding {
    fn of_database(self, postgres: &Postgres) -> Self {
        let name = database(postgres);
        self.evidence(
            "read",
            format!("{name}; no other database of the server was"),
            "current_database()",
        )
    }

    fn and_more(self, more: usize, one: &str, origin: &str) -> Self {
        if more == 0 {
            return self;
        }
        let value = plural(more as u64, &format!("more {one}"));
        self.evidence("not listed", value, origin)
    }
}

/// A count of a document, beside the number of what it lists.
pub(crate) fn in_all(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use dbdyno_model::Fact;
    use dbdyno_model::postgres::Promotion;

    use super::*;
    use crate::testing::{healthy, postgres, with_statistics_of_days};

    #[test]
    fn times_and_counts_are_humane() {
        assert_eq!(humane_time(40.0), "40 seconds");
        assert_eq!(humane_time(5400.0), "90 minutes");
        assert_eq!(humane_time(12_600.0), "3.5 hours");
        assert_eq!(humane_time(12.0 * DAY_S), "12 days");
        assert_eq!(humane_time(1.0), "1 second");
        assert_eq!(humane_count(9999.0), "9999");
        assert_eq!(humane_count(65_000.0), "65 thousand");
        assert_eq!(humane_count(1.25e6), "1.2 million");
        assert_eq!(humane_count(2.1e9), "2.1 thousand million");
    }

    #[test]
    fn young_or_unknown_statistics_decide_nothing() {
        let mut facts = healthy();
        let server = facts.postgres.clone().unwrap();
        let Err(Outcome::Unknown(why)) = statistics_of(&server, DAY_S, "scans") else {
            panic!()
        };
        insta::assert_snapshot!(why, @"scans: the statistics are 6 seconds old, 24 hours are needed");
        with_statistics_of_days(&mut facts, 3.0);
        let server = facts.postgres.clone().unwrap();
        assert_eq!(statistics_of(&server, DAY_S, "scans"), Ok(3.0 * DAY_S));
        assert_eq!(statistics_age_s(&Postgres::default()), None);
    }

    #[test]
    fn what_a_primary_does_counts_from_its_promotion() {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 40.0);
        let server = postgres(&mut facts);
        assert_eq!(primary_age_s(server), Some(40.0 * DAY_S));
        let promotion = Promotion {
            age_s: Some(2.0 * DAY_S),
        };
        server.replication.promotion = Fact::known(promotion, "pg_ls_waldir()");
        assert_eq!(primary_age_s(server), Some(2.0 * DAY_S));
        assert_eq!(statistics_age_s(server), Some(40.0 * DAY_S));
        let two = primary_statistics_of(server, DAY_S, "updates");
        assert_eq!(two, Ok(2.0 * DAY_S));
        let young = primary_statistics_of(server, 30.0 * DAY_S, "scans");
        let Err(Outcome::Unknown(why)) = young else {
            panic!()
        };
        insta::assert_snapshot!(why, @"scans: the server was a standby until 2 days ago, 30 days are needed");
    }

    #[test]
    fn a_standby_is_told_apart_and_an_unread_role_is_unknown() {
        let mut facts = healthy();
        assert_eq!(on_primary(postgres(&mut facts), "an index"), Ok(()));
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        assert!(matches!(
            on_primary(postgres(&mut facts), "an index"),
            Err(Outcome::NotApplicable(_))
        ));
        postgres(&mut facts).role = Fact::default();
        assert!(matches!(
            on_primary(postgres(&mut facts), "an index"),
            Err(Outcome::Unknown(_))
        ));
    }
}
