//! What a running server lets be set, and what a recommendation may never do.

use dbdyno_model::finding::Want;
use dbdyno_model::postgres::{Postgres, Setting};

use super::humane;
use crate::cloud::PATRONI;

/// A value that the server takes, and what was cut off to make it fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gated {
    pub(super) value: String,
    /// The limit of the server that the wanted value crossed.
    pub(super) limited: Option<String>,
}

/// The wanted value as this server takes it, or why it cannot.
pub(super) fn gate(setting: &Setting, want: &Want) -> Result<Gated, String> {
    if setting.context == "internal" {
        return Err("fixed when the server is built or its data directory is made".to_owned());
    }
    match want {
        Want::Bytes(_) if !setting.is_memory() => Err("the setting is not a size".to_owned()),
        Want::Bytes(bytes) => number(setting, &humane::bytes(humane::round_down(*bytes))),
        Want::Value(value) => typed(setting, value),
        Want::FirstOf(values) => values
            .iter()
            .find_map(|value| typed(setting, value).ok())
            .ok_or_else(|| format!("this server offers none of {}", values.join(", "))),
    }
}

fn typed(setting: &Setting, value: &str) -> Result<Gated, String> {
    let exactly = |value: &str| {
        Ok(Gated {
            value: value.to_owned(),
            limited: None,
        })
    };
    match setting.vartype.as_str() {
        "bool" => match value {
            "on" | "true" | "yes" => exactly("on"),
            "off" | "false" | "no" => exactly("off"),
            _ => Err(format!("{value} is neither on nor off")),
        },
        "enum" if setting.enum_values.iter().any(|known| known == value) => exactly(value),
        "enum" => Err(format!(
            "this server offers {}",
            setting.enum_values.join(", ")
        )),
        "integer" | "real" => number(setting, value),
        _ => exactly(value),
    }
}

fn number(setting: &Setting, value: &str) -> Result<Gated, String> {
    let raw = humane::raw(setting, value)
        .ok_or_else(|| format!("{value} is no value of this setting"))?;
    let raw = if setting.vartype == "integer" {
        raw.floor()
    } else {
        raw
    };
    let bound = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<f64>().ok());
    let low = bound(&setting.min).unwrap_or(f64::NEG_INFINITY);
    let high = bound(&setting.max).unwrap_or(f64::INFINITY);
    let clamped = raw.max(low).min(high);
    let written = |raw: f64| {
        humane::setting(&Setting {
            value: raw.to_string(),
            ..setting.clone()
        })
    };
    let limited = (clamped != raw).then(|| {
        let (limit, side) = if raw > high {
            (high, "most")
        } else {
            (low, "least")
        };
        format!("this server takes at {side} {}", written(limit))
    });
    Ok(Gated {
        value: written(clamped),
        limited,
    })
}

/// The wanted value as postgresql.conf of this server would have it, clamped to its limits; an
/// error is the reason why the server cannot take it.
pub fn conf_value(setting: &Setting, want: &Want) -> Result<String, String> {
    gate(setting, want).map(|gated| gated.value)
}

/// Whether the setting has this value already.
pub(super) fn is_already(setting: &Setting, value: &str) -> bool {
    match humane::with_value(setting, value) {
        Some(wanted) => match (wanted.value.parse::<f64>(), setting.value.parse::<f64>()) {
            (Ok(wanted), Ok(now)) => wanted == now,
            _ => wanted.value == setting.value,
        },
        None => setting.value == value,
    }
}

/// Why a value in the configuration would have no effect, if so. What Patroni passes on the command line
/// stands in its own configuration, which is what is changed there.
pub(super) fn shadowed(postgres: &Postgres, setting: &Setting) -> Option<&'static str> {
    let is_patroni = postgres.managed_by.as_deref() == Some(PATRONI);
    match setting.source.as_str() {
        "command line" if is_patroni => None,
        "command line" => Some("set on the server's command line, which wins over its files"),
        "environment variable" => Some("set by the server's environment"),
        "global" => Some("set by ALTER ROLE ALL, which wins over the server's files"),
        _ => None,
    }
}

/// Settings ordered from careless to careful: a plan may go right, never left.
const SAFETY_LADDERS: [(&str, &[&str]); 11] = [
    ("wal_level", &["minimal", "replica", "logical"]),
    ("archive_mode", &["off", "on", "always"]),
    (
        "synchronous_commit",
        &["off", "local", "remote_write", "on", "remote_apply"],
    ),
    ("fsync", &["off", "on"]),
    ("full_page_writes", &["off", "on"]),
    ("autovacuum", &["off", "on"]),
    ("track_counts", &["off", "on"]),
    ("zero_damaged_pages", &["on", "off"]),
    ("ignore_checksum_failure", &["on", "off"]),
    ("ignore_invalid_pages", &["on", "off"]),
    ("data_sync_retry", &["on", "off"]),
];

