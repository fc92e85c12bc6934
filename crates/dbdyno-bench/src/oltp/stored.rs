//! Whose the tables in a database are: ours say so in their comments, sysbench's do not.

use dbdyno_model::connection::Connection;

use super::tables;
use crate::tpcc::ClientError;

/// What is said of tables that are there; what is not, they tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected {
    pub tables: Option<u32>,
    pub table_size: Option<u64>,
}

/// Numbers of the tables sbtest1, sbtest2 and so on that are there, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// Made by a load of ours, and as it made them.
    pub ours: Vec<u32>,
    /// Made by sysbench or anybody else.
    pub others: Vec<u32>,
}

/// Looks whose tables there are. Blocks, and must not be called from within an async runtime.
pub fn survey(connect: &Connection) -> Result<Survey, ClientError> {
    let mut link = tables::open(connect)?;
    let mut survey = Survey::default();
    for (table, found) in tables::found(&mut link, connect.engine)? {
        if found.is_ours() {
            survey.ours.push(table);
        } else {
            survey.others.push(table);
        }
    }
    Ok(survey)
}
