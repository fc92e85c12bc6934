//! The charts of a trial: one that stands alone, and the figures of a page.

use dbdyno_model::{Run, Tune, Verdict};

use crate::number;
use crate::svg::Element;
use crate::text::{plural, wrap};
use crate::verdict::{broken_checks, measured_on, verdict_sentence};

mod figure;
mod labels;
mod pairs;
mod scale;
mod series;

pub use figure::{
    FIGURE_STYLE, Figure, FigureTable, bars_figure, figures, latency_figure, pairs_figure,
    series_figure,
};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 52.0;

/// Characters that fit the chart's width in the widest of the usual system fonts.
const TITLE_CHARS: usize = 72;
const SUBTITLE_CHARS: usize = 110;

/// Lines above the panels, title and subtitle together, and at most for the title.
const HEADING_LINES: usize = 5;
const TITLE_LINES: usize = 3;

/// Everything is scoped to the class: written into a page, the chart must not restyle it.
/// Colours are Okabe and Ito's; each scheme has the one that is legible on its paper.
const STYLE: &str = "\
.dbdyno-chart{color:#111827;font:11px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;\
font-variant-numeric:tabular-nums}\
.dbdyno-chart .paper{fill:#fff}\
.dbdyno-chart text{fill:currentColor}\
.dbdyno-chart .title{font-size:14px;font-weight:600}\
.dbdyno-chart .muted{opacity:.75}\
.dbdyno-chart .grid{stroke:currentColor;stroke-width:1;opacity:.14}\
.dbdyno-chart .one{stroke:currentColor;stroke-width:1.25}\
.dbdyno-chart .floor{fill:currentColor;opacity:.07}\
.dbdyno-chart .edge{stroke:currentColor;stroke-dasharray:2 4;opacity:.6}\
.dbdyno-chart .lead{fill:none;stroke:currentColor;opacity:.4}\
.dbdyno-chart .halo{paint-order:stroke;stroke:#fff;stroke-width:3;stroke-linejoin:round}\
.dbdyno-chart .band{fill:#0072b2;opacity:.18}\
.dbdyno-chart .centre{stroke:#0072b2;stroke-width:1.5}\
.dbdyno-chart .dot{fill:#0072b2;stroke:#fff;stroke-width:1}\
.dbdyno-chart .arm{fill:none;stroke:#0072b2;stroke-width:1.25}\
.dbdyno-chart .base{fill:none;stroke:#6b7280;stroke-width:1.25}\
.dbdyno-chart .checkpoint{fill:#d55e00}\
@media (prefers-color-scheme:dark){\
.dbdyno-chart{color:#f3f4f6}\
.dbdyno-chart .paper{fill:#111827}\
.dbdyno-chart .halo{stroke:#111827}\
.dbdyno-chart .band{fill:#56b4e9}\
.dbdyno-chart .centre{stroke:#56b4e9}\
.dbdyno-chart .dot{fill:#56b4e9;stroke:#111827}\
.dbdyno-chart .arm{stroke:#56b4e9}\
.dbdyno-chart .base{stroke:#9ca3af}}";

/// A kept pair: its runs, and arm / base of the metric that was judged.
struct Pair<'a> {
    number: u32,
    ratio: f64,
    base: &'a Run,
    arm: &'a Run,
}

