//! Servers that take no writes: how they say so, how they refuse, and what to do then.

use super::{Engine, Link, ServerError, WireError};

/// Whether the transactions of a new session may only read. MySQL's and MariaDB's `read_only` is not
/// asked after: whoever has the privilege writes all the same.
///
/// # Errors
/// The server is lost, or refuses to say.
pub fn is_read_only(link: &mut Link, engine: Engine) -> Result<bool, WireError> {
    // A standby has it on too. MariaDB before 11.1 has the older name alone.
    let sql = match engine {
        Engine::Postgres => "SELECT current_setting('transaction_read_only')",
        Engine::MySql => {
            "SHOW SESSION VARIABLES
             WHERE Variable_name IN ('super_read_only', 'innodb_read_only',
                'transaction_read_only', 'tx_read_only')"
        }
    };
    let mut found = false;
    link.rows(sql, |mut row| {
        if engine == Engine::MySql {
            row.skip()?;
        }
        found |= row.text()?.eq_ignore_ascii_case("on");
        Ok(())
    })?;
    Ok(found)
}

/// What to do about a server that takes no writes.
#[must_use]
pub fn read_only_hint(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => {
            "the server is read-only (a standby, or default_transaction_read_only = on): give the \
             primary's address"
        }
        Engine::MySql => {
            "the server is read-only (a replica, or read_only, super_read_only, innodb_read_only or \
             transaction_read_only = ON): give the primary's address"
        }
    }
}

/// Whose refusal of a write this is, where it is one. The code is what errors are counted by.
#[must_use]
pub fn refused_as_read_only(code: &str, message: &str) -> Option<Engine> {
    match code {
        "25006" => Some(Engine::Postgres),
        // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_READ_ONLY_MODE.
        "1792" | "1836" => Some(Engine::MySql),
        // ER_OPTION_PREVENTS_STATEMENT is of any option, whose name stands in all translations.
        "1290" if message.contains("read-only") || message.contains("read_only") => {
            Some(Engine::MySql)
        }
        _ => None,
    }
}

impl ServerError {
    /// What to do where a server that takes no writes has refused one.
    #[must_use]
    pub fn read_only_hint(&self) -> Option<&'static str> {
        refused_as_read_only(&self.code(), &self.message).map(read_only_hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_write_is_told_from_other_refusals() {
        let option = |option: &str| {
            format!(
                "The MySQL server is running with the {option} option so it cannot execute this \
                 statement"
            )
        };
        for (number, message) in [
            (1290, option("--read-only")),
            (1290, option("--super-read-only")),
            (
                1792,
                "Cannot execute statement in a READ ONLY transaction.".to_owned(),
            ),
            (1836, "Running in read-only mode".to_owned()),
        ] {
            let error = ServerError {
                sqlstate: "HY000".to_owned(),
                number: Some(number),
                message,
                hint: None,
                fatal: false,
            };
            let hint = error.read_only_hint().unwrap_or_default();
            assert!(hint.contains("super_read_only"), "{error}");
        }
        let postgres = refused_as_read_only("25006", "").map(read_only_hint);
        assert!(postgres.is_some_and(|hint| hint.contains("standby")));
        for (code, message) in [
            ("1290", option("--skip-grant-tables")),
            ("1290", option("--secure-file-priv")),
            ("1142", "INSERT command denied to user".to_owned()),
            ("42501", "permission denied for table stock".to_owned()),
        ] {
            assert_eq!(refused_as_read_only(code, &message), None, "{message}");
        }
    }
}
