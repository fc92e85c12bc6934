//! The tables, keys and indexes that sysbench-tpcc makes on PostgreSQL.
//!
//! Columns, types, keys and the names of indexes and constraints as of its commit 585e2b8
//! (`tpcc_common.lua`). Only its primary keys are anything but nullable, and counts are as small as it
//! has them: a count of 32,768 overflows.

use super::schema::Statement;
use crate::tpcc::schema::Table;

pub(super) const CREATE: [Statement; 9] = [
    (
        Table::Warehouse,
        "CREATE TABLE {warehouse} (
            w_id smallint NOT NULL, w_name varchar(10), w_street_1 varchar(20),
            w_street_2 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9),
            w_tax decimal(4,2), w_ytd decimal(12,2))",
    ),
    (
        Table::District,
        "CREATE TABLE {district} (
            d_id smallint NOT NULL, d_w_id smallint NOT NULL, d_name varchar(10),
            d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2),
            d_zip char(9), d_tax decimal(4,2), d_ytd decimal(12,2), d_next_o_id int)",
    ),
    (
        Table::Customer,
        "CREATE TABLE {customer} (
            c_id int NOT NULL, c_d_id smallint NOT NULL, c_w_id smallint NOT NULL,
            c_first varchar(16), c_middle char(2), c_last varchar(16), c_street_1 varchar(20),
            c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9),
            c_phone char(16), c_since timestamp, c_credit char(2), c_credit_lim bigint,
            c_discount decimal(4,2), c_balance decimal(12,2), c_ytd_payment decimal(12,2),
            c_payment_cnt smallint, c_delivery_cnt smallint, c_data text)",
    ),
    (
        Table::History,
        "CREATE TABLE {history} (
            h_c_id int, h_c_d_id smallint, h_c_w_id smallint, h_d_id smallint, h_w_id smallint,
            h_date timestamp, h_amount decimal(6,2), h_data varchar(24))",
    ),
    (
        Table::Orders,
        "CREATE TABLE {orders} (
            o_id int NOT NULL, o_d_id smallint NOT NULL, o_w_id smallint NOT NULL, o_c_id int,
            o_entry_d timestamp, o_carrier_id smallint, o_ol_cnt smallint, o_all_local smallint)",
    ),
    (
        Table::NewOrder,
        "CREATE TABLE {new_order} (
            no_o_id int NOT NULL, no_d_id smallint NOT NULL, no_w_id smallint NOT NULL)",
    ),
    (
        Table::OrderLine,
        "CREATE TABLE {order_line} (
            ol_o_id int NOT NULL, ol_d_id smallint NOT NULL, ol_w_id smallint NOT NULL,
            ol_number smallint NOT NULL, ol_i_id int, ol_supply_w_id smallint,
            ol_delivery_d timestamp, ol_quantity smallint, ol_amount decimal(6,2),
            ol_dist_info char(24))",
    ),
    (
        Table::Item,
        "CREATE TABLE {item} (
            i_id int NOT NULL, i_im_id int, i_name varchar(24), i_price decimal(5,2),
            i_data varchar(50))",
    ),
    (
        Table::Stock,
        "CREATE TABLE {stock} (
            s_i_id int NOT NULL, s_w_id smallint NOT NULL, s_quantity smallint,
            s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24),
            s_dist_05 char(24), s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24),
            s_dist_09 char(24), s_dist_10 char(24), s_ytd decimal(8,0), s_order_cnt smallint,
            s_remote_cnt smallint, s_data varchar(50))",
    ),
];

