//! The routines as PostgreSQL has them: functions in PL/pgSQL.
//!
//! A call is a statement, and so a transaction of its own. At READ COMMITTED the statements within have
//! a snapshot each; those of a stable function share that of the call, so that what only reads sees
//! one state. What is one statement in the pipelined mode is the same statement here.

use super::routine::Routine;
use crate::tpcc::postgres::{self as statements, middle_of_name};

pub(super) static ROUTINES: [Routine; 5] =
    [NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL];

/// Updates the stocks of the lines before which so many others name the same stock: an UPDATE … FROM
/// changes a row once, however many lines join it. Arrays are sorted by warehouse and item, and rows
/// are locked in that order.
macro_rules! take {
    ($earlier:literal) => {
        concat!(
            "UPDATE {stock}
            SET s_quantity = CASE WHEN s_quantity >= l.quantity + 10 THEN s_quantity - l.quantity
                                  ELSE s_quantity - l.quantity + 91 END,
                s_ytd = s_ytd + l.quantity,
                s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + CASE WHEN l.supplier <> in_w THEN 1 ELSE 0 END
            FROM unnest(in_items, in_suppliers, in_quantities, in_earlier)
                AS l (item_id, supplier, quantity, earlier)
            WHERE s_w_id = l.supplier AND s_i_id = l.item_id AND l.earlier = ",
            $earlier
        )
    };
}

/// All that an order changes. The district comes last of what is locked: its row is the one that
/// orders queue for.
macro_rules! enter {
    () => {
        concat!(
            "WITH taken AS (",
            take!("0"),
            " RETURNING s_w_id, s_i_id, s_quantity, s_data LIKE '%ORIGINAL%' AS original,
                CASE in_d
                    WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                    WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                    WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                    ELSE s_dist_10 END AS info
            )
            SELECT array_agg(s_w_id), array_agg(s_i_id), array_agg(s_quantity),
                array_agg(original), array_agg(info)
            INTO stock_suppliers, stock_items, stock_quantities, stock_originals, stock_infos
            FROM taken;
            FOR again IN 1..in_most LOOP ",
            take!("again"),
            "; END LOOP;
            UPDATE {district} SET d_next_o_id = d_next_o_id + 1
            FROM {warehouse}, {customer}
            WHERE d_w_id = in_w AND d_id = in_d AND w_id = in_w
              AND c_w_id = in_w AND c_d_id = in_d AND c_id = in_c
            RETURNING d_next_o_id - 1, d_tax, w_tax, c_discount, c_last, c_credit
            INTO STRICT order_id, district_tax, warehouse_tax, discount, last_name, credit;
            RETURN QUERY
            WITH lines AS MATERIALIZED (
                SELECT l.number, l.item_id, l.supplier, l.quantity, i_name::text AS name,
                    i_price::numeric AS price, i_price * l.quantity AS amount,
                    s.quantity AS remaining, s.original AND i_data LIKE '%ORIGINAL%' AS brand,
                    s.info
                FROM unnest(in_numbers, in_items, in_suppliers, in_quantities)
                    AS l (number, item_id, supplier, quantity)
                JOIN {item} ON i_id = l.item_id
                JOIN unnest(stock_suppliers, stock_items, stock_quantities, stock_originals,
                        stock_infos) AS s (supplier, item_id, quantity, original, info)
                    ON s.supplier = l.supplier AND s.item_id = l.item_id
            ), o AS (
                INSERT INTO {orders} (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
                VALUES (order_id, in_d, in_w, in_c, now(), cardinality(in_items), in_all_local)
            ), n AS (
                INSERT INTO {new_order} (no_o_id, no_d_id, no_w_id) VALUES (order_id, in_d, in_w)
            ), ol AS (
                INSERT INTO {order_line} (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id,
                    ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
                SELECT order_id, in_d, in_w, lines.number, lines.item_id, lines.supplier,
                    lines.quantity, lines.amount, lines.info
                FROM lines
            )
            SELECT all_known, order_id, district_tax, warehouse_tax, discount, last_name, credit,
                lines.number, lines.name, lines.remaining, lines.brand, lines.price, lines.amount
            FROM lines;"
        )
    };
}

/// An order with an unused item is entered as far as can be, and taken back by the end of a block,
/// which is worth a subtransaction. The others do without one.
const NEW_ORDER: Routine = Routine {
    transaction: "new_order",
    arguments: 10,
    head: "(in_w smallint, in_d smallint, in_c integer, in_all_local smallint,
            in_numbers smallint[], in_items integer[], in_suppliers smallint[],
            in_quantities smallint[], in_earlier smallint[], in_most smallint)
        RETURNS TABLE (out_committed boolean, out_order integer, out_district_tax numeric,
            out_warehouse_tax numeric, out_discount numeric, out_last text, out_credit text,
            out_number smallint, out_name text, out_quantity smallint, out_brand boolean,
            out_price numeric, out_amount numeric)
        LANGUAGE plpgsql",
    body: &[
        "DECLARE
            all_known boolean;
            entered bigint;
            stock_suppliers smallint[];
            stock_items integer[];
            stock_quantities smallint[];
            stock_originals boolean[];
            stock_infos bpchar[];
            order_id integer;
            district_tax numeric;
            warehouse_tax numeric;
            discount numeric;
            last_name text;
            credit text;
        BEGIN
            all_known := cardinality(in_items) = (
                SELECT count(*) FROM unnest(in_items) AS l (item_id) JOIN {item} ON i_id = l.item_id);
            IF all_known THEN ",
        enter!(),
        "       GET DIAGNOSTICS entered = ROW_COUNT;
                IF entered <> cardinality(in_items) THEN
                    RAISE EXCEPTION 'no stock where a load has one'
                        USING ERRCODE = 'no_data_found';
                END IF;
            ELSE
                BEGIN ",
        enter!(),
        "           RAISE SQLSTATE 'DBD01';
                EXCEPTION WHEN SQLSTATE 'DBD01' THEN
                    NULL;
                END;
            END IF;
        END",
    ],
};

