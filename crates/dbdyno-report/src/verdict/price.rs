//! The price of safety: what unsafe arms measured, as intervals without a verdict.

use dbdyno_model::tune::{Arm, Price};
use dbdyno_model::{Class, Tune};

use crate::number;
use crate::style::{Role, Style};
use crate::table::{Align, Table};
use crate::text::{columns, hang, list, narrow_page_width, page, plural, wrap};

/// The unsafe arms and what each risks; none where no further arm was run.
///
/// No word of verdict: a price is not an offer.
#[must_use]
pub fn price_of_safety(tune: &Tune, width: usize, style: Style) -> Option<String> {
    let lines = lines(tune, narrow_page_width(width), style);
    (!lines.is_empty()).then(|| page(&lines))
}

pub(super) fn lines(tune: &Tune, width: usize, style: Style) -> Vec<String> {
    if tune.prices.is_empty() {
        return Vec::new();
    }
    let heading = wrap(&heading(&tune.prices), width);
    let mut lines: Vec<String> = heading
        .iter()
        .map(|line| style.paint(Role::Heading, line))
        .collect();
    lines.extend(rows(tune, width));
    for (class, role) in [
        (Class::MayLoseLastCommits, Role::Warn),
        (Class::MayCorrupt, Role::Bad),
    ] {
        let names: Vec<String> = tune
            .prices
            .iter()
            .filter(|price| price.class == class)
            .map(|price| price.arm.clone())
            .collect();
        if names.is_empty() {
            continue;
        }
        let risk = match class {
            Class::MayCorrupt => "a crash may corrupt the database; lab only, never recommended.",
            _ => "a crash may lose the last acknowledged commits; only on request.",
        };
        let text = format!("{}: {risk}", list(&names));
        let risk = hang("  ", &text, width);
        lines.extend(risk.iter().map(|line| style.paint(role, line)));
    }
    lines
}

/// What the ratios are of, with level and pairs where they are the same for all.
fn heading(prices: &[Price]) -> String {
    let title = if prices.iter().all(|price| price.class == Class::Safe) {
        "Other arms"
    } else {
        "The price of safety"
    };
    let mut bases: Vec<String> = prices.iter().map(basis).collect();
    bases.dedup();
    match bases.as_slice() {
        [all] => format!("{title}, no verdict: TPS against {all}"),
        _ => format!("{title}, no verdict: TPS"),
    }
}

/// `shipped, 95 % intervals of 4 pairs`.
fn basis(price: &Price) -> String {
    format!(
        "{}, {} interval of {}",
        price.base,
        number::level(price.level),
        plural(price.pairs.into(), "pair")
    )
}

/// A row for each arm; sentences where the page is too narrow for a table.
fn rows(tune: &Tune, width: usize) -> Vec<String> {
    let mut bases: Vec<String> = tune.prices.iter().map(basis).collect();
    bases.dedup();
    let cells = tune.prices.iter().map(|price| {
        let arm: Option<&Arm> = tune.arms.iter().find(|arm| arm.name == price.arm);
        let ratio = price.ratio.zip(price.interval);
        let tps = arm.and_then(|arm| arm.tps_mean);
        let mut cells = vec![
            price.arm.clone(),
            number::or_missing(ratio, |(ratio, interval)| number::ratio(ratio, interval)),
            number::or_missing(tps, number::tps),
        ];
        // The arms that dbdyno makes itself are named by their class.
        let named_by_class = tune
            .prices
            .iter()
            .all(|price| price.arm == price.class.as_str());
        if !named_by_class {
            cells.push(price.class.as_str().to_owned());
        }
        if bases.len() > 1 {
            cells.push(format!("against {}", basis(price)));
        }
        cells
    });
    let cells: Vec<Vec<String>> = cells.collect();
    let aligned = [
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Left,
        Align::Left,
    ];
    let shape: Vec<(&str, Align)> = cells
        .first()
        .into_iter()
        .flat_map(|row| row.iter().zip(aligned))
        .map(|(_, align)| ("", align))
        .collect();
    let mut table = Table::new(&shape);
    for row in &cells {
        table.row(row.clone());
    }
    // The cells say what they are: a head would cost a line.
    let rows: Vec<String> = table
        .lines()
        .into_iter()
        .skip(1)
        .map(|line| format!("  {line}"))
        .collect();
    if rows.iter().all(|row| columns(row) <= width) {
        return rows;
    }
    cells
        .iter()
        .flat_map(|row| hang("  ", &row.join(", "), width))
        .collect()
}
