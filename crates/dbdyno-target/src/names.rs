//! What must not stand in a document: secrets always, names and addresses unless they are asked for.

mod sessions;
mod standbys;
mod text;

use dbdyno_model::facts::Facts;
use dbdyno_model::postgres::Setting;
use dbdyno_model::{Address, Connection};
use serde_json::Value;

/// What stands for the value of a setting that names somebody or some place.
const NAME: &str = "(name)";

/// Settings that hold names of hosts, of users or of clusters called after them.
const NAMING: &[&str] = &[
    "application_name",
    "bonjour_name",
    "cluster_name",
    "event_source",
    "primary_slot_name",
    "synchronized_standby_slots",
    "syslog_ident",
    "unix_socket_group",
];
/// The same of extensions.
const NAMING_ENDINGS: &[&str] = &[
    ".application_name",
    ".host",
    ".hostname",
    ".user",
    "_host",
    "_hostname",
    "_user",
    "_username",
];

/// Words that say nothing of whose server it is, and mean something else wherever they stand.
const COMMON: &[&str] = &[
    "admin",
    "app",
    "backup",
    "data",
    "database",
    "db",
    "dbdyno",
    "debian",
    "default",
    "docker",
    "host",
    "linux",
    "local",
    "localhost",
    "main",
    "mariadb",
    "master",
    "monitor",
    "mysql",
    "node",
    "nobody",
    "postgres",
    "postgresql",
    "primary",
    "public",
    "replica",
    "root",
    "server",
    "standby",
    "test",
    "ubuntu",
    "user",
];
/// A shorter word is part of too much else.
const SHORTEST: usize = 3;

/// The names that are known while facts are collected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    hosts: Vec<String>,
    users: Vec<String>,
}

impl Names {
    /// Those of this machine and of whoever runs this.
    pub fn here(environment: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut names = Self::default();
        let node = rustix::system::uname();
        names.add_host(&node.nodename().to_string_lossy());
        for variable in ["USER", "LOGNAME", "SUDO_USER", "PGUSER"] {
            if let Some(user) = environment(variable) {
                names.add_user(&user);
            }
        }
        names
    }

    /// Adds those of a connection.
    pub fn add(&mut self, connection: &Connection) {
        if let Address::Tcp(host) = &connection.address {
            self.add_host(host);
        }
        self.add_user(&connection.user);
    }

    fn add_host(&mut self, host: &str) {
        // The whole name first: its first part alone would leave the domain standing.
        let short = host.split('.').next().unwrap_or(host);
        for name in [host, short] {
            // Device mapper doubles a dash in names of volumes, systemd escapes it in those of units.
            let forms = [
                name.to_owned(),
                name.replace('-', "--"),
                name.replace('-', "\\x2d"),
            ];
            for form in forms {
                if is_telling(name) && !self.hosts.contains(&form) {
                    self.hosts.push(form);
                }
            }
        }
    }

    /// Adds the name of a user.
    pub fn add_user(&mut self, user: &str) {
        if is_telling(user) && !self.users.iter().any(|known| known == user) {
            self.users.push(user.to_owned());
        }
    }
}

fn is_telling(name: &str) -> bool {
    let is_number = name
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    name.len() >= SHORTEST && !is_number && !COMMON.contains(&name.to_ascii_lowercase().as_str())
}

/// The facts as they may stand in a document; without `names`, only secrets are taken out.
///
/// # Errors
/// Where a name was also a word of the facts themselves, so that they cannot be read any more.
pub fn hidden(facts: &Facts, names: Option<&Names>) -> Result<Facts, serde_json::Error> {
    let mut facts = facts.clone();
    if names.is_some() {
        hide_settings(&mut facts);
        sessions::hide(&mut facts);
        standbys::hide(&mut facts);
    }
    let mut value = serde_json::to_value(&facts)?;
    walk(&mut value, false, names);
    serde_json::from_value(value)
}

