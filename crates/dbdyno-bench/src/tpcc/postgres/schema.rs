//! The tables, keys and indexes of clauses 1.3 and 1.4 as PostgreSQL has them.
//!
//! Columns are in the specification's order. Ids are as small as they can be: two bytes for a
//! warehouse and a district leave room for a customer or an order in the same eight bytes of a key.
//! Names compare bytewise, so that the customer in the middle is the same under any locale.

use super::sysbench;
use crate::tpcc::names::Layout;
use crate::tpcc::schema::Table;

/// Version of what `dbdyno_tpcc` and the tables look like, kept in the database.
pub(crate) const VERSION: i32 = 2;

/// A table, and a template of a statement about it.
pub(super) type Statement = (Table, &'static str);

/// What a layout is made of.
pub(super) struct Schema {
    pub(super) create: &'static [Statement],
    pub(super) indexes: &'static [Statement],
    pub(super) foreign_keys: &'static [Statement],
    pub(super) validations: &'static [Statement],
}

impl Schema {
    pub(super) fn of(layout: Layout) -> Self {
        match layout {
            Layout::Own => Self {
                create: &CREATE,
                indexes: &INDEXES,
                foreign_keys: &FOREIGN_KEYS,
                validations: &VALIDATIONS,
            },
            Layout::Sysbench => Self {
                create: &sysbench::CREATE,
                indexes: &sysbench::INDEXES,
                foreign_keys: &sysbench::FOREIGN_KEYS,
                validations: &sysbench::VALIDATIONS,
            },
        }
    }
}

const CREATE: [Statement; 9] = [
    (
        Table::Warehouse,
        "CREATE TABLE {warehouse} (
            w_id smallint NOT NULL, w_name varchar(10) NOT NULL,
            w_street_1 varchar(20) NOT NULL, w_street_2 varchar(20) NOT NULL,
            w_city varchar(20) NOT NULL, w_state char(2) NOT NULL, w_zip char(9) NOT NULL,
            w_tax numeric(4,4) NOT NULL, w_ytd numeric(12,2) NOT NULL)",
    ),
    (
        Table::District,
        "CREATE TABLE {district} (
            d_id smallint NOT NULL, d_w_id smallint NOT NULL, d_name varchar(10) NOT NULL,
            d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL,
            d_city varchar(20) NOT NULL, d_state char(2) NOT NULL, d_zip char(9) NOT NULL,
            d_tax numeric(4,4) NOT NULL, d_ytd numeric(12,2) NOT NULL,
            d_next_o_id integer NOT NULL)",
    ),
    (
        Table::Customer,
        r#"CREATE TABLE {customer} (
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
        "CREATE TABLE {history} (
            h_c_id integer NOT NULL, h_c_d_id smallint NOT NULL, h_c_w_id smallint NOT NULL,
            h_d_id smallint NOT NULL, h_w_id smallint NOT NULL, h_date timestamptz NOT NULL,
            h_amount numeric(6,2) NOT NULL, h_data varchar(24) NOT NULL)",
    ),
    (
        Table::Orders,
        "CREATE TABLE {orders} (
            o_id integer NOT NULL, o_d_id smallint NOT NULL, o_w_id smallint NOT NULL,
            o_c_id integer NOT NULL, o_entry_d timestamptz NOT NULL, o_carrier_id smallint,
            o_ol_cnt smallint NOT NULL, o_all_local smallint NOT NULL)",
    ),
    (
        Table::NewOrder,
        "CREATE TABLE {new_order} (
            no_o_id integer NOT NULL, no_d_id smallint NOT NULL, no_w_id smallint NOT NULL)",
    ),
    (
        Table::OrderLine,
        "CREATE TABLE {order_line} (
            ol_o_id integer NOT NULL, ol_d_id smallint NOT NULL, ol_w_id smallint NOT NULL,
            ol_number smallint NOT NULL, ol_i_id integer NOT NULL,
            ol_supply_w_id smallint NOT NULL, ol_delivery_d timestamptz,
            ol_quantity smallint NOT NULL, ol_amount numeric(6,2) NOT NULL,
            ol_dist_info char(24) NOT NULL)",
    ),
    (
        Table::Item,
        "CREATE TABLE {item} (
            i_id integer NOT NULL, i_im_id integer NOT NULL, i_name varchar(24) NOT NULL,
            i_price numeric(5,2) NOT NULL, i_data varchar(50) NOT NULL)",
    ),
    (
        Table::Stock,
        "CREATE TABLE {stock} (
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
const INDEXES: [Statement; 10] = [
    (
        Table::OrderLine,
        "CREATE UNIQUE INDEX {order_line}_pkey
            ON {order_line} (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    ),
    (
        Table::Stock,
        "CREATE UNIQUE INDEX {stock}_pkey ON {stock} (s_w_id, s_i_id)",
    ),
    (
        Table::Customer,
        "CREATE INDEX customer_name{set} ON {customer} (c_w_id, c_d_id, c_last, c_first)",
    ),
    (
        Table::Orders,
        "CREATE INDEX orders_customer{set} ON {orders} (o_w_id, o_d_id, o_c_id, o_id)",
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

/// Foreign keys: quick, because they are added unchecked.
const FOREIGN_KEYS: [Statement; 7] = [
    (
        Table::District,
        "ALTER TABLE {district} ADD CONSTRAINT district_warehouse{set}
            FOREIGN KEY (d_w_id) REFERENCES {warehouse} (w_id) NOT VALID",
    ),
    (
        Table::Customer,
        "ALTER TABLE {customer} ADD CONSTRAINT customer_district{set}
            FOREIGN KEY (c_w_id, c_d_id) REFERENCES {district} (d_w_id, d_id) NOT VALID",
    ),
    (
        Table::History,
        "ALTER TABLE {history} ADD CONSTRAINT history_customer{set}
            FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES {customer} (c_w_id, c_d_id, c_id)
            NOT VALID,
            ADD CONSTRAINT history_district{set}
            FOREIGN KEY (h_w_id, h_d_id) REFERENCES {district} (d_w_id, d_id) NOT VALID",
    ),
    (
        Table::Orders,
        "ALTER TABLE {orders} ADD CONSTRAINT orders_customer_fkey{set}
            FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES {customer} (c_w_id, c_d_id, c_id)
            NOT VALID",
    ),
    (
        Table::NewOrder,
        "ALTER TABLE {new_order} ADD CONSTRAINT new_order_orders{set}
            FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES {orders} (o_w_id, o_d_id, o_id)
            NOT VALID",
    ),
    (
        Table::Stock,
        "ALTER TABLE {stock} ADD CONSTRAINT stock_warehouse{set}
            FOREIGN KEY (s_w_id) REFERENCES {warehouse} (w_id) NOT VALID,
            ADD CONSTRAINT stock_item{set}
            FOREIGN KEY (s_i_id) REFERENCES {item} (i_id) NOT VALID",
    ),
    (
        Table::OrderLine,
        "ALTER TABLE {order_line} ADD CONSTRAINT order_line_orders{set}
            FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES {orders} (o_w_id, o_d_id, o_id)
            NOT VALID,
            ADD CONSTRAINT order_line_stock{set}
            FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES {stock} (s_w_id, s_i_id) NOT VALID",
    ),
];

/// Checks of the foreign keys, the slowest first: they lock little, so tables go in parallel.
const VALIDATIONS: [Statement; 7] = [
    (
        Table::OrderLine,
        "ALTER TABLE {order_line} VALIDATE CONSTRAINT order_line_stock{set},
            VALIDATE CONSTRAINT order_line_orders{set}",
    ),
    (
        Table::Stock,
        "ALTER TABLE {stock} VALIDATE CONSTRAINT stock_item{set},
            VALIDATE CONSTRAINT stock_warehouse{set}",
    ),
    (
        Table::History,
        "ALTER TABLE {history} VALIDATE CONSTRAINT history_customer{set},
            VALIDATE CONSTRAINT history_district{set}",
    ),
    (
        Table::Orders,
        "ALTER TABLE {orders} VALIDATE CONSTRAINT orders_customer_fkey{set}",
    ),
    (
        Table::Customer,
        "ALTER TABLE {customer} VALIDATE CONSTRAINT customer_district{set}",
    ),
    (
        Table::NewOrder,
        "ALTER TABLE {new_order} VALIDATE CONSTRAINT new_order_orders{set}",
    ),
    (
        Table::District,
        "ALTER TABLE {district} VALIDATE CONSTRAINT district_warehouse{set}",
    ),
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
                schema.validations,
            ] {
                let templates: Vec<&str> = statements.iter().map(|(_, sql)| *sql).collect();
                assert_rendered(&templates);
            }
        }
    }

    #[test]
    fn every_foreign_key_is_validated() {
        for layout in Layout::ALL {
            let schema = Schema::of(layout);
            let names = |statements: &[Statement], word: &str| {
                let mut names = Vec::new();
                for (_, sql) in statements {
                    for behind in sql.split(word).skip(1) {
                        let name = behind.split_whitespace().next().unwrap_or_default();
                        names.push(name.trim_end_matches(',').to_owned());
                    }
                }
                names.sort();
                names
            };
            let added = names(schema.foreign_keys, "ADD CONSTRAINT ");
            assert_eq!(added.len(), 10, "{layout:?}");
            assert_eq!(added, names(schema.validations, "VALIDATE CONSTRAINT "));
        }
    }

    #[test]
    fn every_table_but_the_history_has_a_primary_key() {
        for layout in Layout::ALL {
            let indexes = Schema::of(layout).indexes;
            for table in Table::ALL {
                let key = format!("{{{}}}_pkey", table.name());
                let made = indexes.iter().any(|(_, sql)| sql.contains(&key));
                assert_eq!(made, table != Table::History, "{layout:?} {table:?}");
            }
        }
    }
}
