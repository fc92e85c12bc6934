//! Rules on what the statements of the connected database cost, and on what they wait for.

mod blocks_per_row;
mod full_scans;
mod lock_contention;
mod long_transactions;
mod spills;
mod stale_statistics;
mod statements;
mod top_load;

use crate::Rule;

pub const RULES: &[Rule] = &[
    blocks_per_row::RULE,
    full_scans::RULE,
    lock_contention::RULE,
    long_transactions::RULE,
    spills::RULE,
    stale_statistics::RULE,
    top_load::RULE,
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

    #[test]
    fn a_host_without_a_server_has_no_queries() {
        for rule in super::RULES {
            let outcome = (rule.check)(&Facts::default());
            assert!(
                matches!(outcome, Outcome::NotApplicable(_)),
                "{}: {outcome:?}",
                rule.id
            );
        }
    }
}
