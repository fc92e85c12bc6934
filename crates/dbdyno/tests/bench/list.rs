//! `dbdyno bench list`: every workload by its name, and no name that the other commands do not take.

use std::collections::BTreeSet;

use super::{dbdyno, stderr};

#[test]
fn the_list_names_every_workload_and_each_name_is_known() {
    let output = dbdyno().arg("list").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let table = text.split("\n\n").next().unwrap();
    // What goes on from the line above is indented.
    let first = table.lines().filter(|line| !line.starts_with(' '));
    let names: BTreeSet<&str> = first.filter_map(|line| line.split(' ').next()).collect();
    let expected = [
        "FILE",
        "friends",
        "inserts",
        "oltp-delete",
        "oltp-insert",
        "oltp-point-select",
        "oltp-read-only",
        "oltp-read-write",
        "oltp-update-index",
        "oltp-update-non-index",
        "oltp-write-only",
        "select-random-points",
        "select-random-ranges",
        "selects",
        "tpcc",
    ];
    assert_eq!(names, BTreeSet::from(expected), "{text}");

    // Nobody listens there.
    let server = "mysql://nobody@127.0.0.1:1/shop?ssl-mode=DISABLED";
    for name in names.into_iter().filter(|name| *name != "FILE") {
        let output = dbdyno().args(["run", name, server]).output().unwrap();
        let errors = stderr(&output);
        assert!(!output.status.success(), "{name}");
        assert!(!errors.contains("there is no workload"), "{errors}");
    }
}
