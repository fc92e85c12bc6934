//! Tables are removed only by who has agreed to it.

use super::Bench;

#[test]
fn nothing_that_was_loaded_is_removed_unasked() {
    let bench = Bench::start();
    for (workload, size) in [
        ("tpcc", ["--warehouses", "1"]),
        ("oltp-insert", ["--table-size", "100"]),
        ("inserts", ["--rows", "1000"]),
        ("friends", ["--rows", "2000"]),
    ] {
        let load = [&["load", workload, "{}"][..], &size].concat();
        // Nothing is there, so that nobody has to be asked.
        bench.does(&[&load[..], &["--replace"]].concat());
        let objects = bench.objects();
        let told = format!("the tables of {workload} would be removed");
        for unasked in [
            &["clean", workload, "{}"][..],
            &[&load[..], &["--replace"]].concat(),
        ] {
            bench.refuses(unasked, &told);
            bench.refuses(unasked, "--yes");
        }
        assert_eq!(bench.objects(), objects);
        bench.does(&["verify", workload, "{}"]);
        bench.refuses(&[&load[..], &["--yes"]].concat(), "--replace");
        bench.does(&[&load[..], &["--replace", "--yes"]].concat());
        let cleaned = bench.does(&["clean", workload, "{}", "--yes"]);
        assert!(cleaned.contains("are removed"), "{cleaned}");
        assert_eq!(bench.objects(), 0, "{workload}");
        let again = bench.does(&["clean", workload, "{}"]);
        assert!(again.contains("nothing to remove"), "{again}");
    }
}
