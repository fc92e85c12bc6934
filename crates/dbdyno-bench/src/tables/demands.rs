//! What a workload demands of its data, each told by one statement that counts what breaks it.

use dbdyno_model::connection::Connection;
use dbdyno_model::run::Check;

use super::{Contents, number, open, stored};
use crate::share::{connections, share};
use crate::tpcc::ClientError;
use crate::wire::Link;

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
    let identity = contents.identity();
    let found = stored::read(&mut open(connection)?, contents)?;
    let difference = stored::differs(found.as_ref(), &identity);
    let mut checks = vec![Check {
        name: "load".into(),
        description: format!("the database holds {identity}"),
        passed: difference.is_none(),
        detail: difference,
    }];
    let open = || open(connection);
    let broken = share(
        connections(),
        &demands,
        &open,
        &|link: &mut Link, demand: &Demand| Ok(number(link, &demand.sql)?),
    )?;
    for (demand, broken) in demands.into_iter().zip(broken) {
        checks.push(Check {
            name: demand.name.into(),
            description: demand.description,
            passed: broken == 0,
            detail: (broken != 0).then(|| format!("broken {broken} times")),
        });
    }
    Ok(checks)
}
