//! A setting with its limits, its value and where that comes from.

use serde::{Deserialize, Serialize};

/// One row of pg_settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// `setting`: in `unit`, not humane; `(hidden)` where it may hold a secret.
    pub value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// `internal`, `postmaster`, `sighup`, `superuser-backend`, `backend`, `superuser`, `user`.
    pub context: String,
    /// `bool`, `enum`, `integer`, `real`, `string`.
    pub vartype: String,
    /// Where the value came from: `default`, `configuration file`, `command line`, …
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enum_values: Vec<String>,
    #[serde(default)]
    pub pending_restart: bool,
    /// What sessions like ours have instead; `value` and `source` are the server's for everyone then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<Instead>,
}

/// A value that holds for one role, database or connection only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Instead {
    pub value: String,
    /// `database`, `user`, `database user`, `client` or `session`.
    pub source: String,
}

impl Setting {
    /// Whether a restart would change it. The server says so, too, of what a file sets and its command
    /// line sets again.
    pub fn waits_for_restart(&self) -> bool {
        self.pending_restart && self.source != "command line"
    }

    /// The value as a number in its base unit: bytes for memory, seconds for time.
    pub fn number(&self) -> Option<f64> {
        let value: f64 = self.value.parse().ok()?;
        // -1 and 0 are words ("automatic", "off") whatever the unit.
        if value < 0.0 {
            return Some(value);
        }
        Some(value * self.unit_factor()?)
    }

    pub fn bytes(&self) -> Option<u64> {
        let number = self.number()?;
        (number >= 0.0 && self.is_memory()).then_some(number as u64)
    }

    pub fn is_memory(&self) -> bool {
        matches!(self.unit.as_deref(), Some(unit) if unit.ends_with('B'))
    }

    /// Bytes or seconds in one of the setting's units; 1 without a unit.
    pub fn unit_factor(&self) -> Option<f64> {
        Some(match self.unit.as_deref() {
            None | Some("") => 1.0,
            Some("us") => 1e-6,
            Some("ms") => 1e-3,
            Some("s") => 1.0,
            Some("min") => 60.0,
            Some("h") => 3600.0,
            Some("d") => 86_400.0,
            Some(unit) => {
                let digits: String = unit.chars().take_while(char::is_ascii_digit).collect();
                let count: f64 = if digits.is_empty() {
                    1.0
                } else {
                    digits.parse().ok()?
                };
                let base = match &unit[digits.len()..] {
                    "B" => 1.0,
                    "kB" => 1024.0,
                    "MB" => 1024.0 * 1024.0,
                    "GB" => 1024.0 * 1024.0 * 1024.0,
                    "TB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
                    _ => return None,
                };
                count * base
            }
        })
    }

    /// A number of postgresql.conf in the setting's own unit, as pg_settings would show it.
    pub fn in_unit(&self, conf: &str) -> Option<f64> {
        let conf = conf.trim();
        if let Ok(bare) = conf.parse::<f64>() {
            return bare.is_finite().then_some(bare);
        }
        let digits = conf.find(|c: char| c.is_ascii_alphabetic())?;
        let number: f64 = conf[..digits].trim().parse().ok()?;
        let given = Self {
            unit: Some(conf[digits..].trim().to_owned()),
            ..Self::default()
        };
        // A size for a time, or a unit where there is none, is a mistake and no number.
        let same_kind = self.unit.is_some() && given.is_memory() == self.is_memory();
        let (unit, factor) = (given.unit_factor()?, self.unit_factor()?);
        same_kind.then(|| number * unit / factor)
    }

    /// What pg_settings would show for this text of postgresql.conf; none for what is no value of the
    /// setting, or a spelling of one that only the server knows.
    pub fn shown_for(&self, conf: &str) -> Option<String> {
        match self.vartype.as_str() {
            "bool" => switch(conf.trim()).map(str::to_owned),
            "enum" => {
                let mut known = self.enum_values.iter();
                known
                    .find(|known| known.eq_ignore_ascii_case(conf.trim()))
                    .cloned()
            }
            "integer" => Some((self.in_unit(conf)?.round() as i64).to_string()),
            "real" => Some(self.in_unit(conf)?.to_string()),
            "string" => Some(conf.to_owned()),
            _ => None,
        }
    }

    /// Whether the value is that of sessions like ours, and not what the server has for everyone.
    pub fn is_of_session(&self) -> bool {
        matches!(
            self.source.as_str(),
            "database" | "user" | "database user" | "client" | "interactive" | "test" | "session"
        )
    }

    /// Neither the compiled-in default nor something that initdb or the server derived.
    pub fn is_set_by_user(&self) -> bool {
        !matches!(
            self.source.as_str(),
            "default" | "override" | "client" | "session"
        )
    }
}

/// The spellings of on and off that are no beginnings of others.
fn switch(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some("on"),
        "off" | "false" | "no" | "0" => Some("off"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Setting;
    use crate::postgres::Postgres;

    fn of(vartype: &str, unit: Option<&str>) -> Setting {
        Setting {
            vartype: vartype.to_owned(),
            unit: unit.map(str::to_owned),
            enum_values: vec!["off".to_owned(), "remote_apply".to_owned()],
            ..Setting::default()
        }
    }

    #[test]
    fn a_line_of_a_file_reads_as_the_server_would_show_it() {
        for (vartype, unit, conf, shown) in [
            ("integer", Some("kB"), "64MB", Some("65536")),
            ("integer", Some("8kB"), "1TB", Some("134217728")),
            ("integer", Some("s"), "15min", Some("900")),
            ("integer", Some("s"), "1GB", None),
            ("real", None, "1.1", Some("1.1")),
            ("bool", None, "True", Some("on")),
            ("bool", None, "perhaps", None),
            ("enum", None, "Remote_Apply", Some("remote_apply")),
            ("enum", None, "false", None),
            ("string", None, "a, b", Some("a, b")),
        ] {
            let setting = of(vartype, unit);
            assert_eq!(setting.shown_for(conf).as_deref(), shown, "{conf}");
        }
    }

    #[test]
    fn what_only_our_role_has_is_not_the_server_s() {
        let mut server = Postgres::default();
        for (name, source) in [
            ("jit", "user"),
            ("work_mem", "database"),
            ("port", "command line"),
            ("lock_timeout", "global"),
        ] {
            let setting = Setting {
                value: "1".to_owned(),
                source: source.to_owned(),
                ..Setting::default()
            };
            server.settings.insert(name.to_owned(), setting);
        }
        assert_eq!(server.setting("jit"), None);
        assert_eq!(server.number("work_mem"), None);
        assert!(server.why_hidden("jit").unwrap().contains("ALTER ROLE"));
        let why = server.why_hidden("work_mem").unwrap();
        assert!(why.contains("ALTER DATABASE"), "{why}");
        for name in ["port", "lock_timeout"] {
            assert_eq!(server.number(name), Some(1.0), "{name}");
            assert_eq!(server.why_hidden(name), None, "{name}");
        }
        assert_eq!(server.why_hidden("no_such_setting"), None);
    }
}
