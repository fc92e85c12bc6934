//! The Payment transaction (clause 2.5.2), in one round trip.
//!
//! Nothing that the terminal learns decides what comes next, so that all is one command, its own
//! BEGIN and COMMIT included. A customer who is not there stops it at the history, whose foreign keys
//! also vouch for the district and its warehouse; without foreign keys it is told when it has been
//! committed.
//!
//! What the terminal would show is read last, when all of its rows are locked: a consistent read
//! before that would fix a snapshot that later updates would find outdated, which MariaDB refuses
//! since 11.6 (error 1020). For the same reason the name is looked up before the transaction begins;
//! names never change.

use std::fmt::Write as _;
use std::sync::Arc;

use super::command::{Cents, Literal, run};
use super::customer::{Id, Middle};
use crate::tpcc::control::Control;
use crate::tpcc::customer::Customer;
use crate::tpcc::missing;
use crate::tpcc::names::Names;
use crate::tpcc::payment::PaymentInput;
use crate::tpcc::schema::Table;
use crate::wire::{Session, WireError};

/// Rows that a payment changes: the customer, the district, the warehouse and the history.
const CHANGED: u64 = 4;

#[derive(Debug)]
pub(crate) struct Payment {
    names: Arc<Names>,
    sql: String,
}

impl Payment {
    /// There is nothing to prepare but names.
    pub(crate) async fn prepare(_: &mut Session, names: &Arc<Names>) -> Result<Self, WireError> {
        Ok(Self {
            names: Arc::clone(names),
            sql: String::new(),
        })
    }

    pub(crate) async fn execute(
        &mut self,
        session: &mut Session,
        _: &Control,
        input: &PaymentInput,
    ) -> Result<(), WireError> {
        put(&mut self.sql, &self.names, input);
        let done = run(session, &self.sql).await?;
        // A variable that was selected into counts as a row.
        let found = u64::from(matches!(input.customer, Customer::LastName(_)));
        if done.affected != CHANGED + found {
            return Err(missing("customer, district or warehouse"));
        }
        Ok(())
    }
}

fn put(sql: &mut String, names: &Names, input: &PaymentInput) {
    let PaymentInput {
        warehouse: w,
        district: d,
        customer_warehouse: cw,
        customer_district: cd,
        ..
    } = *input;
    let amount = Cents(input.amount_cents);
    let id = Id(&input.customer);
    let (customer, history) = (names.table(Table::Customer), names.table(Table::History));
    let (warehouse, district) = (names.table(Table::Warehouse), names.table(Table::District));
    sql.clear();
    // Writing to a String cannot fail.
    if let Customer::LastName(name) = &input.customer {
        let middle = Middle {
            table: customer,
            warehouse: cw,
            district: cd,
            name: Literal(name.as_str()),
        };
        let _ = write!(sql, "{middle}; ");
    }
    let _ = write!(
        sql,
        "BEGIN;
        UPDATE {customer}
            SET c_balance = c_balance - {amount}, c_ytd_payment = c_ytd_payment + {amount},
                c_payment_cnt = c_payment_cnt + 1,
                c_data = CASE c_credit WHEN 'BC'
                    THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, {d}, {w}, {amount}, c_data), 500)
                    ELSE c_data END
            WHERE c_w_id = {cw} AND c_d_id = {cd} AND c_id = {id};
        UPDATE {district} SET d_ytd = d_ytd + {amount} WHERE d_w_id = {w} AND d_id = {d};
        UPDATE {warehouse} SET w_ytd = w_ytd + {amount} WHERE w_id = {w};
        INSERT INTO {history}
            (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
            VALUES ({id}, {cd}, {cw}, {d}, {w}, CURRENT_TIMESTAMP, {amount},
                (SELECT concat(w_name, '    ', d_name) FROM {warehouse}
                    JOIN {district} ON d_w_id = w_id WHERE w_id = {w} AND d_id = {d}));
        SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip,
            d_name, d_street_1, d_street_2, d_city, d_state, d_zip,
            c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip,
            c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance,
            CASE c_credit WHEN 'BC' THEN left(c_data, 200) END
            FROM {warehouse}
            JOIN {district} ON d_w_id = w_id
            JOIN {customer} ON c_w_id = {cw} AND c_d_id = {cd} AND c_id = {id}
            WHERE w_id = {w} AND d_id = {d};
        COMMIT"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::Layout;
    use crate::tpcc::random::last_name;

    fn text(customer: Customer) -> String {
        text_of(&Names::new(Layout::Own, 1, 1), customer)
    }

    fn text_of(names: &Names, customer: Customer) -> String {
        let mut sql = "left over".to_owned();
        let input = PaymentInput {
            warehouse: 1,
            district: 2,
            customer_warehouse: 3,
            customer_district: 4,
            customer,
            amount_cents: 123_405,
        };
        put(&mut sql, names, &input);
        sql
    }

    #[test]
    fn a_customer_known_by_id_needs_no_search() {
        let sql = text(Customer::Id(56));
        assert!(
            sql.starts_with("BEGIN;") && sql.ends_with("COMMIT"),
            "{sql}"
        );
        for part in [
            "c_balance = c_balance - 1234.05,",
            "(' ', c_id, c_d_id, c_w_id, 2, 1, 1234.05, c_data)",
            "WHERE c_w_id = 3 AND c_d_id = 4 AND c_id = 56;",
            "WHERE d_w_id = 1 AND d_id = 2;",
            "VALUES (56, 4, 3, 2, 1, CURRENT_TIMESTAMP, 1234.05,",
        ] {
            assert!(sql.contains(part), "{part}");
        }
    }

    #[test]
    fn a_customer_known_by_name_is_found_before_the_transaction() {
        let sql = text(Customer::LastName(last_name(0)));
        let (search, rest) = sql.split_once("; BEGIN;").unwrap();
        assert!(search.starts_with("SELECT cast("), "{search}");
        let found = "c_w_id = 3 AND c_d_id = 4 AND c_last = 'BARBARBAR'";
        assert!(search.ends_with(found), "{search}");
        assert!(rest.contains("c_d_id = 4 AND c_id = @dbdyno_customer;"));
        assert!(rest.contains("VALUES (@dbdyno_customer, 4, 3, 2, 1,"));
    }

    #[test]
    fn every_statement_names_the_tables_of_its_set() {
        let names = Names::new(Layout::Sysbench, 2, 2);
        let sql = text_of(&names, Customer::LastName(last_name(0)));
        for part in [
            "FROM customer2 WHERE",
            "UPDATE customer2\n",
            "UPDATE district2 SET",
            "UPDATE warehouse2 SET",
            "INSERT INTO history2\n",
            "FROM warehouse2\n",
            "JOIN district2 ON",
            "JOIN customer2 ON",
        ] {
            assert!(sql.contains(part), "{part}: {sql}");
        }
    }
}
