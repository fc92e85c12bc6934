//! The price of safety: what unsafe arms measured, as intervals without a verdict.

use dbdyno_model::tune::{Arm, Price};
use dbdyno_model::{Class, Tune};

use crate::number;
use crate::style::{Role, Style};
use crate::table::{Align, Table};
use crate::text::{list, page, page_width, plural, wrap};

/// A table of the unsafe arms and what each risks; none where no unsafe arm was run.
///
/// No word of verdict: a price is not an offer.
#[must_use]
pub fn price_of_safety(tune: &Tune, width: usize, style: Style) -> Option<String> {
    if tune.prices.is_empty() {
        return None;
    }
    let width = page_width(width);
    let heading = "The price of safety: intervals, no verdict";
    let mut lines = vec![style.paint(Role::Heading, heading)];
    let mut rows = table(tune).fit(width);
    if let Some(head) = rows.first_mut() {
        *head = style.paint(Role::Dim, head);
    }
    lines.extend(rows);
    lines.extend(wrap(&basis(&tune.prices), width));
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
        lines.extend(
            wrap(&text, width)
                .iter()
                .map(|line| style.paint(role, line)),
        );
    }
    Some(page(&lines))
}

fn table(tune: &Tune) -> Table {
    let mut table = Table::new(&[
        ("arm", Align::Left),
        ("class", Align::Left),
        ("TPS ratio", Align::Left),
        ("to", Align::Left),
        ("TPS", Align::Right),
    ]);
    for price in &tune.prices {
        let arm: Option<&Arm> = tune.arms.iter().find(|arm| arm.name == price.arm);
        let ratio = price.ratio.zip(price.interval);
        table.row([
            price.arm.clone(),
            price.class.as_str().to_owned(),
            number::or_missing(ratio, |(ratio, interval)| number::ratio(ratio, interval)),
            price.base.clone(),
            number::or_missing(arm.and_then(|arm| arm.tps_mean), number::measured),
        ]);
    }
    table
}

/// Level and pairs, once where they are the same for all.
fn basis(prices: &[Price]) -> String {
    let one = |price: &Price| {
        let pairs = plural(price.pairs.into(), "pair");
        format!("{} interval, {pairs}", number::level(price.level))
    };
    let mut bases: Vec<String> = prices.iter().map(one).collect();
    bases.dedup();
    match bases.as_slice() {
        [all] => format!("Each: {all}."),
        _ => {
            let each = prices
                .iter()
                .map(|price| format!("{}: {}", price.arm, one(price)));
            format!("{}.", each.collect::<Vec<_>>().join("; "))
        }
    }
}
