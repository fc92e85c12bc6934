//! The table of stored trials, newest first.

use dbdyno_model::verdict::Word;

use crate::number::{self, MISSING};
use crate::style::{Role, Style};
use crate::table::{Align, Table};
use crate::text::{cut, narrow_page_width, page, plural, wrap};

/// What dbdyno's own names begin with, and what `dbdyno report` can do without.
const PREFIX: &str = "tune-";

/// A stored trial, as far as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// What `dbdyno report` takes.
    pub name: String,
    /// RFC 3339, in UTC.
    pub started_at: String,
    /// False while the trial is under way or where it was interrupted.
    pub complete: bool,
    pub workload: String,
    pub machine: String,
    pub server: String,
    /// None where no verdict was given.
    pub word: Option<Word>,
    pub ratio: Option<f64>,
    pub interval: Option<[f64; 2]>,
    pub pairs: u32,
    pub runs: u32,
    pub bytes: u64,
}

/// What a column shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Name,
    When,
    Workload,
    Server,
    Verdict,
    Ratio,
    Pairs,
    Runs,
    Size,
    Machine,
}

/// As they stand beside each other.
const COLUMNS: [Column; 10] = [
    Column::Name,
    Column::When,
    Column::Workload,
    Column::Server,
    Column::Verdict,
    Column::Ratio,
    Column::Pairs,
    Column::Runs,
    Column::Size,
    Column::Machine,
];

/// Which are kept where not all fit. The names that dbdyno gives hold the time.
const IMPORTANCE: [Column; 10] = [
    Column::Name,
    Column::Verdict,
    Column::Ratio,
    Column::Pairs,
    Column::Workload,
    Column::When,
    Column::Server,
    Column::Machine,
    Column::Runs,
    Column::Size,
];

impl Column {
    fn head(self) -> (&'static str, Align) {
        match self {
            Self::Name => ("name", Align::Left),
            Self::When => ("when (UTC)", Align::Left),
            Self::Workload => ("workload", Align::Left),
            Self::Server => ("server", Align::Left),
            Self::Verdict => ("verdict", Align::Left),
            Self::Ratio => ("ratio (interval)", Align::Left),
            Self::Pairs => ("pairs", Align::Right),
            Self::Runs => ("runs", Align::Right),
            Self::Size => ("size", Align::Right),
            Self::Machine => ("machine", Align::Left),
        }
    }

    /// Of a text, how little of it still says something, and from when on more says no more.
    fn bounds(self) -> Option<(usize, usize)> {
        match self {
            Self::Workload => Some((8, 12)),
            Self::Server => Some((16, 24)),
            Self::Machine => Some((16, 40)),
            _ => None,
        }
    }

    fn cell(self, trial: &Listed) -> String {
        let text = |text: &str| match text.trim() {
            "" => MISSING.to_owned(),
            text => text.to_owned(),
        };
        match self {
            Self::Name => text(&trial.name),
            Self::When => text(&minute(&trial.started_at)),
            Self::Workload => text(&trial.workload),
            Self::Server => text(short_server(&trial.server)),
            Self::Verdict => verdict(trial),
            Self::Ratio => ratio(trial),
            Self::Pairs => number::count(trial.pairs.into()),
            Self::Runs => number::count(trial.runs.into()),
            Self::Size => number::bytes(trial.bytes),
            Self::Machine => text(&trial.machine),
        }
    }
}

/// The stored trials, newest first, a line each; columns that do not fit are left out.
#[must_use]
pub fn runs_page(trials: &[Listed], width: usize, style: Style) -> String {
    if trials.is_empty() {
        return "no runs yet: dbdyno tune\n".to_owned();
    }
    let width = narrow_page_width(width);
    let mut sorted: Vec<Listed> = trials.to_vec();
    sorted.sort_by(|a, b| (&b.started_at, &b.name).cmp(&(&a.started_at, &a.name)));
    let mut columns = fitting(&sorted, width);
    let lacks_ratio =
        |columns: &[(Column, usize)]| columns.iter().all(|(column, _)| *column != Column::Ratio);
    if lacks_ratio(&columns) && sorted.iter().all(|trial| trial.name.starts_with(PREFIX)) {
        // A unique part of a name names the trial as well.
        for trial in &mut sorted {
            trial.name.drain(..PREFIX.len());
        }
        columns = fitting(&sorted, width);
    }
    let table = table(&sorted, &columns);
    let role = |row: usize, column: usize| {
        (columns[column].0 == Column::Verdict).then(|| role(&sorted[row]))
    };
    let mut lines = table.painted(style, role);
    let legend = legend(&sorted, width);
    lines.extend(legend.iter().map(|line| style.paint(Role::Dim, line)));
    page(&lines)
}