/// Whether the setting stands between committed data and its loss.
pub(crate) fn guards_data(name: &str) -> bool {
    // These two keep a server running, not its data whole.
    let is_upkeep = matches!(name, "autovacuum" | "track_counts");
    !is_upkeep && SAFETY_LADDERS.iter().any(|(ladder, _)| *ladder == name)
}

/// Why a plan that recommends may not set this, if so.
pub(super) fn forbidden(name: &str, setting: &Setting, value: &str) -> Option<String> {
    let (_, ladder) = SAFETY_LADDERS.iter().find(|(ladder, _)| *ladder == name)?;
    let step = |value: &str| ladder.iter().position(|step| *step == value);
    match (step(&setting.value), step(value)) {
        (Some(now), Some(wanted)) if wanted >= now => None,
        _ => Some(format!(
            "a plan never lowers {name} from {} to {value}",
            setting.value
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formulas::{GIB, MIB};
    use crate::testing::healthy;

    fn setting(name: &str) -> Setting {
        healthy().postgres.unwrap().settings[name].clone()
    }

    fn first_of(values: &[&str]) -> Want {
        Want::FirstOf(values.iter().map(|value| (*value).to_owned()).collect())
    }

    #[test]
    fn values_are_clamped_to_the_server_s_limits_and_the_limit_is_named() {
        let gated = gate(
            &setting("effective_io_concurrency"),
            &Want::Value("5000".into()),
        );
        let gated = gated.unwrap();
        assert_eq!(gated.value, "1000");
        assert_eq!(
            gated.limited.as_deref(),
            Some("this server takes at most 1000")
        );
        let low = gate(&setting("shared_buffers"), &Want::Bytes(1)).unwrap();
        assert_eq!(low.value, "128kB");
        assert_eq!(
            low.limited.as_deref(),
            Some("this server takes at least 128kB")
        );
    }

    #[test]
    fn sizes_are_rounded_down_to_humane_steps() {
        let want = Want::Bytes(6 * GIB - MIB);
        assert_eq!(
            conf_value(&setting("shared_buffers"), &want).unwrap(),
            "5632MB"
        );
        assert!(conf_value(&setting("checkpoint_timeout"), &want).is_err());
    }

    #[test]
    fn the_first_value_that_the_build_offers_is_taken() {
        let methods = first_of(&["lz4", "zstd", "on"]);
        let mut compression = setting("wal_compression");
        assert_eq!(conf_value(&compression, &methods).unwrap(), "lz4");
        compression.enum_values.retain(|value| value != "lz4");
        assert_eq!(conf_value(&compression, &methods).unwrap(), "zstd");
        // Before 15 the setting is a bool.
        compression.enum_values.clear();
        compression.vartype = "bool".into();
        assert_eq!(conf_value(&compression, &methods).unwrap(), "on");
        assert!(conf_value(&compression, &first_of(&["lz4"])).is_err());
    }

    #[test]
    fn what_initdb_fixed_and_what_is_no_value_is_refused() {
        assert!(conf_value(&setting("data_checksums"), &Want::Value("on".into())).is_err());
        assert!(conf_value(&setting("jit"), &Want::Value("maybe".into())).is_err());
        assert!(conf_value(&setting("checkpoint_timeout"), &Want::Value("1GB".into())).is_err());
        assert!(conf_value(&setting("wal_level"), &Want::Value("paranoid".into())).is_err());
    }

    #[test]
    fn safety_goes_up_and_never_down() {
        assert!(forbidden("wal_level", &setting("wal_level"), "minimal").is_some());
        assert!(forbidden("wal_level", &setting("wal_level"), "logical").is_none());
        assert!(forbidden("synchronous_commit", &setting("synchronous_commit"), "off").is_some());
        assert!(forbidden("autovacuum", &setting("autovacuum"), "off").is_some());
        assert!(forbidden("fsync", &setting("fsync"), "on").is_none());
        assert!(forbidden("fsync", &setting("fsync"), "perhaps").is_some());
        let retry = setting("data_sync_retry");
        assert!(forbidden("data_sync_retry", &retry, "on").is_some());
        assert!(forbidden("work_mem", &setting("work_mem"), "4MB").is_none());
    }

    #[test]
    fn what_guards_data_is_known_and_upkeep_is_not_it() {
        assert!(guards_data("fsync") && guards_data("synchronous_commit"));
        assert!(!guards_data("autovacuum") && !guards_data("work_mem"));
    }

    #[test]
    fn equal_values_are_recognised_in_any_unit() {
        assert!(is_already(&setting("checkpoint_timeout"), "5min"));
        assert!(is_already(&setting("shared_buffers"), "131072kB"));
        assert!(!is_already(&setting("shared_buffers"), "129MB"));
        assert!(is_already(&setting("jit"), "on"));
    }
}
