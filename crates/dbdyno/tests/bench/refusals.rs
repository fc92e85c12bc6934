//! Wrong input, refused by its name with the next step.

use super::{Bench, SCRIPT};

#[test]
fn wrong_input_is_refused_by_name_with_the_next_step() {
    let bench = Bench::start();
    let script = bench.file("move.sql");
    std::fs::write(&script, SCRIPT).unwrap();
    let below_a_file = format!("{script}/run.csv");
    for (arguments, named) in [
        (&["run", "tpcx", "{}"][..], "there is no workload tpcx"),
        (&["run", "nowhere.sql", "{}"], "nowhere.sql"),
        (&["run", "tpcc", "{}", "--duration", "soon"], "90s"),
        (
            &["run", "tpcc", "{}", "--connections", "0"],
            "--connections",
        ),
        (&["run", "tpcc", "{}", "--mode", "fast"], "pipelined"),
        (&["run", "tpcc", "{}", "--rate", "0"], "--rate 0"),
        (
            &["run", &script, "{}", "--csv", &below_a_file],
            &below_a_file,
        ),
        (&["run", &script, "{}"], "load"),
        (&["run", "tpcc", "postgres:///db?host=/nowhere"], "/nowhere"),
        (
            &["load", "tpcc", "postgres://localhost:1/db?sslmode=disable"],
            "localhost",
        ),
        (&["load", "tpcc", "{}", "--warehouses", "0"], "--warehouses"),
        (&["load", &script, "{}", "--resume"], "move.sql"),
        (&["load", &script, "{}", "--generate-only"], "move.sql"),
        (&["load", "oltp-insert", "{}", "--tables", "0"], "0 tables"),
        (&["run", "oltp-insert", "{}", "--rand-type", "dice"], "dice"),
        (
            &["run", "oltp-insert", "{}", "--mode", "batched"],
            "batched is for tpcc",
        ),
        (
            &["run", "oltp-insert", "{}", "--mode", "procedures"],
            "procedures is for tpcc",
        ),
        (&["run", "oltp-insert", "{}"], "load"),
    ] {
        bench.refuses(arguments, named);
    }
}