/// The slowest to build first.
pub(super) const INDEXES: [Statement; 14] = [
    (
        Table::OrderLine,
        "CREATE UNIQUE INDEX {order_line}_pkey
            ON {order_line} (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    ),
    (
        Table::OrderLine,
        "CREATE INDEX fkey_order_line_2{set} ON {order_line} (ol_supply_w_id, ol_i_id)",
    ),
    (
        Table::Stock,
        "CREATE UNIQUE INDEX {stock}_pkey ON {stock} (s_w_id, s_i_id)",
    ),
    (
        Table::Stock,
        "CREATE INDEX fkey_stock_2{set} ON {stock} (s_i_id)",
    ),
    (
        Table::Customer,
        "CREATE INDEX idx_customer{set} ON {customer} (c_w_id, c_d_id, c_last, c_first)",
    ),
    (
        Table::Orders,
        "CREATE INDEX idx_orders{set} ON {orders} (o_w_id, o_d_id, o_c_id, o_id)",
    ),
    (
        Table::Customer,
        "CREATE UNIQUE INDEX {customer}_pkey ON {customer} (c_w_id, c_d_id, c_id)",
    ),
    (
        Table::Orders,
        "CREATE UNIQUE INDEX {orders}_pkey ON {orders} (o_w_id, o_d_id, o_id)",
    ),
    (
        Table::History,
        "CREATE INDEX fkey_history_1{set} ON {history} (h_c_w_id, h_c_d_id, h_c_id)",
    ),
    (
        Table::History,
        "CREATE INDEX fkey_history_2{set} ON {history} (h_w_id, h_d_id)",
    ),
    (
        Table::Item,
        "CREATE UNIQUE INDEX {item}_pkey ON {item} (i_id)",
    ),
    (
        Table::NewOrder,
        "CREATE UNIQUE INDEX {new_order}_pkey ON {new_order} (no_w_id, no_d_id, no_o_id)",
    ),
    (
        Table::District,
        "CREATE UNIQUE INDEX {district}_pkey ON {district} (d_w_id, d_id)",
    ),
    (
        Table::Warehouse,
        "CREATE UNIQUE INDEX {warehouse}_pkey ON {warehouse} (w_id)",
    ),
];

/// Added unchecked, and validated afterwards.
pub(super) const FOREIGN_KEYS: [Statement; 7] = [
    (
        Table::District,
        "ALTER TABLE {district} ADD CONSTRAINT fkey_district_1_{set}
            FOREIGN KEY (d_w_id) REFERENCES {warehouse} (w_id) NOT VALID",
    ),
    (
        Table::Customer,
        "ALTER TABLE {customer} ADD CONSTRAINT fkey_customer_1_{set}
            FOREIGN KEY (c_w_id, c_d_id) REFERENCES {district} (d_w_id, d_id) NOT VALID",
    ),
    (
        Table::History,
        "ALTER TABLE {history} ADD CONSTRAINT fkey_history_1_{set}
            FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES {customer} (c_w_id, c_d_id, c_id)
            NOT VALID,
            ADD CONSTRAINT fkey_history_2_{set}
            FOREIGN KEY (h_w_id, h_d_id) REFERENCES {district} (d_w_id, d_id) NOT VALID",
    ),
    (
        Table::Orders,
        "ALTER TABLE {orders} ADD CONSTRAINT fkey_orders_1_{set}
            FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES {customer} (c_w_id, c_d_id, c_id)
            NOT VALID",
    ),
    (
        Table::NewOrder,
        "ALTER TABLE {new_order} ADD CONSTRAINT fkey_new_orders_1_{set}
            FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES {orders} (o_w_id, o_d_id, o_id)
            NOT VALID",
    ),
    (
        Table::Stock,
        "ALTER TABLE {stock} ADD CONSTRAINT fkey_stock_1_{set}
            FOREIGN KEY (s_w_id) REFERENCES {warehouse} (w_id) NOT VALID,
            ADD CONSTRAINT fkey_stock_2_{set}
            FOREIGN KEY (s_i_id) REFERENCES {item} (i_id) NOT VALID",
    ),
    (
        Table::OrderLine,
        "ALTER TABLE {order_line} ADD CONSTRAINT fkey_order_line_1_{set}
            FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES {orders} (o_w_id, o_d_id, o_id)
            NOT VALID,
            ADD CONSTRAINT fkey_order_line_2_{set}
            FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES {stock} (s_w_id, s_i_id) NOT VALID",
    ),
];

pub(super) const VALIDATIONS: [Statement; 7] = [
    (
        Table::OrderLine,
        "ALTER TABLE {order_line} VALIDATE CONSTRAINT fkey_order_line_2_{set},
            VALIDATE CONSTRAINT fkey_order_line_1_{set}",
    ),
    (
        Table::Stock,
        "ALTER TABLE {stock} VALIDATE CONSTRAINT fkey_stock_2_{set},
            VALIDATE CONSTRAINT fkey_stock_1_{set}",
    ),
    (
        Table::History,
        "ALTER TABLE {history} VALIDATE CONSTRAINT fkey_history_1_{set},
            VALIDATE CONSTRAINT fkey_history_2_{set}",
    ),
    (
        Table::Orders,
        "ALTER TABLE {orders} VALIDATE CONSTRAINT fkey_orders_1_{set}",
    ),
    (
        Table::Customer,
        "ALTER TABLE {customer} VALIDATE CONSTRAINT fkey_customer_1_{set}",
    ),
    (
        Table::NewOrder,
        "ALTER TABLE {new_order} VALIDATE CONSTRAINT fkey_new_orders_1_{set}",
    ),
    (
        Table::District,
        "ALTER TABLE {district} VALIDATE CONSTRAINT fkey_district_1_{set}",
    ),
];
