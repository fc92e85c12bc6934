//! The tables, keys and indexes that sysbench-tpcc makes on MySQL and MariaDB.
//!
//! Columns, types, keys and the names of indexes and constraints as of its commit 585e2b8
//! (`tpcc_common.lua`), without its option for a key of the history. Only its primary keys are anything
//! but nullable, and counts are as small as it has them: a count of 32,768 overflows. Character set and
//! collation are the database's, as it leaves them.

use super::schema::Statement;
use crate::tpcc::schema::Table;

pub(super) const OPTIONS: &str = "ENGINE=InnoDB";

pub(super) const CREATE: [Statement; 9] = [
    (
        Table::Warehouse,
        "CREATE TABLE {warehouse} (
            w_id smallint NOT NULL, w_name varchar(10), w_street_1 varchar(20),
            w_street_2 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9),
            w_tax decimal(4,2), w_ytd decimal(12,2),
            PRIMARY KEY (w_id))",
    ),
    (
        Table::District,
        "CREATE TABLE {district} (
            d_id tinyint NOT NULL, d_w_id smallint NOT NULL, d_name varchar(10),
            d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2),
            d_zip char(9), d_tax decimal(4,2), d_ytd decimal(12,2), d_next_o_id int,
            PRIMARY KEY (d_w_id, d_id))",
    ),
    (
        Table::Customer,
        "CREATE TABLE {customer} (
            c_id int NOT NULL, c_d_id tinyint NOT NULL, c_w_id smallint NOT NULL,
            c_first varchar(16), c_middle char(2), c_last varchar(16), c_street_1 varchar(20),
            c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9),
            c_phone char(16), c_since datetime, c_credit char(2), c_credit_lim bigint,
            c_discount decimal(4,2), c_balance decimal(12,2), c_ytd_payment decimal(12,2),
            c_payment_cnt smallint, c_delivery_cnt smallint, c_data text,
            PRIMARY KEY (c_w_id, c_d_id, c_id))",
    ),
    (
        Table::History,
        "CREATE TABLE {history} (
            h_c_id int, h_c_d_id tinyint, h_c_w_id smallint, h_d_id tinyint, h_w_id smallint,
            h_date datetime, h_amount decimal(6,2), h_data varchar(24))",
    ),
    (
        Table::Orders,
        "CREATE TABLE {orders} (
            o_id int NOT NULL, o_d_id tinyint NOT NULL, o_w_id smallint NOT NULL, o_c_id int,
            o_entry_d datetime, o_carrier_id tinyint, o_ol_cnt tinyint, o_all_local tinyint,
            PRIMARY KEY (o_w_id, o_d_id, o_id))",
    ),
    (
        Table::NewOrder,
        "CREATE TABLE {new_order} (
            no_o_id int NOT NULL, no_d_id tinyint NOT NULL, no_w_id smallint NOT NULL,
            PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
    ),
    (
        Table::OrderLine,
        "CREATE TABLE {order_line} (
            ol_o_id int NOT NULL, ol_d_id tinyint NOT NULL, ol_w_id smallint NOT NULL,
            ol_number tinyint NOT NULL, ol_i_id int, ol_supply_w_id smallint,
            ol_delivery_d datetime, ol_quantity tinyint, ol_amount decimal(6,2),
            ol_dist_info char(24),
            PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
    ),
    (
        Table::Item,
        "CREATE TABLE {item} (
            i_id int NOT NULL, i_im_id int, i_name varchar(24), i_price decimal(5,2),
            i_data varchar(50),
            PRIMARY KEY (i_id))",
    ),
    (
        Table::Stock,
        "CREATE TABLE {stock} (
            s_i_id int NOT NULL, s_w_id smallint NOT NULL, s_quantity smallint,
            s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24),
            s_dist_05 char(24), s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24),
            s_dist_09 char(24), s_dist_10 char(24), s_ytd decimal(8,0), s_order_cnt smallint,
            s_remote_cnt smallint, s_data varchar(50),
            PRIMARY KEY (s_w_id, s_i_id))",
    ),
];

/// The slowest to build first, one statement a table.
pub(super) const INDEXES: [Statement; 5] = [
    (
        Table::OrderLine,
        "ALTER TABLE {order_line} ADD INDEX fkey_order_line_2{set} (ol_supply_w_id, ol_i_id)",
    ),
    (
        Table::Stock,
        "ALTER TABLE {stock} ADD INDEX fkey_stock_2{set} (s_i_id)",
    ),
    (
        Table::Customer,
        "ALTER TABLE {customer} ADD INDEX idx_customer{set} (c_w_id, c_d_id, c_last, c_first)",
    ),
    (
        Table::History,
        "ALTER TABLE {history} ADD INDEX fkey_history_1{set} (h_c_w_id, h_c_d_id, h_c_id),
            ADD INDEX fkey_history_2{set} (h_w_id, h_d_id)",
    ),
    (
        Table::Orders,
        "ALTER TABLE {orders} ADD INDEX idx_orders{set} (o_w_id, o_d_id, o_c_id, o_id)",
    ),
];

pub(super) const FOREIGN_KEYS: [Statement; 7] = [
    (
        Table::District,
        "ALTER TABLE {district} ADD CONSTRAINT fkey_district_1_{set}
            FOREIGN KEY (d_w_id) REFERENCES {warehouse} (w_id)",
    ),
    (
        Table::Customer,
        "ALTER TABLE {customer} ADD CONSTRAINT fkey_customer_1_{set}
            FOREIGN KEY (c_w_id, c_d_id) REFERENCES {district} (d_w_id, d_id)",
    ),
    (
        Table::History,
        "ALTER TABLE {history} ADD CONSTRAINT fkey_history_1_{set}
            FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES {customer} (c_w_id, c_d_id, c_id),
            ADD CONSTRAINT fkey_history_2_{set}
            FOREIGN KEY (h_w_id, h_d_id) REFERENCES {district} (d_w_id, d_id)",
    ),
    (
        Table::Orders,
        "ALTER TABLE {orders} ADD CONSTRAINT fkey_orders_1_{set}
            FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES {customer} (c_w_id, c_d_id, c_id)",
    ),
    (
        Table::NewOrder,
        "ALTER TABLE {new_order} ADD CONSTRAINT fkey_new_orders_1_{set}
            FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES {orders} (o_w_id, o_d_id, o_id)",
    ),
    (
        Table::Stock,
        "ALTER TABLE {stock} ADD CONSTRAINT fkey_stock_1_{set}
            FOREIGN KEY (s_w_id) REFERENCES {warehouse} (w_id),
            ADD CONSTRAINT fkey_stock_2_{set} FOREIGN KEY (s_i_id) REFERENCES {item} (i_id)",
    ),
    (
        Table::OrderLine,
        "ALTER TABLE {order_line} ADD CONSTRAINT fkey_order_line_1_{set}
            FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES {orders} (o_w_id, o_d_id, o_id),
            ADD CONSTRAINT fkey_order_line_2_{set}
            FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES {stock} (s_w_id, s_i_id)",
    ),
];
