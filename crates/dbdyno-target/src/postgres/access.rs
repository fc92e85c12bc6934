//! Who may connect and how: pg_hba.conf, encryption, stored passwords.

use ::postgres::{Client, Error};
use dbdyno_model::Fact;
use dbdyno_model::postgres::{Access, AccessRule, Reach};

use super::error::CollectError;
use super::reader::{Reader, Subject, count};

pub(super) const RULES: Subject = Subject::new("postgres.access_rules", "pg_hba_file_rules")
    .granted_by(
        "GRANT SELECT ON pg_hba_file_rules TO {role}; \
     GRANT EXECUTE ON FUNCTION pg_hba_file_rules() TO {role}",
    );
const SESSIONS: Subject = Subject::new("postgres.plain_sessions", "pg_stat_ssl");
const PASSWORDS: Subject = Subject::new("postgres.md5_passwords", "pg_authid");

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Access, CollectError> {
    let rules = reader.read(&RULES, read_rules)?;
    let plain_sessions = if reader.sees_all_sessions {
        reader.read(&SESSIONS, read_plain_sessions)?
    } else {
        reader.unseen(&SESSIONS)
    };
    let passwords = reader.read(&PASSWORDS, read_md5_passwords)?;
    let md5_passwords = match passwords.value() {
        // No grant is named: nobody else should read that table.
        Some(None) => Fact::unknown("only a superuser may see it", PASSWORDS.origin),
        _ => passwords.map(Option::unwrap_or_default),
    };
    Ok(Access {
        rules,
        plain_sessions,
        md5_passwords,
    })
}

fn read_rules(client: &mut Client, version: u32) -> Result<Vec<AccessRule>, Error> {
    // From 16 on the file may include others.
    let file = if version < 160_000 {
        "(SELECT setting FROM pg_settings WHERE name = 'hba_file')"
    } else {
        "file_name"
    };
    let sql = format!(
        "SELECT coalesce({file}, 'pg_hba.conf') || ':' || line_number, type, address, \
         auth_method, error FROM pg_hba_file_rules ORDER BY {file}, line_number"
    );
    client
        .query(&sql, &[])?
        .iter()
        .map(|row| {
            let kind: Option<String> = row.try_get(1)?;
            let address: Option<String> = row.try_get(2)?;
            let method: Option<String> = row.try_get(3)?;
            let error: Option<String> = row.try_get(4)?;
            let kind = kind.unwrap_or_default();
            Ok(AccessRule {
                place: row.try_get(0)?,
                reach: reach(&kind, address.as_deref()),
                kind,
                method: method.unwrap_or_default(),
                error: error.as_deref().map(without_quoted),
            })
        })
        .collect()
}

/// `samehost` is every address of the machine: no other one can come from there.
fn reach(kind: &str, address: Option<&str>) -> Reach {
    match address {
        None if kind == "local" => Reach::Socket,
        Some(address) if address.starts_with("127.") => Reach::Loopback,
        Some("::1" | "localhost" | "samehost") => Reach::Loopback,
        _ => Reach::Network,
    }
}

/// What stands in quotes comes from the file, and may be a secret.
fn without_quoted(text: &str) -> String {
    text.split('"')
        .enumerate()
        .map(|(index, part)| {
            if index.is_multiple_of(2) {
                part
            } else {
                "\"…\""
            }
        })
        .collect()
}

/// Of the machine's own addresses only loopback and the one that we came to are known here.
fn read_plain_sessions(client: &mut Client, _version: u32) -> Result<u64, Error> {
    const SQL: &str = "SELECT count(*) FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid) \
         WHERE a.client_addr IS NOT NULL AND NOT s.ssl \
         AND NOT a.client_addr <<= inet '127.0.0.0/8' AND a.client_addr <> inet '::1' \
         AND a.client_addr IS DISTINCT FROM inet_server_addr()";
    Ok(count(client.query_one(SQL, &[])?.try_get(0)?))
}

/// None for who is no superuser.
fn read_md5_passwords(client: &mut Client, _version: u32) -> Result<Option<u64>, Error> {
    const SUPERUSER: &str = "SELECT current_setting('is_superuser') = 'on'";
    const SQL: &str = "SELECT count(*) FROM pg_authid \
         WHERE rolcanlogin AND rolpassword LIKE 'md5%'";
    let is_superuser: bool = client.query_one(SUPERUSER, &[])?.try_get(0)?;
    if !is_superuser {
        return Ok(None);
    }
    Ok(Some(count(client.query_one(SQL, &[])?.try_get(0)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reaches_as_far_as_its_address() {
        for (kind, address, wanted) in [
            ("local", None, Reach::Socket),
            ("host", Some("127.0.0.1"), Reach::Loopback),
            ("host", Some("::1"), Reach::Loopback),
            ("hostssl", Some("samehost"), Reach::Loopback),
            ("host", Some("samenet"), Reach::Network),
            ("host", Some("10.0.0.0"), Reach::Network),
            ("host", Some("all"), Reach::Network),
            ("", None, Reach::Network),
        ] {
            assert_eq!(reach(kind, address), wanted, "{kind} {address:?}");
        }
    }

    #[test]
    fn what_is_quoted_in_an_error_is_left_out() {
        assert_eq!(
            without_quoted("could not parse \"ldap://u:hunter2@h\": bad"),
            "could not parse \"…\": bad"
        );
        assert_eq!(without_quoted("end-of-line"), "end-of-line");
        assert_eq!(without_quoted("open \"hunter2"), "open \"…\"");
    }
}
