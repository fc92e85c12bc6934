//! The arms side by side: what each came to, and the ratios that have an interval.

use dbdyno_model::{Tune, Verdict};

use crate::number::MISSING;
use crate::story::metrics::metrics;
use crate::style::{Role, Style};
use crate::table::{Align, Table};
use crate::text::{columns, cut, wrap};

/// An arm's name is told by at least so much.
const NAME_COLUMNS: usize = 7;

/// Rows of the report that a screen can do without.
const LEFT_OUT: [&str; 5] = [
    "latency p95",
    "latency p99.9",
    "latency, longest",
    "checkpoints requested",
    "kept runs",
];

/// One figure of both arms, under the name that it has in the report.
struct Row {
    name: String,
    values: [String; 2],
    /// arm / base with its interval; empty where there is none.
    ratio: String,
}

/// The table, the ratios beneath it where the page is too narrow for them, and from when
/// latencies count.
pub(super) fn lines(tune: &Tune, verdict: &Verdict, width: usize, style: Style) -> Vec<String> {
    let rows = rows(tune, verdict);
    if rows.is_empty() {
        return wrap(
            "No run of either arm counts: there is nothing to compare.",
            width,
        );
    }
    let mut lines = table(verdict, &rows, true, usize::MAX).lines();
    let has_ratios = rows.iter().any(|row| !row.ratio.is_empty());
    if !has_ratios || lines.iter().any(|line| columns(line) > width) {
        lines = table(verdict, &rows, false, width).lines();
        lines.extend(wrap(&ratios_line(&rows), width));
    }
    if let Some(head) = lines.first_mut() {
        *head = style.paint(Role::Dim, head);
    }
    lines.extend(wrap(&latency_line(tune, verdict), width));
    lines
}

/// The report's figures of the judged arms, so that both tell the same; none that neither has.
fn rows(tune: &Tune, verdict: &Verdict) -> Vec<Row> {
    let Some(metrics) = metrics(tune) else {
        return Vec::new();
    };
    let place = |arm: &str| metrics.arms.iter().position(|name| name == arm);
    let arms = [place(&verdict.base), place(&verdict.arm)];
    let told = metrics.rows.into_iter();
    told.filter(|row| !LEFT_OUT.contains(&row.name.as_str()))
        .map(|row| Row {
            values: arms.map(|arm| {
                let value = arm.and_then(|arm| row.values.get(arm));
                value.map_or_else(|| MISSING.to_owned(), String::clone)
            }),
            name: row.name,
            ratio: row.ratio,
        })
        .filter(|row| row.values.iter().any(|value| value != MISSING))
        .collect()
}

/// A column for each arm; names are what gives way to the width, never a number.
fn table(verdict: &Verdict, rows: &[Row], ratios: bool, width: usize) -> Table {
    let widest = |cells: &dyn Fn(&Row) -> usize| rows.iter().map(cells).max().unwrap_or(0);
    let values = |place: usize| widest(&|row| columns(&row.values[place])).max(NAME_COLUMNS);
    let room = width.saturating_sub(values(0) + values(1) + 4);
    let names = widest(&|row| columns(&row.name)).min(room);
    let room = width.saturating_sub(names + 4) / 2;
    let head = |arm: &str, place: usize| cut(arm, room.max(values(place)));
    let (base, arm) = (head(&verdict.base, 0), head(&verdict.arm, 1));
    let mut shape = vec![
        ("", Align::Left),
        (base.as_str(), Align::Right),
        (arm.as_str(), Align::Right),
    ];
    if ratios {
        shape.push(("ratio (interval)", Align::Left));
    }
    let mut table = Table::new(&shape);
    for row in rows {
        let [base, arm] = row.values.clone();
        // Without a column for it, the table drops the ratio.
        table.row([cut(&row.name, names), base, arm, row.ratio.clone()]);
    }
    table
}

/// The ratios as one sentence; empty where there are none.
fn ratios_line(rows: &[Row]) -> String {
    let told: Vec<String> = rows
        .iter()
        .filter(|row| !row.ratio.is_empty())
        .map(|row| format!("{} {}", row.name, row.ratio))
        .collect();
    if told.is_empty() {
        return String::new();
    }
    format!("Ratios: {}", told.join("; "))
}

/// From when the latencies count.
fn latency_line(tune: &Tune, verdict: &Verdict) -> String {
    let origin = |name: &str| {
        let arm = tune.arms.iter().find(|arm| arm.name == name)?;
        arm.latency_ms?;
        Some(arm.latency_origin.as_deref().unwrap_or("– (not recorded)"))
    };
    match (origin(&verdict.base), origin(&verdict.arm)) {
        (None, None) => "Latency was not measured.".to_owned(),
        (Some(base), Some(arm)) if base == arm => format!("Latency counts from the {arm}."),
        (base, arm) => {
            let of = |name: &str, origin: Option<&str>| match origin {
                Some(origin) => format!("{name} from the {origin}"),
                None => format!("{name} not measured"),
            };
            format!(
                "Latency does not compare: {}, {}.",
                of(&verdict.base, base),
                of(&verdict.arm, arm)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::examples;
    use dbdyno_model::verdict::Word;

    #[test]
    fn what_is_left_out_is_there_to_be_left_out() {
        let tune = examples::tune_with(Word::Improved);
        let metrics = metrics(&tune).unwrap();
        for name in LEFT_OUT {
            assert!(metrics.rows.iter().any(|row| row.name == name), "{name}");
        }
        let rows = rows(&tune, tune.verdict.as_ref().unwrap());
        assert_eq!(rows.len(), 10);
        assert_eq!(rows.len() + LEFT_OUT.len(), metrics.rows.len());
    }

    #[test]
    fn arms_whose_latencies_differ_in_origin_do_not_compare() {
        let mut tune = examples::tune_with(Word::Improved);
        let verdict = tune.verdict.clone().unwrap();
        tune.arms[0].latency_origin = Some("actual start (closed loop)".to_owned());
        assert_eq!(
            latency_line(&tune, &verdict),
            "Latency does not compare: shipped from the actual start (closed loop), \
             recommended from the intended start (open loop at 1,690 TPS)."
        );
        tune.arms[0].latency_ms = None;
        assert!(latency_line(&tune, &verdict).contains("shipped not measured"));
    }
}
