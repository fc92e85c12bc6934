//! Rules on vacuum, statistics and transaction ids.

mod analyze_threshold;
mod autovacuum;
mod autovacuum_workers;
mod bloat;
mod index_bloat;
mod never_analyzed;
mod schedule;
pub(crate) mod tables;
mod vacuum_io_rate;
mod vacuum_threshold;
mod warm_restart;
mod wraparound;
mod xmin_horizon;

use crate::Rule;

pub const RULES: &[Rule] = &[
    analyze_threshold::RULE,
    autovacuum::RULE,
    autovacuum_workers::RULE,
    bloat::RULE,
    index_bloat::RULE,
    never_analyzed::RULE,
    vacuum_io_rate::RULE,
    vacuum_threshold::RULE,
    warm_restart::RULE,
    wraparound::RULE,
    xmin_horizon::RULE,
];

#[cfg(test)]
mod tests {
    use dbdyno_model::postgres::Postgres;
    use dbdyno_model::{Facts, Outcome};

    #[test]
    fn no_rule_passes_or_finds_what_was_not_read() {
        let facts = Facts {
            postgres: Some(Postgres::default()),
            ..Facts::default()
        };
        for rule in super::RULES {
            let outcome = (rule.check)(&facts);
            assert!(
                matches!(outcome, Outcome::Unknown(_)),
                "{}: {outcome:?}",
                rule.id
            );
        }
    }
}
