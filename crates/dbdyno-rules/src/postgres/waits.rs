//! What sessions at work were seen to wait for, as shares.

use dbdyno_model::Outcome;
use dbdyno_model::postgres::Postgres;

use crate::rule::need_ref;

/// Sessions at work, over all looks, from which a share means something.
const ENOUGH_SEEN: u64 = 40;

/// Share of the sessions at work that waited for what `is_meant` names (`LWLock:LockManager`).
pub(crate) fn share(postgres: &Postgres, is_meant: impl Fn(&str) -> bool) -> Result<f64, Outcome> {
    let waits = need_ref(&postgres.waits, "what sessions wait for")?;
    if waits.active < ENOUGH_SEEN {
        return Err(Outcome::Unknown(format!(
            "what sessions wait for: {} were seen at work, fewer than {ENOUGH_SEEN}",
            waits.active
        )));
    }
    let meant = waits
        .events
        .iter()
        .filter(|(event, _)| is_meant(event))
        .fold(0_u64, |sum, (_, seen)| sum.saturating_add(*seen));
    Ok(meant as f64 / waits.active as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_model::Fact;
    use dbdyno_model::postgres::Waits;

    #[test]
    fn a_share_needs_enough_sessions_at_work() {
        let seen = |active| Postgres {
            waits: Fact::known(
                Waits {
                    looks: 10,
                    active,
                    events: [("LWLock:LockManager".to_owned(), 5)].into(),
                    ..Waits::default()
                },
                "pg_stat_activity",
            ),
            ..Postgres::default()
        };
        let lock_manager = |event: &str| event == "LWLock:LockManager";
        assert_eq!(share(&seen(50), lock_manager), Ok(0.1));
        let why = "what sessions wait for: 39 were seen at work, fewer than 40".to_owned();
        assert_eq!(share(&seen(39), lock_manager), Err(Outcome::Unknown(why)));
        assert!(share(&Postgres::default(), lock_manager).is_err());
    }
}
