//! Finds the customer that payment and order status are about.

use crate::tpcc::customer::Customer;
use crate::tpcc::names::Names;
use crate::tpcc::sql::prepare;
use crate::tpcc::{missing, number};
use crate::wire::{Row, Session, Statement, WireError};

const COUNT: &str =
    "SELECT count(c_id) FROM {customer} WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?";

const IDS: &str = "SELECT c_id FROM {customer}
    WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first";

#[derive(Debug)]
pub(super) struct ByName {
    /// Asked for by itself where each step is a statement.
    count: Option<Statement>,
    ids: Statement,
    found: Vec<u32>,
}

impl ByName {
    pub(super) async fn prepare(
        session: &mut Session,
        names: &Names,
        batched: bool,
    ) -> Result<Self, WireError> {
        let count = if batched {
            None
        } else {
            Some(prepare(session, &names.sql(COUNT)).await?)
        };
        Ok(Self {
            count,
            ids: prepare(session, &names.sql(IDS)).await?,
            found: Vec::new(),
        })
    }

    /// The customer's id; of those that bear a name the one in the middle, by first name.
    pub(super) async fn id_of(
        &mut self,
        session: &mut Session,
        warehouse: u32,
        district: u32,
        customer: &Customer,
    ) -> Result<u32, WireError> {
        let name = match customer {
            Customer::Id(id) => return Ok(*id),
            Customer::LastName(name) => name.as_str(),
        };
        if let Some(count) = &self.count {
            session.queue(count, |params| {
                params.int(warehouse.into()).int(district.into()).text(name);
            })?;
            session.done().await?;
        }
        session.queue(&self.ids, |params| {
            params.int(warehouse.into()).int(district.into()).text(name);
        })?;
        let found = &mut self.found;
        found.clear();
        let read = |mut row: Row<'_>| {
            found.push(number(row.int()?)?);
            Ok(())
        };
        session.rows(&self.ids, read).await?;
        // Row n/2, rounded up, counted from 1.
        let middle = found.len().div_ceil(2).checked_sub(1);
        middle
            .and_then(|middle| found.get(middle).copied())
            .ok_or_else(|| missing("customer"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[COUNT, IDS]);
    }
}