/// Every pair with the final interval, and a typical pair second by second, as an SVG document:
/// the same bytes for the same trial; none where no trial was run or no pair was kept.
#[must_use]
pub fn pairs_svg(tune: &Tune) -> Option<String> {
    let verdict = tune.verdict.as_ref()?;
    let pairs = kept_pairs(tune, &verdict.base, &verdict.arm, &verdict.metric);
    let typical = typical_pair(&pairs)?;
    let mut title = verdict_sentence(verdict);
    if !broken_checks(tune).is_empty() {
        title.insert_str(0, "Consistency check failed, numbers worthless: ");
    }
    let mut svg = Element::new("svg")
        .with("xmlns", "http://www.w3.org/2000/svg")
        .with("class", "dbdyno-chart")
        .with("role", "img")
        .with("viewBox", format!("0 0 {WIDTH} {HEIGHT}"))
        .at("width", WIDTH)
        .at("height", HEIGHT)
        .child(Element::new("title").text(title.as_str()))
        .child(Element::new("desc").text(description(tune, verdict, &pairs, typical)))
        .child(Element::new("style").text(STYLE))
        .child(
            Element::new("rect")
                .with("class", "paper")
                .at("width", WIDTH)
                .at("height", HEIGHT),
        );
    heading(&mut svg, &title, &measured_on(tune, verdict));
    svg.push(pairs::panel(verdict, &pairs));
    svg.push(series::panels(verdict, typical));
    Some(svg.render())
}

/// Pairs of which both arms have a run that counts, in their order.
fn kept_pairs<'a>(tune: &'a Tune, base: &str, arm: &str, metric: &str) -> Vec<Pair<'a>> {
    let kept = || tune.runs.iter().filter(|run| run.discarded.is_none());
    let mut pairs: Vec<Pair<'a>> = kept()
        .filter(|run| run.arm == base)
        .filter_map(|base| {
            let number = base.pair?;
            let arm = kept().find(|run| run.pair == Some(number) && run.arm == arm)?;
            Some(Pair {
                number,
                ratio: ratio(base, arm, metric)?,
                base,
                arm,
            })
        })
        .collect();
    pairs.sort_by_key(|pair| pair.number);
    pairs
}

/// What a trial judges of a run.
fn judged(run: &Run, metric: &str) -> f64 {
    if metric == "tps" {
        run.tps
    } else {
        run.tps_with_checkpoint
    }
}

/// arm / base; none where it is not a positive number.
fn ratio(base: &Run, arm: &Run, metric: &str) -> Option<f64> {
    let ratio = judged(arm, metric) / judged(base, metric);
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

/// The pair nearest to the mean of all: a rule, so that nobody chooses the prettiest.
fn typical_pair<'a, 'b>(pairs: &'b [Pair<'a>]) -> Option<&'b Pair<'a>> {
    let mean = pairs.iter().map(|pair| pair.ratio.ln()).sum::<f64>() / pairs.len() as f64;
    let distance = |pair: &Pair<'_>| (pair.ratio.ln() - mean).abs();
    pairs
        .iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// Title and subtitle; what is cut is in the title and description of the document, in full.
fn heading(svg: &mut Element, title: &str, subtitle: &str) {
    let title = first_lines(wrap(title, TITLE_CHARS), TITLE_LINES);
    let room = HEADING_LINES - title.len();
    // The workload and its disclaimer come first, so that they are never what is cut.
    let subtitle = first_lines(wrap(subtitle, SUBTITLE_CHARS), room);
    let mut y = 22.0;
    for line in title {
        svg.push(label("title", 16.0, y, &line));
        y += 17.0;
    }
    for line in subtitle {
        svg.push(label("muted", 16.0, y, &line));
        y += 14.0;
    }
}

fn first_lines(mut lines: Vec<String>, most: usize) -> Vec<String> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.push('…');
        }
    }
    lines
}

