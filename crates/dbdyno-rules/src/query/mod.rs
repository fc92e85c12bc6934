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
    use dbdyno_model::Facts;

    use crate::testing::not_applicable;

    #[test]
    fn a_host_without_a_server_has_no_queries() {
        for rule in super::RULES {
            not_applicable(rule, &Facts::default());
        }
    }
}
