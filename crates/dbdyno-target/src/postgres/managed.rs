//! Recognises services and operators under whose hands a server is not the user's to change.

use std::collections::{BTreeMap, BTreeSet};

use ::postgres::{Client, Error};
use dbdyno_model::postgres::Setting;

use super::reader::Subject;

pub(super) const SUBJECT: Subject = Subject::new("postgres.managed", "pg_roles");

/// What betrays a manager beside pg_settings.
#[derive(Debug, Default)]
pub(super) struct Signs {
    roles: BTreeSet<String>,
    /// Placeholder settings, which pg_settings does not list, and functions of a service's own.
    placeholders: BTreeSet<String>,
}

/// Roles that a service makes for itself.
const ROLES: &[(&str, &str)] = &[
    ("rdsadmin", "Amazon RDS"),
    ("alloydbsuperuser", "Google AlloyDB"),
    ("cloudsqladmin", "Google Cloud SQL"),
    ("azure_superuser", "Azure Database for PostgreSQL"),
    ("azuresu", "Azure Database for PostgreSQL"),
    ("neon_superuser", "Neon"),
    ("supabase_admin", "Supabase"),
    ("tsdbadmin", "Timescale Cloud"),
    ("avnadmin", "Aiven"),
    ("doadmin", "DigitalOcean"),
    ("crunchy_superuser", "Crunchy Bridge"),
];

/// Prefixes of settings that only the service's own builds have.
const PREFIXES: &[(&str, &str)] = &[
    ("rds.", "Amazon RDS"),
    ("alloydb.", "Google AlloyDB"),
    ("cloudsql.", "Google Cloud SQL"),
    ("azure.", "Azure Database for PostgreSQL"),
    ("neon.", "Neon"),
    ("aiven.", "Aiven"),
    ("cnpg.", "CloudNativePG"),
];

const PLACEHOLDERS: [&str; 2] = ["cnpg.config_sha256", "neon.timeline_id"];

pub(super) fn read(client: &mut Client, _version: u32) -> Result<Signs, Error> {
    const SQL: &str = "SELECT rolname::text, true FROM pg_roles WHERE rolname = ANY($1) \
         UNION ALL SELECT name, false FROM unnest($2::text[]) name \
         WHERE current_setting(name, true) <> '' \
         UNION ALL SELECT proname::text, false FROM pg_proc \
         WHERE proname = 'aurora_version' AND pronamespace = 'pg_catalog'::regnamespace";
    let roles: Vec<&str> = ROLES.iter().map(|(role, _)| *role).collect();
    let mut signs = Signs::default();
    for row in client.query(SQL, &[&roles, &PLACEHOLDERS.as_slice()])? {
        let name = row.try_get(0)?;
        if row.try_get(1)? {
            signs.roles.insert(name);
        } else {
            signs.placeholders.insert(name);
        }
    }
    Ok(signs)
}

/// The manager's name, where there is one.
pub(super) fn detect(settings: &BTreeMap<String, Setting>, signs: &Signs) -> Option<String> {
    // Aurora also has everything that betrays RDS.
    if signs.placeholders.contains("aurora_version") {
        return Some("Amazon Aurora".into());
    }
    let value = |name: &str| {
        settings
            .get(name)
            .map_or("", |setting| setting.value.as_str())
    };
    if value("unix_socket_directories") == "/controller/run"
        || value("archive_command").contains("/controller/manager")
    {
        return Some("CloudNativePG".into());
    }
    let mut names = settings.keys().chain(&signs.placeholders);
    let by_prefix =
        names.find_map(|name| PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix)));
    let by_role = || ROLES.iter().find(|(role, _)| signs.roles.contains(*role));
    if let Some((_, manager)) = by_prefix.or_else(by_role) {
        return Some((*manager).into());
    }
    if is_patroni(settings) {
        return Some("Patroni".into());
    }
    // A manager that keeps ALTER SYSTEM for itself, whoever it is.
    (value("allow_alter_system") == "off")
        .then(|| "an operator that switched allow_alter_system off".into())
}

/// Patroni passes what all members must agree on by command line, always the same settings.
fn is_patroni(settings: &BTreeMap<String, Setting>) -> bool {
    const AGREED: [&str; 5] = [
        "cluster_name",
        "hot_standby",
        "max_prepared_transactions",
        "track_commit_timestamp",
        "wal_log_hints",
    ];
    AGREED.iter().all(|name| {
        settings
            .get(*name)
            .is_some_and(|setting| setting.source == "command line")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(entries: &[(&str, &str, &str)]) -> BTreeMap<String, Setting> {
        entries
            .iter()
            .map(|(name, value, source)| {
                let setting = Setting {
                    value: (*value).into(),
                    source: (*source).into(),
                    ..Setting::default()
                };
                ((*name).to_owned(), setting)
            })
            .collect()
    }

    fn signs(roles: &[&str], placeholders: &[&str]) -> Signs {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Signs {
            roles: set(roles),
            placeholders: set(placeholders),
        }
    }

    #[test]
    fn services_and_operators_are_recognised_and_a_plain_server_is_not() {
        let none = signs(&[], &[]);
        let plain = [
            ("work_mem", "4096", "default"),
            ("cluster_name", "15/main", "configuration file"),
        ];
        assert_eq!(detect(&settings(&plain), &none), None);
        let rds = settings(&[("rds.force_ssl", "1", "default")]);
        assert_eq!(detect(&rds, &none).unwrap(), "Amazon RDS");
        let aurora = detect(&rds, &signs(&["rdsadmin"], &["aurora_version"]));
        assert_eq!(aurora.unwrap(), "Amazon Aurora");
        let azure = detect(&settings(&plain), &signs(&["azuresu"], &[]));
        assert_eq!(azure.unwrap(), "Azure Database for PostgreSQL");
        let cnpg = detect(&settings(&plain), &signs(&[], &["cnpg.config_sha256"]));
        assert_eq!(cnpg.unwrap(), "CloudNativePG");
        let patroni = [
            "cluster_name",
            "hot_standby",
            "max_prepared_transactions",
            "track_commit_timestamp",
            "wal_log_hints",
        ]
        .map(|name| (name, "x", "command line"));
        assert_eq!(detect(&settings(&patroni), &none).unwrap(), "Patroni");
        let locked = settings(&[("allow_alter_system", "off", "configuration file")]);
        assert!(
            detect(&locked, &none)
                .unwrap()
                .contains("allow_alter_system")
        );
    }
}
