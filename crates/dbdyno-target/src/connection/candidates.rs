//! The servers that one target names, and the choice of the one that is meant.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

use ::postgres::Client;
use dbdyno_model::Connection;

use super::connect::{ask, connect};
use super::connect_error::ConnectError;
use super::error::ConnectionError;

/// libpq's target_session_attrs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

impl SessionKind {
    const ALL: [Self; 6] = [
        Self::Any,
        Self::ReadWrite,
        Self::ReadOnly,
        Self::Primary,
        Self::Standby,
        Self::PreferStandby,
    ];

    pub(super) fn read(name: &str) -> Result<Self, ConnectionError> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or(ConnectionError::BadValue {
            parameter: "target_session_attrs",
            expected: "any, read-write, read-only, primary, standby or prefer-standby",
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::ReadWrite => "read-write",
            Self::ReadOnly => "read-only",
            Self::Primary => "primary",
            Self::Standby => "standby",
            Self::PreferStandby => "prefer-standby",
        }
    }

    fn takes(self, found: Found) -> bool {
        match self {
            Self::Any | Self::PreferStandby => true,
            Self::ReadWrite => found == Found::ReadWrite,
            Self::ReadOnly => found != Found::ReadWrite,
            Self::Primary => found != Found::Standby,
            Self::Standby => found == Found::Standby,
        }
    }
}

impl fmt::Display for SessionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a server's sessions turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    ReadWrite,
    /// A primary whose sessions are told not to write.
    ReadOnly,
    Standby,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadWrite => "it is a primary that takes writes",
            Self::ReadOnly => "it is a primary with default_transaction_read_only on",
            Self::Standby => "it is a standby",
        })
    }
}

/// One connection for each host that was named, in the order in which they are tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    first: Connection,
    others: Vec<Connection>,
    wanted: SessionKind,
}

impl Candidates {
    pub(super) fn new(first: Connection, others: Vec<Connection>, wanted: SessionKind) -> Self {
        Self {
            first,
            others,
            wanted,
        }
    }

    pub(super) fn one(connection: Connection) -> Self {
        Self::new(connection, Vec::new(), SessionKind::Any)
    }

    /// In an order that is another one each time.
    pub(super) fn shuffled(self) -> Self {
        let mut rest = self.others;
        rest.push(self.first);
        let mut at = rest.len();
        // Fisher and Yates; every RandomState has keys of its own.
        while at > 1 {
            let drawn = RandomState::new().hash_one(at) % at as u64;
            at -= 1;
            rest.swap(at, usize::try_from(drawn).unwrap_or(at));
        }
        let first = rest.swap_remove(0);
        Self {
            first,
            others: rest,
            wanted: self.wanted,
        }
    }

    /// The first one, whether it answers or not.
    pub fn first(self) -> Connection {
        self.first
    }

    pub fn all(&self) -> impl Iterator<Item = &Connection> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The first one that answers and is of the kind that was asked for. Where there is but one,
    /// and any kind will do, it is not asked.
    ///
    /// # Errors
    /// Each server's own reason; no password is ever part of it.
    pub fn choose(self) -> Result<Connection, ConnectError> {
        if self.others.is_empty() && self.wanted == SessionKind::Any {
            return Ok(self.first);
        }
        if self.wanted != SessionKind::PreferStandby {
            return self.search(self.wanted);
        }
        match self.search(SessionKind::Standby) {
            // No standby among them: as libpq, whichever answers.
            Err(error) if error.lets_others_try() => self.search(SessionKind::Any),
            found => found,
        }
    }

    fn search(&self, wanted: SessionKind) -> Result<Connection, ConnectError> {
        let mut reasons = Vec::new();
        for connection in self.all() {
            let error = match suits(connection, wanted) {
                Ok(()) => return Ok(connection.clone()),
                Err(error) => error,
            };
            if self.others.is_empty() {
                return Err(error);
            }
            let ends = !error.lets_others_try();
            reasons.push((connection.display(), error));
            // As libpq: where one was reached and turned us away, the others are not bothered.
            if ends {
                break;
            }
        }
        let untried = 1 + self.others.len() - reasons.len();
        Err(ConnectError::NoneOf { reasons, untried })
    }
}

/// Whether the server can be reached and is of that kind.
fn suits(connection: &Connection, wanted: SessionKind) -> Result<(), ConnectError> {
    let client = connect(connection)?;
    if wanted == SessionKind::Any {
        return Ok(());
    }
    let found = ask(client, connection, kind)?;
    if wanted.takes(found) {
        return Ok(());
    }
    Err(ConnectError::OtherKind { wanted, found })
}

fn kind(client: &mut Client) -> Result<Found, ::postgres::Error> {
    let row = client.query_one(
        "SELECT pg_catalog.pg_is_in_recovery(), \
         pg_catalog.current_setting('default_transaction_read_only')",
        &[],
    )?;
    let (standby, read_only): (bool, String) = (row.try_get(0)?, row.try_get(1)?);
    Ok(match (standby, read_only.as_str()) {
        (true, _) => Found::Standby,
        (false, "on") => Found::ReadOnly,
        (false, _) => Found::ReadWrite,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_takes_what_libpq_takes() {
        use Found::{ReadOnly, ReadWrite, Standby};
        for (name, takes) in [
            ("any", &[ReadWrite, ReadOnly, Standby][..]),
            ("read-write", &[ReadWrite][..]),
            ("read-only", &[ReadOnly, Standby][..]),
            ("primary", &[ReadWrite, ReadOnly][..]),
            ("standby", &[Standby][..]),
        ] {
            let kind = SessionKind::read(name).unwrap();
            assert_eq!(kind.to_string(), name);
            for found in [ReadWrite, ReadOnly, Standby] {
                assert_eq!(kind.takes(found), takes.contains(&found), "{name} {found}");
            }
        }
        for name in ["", "Primary", "master"] {
            assert!(SessionKind::read(name).is_err(), "{name}");
        }
    }
}
