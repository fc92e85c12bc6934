//! A value that was read, with where it came from; unknown is a value, never zero.

use serde::{Deserialize, Serialize};

/// One thing read from a host or server: its origin, and either the value or why it is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact<T> {
    /// File, view or call that was read, as the user would name it.
    pub origin: String,
    #[serde(flatten)]
    state: State<T>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum State<T> {
    Value(T),
    Unknown(String),
}

impl<T> Fact<T> {
    pub fn known(value: T, origin: impl Into<String>) -> Self {
        Self {
            origin: origin.into(),
            state: State::Value(value),
        }
    }

    /// A fact that could not be read; `why` is what the user is told.
    pub fn unknown(why: impl Into<String>, origin: impl Into<String>) -> Self {
        Self {
            origin: origin.into(),
            state: State::Unknown(why.into()),
        }
    }

    /// The fact of a read that may have failed.
    pub fn from_result<E: std::fmt::Display>(
        result: Result<T, E>,
        origin: impl Into<String>,
    ) -> Self {
        match result {
            Ok(value) => Self::known(value, origin),
            Err(error) => Self::unknown(error.to_string(), origin),
        }
    }

    pub fn value(&self) -> Option<&T> {
        match &self.state {
            State::Value(value) => Some(value),
            State::Unknown(_) => None,
        }
    }

    /// Why the fact is unknown, if it is.
    pub fn why_unknown(&self) -> Option<&str> {
        match &self.state {
            State::Value(_) => None,
            State::Unknown(why) => Some(why),
        }
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Fact<U> {
        let state = match self.state {
            State::Value(value) => State::Value(f(value)),
            State::Unknown(why) => State::Unknown(why),
        };
        Fact {
            origin: self.origin,
            state,
        }
    }
}

impl<T: Copy> Fact<T> {
    pub fn get(&self) -> Option<T> {
        self.value().copied()
    }
}

impl<T> Default for Fact<T> {
    /// Nobody tried to read it.
    fn default() -> Self {
        Self::unknown("not collected", "")
    }
}

#[cfg(test)]
mod tests {
    use super::Fact;

    #[test]
    fn a_fact_survives_json_and_unknown_is_not_zero() {
        let known = Fact::known(0_u64, "/proc/meminfo");
        let json = serde_json::to_string(&known).unwrap();
        assert_eq!(json, r#"{"origin":"/proc/meminfo","value":0}"#);
        assert_eq!(serde_json::from_str::<Fact<u64>>(&json).unwrap(), known);

        let unknown = Fact::<u64>::unknown("permission denied", "/proc/1/limits");
        let json = serde_json::to_string(&unknown).unwrap();
        assert_eq!(
            json,
            r#"{"origin":"/proc/1/limits","unknown":"permission denied"}"#
        );
        let back = serde_json::from_str::<Fact<u64>>(&json).unwrap();
        assert_eq!(back.get(), None);
        assert_eq!(back.why_unknown(), Some("permission denied"));
    }
}
