//! The tables, keys and indexes of clauses 1.3 and 1.4 as MySQL and MariaDB have them, in InnoDB.
//!
//! Columns are in the specification's order. InnoDB keeps rows in their primary key, so that it
//! comes with the table; what else is indexed comes after the rows. History, which has no key of its
//! own, gets a number as its last column: without one InnoDB would take a hidden number that all of
//! its tables share. Names compare bytewise, which every version can do with `utf8mb4_bin`, so that
//! the customer in the middle is the same on all of them. Times are `datetime`, which stays what it
//! is whatever the session's time zone and which ends in 9999, not in 2038.
//!
//! A foreign key needs an index of its columns in the child; those that no other key serves are
//! named, so that they are built with the others, and not one after the other with the constraint.

use crate::tpcc::schema::Table;

/// Version of the layout, kept in the database.
pub(crate) const VERSION: i32 = 1;

pub(super) const CREATE: [(Table, &str); 9] = [
    (
        Table::Warehouse,
        "CREATE TABLE warehouse (
            w_id smallint NOT NULL, w_name varchar(10) NOT NULL,
            w_street_1 varchar(20) NOT NULL, w_street_2 varchar(20) NOT NULL,
            w_city varchar(20) NOT NULL, w_state char(2) NOT NULL, w_zip char(9) NOT NULL,
            w_tax decimal(4,4) NOT NULL, w_ytd decimal(12,2) NOT NULL,
            PRIMARY KEY (w_id))",
    ),
    (
        Table::District,
        "CREATE TABLE district (
            d_id smallint NOT NULL, d_w_id smallint NOT NULL, d_name varchar(10) NOT NULL,
            d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL,
            d_city varchar(20) NOT NULL, d_state char(2) NOT NULL, d_zip char(9) NOT NULL,
            d_tax decimal(4,4) NOT NULL, d_ytd decimal(12,2) NOT NULL,
            d_next_o_id int NOT NULL,
            PRIMARY KEY (d_w_id, d_id))",
    ),
    (
        Table::Customer,
        "CREATE TABLE customer (
            c_id int NOT NULL, c_d_id smallint NOT NULL, c_w_id smallint NOT NULL,
            c_first varchar(16) NOT NULL, c_middle char(2) NOT NULL, c_last varchar(16) NOT NULL,
            c_street_1 varchar(20) NOT NULL, c_street_2 varchar(20) NOT NULL,
            c_city varchar(20) NOT NULL, c_state char(2) NOT NULL, c_zip char(9) NOT NULL,
            c_phone char(16) NOT NULL, c_since datetime NOT NULL, c_credit char(2) NOT NULL,
            c_credit_lim decimal(12,2) NOT NULL, c_discount decimal(4,4) NOT NULL,
            c_balance decimal(12,2) NOT NULL, c_ytd_payment decimal(12,2) NOT NULL,
            c_payment_cnt int NOT NULL, c_delivery_cnt int NOT NULL, c_data varchar(500) NOT NULL,
            PRIMARY KEY (c_w_id, c_d_id, c_id))",
    ),
    (
        Table::History,
        "CREATE TABLE history (
            h_c_id int NOT NULL, h_c_d_id smallint NOT NULL, h_c_w_id smallint NOT NULL,
            h_d_id smallint NOT NULL, h_w_id smallint NOT NULL, h_date datetime NOT NULL,
            h_amount decimal(6,2) NOT NULL, h_data varchar(24) NOT NULL,
            h_id bigint NOT NULL AUTO_INCREMENT,
            PRIMARY KEY (h_id))",
    ),
    (
        Table::Orders,
        "CREATE TABLE orders (
            o_id int NOT NULL, o_d_id smallint NOT NULL, o_w_id smallint NOT NULL,
            o_c_id int NOT NULL, o_entry_d datetime NOT NULL, o_carrier_id smallint,
            o_ol_cnt smallint NOT NULL, o_all_local smallint NOT NULL,
            PRIMARY KEY (o_w_id, o_d_id, o_id))",
    ),
    (
        Table::NewOrder,
        "CREATE TABLE new_order (
            no_o_id int NOT NULL, no_d_id smallint NOT NULL, no_w_id smallint NOT NULL,
            PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
    ),
    (
        Table::OrderLine,
        "CREATE TABLE order_line (
            ol_o_id int NOT NULL, ol_d_id smallint NOT NULL, ol_w_id smallint NOT NULL,
            ol_number smallint NOT NULL, ol_i_id int NOT NULL, ol_supply_w_id smallint NOT NULL,
            ol_delivery_d datetime, ol_quantity smallint NOT NULL,
            ol_amount decimal(6,2) NOT NULL, ol_dist_info char(24) NOT NULL,
            PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
    ),
    (
        Table::Item,
        "CREATE TABLE item (
            i_id int NOT NULL, i_im_id int NOT NULL, i_name varchar(24) NOT NULL,
            i_price decimal(5,2) NOT NULL, i_data varchar(50) NOT NULL,
            PRIMARY KEY (i_id))",
    ),
    (
        Table::Stock,
        "CREATE TABLE stock (
            s_i_id int NOT NULL, s_w_id smallint NOT NULL, s_quantity smallint NOT NULL,
            s_dist_01 char(24) NOT NULL, s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL,
            s_dist_04 char(24) NOT NULL, s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL,
            s_dist_07 char(24) NOT NULL, s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL,
            s_dist_10 char(24) NOT NULL, s_ytd int NOT NULL, s_order_cnt int NOT NULL,
            s_remote_cnt int NOT NULL, s_data varchar(50) NOT NULL,
            PRIMARY KEY (s_w_id, s_i_id))",
    ),
];