/// A text as it may be shown, such as an error of the server's.
pub fn hidden_text(text: &str, names: Option<&Names>) -> String {
    let text = text::without_secrets(text);
    match names {
        Some(names) => text::without_names(&text, &names.hosts, &names.users, false),
        None => text,
    }
}

/// Settings whose value is a name, whatever name it is.
fn hide_settings(facts: &mut Facts) {
    let settings = facts
        .postgres
        .iter_mut()
        .flat_map(|server| &mut server.settings);
    for (name, setting) in settings {
        if name == "listen_addresses" {
            let addresses = setting.value.split(',').map(|one| listened(one.trim()));
            setting.value = addresses.collect::<Vec<_>>().join(",");
            continue;
        }
        let is_name = holds_name(name, setting, &setting.value);
        let ours = setting.instead.as_ref().map(|instead| &instead.value);
        let is_ours = ours.is_some_and(|value| holds_name(name, setting, value));
        if is_name {
            setting.value = NAME.to_owned();
        }
        if let Some(instead) = setting.instead.as_mut().filter(|_| is_ours) {
            instead.value = NAME.to_owned();
        }
    }
    for other in &mut facts.others {
        hide_settings(other);
    }
}

fn holds_name(name: &str, setting: &Setting, value: &str) -> bool {
    let is_naming =
        NAMING.contains(&name) || NAMING_ENDINGS.iter().any(|ending| name.ends_with(ending));
    is_naming
        && setting.vartype == "string"
        && !value.is_empty()
        && setting.boot_value.as_deref() != Some(value)
}

/// What says who may connect stays; what says where the server is does not.
fn listened(address: &str) -> String {
    const GENERAL: [&str; 7] = ["", "*", "0.0.0.0", "127.0.0.1", "::", "::1", "localhost"];
    if GENERAL.contains(&address) {
        address.to_owned()
    } else {
        text::ADDRESS.to_owned()
    }
}

