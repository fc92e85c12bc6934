//! The progress of a load, from whichever of its threads.

use std::time::Instant;

use dbdyno_bench::workload::Progress;
use dbdyno_report::number;
use dbdyno_report::progress::phase_line;

use crate::printer::Printer;

pub(crate) fn tell(printer: &Printer, begun: Instant, progress: Progress) {
    let elapsed = begun.elapsed().as_secs_f64();
    let what = match progress.phase {
        "rows" => "loading",
        "keys" => "indexes and foreign keys",
        "analyze" => "vacuum and analyze",
        "check" => "checking the loaded data",
        other => other,
    };
    let share = progress.rows as f64 / progress.rows_total.max(1) as f64;
    let remaining =
        (progress.phase == "rows" && share > 0.02).then(|| elapsed / share * (1.0 - share));
    let rows = format!(
        "{what}, {} of {} rows",
        number::count(progress.rows),
        number::count(progress.rows_total)
    );
    let what = if progress.phase == "rows" {
        rows
    } else {
        what.to_owned()
    };
    printer.progress(&phase_line(&what, elapsed, remaining));
}
