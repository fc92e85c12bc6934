//! Options of one workload given to another: refused by every command, before a server is asked.

use super::{dbdyno, stderr};

#[test]
fn an_option_of_another_workload_is_refused_by_name() {
    // Nobody listens there.
    let server = "postgres://nobody@127.0.0.1:1/shop?sslmode=disable";
    for (action, workload, option, value, taken_by) in [
        ("load", "tpcc", "--tables", "1", "oltp-*"),
        ("run", "tpcc", "--batch", "1", "inserts and selects"),
        (
            "verify",
            "tpcc",
            "--rows",
            "1",
            "inserts and selects, friends",
        ),
        ("clean", "tpcc", "--table-size", "10000", "oltp-*"),
        (
            "load",
            "oltp-insert",
            "--filler",
            "9",
            "inserts and selects",
        ),
        ("load", "oltp-insert", "--warehouses", "10", "tpcc"),
        ("run", "oltp-read-only", "--statements", "2", "inserts"),
        ("clean", "oltp-insert", "--key-order", "random", "inserts"),
        ("load", "inserts", "--warehouses", "1", "tpcc"),
        ("run", "selects", "--mode", "pipelined", "tpcc, oltp-*"),
        ("verify", "friends", "--sets", "1", "tpcc"),
        ("load", "move.sql", "--seed", "1", "tpcc, oltp-*"),
        ("run", "move.sql", "--rand-type", "special", "oltp-*"),
    ] {
        let words = [action, workload, server, option, value];
        let output = dbdyno().args(words).output().unwrap();
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {errors}");
        let expected = format!("error: {option} is not for {workload}\n");
        assert!(errors.contains(&expected), "{words:?}: {errors}");
        let hint = format!("hint: leave it out: it is for {taken_by}");
        assert!(errors.contains(&hint), "{words:?}: {errors}");
        assert!(output.stdout.is_empty(), "{words:?}");
    }
}
