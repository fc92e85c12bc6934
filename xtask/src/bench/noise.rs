//! The noise of this machine: A/A pairs, so that nobody promises more than it can show.

use dbdyno_stats::s_d;

use super::tune;

/// Quick trials of four pairs each.
const TRIALS: usize = 3;

pub(super) fn run() -> Result<(), String> {
    let mut logs = Vec::new();
    for seed in 1..=TRIALS {
        let seed = seed.to_string();
        let tune = tune(&["--arms", "shipped,shipped", "--seed", &seed])?;
        for pair in 1..=4 {
            let tps = |arm: &str| {
                let kept = |run: &&dbdyno_model::Run| {
                    run.arm == arm && run.pair == Some(pair) && run.discarded.is_none()
                };
                tune.runs
                    .iter()
                    .find(kept)
                    .map(|run| run.tps_with_checkpoint)
            };
            if let Some((a, b)) = tps("shipped").zip(tps("shipped-again")) {
                logs.push((b / a).ln());
            }
        }
    }
    let spread = s_d(&logs).ok_or("not two pairs were kept")?;
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    println!(
        "noise: s_D {:.2} % over {} A/A pairs, mean {:+.2} %",
        100.0 * spread,
        logs.len(),
        100.0 * mean
    );
    println!("       ({TRIALS} × dbdyno tune --arms shipped,shipped)");
    println!(
        "       ratios: {}",
        logs.iter()
            .map(|log| format!("{:.3}", log.exp()))
            .collect::<Vec<_>>()
            .join(" ")
    );
    Ok(())
}
