//! Rules on vacuum, statistics and transaction ids.

mod analyze_threshold;
mod autovacuum;
mod autovacuum_workers;
mod bloat;
mod index_bloat;
mod never_analyzed;
mod schedule;
pub(crate) mod tables;
mod upcoming;
mod vacuum_io_rate;
mod vacuum_threshold;
mod warm_restart;
mod wraparound;
mod xmin_horizon;

use crate::Rule;

pub use upcoming::next_vacuums;

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
    use dbdyno_model::Fact;
    use dbdyno_model::postgres::ReplicationRole;

    use crate::testing::{healthy, not_applicable, postgres};

    /// A standby's own counters of dead and changed rows stand still, and pass as a healthy table's.
    #[test]
    fn what_the_primary_does_is_not_judged_by_a_standby_s_counters() {
        let mut facts = healthy();
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "pg_is_in_recovery()");
        for rule in [
            super::analyze_threshold::RULE,
            super::autovacuum_workers::RULE,
            super::bloat::RULE,
            super::index_bloat::RULE,
            super::never_analyzed::RULE,
            super::vacuum_io_rate::RULE,
            super::vacuum_threshold::RULE,
        ] {
            not_applicable(&rule, &facts);
        }
    }
}
