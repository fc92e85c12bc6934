//! What a workload demands of its data, each told by one statement that counts what breaks it.

use dbdyno_model::connection::Connection;
use dbdyno_model::run::Check;

use super::{Contents, number, open, stored};
use crate::tpcc::ClientError;

/// Met where the statement returns 0.
#[derive(Debug)]
pub(crate) struct Demand {
    pub(crate) name: &'static str,
    pub(crate) description: String,
    pub(crate) sql: String,
}

/// Takes a look at every row, some demands a sort of them too. Blocks.
pub(crate) fn check(
    connection: &Connection,
    contents: &dyn Contents,
    demands: Vec<Demand>,
) -> Result<Vec<Check>, ClientError> {
    let mut link = open(connection)?;
    let identity = contents.identity();
    let found = stored::read(&mut link, contents)?;
    let difference = stored::differs(found.as_ref(), &identity);
    let mut checks = vec![Check {
        name: "load".into(),
        description: format!("the database holds {identity}"),
        passed: difference.is_none(),
        detail: difference,
    }];
    for demand in demands {
        let broken = number(&mut link, &demand.sql)?;
        checks.push(Check {
            name: demand.name.into(),
            description: demand.description,
            passed: broken == 0,
            detail: (broken != 0).then(|| format!("broken {broken} times")),
        });
    }
    Ok(checks)
}
