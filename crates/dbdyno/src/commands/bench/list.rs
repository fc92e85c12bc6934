//! `bench list`: the workloads there are.

use dbdyno_bench::oltp::Kind;
use dbdyno_report::hang;

use crate::exit::Failure;
use crate::printer::Printer;

const OWN: [(&str, &str); 5] = [
    (
        "tpcc",
        "TPC-C's nine tables and five transactions, its twelve checks; --mode",
    ),
    (
        "inserts",
        "rows by kind of primary key, in order or not; --key, --key-order, --batch, --statements",
    ),
    (
        "selects",
        "the same rows by their primary key; how much of table and index it takes",
    ),
    (
        "friends",
        "a many-to-many table, by a key of its own or clustered by user; --key, --friends",
    ),
    (
        "FILE",
        "your own statements: weights, variables, random functions, setup, checks",
    ),
];

pub(super) fn run(printer: &Printer) -> Result<(), Failure> {
    let sysbench = Kind::ALL.map(|kind| (kind.name(), kind.description()));
    let (first, others) = OWN.split_at(1);
    let all = [first, &sysbench, others].concat();
    let widest = all.iter().map(|(name, _)| name.len()).max();
    let mut text = String::new();
    for (name, what) in all {
        let first = format!("{name:<width$}  ", width = widest.unwrap_or(0));
        for line in hang(&first, what, printer.width()) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text.push_str("\ndbdyno bench load WORKLOAD TARGET, then run, verify and clean\n");
    printer.result(&text)
}
