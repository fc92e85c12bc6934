//! The consistency conditions of clause 3.3.2, each a named check.
//!
//! Order lines, most of the data, are read once: a temporary table holds what each order's lines
//! came to, and five conditions are derived from it. Warehouses are divided among a few connections
//! that share one snapshot, so that the answer is right even while others write.

use dbdyno_model::connection::Connection;
use dbdyno_model::run::Check;
use postgres::{Client, Error, IsolationLevel, Transaction};

use super::connect;
use crate::driver::ClientTarget;
use crate::tpcc::Config;
use crate::tpcc::conditions::{Found, SHOWN, Violations, When};
use crate::tpcc::load_error::ClientError;
use crate::tpcc::names::{Layout, Names};

/// Connections a check uses at most.
const CONNECTIONS: i16 = 3;

struct Condition {
    /// Selects a sentence for each violation among the warehouses from `$1` to `$2`.
    violations: &'static str,
}

/// What each order's lines came to, and the lines that have no order.
const PER_ORDER: &str = "
    CREATE TEMPORARY TABLE dbdyno_per_order ON COMMIT DROP AS
    SELECT coalesce(o_w_id, l.w) AS w, coalesce(o_d_id, l.d) AS d, coalesce(o_id, l.o) AS o,
           o_c_id AS c, o_ol_cnt AS ol_cnt, o_carrier_id AS carrier, o_id IS NOT NULL AS has_order,
           coalesce(lines, 0) AS lines, coalesce(delivered, 0) AS delivered,
           coalesce(amount, 0) AS amount
    FROM (SELECT * FROM {orders} WHERE o_w_id BETWEEN $1 AND $2) AS orders
    FULL JOIN (
        SELECT ol_w_id AS w, ol_d_id AS d, ol_o_id AS o, count(*) AS lines,
               count(ol_delivery_d) AS delivered,
               sum(ol_amount) FILTER (WHERE ol_delivery_d IS NOT NULL) AS amount
        FROM {order_line} WHERE ol_w_id BETWEEN $1 AND $2 GROUP BY 1, 2, 3
    ) AS l ON o_w_id = l.w AND o_d_id = l.d AND o_id = l.o";

/// What each customer's delivered lines and payments came to: the two conditions on balances.
const PER_CUSTOMER: &str = "
    CREATE TEMPORARY TABLE dbdyno_per_customer ON COMMIT DROP AS
    SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS balance,
           c_ytd_payment AS ytd_payment, coalesce(delivered, 0) AS delivered,
           coalesce(paid, 0) AS paid
    FROM {customer}
    LEFT JOIN (
        SELECT w, d, c, sum(amount) AS delivered FROM dbdyno_per_order GROUP BY 1, 2, 3
    ) AS o ON c_w_id = o.w AND c_d_id = o.d AND c_id = o.c
    LEFT JOIN (
        SELECT h_c_w_id AS w, h_c_d_id AS d, h_c_id AS c, sum(h_amount) AS paid FROM {history}
        WHERE h_c_w_id BETWEEN $1 AND $2 GROUP BY 1, 2, 3
    ) AS h ON c_w_id = h.w AND c_d_id = h.d AND c_id = h.c
    WHERE c_w_id BETWEEN $1 AND $2";

