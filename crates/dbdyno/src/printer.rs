//! Standard output is data, standard error is progress; colour and width are decided here.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::exit::{Exit, Failure};
use dbdyno_report::{DEFAULT_WIDTH, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Longer lines are hard to read.
const WIDEST: usize = 120;
/// Where there is no terminal, progress is a line a minute.
const QUIET: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Printer {
    /// The line at the bottom of a terminal; none where standard error is not one.
    bar: Option<ProgressBar>,
    /// Nothing is told of what is going on.
    quiet: bool,
    last_line: Mutex<Option<Instant>>,
}

impl Printer {
    pub(crate) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
            let style = ProgressStyle::with_template("{spinner:.dim} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            bar.set_style(style);
            bar
        });
        Self {
            bar,
            quiet: false,
            last_line: Mutex::new(None),
        }
    }

    /// One for results alone.
    pub(crate) fn quiet() -> Self {
        Self {
            bar: None,
            quiet: true,
            last_line: Mutex::new(None),
        }
    }

    /// Colour of standard output.
    pub(crate) fn style(&self) -> Style {
        let choice = anstream::AutoStream::choice(&std::io::stdout());
        if choice == anstream::ColorChoice::Never {
            Style::Plain
        } else {
            Style::Coloured
        }
    }

    /// Columns of standard output.
    pub(crate) fn width(&self) -> usize {
        let size = terminal_size::terminal_size_of(std::io::stdout());
        size.map_or(DEFAULT_WIDTH, |(columns, _)| {
            usize::from(columns.0).min(WIDEST)
        })
    }

    fn data(&self, text: &str) -> std::io::Result<()> {
        let write = || {
            let mut out = anstream::stdout().lock();
            out.write_all(text.as_bytes())?;
            if !text.ends_with('\n') {
                out.write_all(b"\n")?;
            }
            out.flush()
        };
        self.around_bar(write)
    }

    /// The answer of a command, to standard output.
    pub(crate) fn result(&self, text: &str) -> Result<(), Failure> {
        match self.data(text) {
            // Whoever read it has seen enough, as `head` does.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| {
                Failure::new(
                    Exit::Surroundings,
                    format!("cannot write the result: {error}"),
                    None,
                )
            }),
        }
    }

    /// One line of what happened, to standard error.
    pub(crate) fn say(&self, line: &str) {
        let _ = self.around_bar(|| writeln!(anstream::stderr(), "{line}"));
    }

    /// What is going on: replaced in place on a terminal, a line a minute elsewhere.
    pub(crate) fn progress(&self, line: &str) {
        if self.quiet {
            return;
        }
        if let Some(bar) = &self.bar {
            bar.set_message(line.to_owned());
            bar.tick();
            return;
        }
        let mut last = self
            .last_line
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|at| at.elapsed() >= QUIET) {
            *last = Some(Instant::now());
            drop(last);
            self.say(line);
        }
    }

    /// A step that everybody should see once, terminal or not.
    pub(crate) fn step(&self, line: &str) {
        if self.bar.is_some() || self.quiet {
            self.progress(line);
        } else {
            self.say(line);
        }
    }

    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.set_message("");
            bar.finish_and_clear();
            bar.reset();
        }
    }

    pub(crate) fn error(&self, message: &str, hint: Option<&str>) {
        self.clear();
        let red = anstyle::AnsiColor::Red.on_default().bold();
        let message = plain(message);
        let _ = writeln!(anstream::stderr(), "{red}error:{red:#} {message}");
        if let Some(hint) = hint.map(plain) {
            let cyan = anstyle::AnsiColor::Cyan.on_default().bold();
            let _ = writeln!(anstream::stderr(), "{cyan}hint:{cyan:#} {hint}");
        }
    }

    /// Asks on the terminal; false where there is nobody to answer.
    pub(crate) fn confirm(&self, question: &str) -> bool {
        if !std::io::stdin().is_terminal() {
            return false;
        }
        let _ = write!(anstream::stderr(), "{question} [y/N] ");
        let mut answer = String::new();
        let read = std::io::stdin().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
    }

    fn around_bar<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

/// A message may hold words of a server or of a file, and those must not steer the terminal.
pub(crate) fn plain(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(dbdyno_report::clean).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_others_wrote_does_not_steer_the_terminal() {
        let told = "no such role\u{1b}]0;title\u{7}\u{9b}2J\r:\n  second line";
        assert_eq!(plain(told), "no such role ]0;title  2J :\n  second line");
    }
}
