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

use super::sysbench;
use crate::ledger::INNODB;
use crate::tpcc::names::Layout;
use crate::tpcc::schema::Table;

/// Version of what `dbdyno_tpcc` and the tables look like, kept in the database.
pub(crate) const VERSION: i32 = 2;

/// A table, and a template of a statement about it.
pub(super) type Statement = (Table, &'static str);

/// What a layout is made of.
pub(super) struct Schema {
    pub(super) create: &'static [Statement],
    /// Behind each CREATE TABLE.
    pub(super) options: &'static str,
    indexes: &'static [Statement],
    /// Tables whose indexes among these serve nothing but foreign keys.
    for_foreign_keys: &'static [Table],
    pub(super) foreign_keys: &'static [Statement],
}

impl Schema {
    pub(super) fn of(layout: Layout) -> Self {
        match layout {
            Layout::Own => Self {
                create: &CREATE,
                options: INNODB,
                indexes: &INDEXES,
                for_foreign_keys: &[Table::OrderLine, Table::Stock, Table::History],
                foreign_keys: &FOREIGN_KEYS,
            },
            // It has the same indexes with foreign keys and without.
            Layout::Sysbench => Self {
                create: &sysbench::CREATE,
                options: sysbench::OPTIONS,
                indexes: &sysbench::INDEXES,
                for_foreign_keys: &[],
                foreign_keys: &sysbench::FOREIGN_KEYS,
            },
        }
    }

    /// Secondary indexes, with foreign keys or without.
    pub(super) fn indexes(&self, foreign_keys: bool) -> Vec<Statement> {
        let needed = |table: &Table| foreign_keys || !self.for_foreign_keys.contains(table);
        let all = self.indexes.iter().copied();
        all.filter(|(table, _)| needed(table)).collect()
    }
}

const CREATE: [Statement; 9] = [
    (
        Table::Warehouse,
        "CREATE TABLE {warehouse} (
            w_id smallint NOT NULL, w_name varchar(10) NOT NULL,
            w_street_1 varchar(20) NOT NULL, w_street_2 varchar(20) NOT NULL,
            w_city varchar(20) NOT NULL, w_state char(2) NOT NULL, w_zip char(9) NOT NULL,
            w_tax decimal(4,4) NOT NULL, w_ytd decimal(12,2) NOT NULL,
            PRIMARY KEY (w_id))",
    ),
    (
        Table::District,
        "CREATE TABLE {district} (
            d_id smallint NOT NULL, d_w_id smallint NOT NULL, d_name varchar(10) NOT NULL,
            d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL,
            d_city varchar(20) NOT NULL, d_state char(2) NOT NULL, d_zip char(9) NOT NULL,
            d_tax decimal(4,4) NOT NULL, d_ytd decimal(12,2) NOT NULL,
            d_next_o_id int NOT NULL,
            PRIMARY KEY (d_w_id, d_id))",
    ),
    (
        Table::Customer,
        "CREATE TABLE {customer} (
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
        "CREATE TABLE {history} (
            h_c_id int NOT NULL, h_c_d_id smallint NOT NULL, h_c_w_id smallint NOT NULL,
            h_d_id smallint NOT NULL, h_w_id smallint NOT NULL, h_date datetime NOT NULL,
            h_amount decimal(6,2) NOT NULL, h_data varchar(24) NOT NULL,
            h_id bigint NOT NULL AUTO_INCREMENT,
            PRIMARY KEY (h_id))",
    ),
    (
        Table::Orders,
        "CREATE TABLE {orders} (
            o_id int NOT NULL, o_d_id smallint NOT NULL, o_w_id smallint NOT NULL,
            o_c_id int NOT NULL, o_entry_d datetime NOT NULL, o_carrier_id smallint,
            o_ol_cnt smallint NOT NULL, o_all_local smallint NOT NULL,
            PRIMARY KEY (o_w_id, o_d_id, o_id))",
    ),
    (
        Table::NewOrder,
        "CREATE TABLE {new_order} (
            no_o_id int NOT NULL, no_d_id smallint NOT NULL, no_w_id smallint NOT NULL,
            PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
    ),
    (
        Table::OrderLine,
        "CREATE TABLE {order_line} (
            ol_o_id int NOT NULL, ol_d_id smallint NOT NULL, ol_w_id smallint NOT NULL,
            ol_number smallint NOT NULL, ol_i_id int NOT NULL, ol_supply_w_id smallint NOT NULL,
            ol_delivery_d datetime, ol_quantity smallint NOT NULL,
            ol_amount decimal(6,2) NOT NULL, ol_dist_info char(24) NOT NULL,
            PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
    ),
    (
        Table::Item,
        "CREATE TABLE {item} (
            i_id int NOT NULL, i_im_id int NOT NULL, i_name varchar(24) NOT NULL,
            i_price decimal(5,2) NOT NULL, i_data varchar(50) NOT NULL,
            PRIMARY KEY (i_id))",
    ),
    (
        Table::Stock,
        "CREATE TABLE {stock} (
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
const INDEXES: [Statement; 5] = [
    (
        Table::OrderLine,
        "ALTER TABLE {order_line} ADD INDEX order_line_stock{set} (ol_supply_w_id, ol_i_id)",
    ),
    (
        Table::Stock,
        "ALTER TABLE {stock} ADD INDEX stock_item{set} (s_i_id)",
    ),
    (
        Table::Customer,
        "ALTER TABLE {customer} ADD INDEX customer_name{set} (c_w_id, c_d_id, c_last, c_first)",
    ),
    (
        Table::History,
        "ALTER TABLE {history} ADD INDEX history_customer{set} (h_c_w_id, h_c_d_id, h_c_id),
            ADD INDEX history_district{set} (h_w_id, h_d_id)",
    ),
    (
        Table::Orders,
        "ALTER TABLE {orders} ADD INDEX orders_customer{set} (o_w_id, o_d_id, o_c_id, o_id)",
    ),
];

/// Foreign keys: quick, because the rows are not checked while `foreign_key_checks` is off. The
/// loader's own rows refer to nothing that is not there, and it counts them.
const FOREIGN_KEYS: [Statement; 7] = [
    (
        Table::District,
        "ALTER TABLE {district} ADD CONSTRAINT district_warehouse{set}
            FOREIGN KEY (d_w_id) REFERENCES {warehouse} (w_id)",
    ),
    (
        Table::Customer,
        "ALTER TABLE {customer} ADD CONSTRAINT customer_district{set}
            FOREIGN KEY (c_w_id, c_d_id) REFERENCES {district} (d_w_id, d_id)",
    ),
    (
        Table::History,
        "ALTER TABLE {history} ADD CONSTRAINT history_customer{set}
            FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES {customer} (c_w_id, c_d_id, c_id),
            ADD CONSTRAINT history_district{set}
            FOREIGN KEY (h_w_id, h_d_id) REFERENCES {district} (d_w_id, d_id)",
    ),
    (
        Table::Orders,
        "ALTER TABLE {orders} ADD CONSTRAINT orders_customer_fkey{set}
            FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES {customer} (c_w_id, c_d_id, c_id)",
    ),
    (
        Table::NewOrder,
        "ALTER TABLE {new_order} ADD CONSTRAINT new_order_orders{set}
            FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES {orders} (o_w_id, o_d_id, o_id)",
    ),
    (
        Table::Stock,
        "ALTER TABLE {stock} ADD CONSTRAINT stock_warehouse{set}
            FOREIGN KEY (s_w_id) REFERENCES {warehouse} (w_id),
            ADD CONSTRAINT stock_item{set} FOREIGN KEY (s_i_id) REFERENCES {item} (i_id)",
    ),
    (
        Table::OrderLine,
        "ALTER TABLE {order_line} ADD CONSTRAINT order_line_orders{set}
            FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES {orders} (o_w_id, o_d_id, o_id),
            ADD CONSTRAINT order_line_stock{set}
            FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES {stock} (s_w_id, s_i_id)",
    ),
];

/// Statistics, the largest tables first.
pub(super) const ANALYZE: [Statement; 9] = [
    (Table::OrderLine, "ANALYZE TABLE {order_line}"),
    (Table::Stock, "ANALYZE TABLE {stock}"),
    (Table::Customer, "ANALYZE TABLE {customer}"),
    (Table::History, "ANALYZE TABLE {history}"),
    (Table::Orders, "ANALYZE TABLE {orders}"),
    (Table::Item, "ANALYZE TABLE {item}"),
    (Table::NewOrder, "ANALYZE TABLE {new_order}"),
    (Table::District, "ANALYZE TABLE {district}"),
    (Table::Warehouse, "ANALYZE TABLE {warehouse}"),
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
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        for layout in Layout::ALL {
            let schema = Schema::of(layout);
            for statements in [
                schema.create,
                schema.indexes,
                schema.foreign_keys,
                &ANALYZE[..],
            ] {
                let templates: Vec<&str> = statements.iter().map(|(_, sql)| *sql).collect();
                assert_rendered(&templates);
            }
        }
    }

    #[test]
    fn only_our_own_indexes_depend_on_foreign_keys() {
        let count = |layout, foreign_keys| Schema::of(layout).indexes(foreign_keys).len();
        assert_eq!([true, false].map(|keys| count(Layout::Own, keys)), [5, 2]);
        assert_eq!(
            [true, false].map(|keys| count(Layout::Sysbench, keys)),
            [5, 5]
        );
    }

    /// The columns between the brackets behind a word, without blanks.
    fn columns<'a>(sql: &'a str, word: &str) -> Vec<&'a str> {
        let behind = sql.split_once(word).map_or("", |(_, behind)| behind);
        let inside = behind.split_once('(').map_or("", |(_, inside)| inside);
        let inside = inside.split_once(')').map_or("", |(inside, _)| inside);
        inside.split(',').map(str::trim).collect()
    }

    #[test]
    fn every_foreign_key_has_an_index_that_begins_with_its_columns() {
        for schema in Layout::ALL.map(Schema::of) {
            for (table, statement) in schema.foreign_keys {
                let created = schema.create.iter().find(|(created, _)| created == table);
                let mut keys = vec![columns(created.expect("a table").1, "PRIMARY KEY")];
                for (_, added) in schema.indexes.iter().filter(|(of, _)| of == table) {
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
    }

    #[test]
    fn children_are_dropped_before_their_parents() {
        let place = |table: Table| CHILDREN_FIRST.iter().position(|other| *other == table);
        for (table, statement) in FOREIGN_KEYS.into_iter().chain(sysbench::FOREIGN_KEYS) {
            for parent in Table::ALL {
                if statement.contains(&format!("REFERENCES {{{}}} (", parent.name())) {
                    assert!(place(table) < place(parent), "{table:?} {parent:?}");
                }
            }
        }
        assert!(Table::ALL.into_iter().all(|table| place(table).is_some()));
    }
}
