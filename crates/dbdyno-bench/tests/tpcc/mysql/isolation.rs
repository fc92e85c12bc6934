//! Isolation as it is asked for, on every MySQL and MariaDB at hand.

use dbdyno_bench::tpcc::Config;
use dbdyno_bench::wire::Isolation;
use dbdyno_testing::MySqlBinaries;

use super::{database, start};
use crate::isolation::{own, shows_what_was_asked, stays_sound};
use crate::load_quietly;

/// By one of its two names, or by both.
const SHOW: &str = "SHOW SESSION VARIABLES
    WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')";

#[test]
fn needs_mysql_every_level_is_shown_and_keeps_the_data_sound() {
    for binaries in MySqlBinaries::all().iter().rev().take(1) {
        let server = start(binaries);
        let connection = database(&server, "isolation");
        assert_eq!(own(&connection), Isolation::RepeatableRead);
        shows_what_was_asked(&connection, SHOW, 1);
        let config = Config {
            seed: 8,
            ..Config::default()
        };
        load_quietly(&connection, &config, 2);
        for level in [
            Isolation::ReadCommitted,
            Isolation::RepeatableRead,
            Isolation::Serializable,
        ] {
            stays_sound(&connection, &config, level);
        }
    }
}
