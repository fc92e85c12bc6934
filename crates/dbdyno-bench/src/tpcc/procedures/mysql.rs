//! The routines as MySQL and MariaDB have them: procedures.
//!
//! Those that change something begin and end the transaction. A handler undoes what an error leaves
//! half-done and passes the error on, so that a deadlock is one to the driver too. What is shown is
//! read last, when all of its rows are locked: a consistent read before that would fix a snapshot that
//! later updates would find outdated, which MariaDB refuses since 11.6 (error 1020). For the same
//! reason names and taxes, which never change, are read before the transaction begins.
//!
//! The collation of `in_last` is the database's, which gives way to a column that compares bytewise.

use super::routine::Routine;

pub(super) static ROUTINES: [Routine; 5] =
    [NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL];

macro_rules! undo_on_error {
    () => {
        "DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            ROLLBACK;
            RESIGNAL;
        END;"
    };
}

/// Finds the customer in the middle of those of a name: row n/2, rounded up, by first name.
macro_rules! find {
    ($warehouse:literal, $district:literal) => {
        concat!(
            "IF in_c = 0 THEN
            SELECT cast(substring_index(substring_index(group_concat(c_id ORDER BY c_first), ',',
                (count(*) + 1) DIV 2), ',', -1) AS signed) INTO in_c
            FROM {customer} WHERE c_w_id = ",
            $warehouse,
            " AND c_d_id = ",
            $district,
            " AND c_last = in_last;
        END IF;"
        )
    };
}

/// A record of `in_lines` has 15 digits: the number of the line in 2, the item in 6, the supplying
/// warehouse in 5, the quantity in 2. An order with an unused item is entered as far as can be.
const NEW_ORDER: Routine = Routine {
    transaction: "new_order",
    arguments: 5,
    head: "(IN in_w smallint, IN in_d smallint, IN in_c int, IN in_all_local smallint,
            IN in_lines varchar(225) CHARACTER SET ascii)",
    body: &[
        "BEGIN
        DECLARE line_at int DEFAULT 1;
        DECLARE line_item, line_supplier, line_quantity, order_id int;
        DECLARE all_known boolean DEFAULT true;
        DECLARE warehouse_tax, district_tax, discount decimal(4,4);
        DECLARE last_name varchar(16);
        DECLARE credit char(2);
        ",
        undo_on_error!(),
        "
        SELECT w_tax, d_tax INTO warehouse_tax, district_tax
            FROM {warehouse} JOIN {district} ON d_w_id = w_id WHERE w_id = in_w AND d_id = in_d;
        START TRANSACTION;
        WHILE line_at < char_length(in_lines) DO
            SET line_item = substr(in_lines, line_at + 2, 6);
            SET line_supplier = substr(in_lines, line_at + 8, 5);
            SET line_quantity = substr(in_lines, line_at + 13, 2);
            UPDATE {stock}
                SET s_quantity = CASE WHEN s_quantity >= line_quantity + 10
                        THEN s_quantity - line_quantity ELSE s_quantity - line_quantity + 91 END,
                    s_ytd = s_ytd + line_quantity, s_order_cnt = s_order_cnt + 1,
                    s_remote_cnt = s_remote_cnt + CASE WHEN line_supplier <> in_w THEN 1 ELSE 0 END
                WHERE s_w_id = line_supplier AND s_i_id = line_item;
            IF row_count() = 0 THEN
                SET all_known = false;
            END IF;
            SET line_at = line_at + 15;
        END WHILE;
        SELECT c_discount, c_last, c_credit INTO discount, last_name, credit
            FROM {customer} WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = in_c FOR UPDATE;
        UPDATE {district} SET d_next_o_id = last_insert_id(d_next_o_id) + 1
            WHERE d_w_id = in_w AND d_id = in_d;
        IF row_count() = 0 OR discount IS NULL THEN
            SIGNAL SQLSTATE '45000'
                SET MESSAGE_TEXT = 'no district or customer where a load has one';
        END IF;
        SET order_id = last_insert_id();
        INSERT INTO {orders} (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
            VALUES (order_id, in_d, in_w, in_c, CURRENT_TIMESTAMP, char_length(in_lines) DIV 15,
                in_all_local);
        INSERT INTO {new_order} (no_o_id, no_d_id, no_w_id) VALUES (order_id, in_d, in_w);
        INSERT INTO {order_line} (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                ol_quantity, ol_amount, ol_dist_info)
            SELECT STRAIGHT_JOIN order_id, in_d, in_w,
                cast(substr(in_lines, starts_at, 2) AS unsigned), i_id, s_w_id,
                cast(substr(in_lines, starts_at + 13, 2) AS unsigned),
                i_price * cast(substr(in_lines, starts_at + 13, 2) AS unsigned),
                CASE in_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                    WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                    WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                    ELSE s_dist_10 END
            FROM (SELECT 1 AS starts_at UNION ALL SELECT 16 UNION ALL SELECT 31
                UNION ALL SELECT 46 UNION ALL SELECT 61 UNION ALL SELECT 76
                UNION ALL SELECT 91 UNION ALL SELECT 106 UNION ALL SELECT 121
                UNION ALL SELECT 136 UNION ALL SELECT 151 UNION ALL SELECT 166
                UNION ALL SELECT 181 UNION ALL SELECT 196 UNION ALL SELECT 211) AS entry
            JOIN {item} ON i_id = cast(substr(in_lines, starts_at + 2, 6) AS unsigned)
            JOIN {stock} ON s_w_id = cast(substr(in_lines, starts_at + 8, 5) AS unsigned)
                AND s_i_id = i_id
            WHERE starts_at < char_length(in_lines);
        SELECT all_known, order_id, district_tax, warehouse_tax, discount, last_name, credit,
                ol_number, i_name, s_quantity,
                i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%', i_price, ol_amount
            FROM {order_line}
            JOIN {item} ON i_id = ol_i_id
            JOIN {stock} ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
            WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id = order_id;
        IF all_known THEN
            COMMIT;
        ELSE
            ROLLBACK;
        END IF;
        END",
    ],
};

