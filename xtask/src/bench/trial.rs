//! The verdict of a `normal` run, with what the driver cost.

use super::tune;

pub(super) fn run() -> Result<(), String> {
    let tune = tune(&["--budget", "normal"])?;
    let verdict = tune.verdict.as_ref().ok_or("no verdict")?;
    println!("trial: {}", dbdyno_report::verdict_sentence(verdict));
    println!(
        "{}",
        dbdyno_report::verdict_page(&tune, None, 100, dbdyno_report::Style::Plain)
    );
    for arm in &tune.arms {
        println!(
            "       {}: driver {:.0} µs, server {:.0} µs of CPU a transaction",
            arm.name,
            arm.driver_cpu_us_per_transaction.unwrap_or(f64::NAN),
            arm.server_cpu_us_per_transaction.unwrap_or(f64::NAN),
        );
    }
    let peak = tune
        .runs
        .iter()
        .filter_map(|run| run.driver.peak_rss_bytes)
        .max();
    println!(
        "       peak memory of dbdyno {:.1} MB",
        peak.unwrap_or(0) as f64 / 1e6
    );
    let directory = crate::command::root().join("target/bench");
    std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    if let Some(svg) = dbdyno_report::pairs_svg(&tune) {
        let path = directory.join("trial.svg");
        std::fs::write(&path, svg).map_err(|error| error.to_string())?;
        println!("       picture: {}", path.display());
    }
    let path = directory.join("trial.json");
    std::fs::write(&path, dbdyno_report::to_json(&tune)).map_err(|error| error.to_string())
}
