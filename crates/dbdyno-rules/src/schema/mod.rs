//! Rules on tables, indexes, keys and types of the connected database.

mod btree_levels;
mod foreign_key_index;
mod hot_updates;
mod integer_exhaustion;
mod invalid_index;
mod primary_key;
mod redundant_index;
mod removal;
mod unused_index;

use crate::Rule;

pub const RULES: &[Rule] = &[
    btree_levels::RULE,
    foreign_key_index::RULE,
    hot_updates::RULE,
    integer_exhaustion::RULE,
    invalid_index::RULE,
    primary_key::RULE,
    redundant_index::RULE,
    unused_index::RULE,
];

#[cfg(test)]
mod tests {
    use dbdyno_model::Facts;

    use crate::testing::not_applicable;

    #[test]
    fn a_host_without_a_server_has_no_schema() {
        for rule in super::RULES {
            not_applicable(rule, &Facts::default());
        }
    }
}
