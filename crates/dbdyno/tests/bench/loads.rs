//! Loads that are interrupted and resumed, and loads without a server.

use super::*;

#[test]
fn a_load_that_was_interrupted_is_resumed() {
    let bench = Bench::start();
    let target = bench.target();
    let load = ["load", "tpcc", "{}", "--warehouses", "4"];
    let words = load.map(|word| match word {
        "{}" => target.as_str(),
        word => word,
    });
    let child = dbdyno()
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = "SELECT count(*) FROM pg_class WHERE relname = 'dbdyno_tpcc_units'";
    let mut client = bench.running.client();
    while client.query_one(begun, &[]).unwrap().get::<_, i64>(0) == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    process::signal(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(errors.contains("--resume"), "{errors}");

    bench.refuses(&load, "--resume");
    bench.refuses(&["run", "tpcc", "{}"], "--resume");
    let resume = [&load[..], &["--resume"]].concat();
    bench.refuses(&[&resume[..], &["--seed", "9"]].concat(), "seed=9");
    bench.refuses(&[&resume[..], &["--replace"]].concat(), "--replace");
    let loaded = bench.does(&resume);
    assert!(loaded.contains(" rows in "), "{loaded}");
    let nothing = bench.does(&resume);
    assert!(nothing.contains("nothing is left to load"), "{nothing}");
    let verified = bench.does(&["verify", "tpcc", "{}"]);
    assert!(verified.contains("12 of 12 hold"), "{verified}");
}

#[test]
fn rows_are_generated_without_a_server() {
    for (target, form) in [
        ("postgres://nobody@nowhere.invalid/shop", "COPY"),
        ("mysql://nobody@nowhere.invalid/shop", "LOAD DATA"),
    ] {
        let generate = [
            "load",
            "tpcc",
            target,
            "--warehouses",
            "1",
            "--generate-only",
        ];
        let output = dbdyno().args(generate).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        println!("{text}");
        for told in [form, "order_line", " rows/s, ", " of memory at most"] {
            assert!(text.contains(told), "{text}");
        }
        let both = dbdyno().args(generate).arg("--resume").output().unwrap();
        assert_eq!(both.status.code(), Some(2), "{}", stderr(&both));
    }
}