/// Secondary indexes, the slowest to build first, so that threads end together. One statement a
/// table: its rows are read once, and no two statements wait for the same table.
pub(super) const INDEXES: [(Table, &str); 5] = [
    (
        Table::OrderLine,
        "ALTER TABLE order_line ADD INDEX order_line_stock (ol_supply_w_id, ol_i_id)",
    ),
    (
        Table::Stock,
        "ALTER TABLE stock ADD INDEX stock_item (s_i_id)",
    ),
    (
        Table::Customer,
        "ALTER TABLE customer ADD INDEX customer_name (c_w_id, c_d_id, c_last, c_first)",
    ),
    (
        Table::History,
        "ALTER TABLE history ADD INDEX history_customer (h_c_w_id, h_c_d_id, h_c_id),
            ADD INDEX history_district (h_w_id, h_d_id)",
    ),
    (
        Table::Orders,
        "ALTER TABLE orders ADD INDEX orders_customer (o_w_id, o_d_id, o_c_id, o_id)",
    ),
];

/// Foreign keys: quick, because the rows are not checked while `foreign_key_checks` is off. The
/// loader's own rows refer to nothing that is not there, and it counts them.
pub(super) const FOREIGN_KEYS: [(Table, &str); 7] = [
    (
        Table::District,
        "ALTER TABLE district ADD CONSTRAINT district_warehouse
            FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id)",
    ),
    (
        Table::Customer,
        "ALTER TABLE customer ADD CONSTRAINT customer_district
            FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id)",
    ),
    (
        Table::History,
        "ALTER TABLE history ADD CONSTRAINT history_customer
            FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer (c_w_id, c_d_id, c_id),
            ADD CONSTRAINT history_district
            FOREIGN KEY (h_w_id, h_d_id) REFERENCES district (d_w_id, d_id)",
    ),
    (
        Table::Orders,
        "ALTER TABLE orders ADD CONSTRAINT orders_customer_fkey
            FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)",
    ),
    (
        Table::NewOrder,
        "ALTER TABLE new_order ADD CONSTRAINT new_order_orders
            FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)",
    ),
    (
        Table::Stock,
        "ALTER TABLE stock ADD CONSTRAINT stock_warehouse
            FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id),
            ADD CONSTRAINT stock_item FOREIGN KEY (s_i_id) REFERENCES item (i_id)",
    ),
    (
        Table::OrderLine,
        "ALTER TABLE order_line ADD CONSTRAINT order_line_orders
            FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id),
            ADD CONSTRAINT order_line_stock
            FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id)",
    ),
];

/// Statistics, the largest tables first.
pub(super) const ANALYZE: [(Table, &str); 9] = [
    (Table::OrderLine, "ANALYZE TABLE order_line"),
    (Table::Stock, "ANALYZE TABLE stock"),
    (Table::Customer, "ANALYZE TABLE customer"),
    (Table::History, "ANALYZE TABLE history"),
    (Table::Orders, "ANALYZE TABLE orders"),
    (Table::Item, "ANALYZE TABLE item"),
    (Table::NewOrder, "ANALYZE TABLE new_order"),
    (Table::District, "ANALYZE TABLE district"),
    (Table::Warehouse, "ANALYZE TABLE warehouse"),
];

/// Every table before those that it refers to, as DROP TABLE needs them.
pub(super) const CHILDREN_FIRST: [Table; 9] = [
    Table::History,
    Table::NewOrder,
    Table::OrderLine,
    Table::Orders,
    Table::Stock,
    Table::Item,
    Table::Customer,
    Table::District,
    Table::Warehouse,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns between the brackets behind a word, without blanks.
    fn columns<'a>(sql: &'a str, word: &str) -> Vec<&'a str> {
        let behind = sql.split_once(word).map_or("", |(_, behind)| behind);
        let inside = behind.split_once('(').map_or("", |(_, inside)| inside);
        let inside = inside.split_once(')').map_or("", |(inside, _)| inside);
        inside.split(',').map(str::trim).collect()
    }

    #[test]
    fn every_foreign_key_has_an_index_that_begins_with_its_columns() {
        for (table, statement) in FOREIGN_KEYS {
            let created = CREATE.iter().find(|(created, _)| *created == table);
            let mut keys = vec![columns(created.expect("a table").1, "PRIMARY KEY")];
            for (_, added) in INDEXES.iter().filter(|(indexed, _)| *indexed == table) {
                let each = added.split("ADD INDEX").skip(1);
                keys.extend(each.map(|index| columns(index, "")));
            }
            for constraint in statement.split("ADD CONSTRAINT").skip(1) {
                let needed = columns(constraint, "FOREIGN KEY");
                assert!(
                    keys.iter().any(|key| key.starts_with(&needed)),
                    "{needed:?}"
                );
            }
        }
    }

    #[test]
    fn children_are_dropped_before_their_parents() {
        let place = |table: Table| CHILDREN_FIRST.iter().position(|other| *other == table);
        for (table, statement) in FOREIGN_KEYS {
            for parent in Table::ALL {
                if statement.contains(&format!("REFERENCES {} (", parent.name())) {
                    assert!(place(table) < place(parent), "{table:?} {parent:?}");
                }
            }
        }
        assert!(Table::ALL.into_iter().all(|table| place(table).is_some()));
    }
}
