//! The tables, keys and indexes of clauses 1.3 and 1.4 as PostgreSQL has them.
//!
//! Columns are in the specification's order. Ids are as small as they can be: two bytes for a
//! warehouse and a district leave room for a customer or an order in the same eight bytes of a key.
//! Names compare bytewise, so that the customer in the middle is the same under any locale.

use crate::tpcc::schema::Table;

/// Version of the layout, kept in the database.
pub(crate) const VERSION: i32 = 1;

pub(crate) const CREATE: [(Table, &str); 9] = [
    (
        Table::Warehouse,
        "CREATE TABLE warehouse (
            w_id smallint NOT NULL, w_name varchar(10) NOT NULL,
            w_street_1 varchar(20) NOT NULL, w_street_2 varchar(20) NOT NULL,
            w_city varchar(20) NOT NULL, w_state char(2) NOT NULL, w_zip char(9) NOT NULL,
            w_tax numeric(4,4) NOT NULL, w_ytd numeric(12,2) NOT NULL)",
    ),
    (
        Table::District,
        "CREATE TABLE district (
            d_id smallint NOT NULL, d_w_id smallint NOT NULL, d_name varchar(10) NOT NULL,
            d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL,
            d_city varchar(20) NOT NULL, d_state char(2) NOT NULL, d_zip char(9) NOT NULL,
            d_tax numeric(4,4) NOT NULL, d_ytd numeric(12,2) NOT NULL,
            d_next_o_id integer NOT NULL)",
    ),
    (
        Table::Customer,
        r#"CREATE TABLE customer (
            c_id integer NOT NULL, c_d_id smallint NOT NULL, c_w_id smallint NOT NULL,
            c_first varchar(16) COLLATE "C" NOT NULL, c_middle char(2) NOT NULL,
            c_last varchar(16) COLLATE "C" NOT NULL,
            c_street_1 varchar(20) NOT NULL, c_street_2 varchar(20) NOT NULL,
            c_city varchar(20) NOT NULL, c_state char(2) NOT NULL, c_zip char(9) NOT NULL,
            c_phone char(16) NOT NULL, c_since timestamptz NOT NULL, c_credit char(2) NOT NULL,
            c_credit_lim numeric(12,2) NOT NULL, c_discount numeric(4,4) NOT NULL,
            c_balance numeric(12,2) NOT NULL, c_ytd_payment numeric(12,2) NOT NULL,
            c_payment_cnt integer NOT NULL, c_delivery_cnt integer NOT NULL,
            c_data varchar(500) NOT NULL)"#,
    ),
    (
        Table::History,
        "CREATE TABLE history (
            h_c_id integer NOT NULL, h_c_d_id smallint NOT NULL, h_c_w_id smallint NOT NULL,
            h_d_id smallint NOT NULL, h_w_id smallint NOT NULL, h_date timestamptz NOT NULL,
            h_amount numeric(6,2) NOT NULL, h_data varchar(24) NOT NULL)",
    ),
    (
        Table::Orders,
        "CREATE TABLE orders (
            o_id integer NOT NULL, o_d_id smallint NOT NULL, o_w_id smallint NOT NULL,
            o_c_id integer NOT NULL, o_entry_d timestamptz NOT NULL, o_carrier_id smallint,
            o_ol_cnt smallint NOT NULL, o_all_local smallint NOT NULL)",
    ),
    (
        Table::NewOrder,
        "CREATE TABLE new_order (
            no_o_id integer NOT NULL, no_d_id smallint NOT NULL, no_w_id smallint NOT NULL)",
    ),
    (
        Table::OrderLine,
        "CREATE TABLE order_line (
            ol_o_id integer NOT NULL, ol_d_id smallint NOT NULL, ol_w_id smallint NOT NULL,
            ol_number smallint NOT NULL, ol_i_id integer NOT NULL,
            ol_supply_w_id smallint NOT NULL, ol_delivery_d timestamptz,
            ol_quantity smallint NOT NULL, ol_amount numeric(6,2) NOT NULL,
            ol_dist_info char(24) NOT NULL)",
    ),
    (
        Table::Item,
        "CREATE TABLE item (
            i_id integer NOT NULL, i_im_id integer NOT NULL, i_name varchar(24) NOT NULL,
            i_price numeric(5,2) NOT NULL, i_data varchar(50) NOT NULL)",
    ),
    (
        Table::Stock,
        "CREATE TABLE stock (
            s_i_id integer NOT NULL, s_w_id smallint NOT NULL, s_quantity smallint NOT NULL,
            s_dist_01 char(24) NOT NULL, s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL,
            s_dist_04 char(24) NOT NULL, s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL,
            s_dist_07 char(24) NOT NULL, s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL,
            s_dist_10 char(24) NOT NULL, s_ytd integer NOT NULL, s_order_cnt integer NOT NULL,
            s_remote_cnt integer NOT NULL, s_data varchar(50) NOT NULL)",
    ),
];

