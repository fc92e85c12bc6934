//! Which server this is: version, role and start.

use std::fmt;

use ::postgres::Client;
use dbdyno_model::Fact;
use dbdyno_model::postgres::ReplicationRole;

use super::error::{CollectError, OLDEST};
use super::reader::{Reader, Subject, read_committed};

/// The version of a server that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// `server_version_num`.
    pub number: u32,
    /// `server_version`, as the server words it.
    pub text: String,
}

impl Version {
    pub fn major(&self) -> u32 {
        self.number / 10_000
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgreSQL {}", self.text)
    }
}

/// Asks the server what it is.
///
/// # Errors
/// For a server that is too old, or only speaks the protocol.
pub fn version(client: &mut Client) -> Result<Version, CollectError> {
    const SQL: &str = "SELECT pg_catalog.current_setting('server_version_num')::pg_catalog.int4, \
         pg_catalog.current_setting('server_version'), pg_catalog.version()";
    let row = read_committed(client, |client| client.query_one(SQL, &[]));
    let row = row.map_err(CollectError::Version)?;
    let read = || -> Result<(i32, String, String), ::postgres::Error> {
        Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
    };
    let (number, text, banner) = read().map_err(CollectError::Version)?;
    check(u32::try_from(number).unwrap_or(0), text, &banner)
}

fn check(number: u32, text: String, banner: &str) -> Result<Version, CollectError> {
    // Others answer to the protocol with a version of their choice, and with other views.
    if !banner.starts_with("PostgreSQL") && !banner.starts_with("EnterpriseDB") {
        return Err(CollectError::NotPostgres {
            version: banner.chars().take(80).collect(),
        });
    }
    if number < OLDEST * 10_000 {
        return Err(CollectError::TooOld { version: text });
    }
    Ok(Version { number, text })
}

const ROLE: Subject = Subject::new("postgres.role", "pg_is_in_recovery()");
const START: Subject = Subject::new("postgres.started_at", "pg_postmaster_start_time()");

pub(super) fn read_role_and_start(
    reader: &mut Reader<'_>,
) -> Result<(Fact<ReplicationRole>, Fact<String>), CollectError> {
    let role = reader.read(&ROLE, |client, _| {
        let is_standby = client
            .query_one("SELECT pg_is_in_recovery()", &[])?
            .try_get(0)?;
        Ok(if is_standby {
            ReplicationRole::Standby
        } else {
            ReplicationRole::Primary
        })
    })?;
    let started_at = reader.read(&START, |client, _| {
        const SQL: &str = r#"SELECT to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC',
            'YYYY-MM-DD"T"HH24:MI:SS"Z"')"#;
        client.query_one(SQL, &[])?.try_get(0)
    })?;
    Ok((role, started_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_named_to_those_outside_of_it() {
        let error = check(120_020, "12.20".into(), "PostgreSQL 12.20 on x86_64").unwrap_err();
        assert_eq!(
            error.to_string(),
            "PostgreSQL 12.20 is not supported: dbdyno reads 13 to 18"
        );
        let cockroach = check(130_000, "13.0.0".into(), "CockroachDB CCL v24.1");
        assert!(matches!(cockroach, Err(CollectError::NotPostgres { .. })));
        let newer = check(190_000, "19beta1".into(), "PostgreSQL 19beta1").unwrap();
        assert_eq!(newer.major(), 19);
    }
}