const CONDITIONS: [Condition; 11] = [
    Condition {
        violations: "
            SELECT format('warehouse %s: w_ytd %s, sum(d_ytd) %s', w_id, w_ytd, total)
            FROM {warehouse}
            LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS total FROM {district} GROUP BY 1) AS d
                ON d_w_id = w_id
            WHERE w_id BETWEEN $1 AND $2 AND w_ytd IS DISTINCT FROM total",
    },
    Condition {
        violations: "
            SELECT format('warehouse %s, district %s: d_next_o_id %s, max(o_id) %s, max(no_o_id) %s',
                          d_w_id, d_id, d_next_o_id, max_o, max_no)
            FROM {district}
            LEFT JOIN (SELECT w, d, max(o) AS max_o FROM dbdyno_per_order WHERE has_order
                       GROUP BY 1, 2) AS o ON o.w = d_w_id AND o.d = d_id
            LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS max_no FROM {new_order}
                       GROUP BY 1, 2) AS n ON no_w_id = d_w_id AND no_d_id = d_id
            WHERE d_w_id BETWEEN $1 AND $2
              AND (d_next_o_id - 1 IS DISTINCT FROM max_o OR d_next_o_id - 1 <> max_no)",
    },
    Condition {
        violations: "
            SELECT format('warehouse %s, district %s: no_o_id %s to %s, %s new orders', no_w_id,
                          no_d_id, min(no_o_id), max(no_o_id), count(*))
            FROM {new_order} WHERE no_w_id BETWEEN $1 AND $2 GROUP BY no_w_id, no_d_id
            HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)",
    },
    Condition {
        violations: "
            SELECT format('warehouse %s, district %s: sum(o_ol_cnt) %s, %s order lines', w, d,
                          sum(ol_cnt), sum(lines))
            FROM dbdyno_per_order GROUP BY w, d
            HAVING coalesce(sum(ol_cnt), 0) <> sum(lines)",
    },
    Condition {
        violations: "
            SELECT format('warehouse %s, district %s, order %s: o_carrier_id %s, %s in new_order', w,
                          d, o, coalesce(carrier::text, 'null'),
                          CASE WHEN no_o_id IS NULL THEN 'not' ELSE 'is' END)
            FROM dbdyno_per_order
            LEFT JOIN {new_order} ON no_w_id = w AND no_d_id = d AND no_o_id = o
            WHERE has_order AND (carrier IS NULL) <> (no_o_id IS NOT NULL)
            UNION ALL
            SELECT format('warehouse %s, district %s, order %s: is in new_order, not in orders',
                          no_w_id, no_d_id, no_o_id)
            FROM {new_order} LEFT JOIN {orders}
                ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
            WHERE no_w_id BETWEEN $1 AND $2 AND o_id IS NULL",
    },
    Condition {
        violations: "
            SELECT format('warehouse %s, district %s, order %s: o_ol_cnt %s, %s order lines', w, d, o,
                          coalesce(ol_cnt::text, 'of no order'), lines)
            FROM dbdyno_per_order WHERE ol_cnt IS DISTINCT FROM lines",
    },
    Condition {
        violations: "
            SELECT format('warehouse %s, district %s, order %s: o_carrier_id %s, %s of %s lines \
                           delivered', w, d, o, coalesce(carrier::text, 'null'), delivered, lines)
            FROM dbdyno_per_order
            WHERE delivered <> CASE WHEN carrier IS NULL THEN 0 ELSE lines END",
    },
    Condition {
        violations: "
            SELECT format('warehouse %s: w_ytd %s, sum(h_amount) %s', w_id, w_ytd, total)
            FROM {warehouse}
            LEFT JOIN (SELECT w, sum(total) AS total FROM dbdyno_per_district GROUP BY 1) AS h
                ON h.w = w_id
            WHERE w_id BETWEEN $1 AND $2 AND w_ytd IS DISTINCT FROM total",
    },
    Condition {
        violations: "
            SELECT format('warehouse %s, district %s: d_ytd %s, sum(h_amount) %s', d_w_id, d_id,
                          d_ytd, total)
            FROM {district} LEFT JOIN dbdyno_per_district AS h ON h.w = d_w_id AND h.d = d_id
            WHERE d_w_id BETWEEN $1 AND $2 AND d_ytd IS DISTINCT FROM total",
    },
    Condition {
        violations: "
            SELECT format('warehouse %s, district %s, customer %s: c_balance %s, delivered %s, \
                           paid %s', w, d, c, balance, delivered, paid)
            FROM dbdyno_per_customer WHERE balance <> delivered - paid",
    },
    Condition {
        violations: "
            SELECT format('warehouse %s, district %s, customer %s: c_balance %s, c_ytd_payment %s, \
                           delivered %s', w, d, c, balance, ytd_payment, delivered)
            FROM dbdyno_per_customer WHERE balance + ytd_payment <> delivered",
    },
];

