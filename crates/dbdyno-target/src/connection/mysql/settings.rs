//! What is known of a MySQL connection, by where it was said.

use std::collections::BTreeMap;

/// What an option file may say of a connection. An option of any other name is somebody else's.
const OPTIONS: [&str; 8] = [
    "user", "password", "host", "port", "socket", "ssl-mode", "ssl-ca", "database",
];

const VARIABLES: [(&str, &str); 4] = [
    ("password", "MYSQL_PWD"),
    ("host", "MYSQL_HOST"),
    ("port", "MYSQL_TCP_PORT"),
    ("socket", "MYSQL_UNIX_PORT"),
];

/// Values by name; no Debug, since one is the password.
#[derive(Default)]
pub(super) struct Settings(BTreeMap<&'static str, String>);

impl Settings {
    pub(super) fn of_environment(environment: &dyn Fn(&str) -> Option<String>) -> Self {
        let values = VARIABLES
            .iter()
            .filter_map(|(name, variable)| Some((*name, environment(variable)?)));
        Self(values.collect())
    }

    pub(super) fn set(&mut self, name: &'static str, value: String) {
        self.0.insert(name, value);
    }

    /// Takes an option as a file spells it: `ssl_ca` is `ssl-ca`, and `loose-` asks for no more
    /// than is done here anyway. The last of several counts.
    pub(super) fn set_option(&mut self, name: &str, value: String) {
        let spelled = name.replace('_', "-");
        let name = spelled.strip_prefix("loose-").unwrap_or(&spelled);
        if let Some(known) = OPTIONS.into_iter().find(|known| *known == name) {
            self.set(known, value);
        }
    }

    /// An empty value counts as not given.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The places, the strongest first.
pub(super) struct Given {
    pub(super) typed: Settings,
    pub(super) environment: Settings,
    pub(super) files: Settings,
}

impl Given {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        [&self.typed, &self.environment, &self.files]
            .into_iter()
            .find_map(|settings| settings.get(name))
    }
}
