//! Wrapping and joining of plain text.

pub(crate) use dbdyno_model::words::plural;

/// Columns of a page where the caller knows no better.
pub const DEFAULT_WIDTH: usize = 80;

/// Below this, tables and settings no longer fit; a narrower terminal wraps by itself.
const MIN_WIDTH: usize = 60;

/// Below this, even a page that folds its tables wraps by itself.
const MIN_NARROW_WIDTH: usize = 40;

/// Stays beside the number before it.
const UNITS: [&str; 16] = [
    "%", "×", "s", "ms", "µs", "min", "h", "d", "TPS", "B", "KiB", "MiB", "GiB", "TiB", "pair",
    "pairs",
];

/// The width a page is laid out for.
pub(crate) fn page_width(width: usize) -> usize {
    width.max(MIN_WIDTH)
}

/// The width of a page that folds its tables where they do not fit.
pub(crate) fn narrow_page_width(width: usize) -> usize {
    width.max(MIN_NARROW_WIDTH)
}

/// Text without control characters: what comes out of a document must not steer a terminal.
#[must_use]
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect()
}

/// `/proc/PID/limits`: the number of a process is another one after each restart.
pub(crate) fn without_processes(text: &str) -> String {
    const PROC: &str = "/proc/";
    let mut parts = text.split(PROC);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str(PROC);
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() < part.len() {
            shown.push_str("PID");
        }
        shown.push_str(rest);
    }
    shown
}

/// Columns that a text takes: our texts hold no wide or combining characters.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// The text in lines of at most `width` columns, broken at spaces, and within a word only where
/// the word alone is wider. A number keeps its unit beside it.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        for piece in pieces(&word, width) {
            let gap = usize::from(!line.is_empty());
            if gap > 0 && columns(&line) + gap + columns(&piece) > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&piece);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// The wrapped text as a block: `first` before the first line, as many spaces before the others.
#[must_use]
pub fn hang(first: &str, text: &str, width: usize) -> Vec<String> {
    let indent = columns(first);
    let room = width.saturating_sub(indent).max(1);
    wrap(text, room)
        .into_iter()
        .enumerate()
        .map(|(index, line)| {
            if index == 0 {
                format!("{first}{line}")
            } else {
                format!("{}{line}", " ".repeat(indent))
            }
        })
        .collect()
}

/// Lines to a text that ends with a line feed.
pub(crate) fn page(lines: &[String]) -> String {
    lines
        .iter()
        .flat_map(|line| [line.as_str(), "\n"])
        .collect()
}

/// `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// The text, cut where it is longer than so many columns.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let text = clean(text);
    if columns(&text) <= most {
        return text;
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Prose, cut between words where that leaves most of it.
pub(crate) fn cut_words(text: &str, most: usize) -> String {
    let cut = cut(text, most);
    let Some(kept) = cut.strip_suffix('…').filter(|_| columns(text) > most) else {
        return cut;
    };
    // A word that ends just where the text was cut is whole.
    let whole = clean(text).chars().nth(columns(kept)) == Some(' ');
    match kept.trim_end().rsplit_once(' ') {
        Some((words, _)) if !whole && columns(words) * 2 > most => format!("{}…", words.trim_end()),
        _ => format!("{}…", kept.trim_end()),
    }
}

/// Words between spaces, units glued to their numbers.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in clean(text).split_whitespace() {
        let bare = word.trim_end_matches([',', '.', ';', ':', ')']);
        match words.last_mut() {
            Some(last) if UNITS.contains(&bare) && last.ends_with(|c: char| c.is_ascii_digit()) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// A word cut to the width, where it is wider.
fn pieces(word: &str, width: usize) -> Vec<String> {
    if columns(word) <= width {
        return vec![word.to_owned()];
    }
    let chars: Vec<char> = word.chars().collect();
    chars
        .chunks(width.max(1))
        .map(|chunk| chunk.iter().collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_keeps_its_unit() {
        assert_eq!(
            wrap("differences under 3.9 % cannot", 21),
            ["differences under", "3.9 % cannot"]
        );
        assert_eq!(hang("why: ", "aa bb cc", 11), ["why: aa bb", "     cc"]);
    }

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(wrap("a\u{1b}[2J b", 20), ["a [2J b"]);
        assert_eq!(cut("a\u{1b}[2J", 4), "a […");
        assert_eq!(clean("a\tb\u{7}"), "a b ");
    }

    #[test]
    fn processes_have_no_numbers() {
        for (text, expected) in [
            ("/proc/4711/limits", "/proc/PID/limits"),
            (
                "/proc/1/a and /proc/22/b: denied",
                "/proc/PID/a and /proc/PID/b: denied",
            ),
            ("/proc/self/limits 7", "/proc/self/limits 7"),
            ("/proc/", "/proc/"),
            ("", ""),
        ] {
            assert_eq!(without_processes(text), expected);
        }
    }

    #[test]
    fn prose_is_cut_between_words() {
        let text = "speed of long analytical queries";
        assert_eq!(cut_words(text, 32), text);
        assert_eq!(cut_words(text, 28), "speed of long analytical…");
        assert_eq!(cut_words(text, 25), "speed of long analytical…");
        assert_eq!(cut_words(text, 24), "speed of long…");
        assert_eq!(cut_words("analytical queries", 6), "analy…");
    }

    #[test]
    fn lists_read_as_sentences() {
        let items = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        assert_eq!(list(&items), "a, b and c");
        assert_eq!(list(&items[..1]), "a");
    }

    proptest! {
        #[test]
        fn wrapping_loses_nothing_and_keeps_the_width(text in "[a-z0-9 %]{0,200}", width in 1_usize..90) {
            let lines = wrap(&text, width);
            prop_assert!(lines.iter().all(|line| columns(line) <= width));
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(bare(&lines.join(" ")), bare(&text));
        }
    }
}