/// The columns that fit with the width of each, chosen by importance; one that is too wide lets
/// narrower ones pass, and a text takes what is left.
fn fitting(trials: &[Listed], width: usize) -> Vec<(Column, usize)> {
    let mut chosen: Vec<(Column, usize)> = Vec::new();
    let mut left = width;
    for column in IMPORTANCE {
        let gap = if chosen.is_empty() { 0 } else { 2 };
        let room = left.saturating_sub(gap);
        let wide = table(trials, &[(column, usize::MAX)]).width_of(0);
        let takes = match column.bounds() {
            _ if chosen.is_empty() => wide.min(room),
            Some((least, most)) if wide.min(most).min(room) >= wide.min(least) => {
                wide.min(most).min(room)
            }
            _ => wide,
        };
        if takes <= room {
            left = room - takes;
            chosen.push((column, takes));
        }
    }
    let place = |column: Column| COLUMNS.iter().position(|it| *it == column);
    chosen.sort_by_key(|(column, _)| place(*column));
    chosen
}

fn table(trials: &[Listed], columns: &[(Column, usize)]) -> Table {
    let heads: Vec<(&str, Align)> = columns.iter().map(|(column, _)| column.head()).collect();
    let mut table = Table::new(&heads);
    for trial in trials {
        table.row(
            columns
                .iter()
                .map(|(column, most)| cut(&column.cell(trial), *most)),
        );
    }
    table
}

/// `2026-03-14 09:26`; what is not such a time stays as it is.
fn minute(started_at: &str) -> String {
    match (
        started_at.get(..10),
        started_at.get(10..11),
        started_at.get(11..16),
    ) {
        (Some(day), Some("T" | " "), Some(minute)) => format!("{day} {minute}"),
        _ => started_at.to_owned(),
    }
}

/// The version without the packager's: `PostgreSQL 15.18`.
fn short_server(server: &str) -> &str {
    server.split(" (").next().unwrap_or(server)
}

/// The word; a mark before it where the trial is not finished.
fn verdict(trial: &Listed) -> String {
    match (trial.word, trial.complete) {
        (Some(word), true) => word.as_str().to_owned(),
        // Without a pair there is nothing to be undecided about.
        (Some(word), false) if trial.pairs > 0 => format!("! {}", word.as_str()),
        (None, true) => "no trial".to_owned(),
        (_, false) => "! no verdict".to_owned(),
    }
}

fn role(trial: &Listed) -> Role {
    match trial.word {
        _ if !trial.complete => Role::Warn,
        Some(Word::Improved) => Role::Good,
        Some(Word::Worse) => Role::Bad,
        Some(Word::NoDifference) => Role::Heading,
        Some(Word::Undecided | Word::TooNoisy) => Role::Warn,
        None => Role::Dim,
    }
}

/// The ratio with its interval; none that noise has spoilt.
fn ratio(trial: &Listed) -> String {
    let told = trial.ratio.zip(trial.interval);
    let spoilt = trial.pairs == 0 || matches!(trial.word, None | Some(Word::TooNoisy));
    let told = told.filter(|_| !spoilt);
    number::or_missing(told, |(ratio, interval)| {
        number::ratio_short(ratio, interval)
    })
}

/// What the mark means, how many there are, and the way to one of them.
fn legend(trials: &[Listed], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if trials.iter().any(|trial| !trial.complete) {
        lines.extend(wrap(
            "! not finished: interrupted, or still under way",
            width,
        ));
    }
    let bytes = trials.iter().map(|trial| trial.bytes).sum();
    let text = format!(
        "{}, {}. One in full: dbdyno report NAME",
        plural(trials.len() as u64, "trial"),
        number::bytes(bytes)
    );
    lines.extend(wrap(&text, width));
    lines
}

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