/// A customer who is not there stops it at the history, whose foreign keys also vouch for the district
/// and its warehouse.
const PAYMENT: Routine = Routine {
    transaction: "payment",
    arguments: 7,
    head: "(IN in_w smallint, IN in_d smallint, IN in_cw smallint, IN in_cd smallint, IN in_c int,
            IN in_last varchar(16), IN in_amount decimal(6,2))",
    body: &[
        "BEGIN
        ",
        undo_on_error!(),
        "
        ",
        find!("in_cw", "in_cd"),
        "
        START TRANSACTION;
        UPDATE {customer}
            SET c_balance = c_balance - in_amount, c_ytd_payment = c_ytd_payment + in_amount,
                c_payment_cnt = c_payment_cnt + 1,
                c_data = CASE c_credit WHEN 'BC'
                    THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, in_d, in_w, in_amount, c_data),
                        500)
                    ELSE c_data END
            WHERE c_w_id = in_cw AND c_d_id = in_cd AND c_id = in_c;
        UPDATE {district} SET d_ytd = d_ytd + in_amount WHERE d_w_id = in_w AND d_id = in_d;
        UPDATE {warehouse} SET w_ytd = w_ytd + in_amount WHERE w_id = in_w;
        INSERT INTO {history}
            (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
            VALUES (in_c, in_cd, in_cw, in_d, in_w, CURRENT_TIMESTAMP, in_amount,
                (SELECT concat(w_name, '    ', d_name) FROM {warehouse}
                    JOIN {district} ON d_w_id = w_id WHERE w_id = in_w AND d_id = in_d));
        SELECT c_balance, w_name, w_street_1, w_street_2, w_city, w_state, w_zip,
                d_name, d_street_1, d_street_2, d_city, d_state, d_zip,
                c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip,
                c_phone, c_since, c_credit, c_credit_lim, c_discount,
                CASE c_credit WHEN 'BC' THEN left(c_data, 200) END
            FROM {warehouse}
            JOIN {district} ON d_w_id = w_id
            JOIN {customer} ON c_w_id = in_cw AND c_d_id = in_cd AND c_id = in_c
            WHERE w_id = in_w AND d_id = in_d;
        COMMIT;
        END",
    ],
};

