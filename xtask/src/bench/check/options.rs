//! The options of `cargo xtask bench check`.

use std::ops::RangeInclusive;

/// Fewer would be no large catalogue, and more would not be made within minutes.
const TABLES: RangeInclusive<u32> = 100..=100_000;
const ROUNDS: RangeInclusive<u32> = 1..=1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) rounds: u32,
    pub(super) tables: u32,
}

impl Options {
    pub(super) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            rounds: 3,
            tables: 10_000,
        };
        let mut words = words.iter();
        while let Some(option) = words.next() {
            let (chosen, possible) = match *option {
                "--rounds" => (&mut options.rounds, ROUNDS),
                "--tables" => (&mut options.tables, TABLES),
                _ => return Err(format!("there is no option {option}\n\n{}", usage())),
            };
            let value = words
                .next()
                .ok_or_else(|| format!("{option} needs a value\n\n{}", usage()))?;
            *chosen = number(option, value, &possible)?;
        }
        Ok(options)
    }

    pub(super) fn shown(self) -> String {
        format!(
            "cargo xtask bench check --rounds {} --tables {}",
            self.rounds, self.tables
        )
    }
}

pub(super) fn usage() -> String {
    "usage: cargo xtask bench check [OPTION VALUE]…

  --rounds N   how often everything that is timed is measured (3)
  --tables N   tables of the server that is checked, each with a primary key and one more index (10000)"
        .to_owned()
}

fn number(option: &str, value: &str, possible: &RangeInclusive<u32>) -> Result<u32, String> {
    let number = value.parse().ok();
    number
        .filter(|number| possible.contains(number))
        .ok_or_else(|| {
            let (least, most) = (possible.start(), possible.end());
            format!("{option} {value:?}: a number from {least} to {most} is needed")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_as_they_would_be_typed() {
        let options = Options::parse(&[]).unwrap();
        assert_eq!((options.rounds, options.tables), (3, 10_000));
        let options = Options::parse(&["--tables", "500", "--rounds", "1"]).unwrap();
        assert_eq!(
            options.shown(),
            "cargo xtask bench check --rounds 1 --tables 500"
        );
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        for (words, part) in [
            ("--rounds 0", "--rounds \"0\": a number from 1"),
            ("--tables 99", "from 100 to"),
            ("--tables many", "many"),
            ("--tables", "needs a value"),
            ("--fast 1", "no option --fast"),
            ("--fast", "no option --fast"),
        ] {
            let error = Options::parse(&words.split(' ').collect::<Vec<_>>()).unwrap_err();
            assert!(error.contains(part), "{words}: {error}");
        }
    }
}
