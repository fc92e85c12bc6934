//! What the tables are called: by the layout, and by the number of their set.

use super::Config;
use super::schema::Table;

/// Which tables there are, and what they are called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layout {
    /// The specification's, with the keys that its transactions need.
    #[default]
    Own,
    /// sysbench-tpcc's, so that either tool drives and checks what the other has made.
    Sysbench,
}

impl Layout {
    pub const ALL: [Self; 2] = [Self::Own, Self::Sysbench];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Sysbench => "sysbench",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.name() == name)
    }
}

/// Names of the tables of one set, and what tells its indexes and constraints from those of others.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// In the order of [`Table::ALL`].
    tables: [String; 9],
    suffix: String,
    /// Where there are several.
    set: Option<u32>,
}

impl Names {
    /// Of the set of this number, counted from 1, among so many.
    pub(crate) fn new(layout: Layout, set: u32, sets: u32) -> Self {
        let suffix = match layout {
            Layout::Own if sets == 1 => String::new(),
            Layout::Own | Layout::Sysbench => set.to_string(),
        };
        let name = |table: Table| match (layout, table) {
            (Layout::Sysbench, Table::NewOrder) => "new_orders",
            (Layout::Own | Layout::Sysbench, table) => table.name(),
        };
        Self {
            tables: Table::ALL.map(|table| format!("{}{suffix}", name(table))),
            suffix,
            set: (sets > 1).then_some(set),
        }
    }

    pub(crate) fn table(&self, table: Table) -> &str {
        &self.tables[table as usize]
    }

    /// The set's number, where there are several.
    pub(crate) fn set(&self) -> Option<u32> {
        self.set
    }

    /// SQL from a template: `{stock}` and the like stand for the tables, by the names that they have
    /// in our own layout of one set; `{set}` for what ends the names of indexes and constraints.
    pub(crate) fn sql(&self, template: &str) -> String {
        let mut sql = String::with_capacity(template.len() + 16);
        let mut rest = template;
        while let Some((before, behind)) = rest.split_once('{') {
            sql.push_str(before);
            let word = behind.split_once('}');
            match word.and_then(|(word, after)| Some((self.stands_for(word)?, after))) {
                Some((name, after)) => {
                    sql.push_str(name);
                    rest = after;
                }
                None => {
                    sql.push('{');
                    rest = behind;
                }
            }
        }
        sql.push_str(rest);
        sql
    }

    fn stands_for(&self, word: &str) -> Option<&str> {
        if word == "set" {
            return Some(&self.suffix);
        }
        let mut tables = Table::ALL.into_iter();
        let table = tables.find(|table| table.name() == word)?;
        Some(self.table(table))
    }
}

/// Each statement for every set, with the name of the table that it is about: the first of all sets
/// before the second of any.
pub(crate) fn statements(config: &Config, templates: &[(Table, &str)]) -> Vec<(String, String)> {
    let sets: Vec<Names> = config.names().collect();
    let mut statements = Vec::with_capacity(sets.len() * templates.len());
    for (table, template) in templates {
        for names in &sets {
            statements.push((names.table(*table).to_owned(), names.sql(template)));
        }
    }
    statements
}

/// Every template becomes SQL: nothing is left to fill in, and no table has been left out.
#[cfg(test)]
pub(crate) fn assert_rendered(templates: &[&str]) {
    const BEFORE_TABLES: [&str; 7] = [
        "FROM",
        "JOIN",
        "INTO",
        "UPDATE",
        "TABLE",
        "REFERENCES",
        "USING",
    ];
    for (layout, set, sets) in [
        (Layout::Own, 1, 1),
        (Layout::Own, 2, 3),
        (Layout::Sysbench, 1, 1),
    ] {
        let names = Names::new(layout, set, sets);
        for template in templates {
            let sql = names.sql(template);
            assert!(!sql.contains(['{', '}']), "{sql}");
            let words: Vec<&str> = sql.split_whitespace().collect();
            for pair in words.windows(2) {
                let name = pair[1].trim_end_matches([',', ';', ')']);
                let plain = Table::ALL.iter().any(|table| table.name() == name);
                let left_out = plain && !names.suffix.is_empty();
                assert!(!(left_out && BEFORE_TABLES.contains(&pair[0])), "{sql}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_set_of_our_own_has_the_plain_names() {
        let names = Names::new(Layout::Own, 1, 1);
        for table in Table::ALL {
            assert_eq!(names.table(table), table.name());
        }
        assert_eq!(names.set(), None);
        assert_eq!(names.sql("x{set} ON {new_order}"), "x ON new_order");
    }

    #[test]
    fn several_sets_have_their_number_behind_each_name() {
        let names = Names::new(Layout::Own, 2, 2);
        assert_eq!(names.table(Table::NewOrder), "new_order2");
        assert_eq!(names.set(), Some(2));
        let sql = names.sql("CREATE INDEX i{set} ON {stock} (s_w_id); {order_line}.x, {orders}");
        let expected = "CREATE INDEX i2 ON stock2 (s_w_id); order_line2.x, orders2";
        assert_eq!(sql, expected);
    }

    #[test]
    fn sysbench_has_a_number_in_any_case() {
        let names = Names::new(Layout::Sysbench, 1, 1);
        let tables = Table::ALL.map(|table| names.table(table).to_owned());
        let expected = [
            "warehouse1",
            "district1",
            "customer1",
            "history1",
            "orders1",
            "new_orders1",
            "order_line1",
            "item1",
            "stock1",
        ];
        assert_eq!(tables, expected);
        assert_eq!(names.set(), None);
    }

    #[test]
    fn statements_come_for_every_set() {
        let config = Config {
            sets: 2,
            ..Config::default()
        };
        let templates = [(Table::Item, "a {item}"), (Table::Stock, "b {stock}")];
        let expected = [
            ("item1", "a item1"),
            ("item2", "a item2"),
            ("stock1", "b stock1"),
            ("stock2", "b stock2"),
        ];
        let expected = expected.map(|(table, sql)| (table.to_owned(), sql.to_owned()));
        assert_eq!(statements(&config, &templates), expected);
    }

    #[test]
    fn a_layout_is_found_by_its_name() {
        for layout in Layout::ALL {
            assert_eq!(Layout::named(layout.name()), Some(layout));
        }
        assert_eq!(Layout::named("tpcc"), None);
    }

    proptest! {
        #[test]
        fn what_stands_for_nothing_stays(text in "[a-z{} ]{0,40}") {
            let names = Names::new(Layout::Own, 1, 1);
            let sql = names.sql(&text);
            let known = Table::ALL.iter().any(|table| text.contains(table.name()));
            prop_assert!(known || text.contains("set") || sql == text, "{}", sql);
        }
    }
}