/// Payments of each district, for 8 and 9.
const PER_DISTRICT: &str = "
    CREATE TEMPORARY TABLE dbdyno_per_district ON COMMIT DROP AS
    SELECT h_w_id AS w, h_d_id AS d, sum(h_amount) AS total FROM {history}
    WHERE h_w_id BETWEEN $1 AND $2 GROUP BY 1, 2";

/// The number of orders delivered is what the load left; a run only adds to it.
const ORDERS_AFTER_LOAD: Condition = Condition {
    violations: "
        SELECT format('warehouse %s, district %s: %s orders, %s new orders', d_w_id, d_id,
                      coalesce(orders, 0), coalesce(new_orders, 0))
        FROM {district}
        LEFT JOIN (SELECT w, d, count(*) AS orders FROM dbdyno_per_order WHERE has_order
                   GROUP BY 1, 2) AS o ON o.w = d_w_id AND o.d = d_id
        LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS new_orders FROM {new_order}
                   GROUP BY 1, 2) AS n ON no_w_id = d_w_id AND no_d_id = d_id
        WHERE d_w_id BETWEEN $1 AND $2 AND coalesce(orders, 0) - coalesce(new_orders, 0) <> 2100",
};

/// The form that survives deliveries.
const ORDERS_AFTER_RUN: Condition = Condition {
    violations: "
        SELECT format('warehouse %s, district %s: %s orders, %s new orders, %s with a carrier',
                      d_w_id, d_id, coalesce(orders, 0), coalesce(new_orders, 0),
                      coalesce(carried, 0))
        FROM {district}
        LEFT JOIN (SELECT w, d, count(*) AS orders, count(carrier) AS carried
                   FROM dbdyno_per_order WHERE has_order
                   GROUP BY 1, 2) AS o ON o.w = d_w_id AND o.d = d_id
        LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS new_orders FROM {new_order}
                   GROUP BY 1, 2) AS n ON no_w_id = d_w_id AND no_d_id = d_id
        WHERE d_w_id BETWEEN $1 AND $2
          AND coalesce(orders, 0) - coalesce(new_orders, 0) <> coalesce(carried, 0)",
};

/// Whether a district has given out more numbers than it has orders: none is ever rolled back alone.
const LACK_ORDERS: &str = "
    SELECT EXISTS (
        SELECT FROM {district}
        LEFT JOIN (SELECT w, d, count(*) AS orders FROM dbdyno_per_order WHERE has_order
                   GROUP BY 1, 2) AS o ON o.w = d_w_id AND o.d = d_id
        WHERE d_w_id BETWEEN $1 AND $2 AND coalesce(orders, 0) < d_next_o_id - 1)";

/// The twelve conditions in order.
fn conditions(when: When) -> impl Iterator<Item = &'static Condition> {
    let orders = match when {
        When::AfterLoad => &ORDERS_AFTER_LOAD,
        When::AfterRun => &ORDERS_AFTER_RUN,
    };
    let (before, after) = CONDITIONS.split_at(10);
    before.iter().chain([orders]).chain(after)
}

/// Checks all conditions; takes seconds, and needs the right to create temporary tables.
///
/// Blocks, and must not be called from within an async runtime.
pub(crate) fn check(
    connect: &Connection,
    config: &Config,
    when: When,
) -> Result<Vec<Check>, ClientError> {
    let server = ClientTarget::of(connect)?;
    let mut found = Found::default();
    // One after the other: no transaction has to do with two of them.
    for names in config.names() {
        let set = Set {
            server: &server,
            names: &names,
            layout: config.layout,
            when,
        };
        for part in set.check()? {
            found.take(part, names.set());
        }
    }
    Ok(found.into_checks(when))
}