/// The latest order is a table of one row, so that it is looked for once.
const ORDER_STATUS: Routine = Routine {
    transaction: "order_status",
    arguments: 4,
    head: "(IN in_w smallint, IN in_d smallint, IN in_c int, IN in_last varchar(16))",
    body: &[
        "BEGIN
        ",
        find!("in_w", "in_d"),
        "
        SELECT c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id,
                ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
            FROM (
                SELECT o_id, o_entry_d, o_carrier_id FROM {orders}
                WHERE o_w_id = in_w AND o_d_id = in_d AND o_c_id = in_c
                ORDER BY o_id DESC LIMIT 1) AS latest
            JOIN {customer} ON c_w_id = in_w AND c_d_id = in_d AND c_id = in_c
            JOIN {order_line} ON ol_w_id = c_w_id AND ol_d_id = c_d_id AND ol_o_id = o_id;
        END",
    ],
};

/// All districts' oldest new orders are locked before anything else is. At READ COMMITTED nothing but
/// rows is locked: a gap before the oldest is where the district before it enters new ones.
const DELIVERY: Routine = Routine {
    transaction: "delivery",
    arguments: 2,
    head: "(IN in_w smallint, IN in_carrier smallint)",
    body: &[
        "BEGIN
        DECLARE district_id int DEFAULT 1;
        DECLARE order_id, customer_id int;
        DECLARE delivered, charged int DEFAULT 0;
        DECLARE order_amount decimal(12,2);
        DECLARE oldest varchar(100) CHARACTER SET ascii DEFAULT '';
        ",
        undo_on_error!(),
        "
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
        WHILE district_id <= 10 DO
            SET order_id = 0;
            SELECT no_o_id INTO order_id FROM {new_order}
                WHERE no_w_id = in_w AND no_d_id = district_id
                ORDER BY no_o_id LIMIT 1 FOR UPDATE;
            SET oldest = concat(oldest, lpad(order_id, 10, '0'));
            SET district_id = district_id + 1;
        END WHILE;
        SET district_id = 1;
        WHILE district_id <= 10 DO
            SET order_id = substr(oldest, district_id * 10 - 9, 10);
            IF order_id > 0 THEN
                SET delivered = delivered + 1, customer_id = NULL, order_amount = NULL;
                DELETE FROM {new_order}
                    WHERE no_w_id = in_w AND no_d_id = district_id AND no_o_id = order_id;
                UPDATE {orders} SET o_carrier_id = in_carrier
                    WHERE o_w_id = in_w AND o_d_id = district_id AND o_id = order_id;
                UPDATE {order_line} SET ol_delivery_d = CURRENT_TIMESTAMP
                    WHERE ol_w_id = in_w AND ol_d_id = district_id AND ol_o_id = order_id;
                SELECT o_c_id, sum(ol_amount) INTO customer_id, order_amount
                    FROM {orders}
                    JOIN {order_line} ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
                    WHERE o_w_id = in_w AND o_d_id = district_id AND o_id = order_id
                    GROUP BY o_c_id;
                UPDATE {customer}
                    SET c_balance = c_balance + order_amount, c_delivery_cnt = c_delivery_cnt + 1
                    WHERE c_w_id = in_w AND c_d_id = district_id AND c_id = customer_id;
                SET charged = charged + row_count();
            END IF;
            SET district_id = district_id + 1;
        END WHILE;
        IF charged <> delivered THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
                'no order, line or customer of a new order where a load has one';
        END IF;
        COMMIT;
        SELECT delivered;
        END",
    ],
};

/// The district is one row by its key, which the optimizer reads first.
const STOCK_LEVEL: Routine = Routine {
    transaction: "stock_level",
    arguments: 3,
    head: "(IN in_w smallint, IN in_d smallint, IN in_threshold smallint)",
    body: &["BEGIN
        SELECT count(DISTINCT s_i_id)
            FROM {district}
            JOIN {order_line} ON ol_w_id = d_w_id AND ol_d_id = d_id
                AND ol_o_id < d_next_o_id AND ol_o_id >= d_next_o_id - 20
            JOIN {stock} ON s_w_id = d_w_id AND s_i_id = ol_i_id
            WHERE d_w_id = in_w AND d_id = in_d AND s_quantity < in_threshold;
        END"],
};
