//! Isolation as it is asked for: the servers name it differently, and keep transactions apart in ways of
//! their own.

use dbdyno_bench::tpcc::Config;
use dbdyno_bench::wire::Isolation;
use dbdyno_model::connection::Connection;

use crate::isolation::{own, shows_what_was_asked, stays_sound};

/// By one of its two names, or by both.
const SHOW: &str = "SHOW SESSION VARIABLES
    WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')";

/// Of a load that is sound, and is sound afterwards.
pub(super) fn is_shown_and_keeps_the_data_sound(connection: &Connection, config: &Config) {
    assert_eq!(own(connection), Isolation::RepeatableRead);
    shows_what_was_asked(connection, SHOW, 1);
    for level in [
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Serializable,
    ] {
        stays_sound(connection, config, level);
    }
}