/// What is checked in one snapshot.
struct Set<'a> {
    server: &'a ClientTarget,
    names: &'a Names,
    layout: Layout,
    when: When,
}

impl Set<'_> {
    /// Each range of warehouses on a connection of its own.
    fn check(&self) -> Result<Vec<Found>, Error> {
        let mut first = connect::open_at(self.server)?;
        let mut first = snapshot(&mut first)?;
        let id: String = first
            .query_one("SELECT pg_export_snapshot()", &[])?
            .try_get(0)?;
        let ranges = ranges(&mut first, self.names)?;
        let (first_range, others) = ranges.split_first().expect("a range in any case");
        std::thread::scope(|scope| {
            let others: Vec<_> = others
                .iter()
                .map(|range| {
                    let id = &id;
                    scope.spawn(move || {
                        let mut client = connect::open_at(self.server)?;
                        let mut transaction = snapshot(&mut client)?;
                        transaction.batch_execute(&format!("SET TRANSACTION SNAPSHOT '{id}'"))?;
                        self.check_range(transaction, *range)
                    })
                })
                .collect();
            let mut found = vec![self.check_range(first, *first_range)];
            found.extend(others.into_iter().map(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }));
            found.into_iter().collect()
        })
    }

    fn check_range(
        &self,
        mut transaction: Transaction<'_>,
        (from, to): (i16, i16),
    ) -> Result<Found, Error> {
        // A temporary table cannot take parameters; these are two numbers of our own.
        let within = |template: &str| {
            let sql = self.names.sql(template);
            sql.replace("$1", &from.to_string())
                .replace("$2", &to.to_string())
        };
        for create in [PER_ORDER, PER_CUSTOMER, PER_DISTRICT] {
            transaction.batch_execute(&within(create))?;
        }
        let mut found = Found::default();
        let all = found.violations.iter_mut().zip(conditions(self.when));
        for (Violations { shown, count }, condition) in all {
            let sql = format!(
                "SELECT violation, count(*) OVER () FROM ({}) AS v (violation) LIMIT {SHOWN}",
                within(condition.violations)
            );
            for row in transaction.query(&sql, &[])? {
                shown.push(row.try_get(0)?);
                *count = row.try_get(1)?;
            }
        }
        if self.layout == Layout::Sysbench {
            let row = transaction.query_one(&within(LACK_ORDERS), &[])?;
            found.purged = row.try_get(0)?;
        }
        Ok(found)
    }
}

fn snapshot(client: &mut Client) -> Result<Transaction<'_>, Error> {
    client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .start()
}

/// Divides the warehouses that there are, however many were loaded.
fn ranges(transaction: &mut Transaction<'_>, names: &Names) -> Result<Vec<(i16, i16)>, Error> {
    let last = names.sql("SELECT coalesce(max(w_id), 1)::smallint FROM {warehouse}");
    let last: i16 = transaction.query_one(&last, &[])?.try_get(0)?;
    let parts = CONNECTIONS.min(last).max(1);
    // i32: the product of two warehouse ids does not fit 16 bits.
    let bound = |part: i16| (i32::from(last) * i32::from(part) / i32::from(parts)) as i16;
    Ok((0..parts)
        .map(|part| (bound(part) + 1, bound(part + 1)))
        .map(|(from, to)| {
            if to == last {
                (from, i16::MAX)
            } else {
                (from, to)
            }
        })
        .map(|(from, to)| {
            if from == 1 {
                (i16::MIN, to)
            } else {
                (from, to)
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[PER_ORDER, PER_CUSTOMER, PER_DISTRICT, LACK_ORDERS]);
        for when in [When::AfterLoad, When::AfterRun] {
            let all: Vec<&str> = conditions(when).map(|one| one.violations).collect();
            assert_eq!(all.len(), 12);
            assert_rendered(&all);
        }
    }
}
