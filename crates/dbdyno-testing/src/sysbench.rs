//! Tables as sysbench makes them: its columns, keys and texts, and no word of ours.

use dbdyno_model::Engine;

/// What `prepare` of sysbench 1.0.20 sends by default for one table (`create_table` of its
/// `oltp_common.lua`), with rows 1 to `rows`.
pub fn sysbench_table(engine: Engine, table: u32, rows: u64) -> [String; 3] {
    let (id, options) = match engine {
        Engine::Postgres => ("SERIAL", ""),
        Engine::MySql => ("INTEGER NOT NULL AUTO_INCREMENT", "ENGINE = innodb"),
    };
    let each: Vec<String> = (1..=rows)
        .map(|row| {
            let (k, c, pad) = (row * 37 % rows + 1, groups(10, row), groups(5, row + 7));
            format!("({k}, '{c}', '{pad}')")
        })
        .collect();
    [
        format!(
            "CREATE TABLE sbtest{table}(id {id}, k INTEGER DEFAULT '0' NOT NULL,
                c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL,
                PRIMARY KEY (id)) {options}"
        ),
        format!(
            "INSERT INTO sbtest{table}(k, c, pad) VALUES {}",
            each.join(", ")
        ),
        format!("CREATE INDEX k_{table} ON sbtest{table}(k)"),
    ]
}

/// Eleven digits each, with a hyphen between them.
fn groups(count: u64, seed: u64) -> String {
    let groups = (1..=count).map(|group| {
        let digits = (seed * 7_919 + group * 104_729) * 1_299_709 % 100_000_000_000;
        format!("{digits:011}")
    });
    groups.collect::<Vec<String>>().join("-")
}
