//! What a trial tells, on the screen and into the document.

use std::io;

use dbdyno_model::run::{Phase as RunPhase, Run, Second};
use dbdyno_report::number;
use dbdyno_report::progress::{Live, estimate_line, live_line, phase_line};
use dbdyno_trial::{Estimate, Events, Phase, Progress};

use super::document::Document;
use crate::printer::Printer;

pub(super) struct Screen<'a> {
    pub(super) printer: &'a Printer,
    pub(super) document: &'a mut Document,
    errors: u64,
    /// Whether the load has been seen running; the first second is shown everywhere.
    live_seen: bool,
}

impl<'a> Screen<'a> {
    pub(super) fn new(printer: &'a Printer, document: &'a mut Document) -> Self {
        Self {
            printer,
            document,
            errors: 0,
            live_seen: false,
        }
    }
}

impl Screen<'_> {
    /// What was measured is kept elsewhere where the store fails, and that is said.
    fn keep(
        &mut self,
        save: impl FnOnce(&mut Document) -> io::Result<Option<String>>,
    ) -> io::Result<()> {
        if let Some(told) = save(self.document)? {
            self.printer.say(&told);
        }
        Ok(())
    }
}

impl Events for Screen<'_> {
    fn phase(&mut self, phase: &Phase, progress: &Progress) {
        let what = match phase {
            Phase::Preparing { run, arm } => {
                self.errors = 0;
                format!("run {run}, {arm}: cloning the data, starting the server")
            }
            Phase::Running { run, arm } => format!("run {run}, {arm}: warming up"),
            Phase::Checkpoint { run, arm } => format!("run {run}, {arm}: closing checkpoint"),
            Phase::OpenLoop { run, arm, rate_tps } => {
                format!("run {run}, {arm}: latency at {}", number::tps(*rate_tps))
            }
            Phase::Checking { run, arm } => format!("run {run}, {arm}: checking the data"),
            Phase::Recovering { arm } => format!("{arm}: killed, timing its recovery"),
        };
        self.printer.progress(&phase_line(
            &what,
            progress.elapsed_s,
            Some(progress.remaining_s),
        ));
    }

    fn second(&mut self, arm: &str, second: &Second, progress: &Progress) {
        self.errors += second.errors;
        let live = live_line(&Live {
            arm,
            pair: progress.pair,
            max_pairs: Some(progress.max_pairs),
            tps: second.tps(),
            p95_ms: second.p95_ms,
            p99_ms: second.p99_ms,
            errors: self.errors,
        });
        if second.phase == RunPhase::Checkpoint {
            return;
        }
        let line = phase_line(&live, progress.elapsed_s, Some(progress.remaining_s));
        if self.live_seen {
            self.printer.progress(&line);
        } else {
            self.live_seen = true;
            self.printer.step(&line);
        }
    }

    fn run_ended(&mut self, run: &Run) -> io::Result<()> {
        self.keep(|document| document.add_run(run))
    }

    fn pair_ended(&mut self, estimate: &Estimate<'_>, progress: &Progress) {
        let Estimate {
            arm,
            base,
            log_ratios,
            next_look,
        } = *estimate;
        let line = estimate_line(arm, base, log_ratios, next_look);
        let elapsed = number::duration(progress.elapsed_s);
        self.printer.say(&format!("[{elapsed}] {line}"));
    }

    fn pair_discarded(&mut self, pair: u32, why: &str) -> io::Result<()> {
        let note = format!("pair {pair} is discarded and repeated: {why}");
        self.printer.say(&note);
        self.document.tune.notes.push(note);
        self.keep(|document| document.discard_pair(pair, why))
    }
}
