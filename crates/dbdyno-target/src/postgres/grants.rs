//! The least privileges with which everything is read, as SQL.

use ::postgres::Client;

use super::error::CollectError;
use super::reader::read_committed;
use super::{access, files, statistics_age, version, wal};

/// The role that is proposed where none is there yet.
pub const PROPOSED_ROLE: &str = "dbdyno";

/// Statements that make a role and let it read everything; the same from PostgreSQL 13 to 18.
pub fn grants(role: &str) -> Vec<String> {
    let role = if role == PROPOSED_ROLE {
        role.to_owned()
    } else {
        format!("\"{}\"", role.replace('"', "\"\""))
    };
    // What most subjects take, and what only the views of files and the ages of databases do.
    [
        "CREATE ROLE {role} LOGIN",
        wal::DIRECTORY.grant(),
        files::SUBJECT.grant(),
        access::RULES.grant(),
        statistics_age::SUBJECT.grant(),
    ]
    .iter()
    .flat_map(|statements| statements.split("; "))
    .map(|statement| format!("{};", statement.replace("{role}", &role)))
    .collect()
}

/// What a server says of the role that is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// `PostgreSQL 15.18`.
    pub server: String,
    pub role: String,
    pub is_superuser: bool,
}

/// Asks the server who is connected.
///
/// # Errors
/// For a server of the wrong kind or age, or where it does not answer.
pub fn granted(client: &mut Client) -> Result<Granted, CollectError> {
    const SQL: &str = "SELECT current_user::pg_catalog.text, rolsuper FROM pg_catalog.pg_roles \
         WHERE rolname OPERATOR(pg_catalog.=) current_user";
    let server = version(client)?.to_string();
    let ask = || -> Result<Granted, ::postgres::Error> {
        let row = read_committed(client, |client| client.query_one(SQL, &[]))?;
        Ok(Granted {
            server,
            role: row.try_get(0)?,
            is_superuser: row.try_get(1)?,
        })
    };
    ask().map_err(CollectError::Session)
}

#[cfg(test)]
mod tests {
    use super::grants;

    #[test]
    fn each_statement_names_the_role_safely() {
        let statements = grants("My \"role\"");
        assert_eq!(statements.len(), 7, "{statements:?}");
        for statement in statements {
            assert!(statement.contains(" \"My \"\"role\"\"\""), "{statement}");
            assert_eq!(statement.matches(';').count(), 1, "{statement}");
        }
    }

    #[test]
    fn a_plain_name_stays_plain() {
        let statements = grants("dbdyno");
        assert_eq!(
            statements[..2],
            ["CREATE ROLE dbdyno LOGIN;", "GRANT pg_monitor TO dbdyno;"]
        );
    }
}
