//! How far a session's transactions are kept apart from those of others.

use super::{Engine, Link, WireError};

/// SQL's four levels, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    pub const ALL: [Self; 4] = [
        Self::ReadUncommitted,
        Self::ReadCommitted,
        Self::RepeatableRead,
        Self::Serializable,
    ];

    /// As people write it: `read-committed`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read-uncommitted",
            Self::ReadCommitted => "read-committed",
            Self::RepeatableRead => "repeatable-read",
            Self::Serializable => "serializable",
        }
    }

    /// The one of this name, however its words are joined: servers have blanks and hyphens there.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let joined = name.to_ascii_lowercase().replace([' ', '_'], "-");
        Self::ALL.into_iter().find(|level| level.name() == joined)
    }

    /// What a new session has without being told.
    ///
    /// # Errors
    /// The server is lost, or names none of the four.
    pub fn read(link: &mut Link, engine: Engine) -> Result<Self, WireError> {
        // MySQL has only the newer of the two names, MariaDB before 11.1 only the older one.
        let sql = match engine {
            Engine::Postgres => "SELECT current_setting('transaction_isolation')",
            Engine::MySql => {
                "SHOW SESSION VARIABLES
                 WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')"
            }
        };
        let mut found = String::new();
        link.rows(sql, |mut row| {
            if engine == Engine::MySql {
                row.skip()?;
            }
            row.text()?.clone_into(&mut found);
            Ok(())
        })?;
        let unknown = || WireError::protocol(format!("the server has an isolation of {found:?}"));
        Self::named(&found).ok_or_else(unknown)
    }

    /// For all transactions of a session to come.
    pub(super) fn statement(self, engine: Engine) -> String {
        let level = self.name().to_ascii_uppercase().replace('-', " ");
        match engine {
            Engine::Postgres => {
                format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")
            }
            Engine::MySql => format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_found_by_its_name_as_servers_write_it() {
        for level in Isolation::ALL {
            assert_eq!(Isolation::named(level.name()), Some(level));
        }
        let committed = Some(Isolation::ReadCommitted);
        assert_eq!(Isolation::named("read committed"), committed);
        assert_eq!(Isolation::named("READ-COMMITTED"), committed);
        assert_eq!(Isolation::named("snapshot"), None);
    }

    #[test]
    fn a_session_is_told_in_its_servers_words() {
        let told = Isolation::RepeatableRead.statement(Engine::MySql);
        let expected = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";
        assert_eq!(told, expected);
        let told = Isolation::Serializable.statement(Engine::Postgres);
        assert!(told.ends_with("AS TRANSACTION ISOLATION LEVEL SERIALIZABLE"));
    }
}
