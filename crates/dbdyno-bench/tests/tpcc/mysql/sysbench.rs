//! Tables as sysbench-tpcc's own statements make them on MySQL and MariaDB.

use dbdyno_testing::MySqlBinaries;

use super::{database, start};
use crate::sysbench::is_driven;

#[test]
fn needs_mysql_tables_that_sysbench_tpcc_made_are_driven_and_checked() {
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        is_driven(&database(&server, "theirs"));
    }
}
