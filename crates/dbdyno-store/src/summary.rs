//! A stored trial in a line.

use dbdyno_model::verdict::Word;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error as ValueError;
use serde::{Deserialize as _, Serialize};

use crate::engine::Failure;

/// What a list shows of a trial, read from columns alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub name: String,
    /// RFC 3339, in UTC.
    pub started_at: String,
    pub finished_at: Option<String>,
    /// False while a trial is under way or where it was interrupted.
    pub complete: bool,
    /// Empty where nothing was run.
    pub workload: String,
    pub machine: String,
    /// Engine and version.
    pub server: String,
    pub budget: Option<String>,
    pub arms: Vec<String>,
    pub word: Option<Word>,
    pub ratio: Option<f64>,
    pub interval: Option<[f64; 2]>,
    /// Coverage of the interval.
    pub level: Option<f64>,
    /// Pairs that the verdict rests on; without one, those that are kept so far.
    pub pairs: u32,
    pub runs: u32,
    /// Of the documents, as compressed.
    pub bytes: u64,
    pub dbdyno_version: String,
}

pub(crate) fn server(engine: &str, version: &str) -> String {
    format!("{engine} {version}").trim().to_owned()
}

pub(crate) fn interval(low: Option<f64>, high: Option<f64>) -> Option<[f64; 2]> {
    Some([low?, high?])
}

/// Both engines count in signed numbers.
pub(crate) fn count<T: TryFrom<i64>, E>(of: &str, number: i64) -> Result<T, Failure<E>> {
    let unread = |_| Failure::Undecoded(format!("{of} counts {number} of something"));
    T::try_from(number).map_err(unread)
}

/// The word as its column writes it.
pub(crate) fn word<E>(of: &str, text: Option<String>) -> Result<Option<Word>, Failure<E>> {
    let Some(text) = text else {
        return Ok(None);
    };
    let read: Result<Word, ValueError> = Word::deserialize(text.as_str().into_deserializer());
    read.map(Some)
        .map_err(|error| Failure::Undecoded(format!("the verdict on {of}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: Option<&str>) -> Result<Option<Word>, Failure<()>> {
        word("tune-1", text.map(str::to_owned))
    }

    #[test]
    fn words_come_back_and_others_are_refused() {
        for known in [
            Word::Improved,
            Word::Worse,
            Word::NoDifference,
            Word::Undecided,
            Word::TooNoisy,
        ] {
            assert_eq!(read(Some(known.as_str())).unwrap(), Some(known));
        }
        assert_eq!(read(None).unwrap(), None);
        let Err(Failure::Undecoded(why)) = read(Some("better")) else {
            panic!("`better` is no word")
        };
        assert!(why.contains("tune-1") && why.contains("better"), "{why}");
    }

    #[test]
    fn half_an_interval_is_none() {
        assert_eq!(interval(Some(1.0), None), None);
        assert_eq!(interval(Some(1.0), Some(1.5)), Some([1.0, 1.5]));
        assert_eq!(server("PostgreSQL", "15.18"), "PostgreSQL 15.18");
        assert_eq!(server("", ""), "");
        let negative: Result<u32, Failure<()>> = count("tune-1", -1);
        assert!(matches!(negative, Err(Failure::Undecoded(_))));
    }
}
