//! The figures of trials that went well, badly and not at all.

use std::collections::BTreeSet;
use std::fmt::Write;

use dbdyno_model::Tune;
use dbdyno_model::run::Latency;
use dbdyno_model::verdict::Word;

use super::*;
use crate::{number, testing};

/// The trials that every figure is looked at with.
fn trials() -> Vec<(&'static str, Tune)> {
    let improved = testing::with_dropped_pairs(testing::tune());
    let mut noisy = testing::with_dropped_pairs(testing::tune_with(Word::TooNoisy));
    noisy.arms.clear();
    vec![
        ("improved", improved),
        ("undecided", testing::tune_with(Word::Undecided)),
        ("too_noisy", noisy),
        ("crowded", testing::crowded()),
        ("interrupted", testing::interrupted()),
        ("unsafe", testing::with_unsafe_runs(testing::tune())),
        ("without_histograms", without_histograms(testing::tune())),
    ]
}

/// As documents were before runs kept their histograms.
fn without_histograms(mut tune: Tune) -> Tune {
    for run in &mut tune.runs {
        run.open_loop = None;
        for stats in &mut run.per_transaction {
            stats.histogram = None;
        }
    }
    for arm in &mut tune.arms {
        arm.latency_origin = Some("actual start (closed loop)".to_owned());
    }
    tune
}

/// All of the figures as one text.
fn written(figures: &[Figure]) -> String {
    let mut text = String::new();
    for figure in figures {
        let _ = writeln!(
            text,
            "# {}: {}\n{}",
            figure.id, figure.title, figure.caption
        );
        let table = &figure.table;
        let _ = writeln!(text, "## {}\n{}", table.caption, table.head.join(" | "));
        for row in &table.rows {
            let _ = writeln!(text, "{}", row.join(" | "));
        }
        for svg in &figure.svgs {
            text.push_str(&svg.render());
        }
    }
    text
}

#[test]
fn figures_of_trials() {
    for (name, tune) in trials() {
        let figures = figures(&tune);
        let text = written(&figures);
        assert_eq!(written(&super::figures(&tune)), text);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{name}");
        for figure in &figures {
            assert!(!figure.svgs.is_empty() && !figure.table.rows.is_empty());
            let columns = figure.table.head.len();
            assert!(figure.table.rows.iter().all(|row| row.len() == columns));
        }
        // Of the trials that differ in one figure alone, that one.
        let shown = match name {
            "too_noisy" => written(&figures[..1]),
            "without_histograms" => written(&figures[2..3]),
            _ => text,
        };
        insta::assert_snapshot!(format!("figures_{name}"), shown);
    }
}

#[test]
fn ids_are_unique_and_named() {
    let figures = figures(&testing::with_unsafe_runs(testing::tune()));
    let text = written(&figures);
    let ids: Vec<&str> = text
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len());
    for name in text.split("labelledby=\"").skip(1) {
        assert!(unique.contains(name.split('"').next().unwrap()));
    }
    assert_eq!(ids.len(), 2 * text.matches("<svg").count());
    assert!(!text.contains("<style") && !text.contains("style=\""));
}

