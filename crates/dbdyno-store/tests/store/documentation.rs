//! What docs/reference/store.md says of the tables is true of them.

use std::path::Path;

use crate::bed::Bed;
use crate::trials::tune;

crate::on_both!(
    the_queries_in_the_documentation_answer,
    every_column_is_explained
);

fn documentation() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/store.md");
    std::fs::read_to_string(file).unwrap()
}

/// The queries stand in fences of their own, in words that both engines know.
fn the_queries_in_the_documentation_answer(bed: &Bed) {
    bed.open().save(&tune()).unwrap();
    let documentation = documentation();
    let queries: Vec<&str> = documentation
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert_eq!(queries.len(), 2);
    for query in queries {
        let query = query.trim().trim_end_matches(';');
        let rows = match bed.is_sqlite() {
            true => bed.rows(query),
            false => bed.rows(
                &query
                    .replace("FROM ", "FROM dbdyno.")
                    .replace("JOIN ", "JOIN dbdyno."),
            ),
        };
        assert!(!rows.is_empty(), "{query}");
    }
}

fn every_column_is_explained(bed: &Bed) {
    drop(bed.open());
    let documentation = documentation();
    for table in ["meta", "trial", "run"] {
        let section = documentation
            .split(&format!("## {table}\n"))
            .nth(1)
            .unwrap();
        let section = section.split("\n## ").next().unwrap();
        let columns = bed.rows(&match bed.is_sqlite() {
            true => format!("SELECT name FROM pragma_table_info('{table}')"),
            false => format!(
                "SELECT attname FROM pg_attribute \
                 WHERE attrelid = 'dbdyno.{table}'::regclass AND attnum > 0"
            ),
        });
        assert!(columns.len() > 1, "{columns:?}");
        for column in columns {
            let name = column
                .trim_start_matches("Text(")
                .trim_matches(['(', ')', '"']);
            assert!(
                section.contains(&format!("`{name}`")),
                "{table}.{name} is not explained"
            );
        }
    }
}
