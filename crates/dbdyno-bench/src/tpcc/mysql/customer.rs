//! The customer whom payment and order status name by last name, as a variable of the session.

use std::fmt::{Display, Formatter, Result};

use crate::tpcc::customer::Customer;

/// Where [`Middle`] puts the id.
pub(super) const FOUND: &str = "@dbdyno_customer";

/// Puts the id of the one in the middle of all who bear a name into [`FOUND`]: row n/2, rounded up,
/// by first name. NULL where there is none: an aggregate of nothing is a row, too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Middle<'a, Number, Name> {
    /// Of customers.
    pub(super) table: &'a str,
    pub(super) warehouse: Number,
    pub(super) district: Number,
    pub(super) name: Name,
}

impl<Number: Display, Name: Display> Display for Middle<'_, Number, Name> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self {
            table,
            warehouse,
            district,
            name,
        } = self;
        write!(
            f,
            "SELECT cast(substring_index(substring_index(group_concat(c_id ORDER BY c_first), ',',
                (count(*) + 1) DIV 2), ',', -1) AS signed) INTO {FOUND}
            FROM {table} WHERE c_w_id = {warehouse} AND c_d_id = {district} AND c_last = {name}"
        )
    }
}

/// The customer's id, known or found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Id<'a>(pub(super) &'a Customer);

impl Display for Id<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Customer::Id(id) => id.fmt(f),
            Customer::LastName(_) => f.write_str(FOUND),
        }
    }
}