/// Rates and latencies of a server a thousand times as fast, and of one as slow.
fn of_other_machines() -> [(&'static str, Tune); 2] {
    [("fast", 1e3), ("slow", 1e-3)].map(|(name, factor)| {
        let mut tune = without_histograms(testing::tune());
        for run in &mut tune.runs {
            run.tps *= factor;
            run.tps_with_checkpoint *= factor;
            for second in &mut run.series {
                second.transactions = (second.transactions as f64 * factor) as u64;
            }
            for stats in &mut run.per_transaction {
                stats.latency_ms = stats.latency_ms.map(|latency| {
                    let [p50, p95, p99, p999] =
                        [latency.p50, latency.p95, latency.p99, latency.p999].map(|ms| ms / factor);
                    let mean = latency.mean / factor;
                    let max = latency.max / factor;
                    Latency {
                        p50,
                        p95,
                        p99,
                        p999,
                        mean,
                        max,
                        ..latency
                    }
                });
            }
        }
        for arm in &mut tune.arms {
            arm.tps_mean = arm.tps_mean.map(|tps| tps * factor);
        }
        (name, tune)
    })
}

#[test]
fn all_text_lies_within_its_panel() {
    for (name, tune) in trials().into_iter().chain(of_other_machines()) {
        for svg in figures(&tune).iter().flat_map(|figure| &figure.svgs) {
            let text = svg.render();
            for label in text.split("<text").skip(1) {
                let attribute = |name: &str| {
                    let rest = label.split(&format!(" {name}=\"")).nth(1)?;
                    rest.split('"').next().map(str::to_owned)
                };
                let content = label.split('>').nth(1).unwrap().split('<').next().unwrap();
                let content = content.replace("&gt;", ">");
                let bold = attribute("class").is_some_and(|class| class == "title");
                let width = width_of(&content) * if bold { BOLD } else { 1.0 };
                let x: f64 = attribute("x").unwrap().parse().unwrap();
                let left = match attribute("text-anchor").as_deref() {
                    Some("end") => x - width,
                    Some("middle") => x - width / 2.0,
                    _ => x,
                };
                let inside = left >= -1.0 && left + width <= WIDTH + 1.0;
                assert!(
                    inside,
                    "{name}: {content:?} from {left} to {}",
                    left + width
                );
            }
        }
    }
}

#[test]
fn dropped_pairs_are_crosses_with_reasons() {
    let figure = pairs_figure(&testing::with_dropped_pairs(testing::tune())).unwrap();
    let svg = figure.svgs[0].render();
    assert_eq!(svg.matches("<circle").count(), 4);
    assert_eq!(svg.matches("m-4 -4l8 8m0 -8l-8 8").count(), 1);
    let dropped: Vec<&Vec<String>> = figure
        .table
        .rows
        .iter()
        .filter(|row| row[4].starts_with("no: "))
        .collect();
    assert_eq!(dropped.len(), 2);
    assert_eq!(dropped[0][3], "1.10");
    assert_eq!(dropped[1][2..4], [number::MISSING, number::MISSING]);
    assert!(figure.caption.contains("1 of them without a ratio"));
}

#[test]
fn the_interval_is_the_verdicts_and_noise_takes_it_away() {
    let figure = pairs_figure(&testing::tune()).unwrap();
    assert_eq!(figure.svgs[0].render().matches("\"band\"").count(), 1);
    let mut tune = testing::tune_with(Word::TooNoisy);
    tune.verdict.as_mut().unwrap().interval = Some([0.5, 2.0]);
    let figure = pairs_figure(&tune).unwrap();
    assert!(!figure.svgs[0].render().contains("\"band\""));
    assert!(figure.caption.contains("too noisy"));
}

#[test]
fn a_second_is_the_median_of_the_runs_with_its_spread() {
    let mut tune = testing::tune();
    for (index, run) in tune
        .runs
        .iter_mut()
        .filter(|run| run.arm == "shipped")
        .enumerate()
    {
        run.series[9].transactions = [100, 400, 200, 300][index];
    }
    let figure = series_figure(&tune).unwrap();
    assert_eq!(figure.svgs.len(), 2);
    let row = figure.table.rows.iter().find(|row| row[0] == "10").unwrap();
    assert_eq!(row[1], "250 (100 to 400)");
}

#[test]
fn checkpoints_of_both_kinds_are_told_apart() {
    let mut tune = testing::tune();
    tune.runs[0].series[20].checkpoints_timed = Some(1);
    let figure = series_figure(&tune).unwrap();
    let row = figure.table.rows.iter().find(|row| row[0] == "21").unwrap();
    assert_eq!(row[3], "shipped: checkpoint on time in 1 of 4 runs");
    let row = figure.table.rows.iter().find(|row| row[0] == "34").unwrap();
    assert_eq!(row[3], "shipped: checkpoint on request in 4 of 4 runs");
    let row = figure.table.rows.iter().find(|row| row[0] == "61").unwrap();
    assert!(row[3].contains("recommended: closing checkpoint begins in 4 of 4 runs"));
}

#[test]
fn latency_comes_from_merged_histograms_of_the_open_loop() {
    let figure = latency_figure(&testing::tune()).unwrap();
    assert_eq!(figure.svgs.len(), 5);
    assert!(figure.caption.contains("intended start"));
    // Three runs have the step: the first pair only found its rate.
    let row = &figure.table.rows[0];
    assert_eq!(row[..2], ["new_order", "shipped"]);
    assert_eq!(row[7], number::count(3 * (1_690 * 15 * 45 / 100)));
    // 3,042 samples leave 3 above p99.9.
    let rare = figure
        .table
        .rows
        .iter()
        .find(|row| row[0] == "delivery")
        .unwrap();
    assert_eq!(rare[5], number::MISSING);
    assert_ne!(rare[4], number::MISSING);
}

#[test]
fn different_origins_are_told() {
    let mut tune = testing::tune();
    tune.arms[1].latency_origin = Some("actual start (closed loop)".to_owned());
    let caption = latency_figure(&tune).unwrap().caption;
    assert!(
        caption.contains("does not count from the same moment"),
        "{caption}"
    );
}

#[test]
fn an_arm_without_histograms_is_named() {
    let mut tune = testing::tune();
    for run in tune.runs.iter_mut().filter(|run| run.arm == "shipped") {
        for stats in run
            .open_loop
            .iter_mut()
            .flat_map(|step| &mut step.per_transaction)
        {
            stats.histogram = Some("unreadable".to_owned());
        }
    }
    let figure = latency_figure(&tune).unwrap();
    assert!(figure.caption.contains("want of histograms: shipped."));
    assert!(figure.table.rows.iter().all(|row| row[1] == "recommended"));
}

#[test]
fn without_histograms_each_run_is_a_dot() {
    let figure = latency_figure(&without_histograms(testing::tune())).unwrap();
    assert!(figure.caption.contains("no histograms"));
    let svg = figure.svgs[0].render();
    assert!(!svg.contains("\"line a1\""));
    // Four runs of the judged arm: p50, p95, p99 and max; p99.9 has too few samples.
    assert_eq!(svg.matches("<circle").count(), 16);
}

#[test]
fn unknown_values_are_dashes_and_a_metric_nobody_knows_has_no_panel() {
    let mut tune = testing::tune();
    tune.arms[0].recovery_s = None;
    for run in &mut tune.runs {
        run.server.blocks_read = None;
    }
    let figure = bars_figure(&tune).unwrap();
    assert_eq!(figure.svgs.len(), 6);
    assert_eq!(figure.table.rows[0][4], number::MISSING);
    assert_eq!(figure.table.rows[0][7], number::MISSING);
    assert!(figure.svgs[5].render().contains(">–</text>"));
}

#[test]
fn a_miss_is_never_rounded_away() {
    let mut tune = testing::tune();
    for run in &mut tune.runs {
        run.server.blocks_hit = Some(9_999_990);
        run.server.blocks_read = Some(10);
    }
    let figure = bars_figure(&tune).unwrap();
    assert!(figure.table.rows[0][4].starts_with("> 99.9"));
}

#[test]
fn nothing_measured_draws_nothing() {
    let mut tune = testing::tune();
    tune.runs.clear();
    tune.arms.clear();
    assert_eq!(figures(&tune), []);
    tune.verdict = None;
    assert_eq!(figures(&tune), []);
}

#[test]
fn runs_without_arms_or_verdict_are_drawn() {
    let mut tune = testing::tune();
    tune.arms.clear();
    tune.verdict = None;
    let figures = figures(&tune);
    let ids: Vec<&str> = figures.iter().map(|figure| figure.id).collect();
    assert_eq!(ids, ["pairs", "series", "latency", "bars"]);
    assert!(figures[0].caption.contains("no interval yet"));
}

/// For looking at the figures: `DBDYNO_CHARTS=DIR cargo test -p dbdyno-report write_figures`; with
/// `DBDYNO_TUNE=FILE` those of that document.
#[test]
fn write_figures() {
    let Some(directory) = std::env::var_os("DBDYNO_CHARTS") else {
        return;
    };
    let mut trials: Vec<(String, Tune)> = trials()
        .into_iter()
        .map(|(name, tune)| (name.to_owned(), tune))
        .collect();
    if let Some(file) = std::env::var_os("DBDYNO_TUNE") {
        let text = std::fs::read_to_string(file).unwrap();
        trials.push(("document".to_owned(), serde_json::from_str(&text).unwrap()));
    }
    for (name, tune) in trials {
        let mut html = format!(
            "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>\
             <style>:root{{color-scheme:light dark}}body{{margin:16px;background:#fff;font-family:system-ui}}\
             @media (prefers-color-scheme:dark){{body{{background:#111827;color:#f3f4f6}}}}\
             {FIGURE_STYLE}</style><h1>{name}</h1>"
        );
        for figure in figures(&tune) {
            let _ = write!(html, "<h2>{}</h2><div class=dbdyno-panels>", figure.title);
            for svg in &figure.svgs {
                html.push_str(&svg.render());
            }
            let _ = write!(html, "</div><p>{}</p>", figure.caption);
        }
        let path = std::path::Path::new(&directory).join(format!("{name}.html"));
        std::fs::write(path, html).unwrap();
    }
}
