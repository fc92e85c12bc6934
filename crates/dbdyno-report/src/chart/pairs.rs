//! A dot for each pair, the final interval as a band, and what noise alone would hide.

use dbdyno_model::Verdict;

use super::scale::{Scale, log_range, ratio_ticks};
use super::{LEFT, Pair, label, labels, line};
use crate::number;
use crate::svg::Element;
use crate::text::cut;

const RIGHT: f64 = 560.0;
const TOP: f64 = 112.0;
const BOTTOM: f64 = 218.0;

/// Characters that fit beside the panel.
const MARGIN_CHARS: usize = 22;

/// Characters of an arm's name above the panel.
const NAME_CHARS: usize = 40;

/// Beyond so many, the values over the dots would touch.
const MOST_VALUES: usize = 14;

/// The panel; its vertical axis is logarithmic, so that half and double are equally far from 1.
pub(super) fn panel(verdict: &Verdict, pairs: &[Pair<'_>]) -> Element {
    let [low, high] = range(verdict, pairs);
    let y = Scale::new([low.ln(), high.ln()], [BOTTOM, TOP]);
    let mut group = Element::new("g");
    let title = format!(
        "TPS, {} / {}, by pair",
        cut(&verdict.arm, NAME_CHARS),
        cut(&verdict.base, NAME_CHARS)
    );
    group.push(label("muted", 16.0, TOP - 8.0, &title));
    axis(&mut group, low, high, &y);
    bands(&mut group, verdict, &y);
    dots(&mut group, pairs, &y);
    marginal(&mut group, verdict, &y);
    group
}

/// All that is drawn, 1 always among it: a difference is seen as its distance from none.
fn range(verdict: &Verdict, pairs: &[Pair<'_>]) -> [f64; 2] {
    let mut values: Vec<f64> = pairs.iter().map(|pair| pair.ratio).collect();
    values.push(1.0);
    values.extend(verdict.interval.into_iter().flatten());
    values.extend(floor(verdict).into_iter().flatten());
    // Room above for the values over the dots.
    log_range(values, 0.08, 0.2)
}

/// The ratios between which noise hides a difference; none where it hides a doubling, since the
/// band would be all that is seen.
pub(super) fn floor(verdict: &Verdict) -> Option<[f64; 2]> {
    let floor = verdict
        .noise_floor
        .filter(|floor| *floor > 0.0 && *floor <= 1.0)?;
    Some([1.0 / (1.0 + floor), 1.0 + floor])
}

fn axis(group: &mut Element, low: f64, high: f64, y: &Scale) {
    let (values, decimals) = ratio_ticks(low, high);
    for value in values {
        let at = y.at(value.ln());
        group.push(line("grid", [LEFT, at], [RIGHT, at]));
        let text = format!("{value:.decimals$}");
        group.push(label("muted", LEFT - 8.0, at + 4.0, &text).with("text-anchor", "end"));
    }
}

fn bands(group: &mut Element, verdict: &Verdict, y: &Scale) {
    let band = |class: &str, [low, high]: [f64; 2]| {
        let (top, bottom) = (y.at(high.ln()), y.at(low.ln()));
        Element::new("rect")
            .with("class", class)
            .at("x", LEFT)
            .at("y", top)
            .at("width", RIGHT - LEFT)
            .at("height", bottom - top)
    };
    if let Some(floor) = floor(verdict) {
        group.push(band("floor", floor));
        for edge in floor {
            let at = y.at(edge.ln());
            group.push(line("edge", [LEFT, at], [RIGHT, at]));
        }
    }
    group.push(line("one", [LEFT, y.at(0.0)], [RIGHT, y.at(0.0)]));
    if let (Some(ratio), Some(interval)) = (verdict.ratio, verdict.interval) {
        group.push(band("band", interval));
        let centre = y.at(ratio.ln());
        group.push(line("centre", [LEFT, centre], [RIGHT, centre]));
    }
}

fn dots(group: &mut Element, pairs: &[Pair<'_>], y: &Scale) {
    let step = (RIGHT - LEFT) / pairs.len() as f64;
    for (index, pair) in pairs.iter().enumerate() {
        let x = LEFT + step * (index as f64 + 0.5);
        let at = y.at(pair.ratio.ln());
        group.push(
            Element::new("circle")
                .with("class", "dot")
                .at("cx", x)
                .at("cy", at)
                .at("r", 5.0),
        );
        if pairs.len() <= MOST_VALUES {
            let value = number::measured(pair.ratio);
            group.push(label("halo", x, at - 9.0, &value).with("text-anchor", "middle"));
        }
        let number = pair.number.to_string();
        group.push(label("muted", x, BOTTOM + 15.0, &number).with("text-anchor", "middle"));
    }
    group.push(label("muted", LEFT - 8.0, BOTTOM + 15.0, "pair").with("text-anchor", "end"));
}

/// What line and bands are, beside them, each tied to its own by a thin line.
fn marginal(group: &mut Element, verdict: &Verdict, y: &Scale) {
    let mut wishes = vec![(
        y.at(0.0),
        format!("1 = {}", cut(&verdict.base, MARGIN_CHARS - 4)),
    )];
    if let (Some(ratio), Some(interval)) = (verdict.ratio, verdict.interval) {
        wishes.push((y.at(ratio.ln()), number::ratio(ratio, interval)));
    }
    if let Some(size) = verdict.noise_floor {
        // On the side where the result is not.
        let above = verdict.ratio.is_some_and(|ratio| ratio < 1.0);
        match floor(verdict) {
            Some([low, high]) => {
                let edge = if above { high } else { low };
                let text = format!("noise floor {}", number::percent(size));
                wishes.push((y.at(edge.ln()), text));
            }
            None if size > 1.0 => wishes.push((BOTTOM, "noise floor over 100 %".to_owned())),
            None => {}
        }
    }
    let at: Vec<f64> = wishes.iter().map(|(at, _)| *at).collect();
    let places = labels::spread(&at, 14.0, TOP, BOTTOM);
    for ((at, text), place) in wishes.iter().zip(places) {
        let points = [[RIGHT, *at], [RIGHT + 6.0, *at], [RIGHT + 14.0, place]];
        group.push(super::series::polyline("lead", &points));
        group.push(label("", RIGHT + 18.0, place + 4.0, text));
    }
}
