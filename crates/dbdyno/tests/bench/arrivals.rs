//! How the transactions of --rate follow each other.

use serde_json::Value;

use super::{Bench, SCRIPT};

#[test]
fn arrivals_are_as_they_were_asked_for_and_the_document_says_how() {
    let bench = Bench::start();
    let file = bench.file("move.sql");
    std::fs::write(&file, SCRIPT).unwrap();
    bench.does(&["load", &file, "{}"]);
    let run = ["run", file.as_str(), "{}", "--duration", "4s", "--json"];
    let poisson = [&run[..], &["--arrivals", "poisson"]].concat();
    bench.refuses(&poisson, "--rate");
    bench.refuses(
        &[&run[..], &["--rate", "9", "--arrivals", "even"]].concat(),
        "poisson",
    );
    let told = |words: &[&str]| -> (Value, f64) {
        let run: Value = serde_json::from_str(&bench.does(words)).unwrap();
        (run["arrivals"].clone(), run["tps"].as_f64().unwrap())
    };
    let rate = ["--rate", "400"];
    let (uniform, _) = told(&[&run[..], &rate].concat());
    assert_eq!(uniform, "uniform");
    let (by_chance, tps) = told(&[&poisson[..], &rate].concat());
    assert_eq!(by_chance, "poisson");
    // Seven standard deviations of two seconds, in case the others are left out.
    assert!((300.0..500.0).contains(&tps), "{tps}");
    let (closed, _) = told(&run);
    assert_eq!(closed, Value::Null);
}
