//! The Payment transaction (clause 2.5.2), a statement a step.

use std::fmt::Write as _;
use std::hint::black_box;

use super::customer::ByName;
use crate::tpcc::control::Control;
use crate::tpcc::missing;
use crate::tpcc::names::Names;
use crate::tpcc::payment::PaymentInput;
use crate::tpcc::sql::prepare;
use crate::wire::{Row, Session, Statement, WireError};

const PAY_WAREHOUSE: &str = "UPDATE {warehouse} SET w_ytd = w_ytd + ? WHERE w_id = ?";

const WAREHOUSE: &str = "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    FROM {warehouse} WHERE w_id = ?";

const PAY_DISTRICT: &str = "UPDATE {district} SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?";

const DISTRICT: &str = "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    FROM {district} WHERE d_w_id = ? AND d_id = ?";

const CUSTOMER: &str = "SELECT c_credit, c_balance, c_first, c_middle, c_last, c_street_1,
        c_street_2, c_city, c_state, c_zip, c_phone, c_credit_lim, c_discount
    FROM {customer} WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE";

const GOOD_CREDIT: &str = "UPDATE {customer}
    SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?,
        c_payment_cnt = c_payment_cnt + 1
    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";

const DATA: &str = "SELECT c_data FROM {customer} WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";

const BAD_CREDIT: &str = "UPDATE {customer}
    SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?,
        c_payment_cnt = c_payment_cnt + 1, c_data = ?
    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";

const HISTORY: &str = "INSERT INTO {history}
        (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)";

/// Length of c_data (clause 2.5.2.2).
const DATA_LENGTH: usize = 500;

#[derive(Debug)]
pub(crate) struct Payment {
    pay_warehouse: Statement,
    warehouse: Statement,
    pay_district: Statement,
    district: Statement,
    by_name: ByName,
    customer: Statement,
    good_credit: Statement,
    data: Statement,
    bad_credit: Statement,
    history: Statement,
    h_data: String,
    c_data: String,
}

impl Payment {
    pub(crate) async fn prepare(
        session: &mut Session,
        names: &Names,
        batched: bool,
    ) -> Result<Self, WireError> {
        Ok(Self {
            pay_warehouse: prepare(session, &names.sql(PAY_WAREHOUSE)).await?,
            warehouse: prepare(session, &names.sql(WAREHOUSE)).await?,
            pay_district: prepare(session, &names.sql(PAY_DISTRICT)).await?,
            district: prepare(session, &names.sql(DISTRICT)).await?,
            by_name: ByName::prepare(session, names, batched).await?,
            customer: prepare(session, &names.sql(CUSTOMER)).await?,
            good_credit: prepare(session, &names.sql(GOOD_CREDIT)).await?,
            data: prepare(session, &names.sql(DATA)).await?,
            bad_credit: prepare(session, &names.sql(BAD_CREDIT)).await?,
            history: prepare(session, &names.sql(HISTORY)).await?,
            h_data: String::new(),
            c_data: String::new(),
        })
    }

    pub(crate) async fn execute(
        &mut self,
        session: &mut Session,
        control: &Control,
        input: &PaymentInput,
    ) -> Result<(), WireError> {
        control.queue_begin(session)?;
        session.done().await?;
        self.pay(session, input).await?;
        let (w, d) = (input.customer_warehouse, input.customer_district);
        let id = self.by_name.id_of(session, w, d, &input.customer).await?;
        let bad_credit = self.read_customer(session, input, id).await?;
        if bad_credit {
            self.charge_bad_credit(session, input, id).await?;
        } else {
            session.queue(&self.good_credit, |params| {
                params.fixed(input.amount_cents, 2);
                params.fixed(input.amount_cents, 2);
                params.int(w.into()).int(d.into()).int(id.into());
            })?;
            session.done().await?;
        }
        session.queue(&self.history, |params| {
            params.int(id.into()).int(d.into()).int(w.into());
            params
                .int(input.district.into())
                .int(input.warehouse.into());
            params.fixed(input.amount_cents, 2).text(&self.h_data);
        })?;
        session.done().await?;
        control.queue_commit(session)?;
        session.done().await?;
        Ok(())
    }

    /// Warehouse and district, and what the history says of them.
    async fn pay(&mut self, session: &mut Session, input: &PaymentInput) -> Result<(), WireError> {
        let (w, d) = (input.warehouse.into(), input.district.into());
        session.queue(&self.pay_warehouse, |params| {
            params.fixed(input.amount_cents, 2).int(w);
        })?;
        session.done().await?;
        let h_data = &mut self.h_data;
        h_data.clear();
        session.queue(&self.warehouse, |params| {
            params.int(w);
        })?;
        let read = |mut row: Row<'_>| {
            h_data.push_str(row.text()?);
            Ok(())
        };
        session.rows(&self.warehouse, read).await?;
        session.queue(&self.pay_district, |params| {
            params.fixed(input.amount_cents, 2).int(w).int(d);
        })?;
        session.done().await?;
        h_data.push_str("    ");
        session.queue(&self.district, |params| {
            params.int(w).int(d);
        })?;
        let read = |mut row: Row<'_>| {
            h_data.push_str(row.text()?);
            Ok(())
        };
        session.rows(&self.district, read).await?;
        Ok(())
    }

    /// Whether the customer has bad credit.
    async fn read_customer(
        &self,
        session: &mut Session,
        input: &PaymentInput,
        id: u32,
    ) -> Result<bool, WireError> {
        session.queue(&self.customer, |params| {
            params.int(input.customer_warehouse.into());
            params.int(input.customer_district.into()).int(id.into());
        })?;
        let mut bad_credit = None;
        let read = |mut row: Row<'_>| {
            bad_credit = Some(row.text()? == "BC");
            // What the terminal would show.
            black_box(row.fixed(2)?);
            Ok(())
        };
        session.rows(&self.customer, read).await?;
        bad_credit.ok_or_else(|| missing("customer"))
    }

    /// Puts this payment before the customer's data.
    async fn charge_bad_credit(
        &mut self,
        session: &mut Session,
        input: &PaymentInput,
        id: u32,
    ) -> Result<(), WireError> {
        let (w, d) = (input.customer_warehouse, input.customer_district);
        let c_data = &mut self.c_data;
        c_data.clear();
        let amount = input.amount_cents;
        // Writing to a String cannot fail.
        let _ = write!(
            c_data,
            "{id} {d} {w} {} {} {}.{:02} ",
            input.district,
            input.warehouse,
            amount / 100,
            amount % 100
        );
        session.queue(&self.data, |params| {
            params.int(w.into()).int(d.into()).int(id.into());
        })?;
        let read = |mut row: Row<'_>| {
            c_data.push_str(row.text()?);
            Ok(())
        };
        session.rows(&self.data, read).await?;
        let end = c_data.floor_char_boundary(DATA_LENGTH);
        session.queue(&self.bad_credit, |params| {
            params
                .fixed(amount, 2)
                .fixed(amount, 2)
                .text(&c_data[..end]);
            params.int(w.into()).int(d.into()).int(id.into());
        })?;
        session.done().await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[
            PAY_WAREHOUSE,
            WAREHOUSE,
            PAY_DISTRICT,
            DISTRICT,
            CUSTOMER,
            GOOD_CREDIT,
            DATA,
            BAD_CREDIT,
            HISTORY,
        ]);
    }
}
