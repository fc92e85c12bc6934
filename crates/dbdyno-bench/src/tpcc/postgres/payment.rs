//! The Payment transaction (clause 2.5.2), in one statement.
//!
//! Each update reads the one before it, which fixes the order of the locks: the customer, then the
//! district, then the warehouse, the row that payments queue for, held for the shortest time. A
//! customer that does not exist would leave everything as it was.

use std::hint::black_box;

use crate::tpcc::customer::Customer;
use crate::tpcc::missing;
use crate::tpcc::names::Names;
use crate::tpcc::payment::PaymentInput;
use crate::wire::{Row, Session, Statement, WireError};

/// The id of the customer in the middle of those of a name: row n/2, rounded up, by first name.
macro_rules! middle_of_name {
    ($warehouse:literal, $district:literal, $name:literal) => {
        concat!(
            "(SELECT (array_agg(c_id ORDER BY c_first))[(count(*) + 1) / 2] FROM {customer}
              WHERE c_w_id = ",
            $warehouse,
            " AND c_d_id = ",
            $district,
            " AND c_last = ",
            $name,
            ")"
        )
    };
}
pub(in crate::tpcc) use middle_of_name;

/// `$customer` is an expression for the customer's id.
macro_rules! payment {
    ($customer:expr) => {
        concat!(
            "WITH c AS (
                UPDATE {customer}
                SET c_balance = c_balance - $6,
                    c_ytd_payment = c_ytd_payment + $6,
                    c_payment_cnt = c_payment_cnt + 1,
                    c_data = CASE WHEN c_credit = 'BC'
                        THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, $2::smallint, $1::smallint,
                                            $6::numeric, c_data), 500)
                        ELSE c_data END
                WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = ", $customer, "
                RETURNING c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state,
                    c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance,
                    CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END AS c_data
            ), d AS (
                UPDATE {district} SET d_ytd = d_ytd + $6 FROM c WHERE d_w_id = $1 AND d_id = $2
                RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip, c.*
            ), w AS (
                UPDATE {warehouse} SET w_ytd = w_ytd + $6 FROM d WHERE w_id = $1
                RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip, d.*
            ), h AS (
                INSERT INTO {history}
                    (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
                SELECT c_id, $4, $3, $2, $1, now(), $6, w_name || '    ' || d_name FROM w
            )
            SELECT c_balance, w.* FROM w"
        )
    };
}

const BY_ID: &str = payment!("$5");
const BY_NAME: &str = payment!(middle_of_name!("$3", "$4", "$5"));

#[derive(Debug)]
pub(crate) struct Payment {
    by_id: Statement,
    by_name: Statement,
}

impl Payment {
    pub(crate) async fn prepare(session: &mut Session, names: &Names) -> Result<Self, WireError> {
        Ok(Self {
            by_id: session.prepare(&names.sql(BY_ID)).await?,
            by_name: session.prepare(&names.sql(BY_NAME)).await?,
        })
    }

    pub(crate) async fn execute(
        &self,
        session: &mut Session,
        input: &PaymentInput,
    ) -> Result<(), WireError> {
        let statement = match &input.customer {
            Customer::Id(_) => &self.by_id,
            Customer::LastName(_) => &self.by_name,
        };
        session.queue(statement, |params| {
            params.int(input.warehouse.into());
            params.int(input.district.into());
            params.int(input.customer_warehouse.into());
            params.int(input.customer_district.into());
            input.customer.put(params);
            params.fixed(input.amount_cents, 2);
        })?;
        let mut balance = None;
        let read = |mut row: Row<'_>| {
            balance = Some(row.fixed(2)?);
            Ok(())
        };
        session.rows(statement, read).await?;
        // What the terminal would show.
        black_box(balance.ok_or_else(|| missing("customer"))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[BY_ID, BY_NAME]);
    }
}