/// What the chart shows, for those who hear it.
fn description(tune: &Tune, verdict: &Verdict, pairs: &[Pair<'_>], typical: &Pair<'_>) -> String {
    let ratios: Vec<String> = pairs
        .iter()
        .map(|pair| format!("pair {}: {}", pair.number, number::measured(pair.ratio)))
        .collect();
    let floor = verdict.noise_floor;
    format!(
        "Ratios of TPS, {} to {}, in {}: {}. Noise floor {}. Below, transactions of each second \
         in pair {}, the nearest to the mean, with its checkpoints. Measured on {}.",
        verdict.arm,
        verdict.base,
        plural(pairs.len() as u64, "pair"),
        ratios.join(", "),
        number::or_missing(floor, number::percent),
        typical.number,
        measured_on(tune, verdict)
    )
}

/// Text that starts at a point.
fn label(class: &str, x: f64, y: f64, text: &str) -> Element {
    let element = Element::new("text").at("x", x).at("y", y);
    let element = if class.is_empty() {
        element
    } else {
        element.with("class", class)
    };
    element.text(text)
}

/// A straight line.
fn line(class: &str, from: [f64; 2], to: [f64; 2]) -> Element {
    Element::new("line")
        .with("class", class)
        .at("x1", from[0])
        .at("y1", from[1])
        .at("x2", to[0])
        .at("y2", to[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use dbdyno_model::verdict::Word;

    #[test]
    fn charts() {
        for word in [
            Word::Improved,
            Word::Worse,
            Word::NoDifference,
            Word::Undecided,
            Word::TooNoisy,
        ] {
            let tune = testing::tune_with(word);
            let svg = pairs_svg(&tune).unwrap();
            assert_eq!(pairs_svg(&tune).unwrap(), svg);
            assert!(!svg.contains("NaN") && !svg.contains("inf\""));
            insta::assert_snapshot!(format!("chart_{}", word.as_str()), svg);
        }
    }

    #[test]
    fn unsafe_arms_and_dropped_pairs_are_not_in_it() {
        let plain = pairs_svg(&testing::tune()).unwrap();
        let mut tune = testing::with_unsafe_arms(testing::tune());
        assert_eq!(pairs_svg(&tune).unwrap(), plain);
        let last = tune.runs.len() - 1;
        tune.runs[last].discarded = Some("steal 3 %".to_owned());
        let fewer = pairs_svg(&tune).unwrap();
        assert_eq!(fewer.matches("<circle").count(), 3);
    }

    #[test]
    fn a_broken_trial_is_not_praised() {
        let mut tune = testing::tune();
        tune.consistency[0].passed = false;
        let svg = pairs_svg(&tune).unwrap();
        assert!(svg.contains("<title>Consistency check failed"));
    }

    #[test]
    fn without_a_pair_there_is_no_chart() {
        let mut tune = testing::tune();
        tune.runs.clear();
        assert_eq!(pairs_svg(&tune), None);
        tune.verdict = None;
        assert_eq!(pairs_svg(&tune), None);
    }

    #[test]
    fn one_pair_without_series_or_interval_is_drawn() {
        let mut tune = testing::tune();
        tune.runs.truncate(2);
        tune.runs[0].series.clear();
        let verdict = tune.verdict.as_mut().unwrap();
        verdict.interval = None;
        verdict.noise_floor = None;
        let svg = pairs_svg(&tune).unwrap();
        assert!(svg.contains("no seconds recorded"));
        assert!(!svg.contains("class=\"band\""));
    }

    #[test]
    fn many_pairs_and_long_names_fit() {
        let svg = pairs_svg(&testing::crowded()).unwrap();
        assert_eq!(svg.matches("<circle").count(), 20);
        insta::assert_snapshot!("chart_crowded", svg);
    }

    /// For looking at the charts: `DBDYNO_CHARTS=DIR cargo test -p dbdyno-report write_charts`.
    #[test]
    fn write_charts() {
        let Some(directory) = std::env::var_os("DBDYNO_CHARTS") else {
            return;
        };
        for word in [
            Word::Improved,
            Word::NoDifference,
            Word::Undecided,
            Word::TooNoisy,
        ] {
            let path = std::path::Path::new(&directory).join(format!("{}.svg", word.as_str()));
            std::fs::write(path, pairs_svg(&testing::tune_with(word)).unwrap()).unwrap();
        }
        let path = std::path::Path::new(&directory).join("crowded.svg");
        std::fs::write(path, pairs_svg(&testing::crowded()).unwrap()).unwrap();
    }
}