fn walk(value: &mut Value, is_version: bool, names: Option<&Names>) {
    match value {
        Value::String(text) => {
            let mut shown = text::without_secrets(text);
            if let Some(names) = names {
                shown = text::without_names(&shown, &names.hosts, &names.users, is_version);
            }
            if shown != *text {
                *text = shown;
            }
        }
        Value::Array(items) => {
            for item in items {
                walk(item, is_version, names);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                // Four numbers in a row are a version here.
                let is_version = is_version || key.contains("version") || key.contains("release");
                walk(value, is_version, names);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_model::Fact;
    use dbdyno_model::postgres::{Instead, MissingPrivilege};

    fn setting(value: &str) -> Setting {
        Setting {
            value: value.to_owned(),
            vartype: "string".to_owned(),
            boot_value: Some(String::new()),
            ..Setting::default()
        }
    }

    fn captured() -> Facts {
        serde_json::from_str(include_str!(
            "../../../fixtures/facts/vm-2cpu-postgres15.json"
        ))
        .unwrap()
    }

    fn facts() -> Facts {
        let mut facts = captured();
        let server = facts.postgres.as_mut().unwrap();
        server.missing_privileges = vec![MissingPrivilege {
            object: "pg_file_settings".to_owned(),
            grant: "GRANT SELECT ON pg_file_settings TO carol".to_owned(),
        }];
        for (name, value) in [
            ("cluster_name", "crm-north"),
            ("listen_addresses", "localhost,10.9.8.7"),
            ("data_directory", "/home/carol/pg"),
            ("synchronous_standby_names", "ANY 1 (north2)"),
            ("cron.host", "postgres://u:canary@crm-north/d"),
            ("log_directory", "/dev/mapper/crm--north--vg-log"),
        ] {
            server.settings.insert(name.to_owned(), setting(value));
        }
        let ours = Setting {
            instead: Some(Instead {
                value: "erin7".to_owned(),
                source: "user".to_owned(),
            }),
            ..setting("")
        };
        server.settings.insert("shop.user".to_owned(), ours);
        let host = facts.host.as_mut().unwrap();
        host.kernel_release = Fact::known("6.1.0.23".to_owned(), "crm-north");
        host.data = host.data.clone().map(|mut storage| {
            storage.path = "/home/carol/pg".to_owned();
            storage.source = "nas7.example:/export".to_owned();
            storage.mount_options = ["addr=10.9.8.7", "username=dave9", "pass=canary"]
                .map(str::to_owned)
                .to_vec();
            storage.fstab_options = Fact::known(vec!["domain=NORTH9".to_owned()], "/etc/fstab");
            storage.total_bytes = Fact::known(u64::MAX, "statvfs");
            storage
        });
        facts
    }

    fn names() -> Names {
        let mut names = Names::default();
        names.add_host("crm-north.example");
        names.add_user("carol");
        names
    }

    #[test]
    fn nothing_that_names_a_host_or_a_user_stays() {
        let mut facts = facts();
        facts.others = vec![facts.clone()];
        let hidden = hidden(&facts, Some(&names())).unwrap();
        let json = serde_json::to_string(&hidden).unwrap();
        for name in [
            "crm-north",
            "crm--north",
            "carol",
            "10.9.8.7",
            "nas7",
            "north2",
            "canary",
            "dave9",
            "NORTH9",
            "erin7",
        ] {
            assert!(!json.contains(name), "{name} in {json}");
        }
        let server = hidden.postgres.unwrap();
        assert_eq!(
            server.settings["listen_addresses"].value,
            "localhost,(address)"
        );
        assert_eq!(server.settings["work_mem"].value, "4096");
        assert_eq!(
            server.missing_privileges[0].grant,
            "GRANT SELECT ON pg_file_settings TO (user)"
        );
        assert!(server.version.starts_with("15.18"), "{}", server.version);
        let host = hidden.host.unwrap();
        assert_eq!(host.kernel_release.value().unwrap(), "6.1.0.23");
        let data = host.data.value().unwrap();
        assert_eq!(
            (data.path.as_str(), data.source.as_str()),
            ("/home/(user)/pg", "(host):/export")
        );
        assert_eq!(data.total_bytes.get(), Some(u64::MAX));
    }

    #[test]
    fn with_names_only_secrets_go() {
        let hidden = hidden(&facts(), None).unwrap();
        let json = serde_json::to_string(&hidden).unwrap();
        assert!(json.contains("carol") && json.contains("nas7"), "{json}");
        assert!(!json.contains("canary"), "{json}");
    }

    #[test]
    fn hiding_twice_changes_nothing_more() {
        let once = hidden(&facts(), Some(&names())).unwrap();
        assert_eq!(hidden(&once, Some(&names())).unwrap(), once);
    }

    #[test]
    fn captured_facts_stay_as_they_are() {
        let captured = captured();
        let mut shown = hidden(&captured, Some(&names())).unwrap();
        // Only the name under which psql was connected goes.
        let server = shown.postgres.as_mut().unwrap();
        let name = server.settings.get_mut("application_name").unwrap();
        assert_eq!(name.value, NAME);
        name.value = "psql".to_owned();
        assert_eq!(shown, captured);
    }

    #[test]
    fn common_words_are_no_names() {
        for word in ["postgres", "Primary", "db", "x1", "10.0.0.1", ""] {
            assert!(!is_telling(word), "{word}");
        }
        assert!(is_telling("db-17"));
    }

    #[test]
    fn an_error_of_the_server_is_shown_without_names() {
        let text = "no pg_hba.conf entry for host \"10.1.2.3\", user \"dave\", database \"d\"";
        assert_eq!(
            hidden_text(text, Some(&names())),
            "no pg_hba.conf entry for host \"(host)\", user \"(user)\", database \"d\""
        );
        assert_eq!(hidden_text(text, None), text);
    }
}
