//! pg_settings, without the secrets that some settings hold.

use std::collections::BTreeMap;

use ::postgres::{Client, Error, Row};
use dbdyno_model::postgres::Setting;

use super::reader::{Subject, read_committed};

pub(super) const SUBJECT: Subject = Subject::new("postgres.settings", "pg_settings");

/// In the place of a value that may hold a password, key or token.
const HIDDEN: &str = "(hidden)";

const SQL: &str = "SELECT name, coalesce(setting, ''), unit, context, vartype, source, \
     sourcefile, sourceline, boot_val, min_val, max_val, enumvals, pending_restart \
     FROM pg_catalog.pg_settings";

pub(super) fn read(client: &mut Client, _version: u32) -> Result<BTreeMap<String, Setting>, Error> {
    let rows = read_committed(client, |client| client.query(SQL, &[]))?;
    rows.iter().map(decode).collect()
}

fn decode(row: &Row) -> Result<(String, Setting), Error> {
    let line: Option<i32> = row.try_get(7)?;
    let enum_values: Option<Vec<String>> = row.try_get(11)?;
    let setting = Setting {
        value: row.try_get(1)?,
        unit: row.try_get(2)?,
        context: row.try_get(3)?,
        vartype: row.try_get(4)?,
        source: row.try_get(5)?,
        source_file: row.try_get(6)?,
        source_line: line.and_then(|line| u32::try_from(line).ok()),
        boot_value: row.try_get(8)?,
        min: row.try_get(9)?,
        max: row.try_get(10)?,
        enum_values: enum_values.unwrap_or_default(),
        pending_restart: row.try_get(12)?,
        instead: None,
    };
    Ok((row.try_get(0)?, setting))
}

/// The settings as they may stand in a document.
pub(super) fn without_secrets(
    mut settings: BTreeMap<String, Setting>,
) -> BTreeMap<String, Setting> {
    for (name, setting) in &mut settings {
        if setting.vartype != "string" {
            continue;
        }
        let instead = setting.instead.as_mut().map(|instead| &mut instead.value);
        for value in std::iter::once(&mut setting.value).chain(instead) {
            if !value.is_empty() && may_hold_secret(name, value) {
                *value = HIDDEN.into();
            }
        }
    }
    settings
}

fn may_hold_secret(name: &str, value: &str) -> bool {
    // Commands carry the keys of object stores, and connection strings passwords.
    const NAMES: [&str; 7] = [
        "password",
        "passphrase",
        "secret",
        "token",
        "credential",
        "salt",
        "conninfo",
    ];
    NAMES.iter().any(|part| name.contains(part))
        || name.ends_with("_command")
        || name.ends_with("_key")
        || value.contains("password=")
        || value.split_once("://").is_some_and(|(_, rest)| {
            rest.split('/')
                .next()
                .is_some_and(|host| host.contains('@'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_model::postgres::Instead;

    fn after(name: &str, vartype: &str, value: &str) -> String {
        let setting = Setting {
            value: value.into(),
            vartype: vartype.into(),
            ..Setting::default()
        };
        let settings = without_secrets(BTreeMap::from([(name.to_owned(), setting)]));
        settings[name].value.clone()
    }

    #[test]
    fn what_may_hold_a_secret_is_hidden_and_what_is_set_stays_visible_as_set() {
        for (name, value) in [
            ("primary_conninfo", "host=a password=x"),
            ("archive_command", "AWS_SECRET=x cp %p"),
            ("ssl_passphrase_command", "echo x"),
            ("cron.host", "postgres://u:p@h/d"),
            ("anon.salt", "x"),
        ] {
            assert_eq!(after(name, "string", value), HIDDEN, "{name}");
        }
        let ours = Setting {
            vartype: "string".into(),
            instead: Some(Instead {
                value: "x".into(),
                source: "user".into(),
            }),
            ..Setting::default()
        };
        let ours = without_secrets(BTreeMap::from([("anon.salt".to_owned(), ours)]));
        assert_eq!(ours["anon.salt"].instead.as_ref().unwrap().value, HIDDEN);
        assert_eq!(after("archive_command", "string", ""), "");
        assert_eq!(
            after("password_encryption", "enum", "scram-sha-256"),
            "scram-sha-256"
        );
        assert_eq!(after("ssl_key_file", "string", "/k"), "/k");
        assert_eq!(after("log_directory", "string", "log"), "log");
    }
}
