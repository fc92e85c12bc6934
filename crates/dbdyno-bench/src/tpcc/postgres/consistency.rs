//! The consistency conditions of clause 3.3.2, each a named check.
//!
//! Order lines, most of the data, are read once: a temporary table holds what each order's lines
//! came to, and five conditions are derived from it. A warehouse is read in one snapshot, so that the
//! answer is right even while others write, on one of a few connections.

use dbdyno_model::connection::Connection;
use dbdyno_model::run::Check;
use postgres::{Client, Error, IsolationLevel};

use super::connect;
use crate::driver::ClientTarget;
use crate::share::{connections, share};
use crate::tpcc::Config;
use crate::tpcc::conditions::{Found, Part, SHOWN, Violations, When, parts};
use crate::tpcc::load_error::ClientError;
use crate::tpcc::names::{Layout, Names};

/// The orders and customers of a warehouse are added up in memory, and by one process each: the
/// connections are as many as there are processors already.
const SETTINGS: &str = "SET work_mem = '64MB'; SET max_parallel_workers_per_gather = 0";

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
            LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS total FROM {district}
                       WHERE d_w_id BETWEEN $1 AND $2 GROUP BY 1) AS d ON d_w_id = w_id
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
                       WHERE no_w_id BETWEEN $1 AND $2 GROUP BY 1, 2) AS n
                ON no_w_id = d_w_id AND no_d_id = d_id
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
                AND no_w_id BETWEEN $1 AND $2
            WHERE has_order AND (carrier IS NULL) <> (no_o_id IS NOT NULL)
            UNION ALL
            SELECT format('warehouse %s, district %s, order %s: is in new_order, not in orders',
                          no_w_id, no_d_id, no_o_id)
            FROM {new_order} LEFT JOIN {orders}
                ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
                AND o_w_id BETWEEN $1 AND $2
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
                   WHERE no_w_id BETWEEN $1 AND $2 GROUP BY 1, 2) AS n
            ON no_w_id = d_w_id AND no_d_id = d_id
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
                   WHERE no_w_id BETWEEN $1 AND $2 GROUP BY 1, 2) AS n
            ON no_w_id = d_w_id AND no_d_id = d_id
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
    let sets: Vec<Names> = config.names().collect();
    let mut all = Vec::new();
    let mut client = open(&server)?;
    for names in &sets {
        all.extend(parts(names, &warehouses(&mut client, names)?));
    }
    drop(client);
    let found = share(
        connections(),
        &all,
        &|| Ok(open(&server)?),
        &|client: &mut Client, part: &Part<'_>| Ok(check_part(client, part, config.layout, when)?),
    )?;
    Ok(Found::of(&all, found).into_checks(when))
}

fn open(server: &ClientTarget) -> Result<Client, Error> {
    let mut client = connect::open_at(server)?;
    client.batch_execute(SETTINGS)?;
    Ok(client)
}

fn warehouses(client: &mut Client, names: &Names) -> Result<Vec<i16>, Error> {
    let select = names.sql("SELECT w_id FROM {warehouse} ORDER BY w_id");
    let rows = client.query(&select, &[])?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Nothing of it stays: the temporary tables go with the transaction.
fn check_part(
    client: &mut Client,
    part: &Part<'_>,
    layout: Layout,
    when: When,
) -> Result<Found, Error> {
    let mut transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .start()?;
    let (from, to) = part.range;
    // A temporary table cannot take parameters; these are two numbers of our own.
    let within = |template: &str| {
        let sql = part.names.sql(template);
        sql.replace("$1", &from.to_string())
            .replace("$2", &to.to_string())
    };
    for create in [PER_ORDER, PER_CUSTOMER, PER_DISTRICT] {
        transaction.batch_execute(&within(create))?;
    }
    let mut found = Found::default();
    let all = found.violations.iter_mut().zip(conditions(when));
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
    if layout == Layout::Sysbench {
        let row = transaction.query_one(&within(LACK_ORDERS), &[])?;
        found.purged = row.try_get(0)?;
    }
    transaction.rollback()?;
    Ok(found)
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
