//! The small forms in which the kernel writes single values.

use std::collections::BTreeSet;
use std::str::FromStr;

/// Linux allows 8,192 CPUs at most; a larger number is damage, and a range up to it would be a bomb.
const LARGEST_CPU: u32 = 65_535;

/// Text quoted for an error: short, and nothing that a terminal would act on.
pub(super) fn quoted(text: &str) -> String {
    let mut start: String = text.trim().chars().take(40).collect();
    if start.len() < text.trim().len() {
        start.push('…');
    }
    format!("{start:?}")
}

/// A file that holds one number.
pub fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("not a number: {}", quoted(text)))
}

/// The first of several words as a number: md writes `6 (5)` while it reshapes.
pub fn first_number(text: &str) -> Result<u64, String> {
    number(text.split_whitespace().next().unwrap_or_default())
}

/// A file that holds 0 or 1.
pub fn flag(text: &str) -> Result<bool, String> {
    match text.trim() {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(format!("neither 0 nor 1: {}", quoted(other))),
    }
}

/// A file that holds one word or phrase.
pub fn phrase(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        Err("the file is empty".into())
    } else if text.contains(char::is_control) {
        Err(format!("not one line of text: {}", quoted(text)))
    } else {
        Ok(text.to_owned())
    }
}

/// The selected one of several choices: `always [madvise] never`.
pub fn selected(text: &str) -> Result<String, String> {
    let choice = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match choice {
        Some(choice) if !choice.is_empty() => Ok(choice.to_owned()),
        _ => Err(format!("no choice in brackets: {}", quoted(text))),
    }
}

/// A list of CPUs or nodes: `0-3,8`. An empty list is a list; the kernel writes them in order, and
/// one range given a hundred thousand times would hold us for minutes.
pub fn cpu_list(text: &str) -> Result<BTreeSet<u32>, String> {
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (number(first)?, number(last)?);
        let is_in_order = cpus.last().is_none_or(|known| *known < first);
        if last > LARGEST_CPU || first > last || !is_in_order {
            return Err(format!("not a list of CPUs: {}", quoted(text)));
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read() {
        assert_eq!(number::<i64>("-1\n"), Ok(-1));
        assert!(number::<u64>("max").unwrap_err().contains("\"max\""));
        assert_eq!(first_number("6 (5)\n"), Ok(6));
        assert_eq!(flag("1\n"), Ok(true));
        assert!(flag("2").is_err());
        assert_eq!(phrase(" write back\n").as_deref(), Ok("write back"));
        assert!(phrase("a\nb").is_err());
        assert_eq!(
            selected("always [madvise] never\n").as_deref(),
            Ok("madvise")
        );
        assert_eq!(selected("[none]").as_deref(), Ok("none"));
        assert!(selected("none").is_err());
        assert!(selected("[]").is_err());
    }

    #[test]
    fn cpu_lists_are_read() {
        assert_eq!(cpu_list("0-2,8\n"), Ok(BTreeSet::from([0, 1, 2, 8])));
        assert_eq!(cpu_list("\n"), Ok(BTreeSet::new()));
        for bad in [
            "0-4294967295",
            "3-1",
            "a",
            "0-",
            "1-2-3",
            "-1",
            "0-3,3",
            "8,0-2",
        ] {
            assert!(cpu_list(bad).is_err(), "{bad}");
        }
    }
}