/// The customer, then the district, then the warehouse, the row that payments queue for.
const PAYMENT: Routine = Routine {
    transaction: "payment",
    arguments: 7,
    head: "(in_w smallint, in_d smallint, in_cw smallint, in_cd smallint, in_c integer,
            in_last text, in_amount numeric,
            OUT out_balance numeric,
            OUT out_w_name text, OUT out_w_street_1 text, OUT out_w_street_2 text,
            OUT out_w_city text, OUT out_w_state text, OUT out_w_zip text,
            OUT out_d_name text, OUT out_d_street_1 text, OUT out_d_street_2 text,
            OUT out_d_city text, OUT out_d_state text, OUT out_d_zip text,
            OUT out_c_id integer, OUT out_first text, OUT out_middle text, OUT out_last text,
            OUT out_street_1 text, OUT out_street_2 text, OUT out_city text, OUT out_state text,
            OUT out_zip text, OUT out_phone text, OUT out_since timestamptz, OUT out_credit text,
            OUT out_credit_lim numeric, OUT out_discount numeric, OUT out_data text)
        LANGUAGE plpgsql",
    body: &[
        "BEGIN
            IF in_c = 0 THEN
                in_c := ",
        middle_of_name!("in_cw", "in_cd", "in_last"),
        ";
            END IF;
            UPDATE {customer}
            SET c_balance = c_balance - in_amount,
                c_ytd_payment = c_ytd_payment + in_amount,
                c_payment_cnt = c_payment_cnt + 1,
                c_data = CASE WHEN c_credit = 'BC'
                    THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, in_d, in_w, in_amount, c_data),
                              500)
                    ELSE c_data END
            WHERE c_w_id = in_cw AND c_d_id = in_cd AND c_id = in_c
            RETURNING c_balance, c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city,
                c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount,
                CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END
            INTO STRICT out_balance, out_c_id, out_first, out_middle, out_last, out_street_1,
                out_street_2, out_city, out_state, out_zip, out_phone, out_since, out_credit,
                out_credit_lim, out_discount, out_data;
            UPDATE {district} SET d_ytd = d_ytd + in_amount WHERE d_w_id = in_w AND d_id = in_d
            RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip
            INTO STRICT out_d_name, out_d_street_1, out_d_street_2, out_d_city, out_d_state,
                out_d_zip;
            UPDATE {warehouse} SET w_ytd = w_ytd + in_amount WHERE w_id = in_w
            RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
            INTO STRICT out_w_name, out_w_street_1, out_w_street_2, out_w_city, out_w_state,
                out_w_zip;
            INSERT INTO {history}
                (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
            VALUES (out_c_id, in_cd, in_cw, in_d, in_w, now(), in_amount,
                out_w_name || '    ' || out_d_name);
        END",
    ],
};

/// The statement takes warehouse, district and customer as its first parameters.
const ORDER_STATUS: Routine = Routine {
    transaction: "order_status",
    arguments: 4,
    head: "(in_w smallint, in_d smallint, in_c integer, in_last text)
        RETURNS TABLE (out_balance numeric, out_first text, out_middle text, out_last text,
            out_order integer, out_entered timestamptz, out_carrier integer, out_item integer,
            out_supplier integer, out_quantity integer, out_amount numeric,
            out_delivered timestamptz)
        LANGUAGE plpgsql STABLE",
    body: &[
        "BEGIN
            IF in_c = 0 THEN
                in_c := ",
        middle_of_name!("in_w", "in_d", "in_last"),
        ";
            END IF;
            RETURN QUERY SELECT s.c_balance::numeric, s.c_first::text, s.c_middle::text,
                s.c_last::text, s.o_id::integer, s.o_entry_d::timestamptz,
                s.o_carrier_id::integer, s.ol_i_id::integer, s.ol_supply_w_id::integer,
                s.ol_quantity::integer, s.ol_amount::numeric, s.ol_delivery_d::timestamptz
            FROM (",
        statements::ORDER_STATUS,
        ") AS s;
        END",
    ],
};

/// The statement takes warehouse and carrier, and has no row where it could not charge for an order.
const DELIVERY: Routine = Routine {
    transaction: "delivery",
    arguments: 2,
    head: "(in_w smallint, in_carrier smallint, OUT out_delivered bigint, OUT out_charged bigint)
        LANGUAGE plpgsql",
    body: &[
        "BEGIN",
        statements::DELIVERY,
        "   INTO out_delivered, out_charged;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'no order, line or customer of a new order where a load has one'
                    USING ERRCODE = 'no_data_found';
            END IF;
        END",
    ],
};

/// The statement takes warehouse, district and threshold.
const STOCK_LEVEL: Routine = Routine {
    transaction: "stock_level",
    arguments: 3,
    head: "(in_w smallint, in_d smallint, in_threshold smallint) RETURNS bigint
        LANGUAGE plpgsql STABLE",
    body: &["BEGIN RETURN (", statements::STOCK_LEVEL, "); END"],
};
