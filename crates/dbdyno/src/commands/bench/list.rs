//! `bench list`: the workloads there are.

use dbdyno_bench::oltp::Kind;
use dbdyno_report::hang;

use crate::exit::Failure;
use crate::printer::Printer;

const OWN: [(&str, &str); 2] = [
    (
        "tpcc",
        "TPC-C's nine tables and five transactions, its twelve checks; --mode",
    ),
    (
        "FILE",
        "your own statements: weights, variables, random functions, setup, checks",
    ),
];

pub(super) fn run(printer: &Printer) -> Result<(), Failure> {
    let sysbench = Kind::ALL.map(|kind| (kind.name(), kind.description()));
    let [tpcc, file] = OWN;
    let all = [&[tpcc][..], &sysbench, &[file]].concat();
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
