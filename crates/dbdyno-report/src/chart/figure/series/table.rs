//! Every second of every arm as text, with what happened in it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Series, closing, second_of};
use crate::chart::figure::{FigureTable, extent, median, with_spread};
use crate::number;

pub(super) fn table(all: &[Series<'_>]) -> FigureTable {
    let mut head = vec!["second".to_owned()];
    head.extend(all.iter().map(|series| {
        let spread = if series.runs.len() > 1 {
            ", median (min to max)"
        } else {
            ""
        };
        format!("{}, TPS{spread}", series.arm.name)
    }));
    head.push("what happened".to_owned());
    let events: Vec<_> = all.iter().map(events).collect();
    let seconds: BTreeSet<u32> = all
        .iter()
        .flat_map(|series| series.rates.keys().copied())
        .chain(events.iter().flat_map(|events| events.keys().copied()))
        .collect();
    let rows = seconds.into_iter().map(|second| {
        let mut row = vec![second.to_string()];
        row.extend(all.iter().map(|series| cell(series, second)));
        let happened: Vec<String> = all
            .iter()
            .zip(&events)
            .filter_map(|(series, events)| {
                let events = events.get(&second)?;
                Some(format!("{}: {}", series.arm.name, events.join(", ")))
            })
            .collect();
        row.push(happened.join("; "));
        row
    });
    FigureTable {
        caption: "Transactions a second, by the second from the start of the load".to_owned(),
        head,
        rows: rows.collect(),
    }
}

fn cell(series: &Series<'_>, second: u32) -> String {
    let rates = series.rates.get(&second).map_or(&[][..], Vec::as_slice);
    number::or_missing(median(rates), |median| {
        let spread = extent(rates.iter().copied());
        with_spread(median, spread, rates.len(), number::measured)
    })
}

/// What happened in which second, in how many of the runs.
fn events(series: &Series<'_>) -> BTreeMap<u32, Vec<String>> {
    let mut counts: BTreeMap<(u32, &str), u32> = BTreeMap::new();
    for run in &series.runs {
        if run.warm_up_s > 0.0 {
            let second = second_of(run.warm_up_s);
            *counts.entry((second, "warm-up ends")).or_default() += 1;
        }
        if let Some([from, to]) = closing(run) {
            // What begins at a second's end belongs to the next.
            let begun = (second_of(from + 0.5), "closing checkpoint begins");
            *counts.entry(begun).or_default() += 1;
            let ended = (second_of(to), "closing checkpoint ends");
            *counts.entry(ended).or_default() += 1;
        }
    }
    for (marks, name) in [
        (&series.requested, "checkpoint on request"),
        (&series.timed, "checkpoint on time"),
    ] {
        for (second, count) in marks {
            *counts.entry((*second, name)).or_default() += count;
        }
    }
    let runs = series.runs.len();
    let mut events: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for ((second, name), count) in counts {
        let of = if runs > 1 {
            format!("{name} in {count} of {runs} runs")
        } else {
            name.to_owned()
        };
        events.entry(second).or_default().push(of);
    }
    events
}