/// Indexes, the slowest to build first, so that threads end together. Those named `_pkey` become
/// primary keys: as indexes they take a lock under which others of the same table can be built.
pub(crate) const INDEXES: [(Table, &str); 10] = [
    (
        Table::OrderLine,
        "CREATE UNIQUE INDEX order_line_pkey ON order_line (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    ),
    (
        Table::Stock,
        "CREATE UNIQUE INDEX stock_pkey ON stock (s_w_id, s_i_id)",
    ),
    (
        Table::Customer,
        "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first)",
    ),
    (
        Table::Orders,
        "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
    ),
    (
        Table::Customer,
        "CREATE UNIQUE INDEX customer_pkey ON customer (c_w_id, c_d_id, c_id)",
    ),
    (
        Table::Orders,
        "CREATE UNIQUE INDEX orders_pkey ON orders (o_w_id, o_d_id, o_id)",
    ),
    (Table::Item, "CREATE UNIQUE INDEX item_pkey ON item (i_id)"),
    (
        Table::NewOrder,
        "CREATE UNIQUE INDEX new_order_pkey ON new_order (no_w_id, no_d_id, no_o_id)",
    ),
    (
        Table::District,
        "CREATE UNIQUE INDEX district_pkey ON district (d_w_id, d_id)",
    ),
    (
        Table::Warehouse,
        "CREATE UNIQUE INDEX warehouse_pkey ON warehouse (w_id)",
    ),
];

/// Foreign keys: quick, because they are added unchecked.
pub(crate) const FOREIGN_KEYS: [(Table, &str); 7] = [
    (
        Table::District,
        "ALTER TABLE district ADD CONSTRAINT district_warehouse
            FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id) NOT VALID",
    ),
    (
        Table::Customer,
        "ALTER TABLE customer ADD CONSTRAINT customer_district
            FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id) NOT VALID",
    ),
    (
        Table::History,
        "ALTER TABLE history ADD CONSTRAINT history_customer
            FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)
            NOT VALID,
            ADD CONSTRAINT history_district
            FOREIGN KEY (h_w_id, h_d_id) REFERENCES district (d_w_id, d_id) NOT VALID",
    ),
    (
        Table::Orders,
        "ALTER TABLE orders ADD CONSTRAINT orders_customer_fkey
            FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)
            NOT VALID",
    ),
    (
        Table::NewOrder,
        "ALTER TABLE new_order ADD CONSTRAINT new_order_orders
            FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)
            NOT VALID",
    ),
    (
        Table::Stock,
        "ALTER TABLE stock ADD CONSTRAINT stock_warehouse
            FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id) NOT VALID,
            ADD CONSTRAINT stock_item
            FOREIGN KEY (s_i_id) REFERENCES item (i_id) NOT VALID",
    ),
    (
        Table::OrderLine,
        "ALTER TABLE order_line ADD CONSTRAINT order_line_orders
            FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)
            NOT VALID,
            ADD CONSTRAINT order_line_stock
            FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id) NOT VALID",
    ),
];

/// Checks of the foreign keys, the slowest first: they lock little, so tables go in parallel.
pub(crate) const VALIDATIONS: [(Table, &str); 7] = [
    (
        Table::OrderLine,
        "ALTER TABLE order_line VALIDATE CONSTRAINT order_line_stock,
            VALIDATE CONSTRAINT order_line_orders",
    ),
    (
        Table::Stock,
        "ALTER TABLE stock VALIDATE CONSTRAINT stock_item, VALIDATE CONSTRAINT stock_warehouse",
    ),
    (
        Table::History,
        "ALTER TABLE history VALIDATE CONSTRAINT history_customer,
            VALIDATE CONSTRAINT history_district",
    ),
    (
        Table::Orders,
        "ALTER TABLE orders VALIDATE CONSTRAINT orders_customer_fkey",
    ),
    (
        Table::Customer,
        "ALTER TABLE customer VALIDATE CONSTRAINT customer_district",
    ),
    (
        Table::NewOrder,
        "ALTER TABLE new_order VALIDATE CONSTRAINT new_order_orders",
    ),
    (
        Table::District,
        "ALTER TABLE district VALIDATE CONSTRAINT district_warehouse",
    ),
];
