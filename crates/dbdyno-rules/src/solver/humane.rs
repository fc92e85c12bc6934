//! Values as a person writes them in postgresql.conf, and back.

use dbdyno_model::postgres::Setting;

use crate::formulas::{GIB, KIB, MIB};

const TIB: u64 = 1024 * GIB;

/// Bytes in the largest unit that divides them: `5632MB`.
pub fn bytes(bytes: u64) -> String {
    for (unit, name) in [(TIB, "TB"), (GIB, "GB"), (MIB, "MB"), (KIB, "kB")] {
        if bytes > 0 && bytes.is_multiple_of(unit) {
            return format!("{}{name}", bytes / unit);
        }
    }
    if bytes == 0 {
        "0".to_owned()
    } else {
        format!("{bytes}B")
    }
}

/// Down to one of eight steps between two powers of two: at most an eighth is given away, and
/// two machines that differ by a few megabytes get the same value.
pub fn round_down(bytes: u64) -> u64 {
    match bytes.checked_ilog2() {
        Some(log) if log >= 3 => bytes & !((1_u64 << (log - 3)) - 1),
        _ => bytes,
    }
}

/// The setting's value as in postgresql.conf: `128MB`, not 16384 of 8 kB.
pub fn setting(setting: &Setting) -> String {
    let Ok(raw) = setting.value.parse::<f64>() else {
        return setting.value.clone();
    };
    if setting.unit.is_none() || raw <= 0.0 {
        return setting.value.clone();
    }
    let Some(base) = setting.number() else {
        return setting.value.clone();
    };
    if setting.is_memory() {
        bytes(base as u64)
    } else {
        duration(base, setting)
    }
}

fn duration(seconds: f64, setting: &Setting) -> String {
    let microseconds = (seconds * 1e6).round();
    for (unit, name) in [
        (86_400e6, "d"),
        (3600e6, "h"),
        (60e6, "min"),
        (1e6, "s"),
        (1e3, "ms"),
        (1.0, "us"),
    ] {
        if microseconds >= unit && microseconds % unit == 0.0 {
            return format!("{}{name}", microseconds / unit);
        }
    }
    format!(
        "{}{}",
        setting.value,
        setting.unit.as_deref().unwrap_or_default()
    )
}

/// A value of postgresql.conf in the setting's own unit, as pg_settings would show it.
pub fn raw(setting: &Setting, conf: &str) -> Option<f64> {
    setting.in_unit(conf)
}

/// The setting as it would be with this value of postgresql.conf; none where it cannot be read.
pub fn with_value(setting: &Setting, conf: &str) -> Option<Setting> {
    let value = match setting.vartype.as_str() {
        "integer" => (raw(setting, conf)?.round() as i64).to_string(),
        "real" => raw(setting, conf)?.to_string(),
        _ => conf.to_owned(),
    };
    Some(Setting {
        value,
        ..setting.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str, unit: &str, vartype: &str) -> Setting {
        Setting {
            value: value.into(),
            unit: (!unit.is_empty()).then(|| unit.to_owned()),
            vartype: vartype.into(),
            ..Setting::default()
        }
    }

    #[test]
    fn values_read_as_a_person_writes_them() {
        for (value, unit, vartype, humane) in [
            ("16384", "8kB", "integer", "128MB"),
            ("524288", "8kB", "integer", "4GB"),
            ("1", "8kB", "integer", "8kB"),
            ("300", "s", "integer", "5min"),
            ("600000", "ms", "integer", "10min"),
            ("2", "ms", "real", "2ms"),
            ("0.5", "ms", "real", "500us"),
            ("-1", "kB", "integer", "-1"),
            ("0", "ms", "integer", "0"),
            ("0.9", "", "real", "0.9"),
            ("on", "", "bool", "on"),
            ("1024", "B", "integer", "1kB"),
            ("1024", "MB", "integer", "1GB"),
        ] {
            let setting_read = of(value, unit, vartype);
            assert_eq!(setting(&setting_read), humane);
            assert_eq!(
                with_value(&setting_read, humane),
                Some(setting_read),
                "{humane} back"
            );
        }
    }

    #[test]
    fn a_unit_of_another_kind_is_no_number() {
        assert_eq!(raw(&of("1", "8kB", "integer"), "15min"), None);
        assert_eq!(raw(&of("1", "s", "integer"), "1GB"), None);
        assert_eq!(raw(&of("1", "", "integer"), "1GB"), None);
        assert_eq!(raw(&of("1", "s", "integer"), "many"), None);
        assert_eq!(
            raw(&of("1", "kB", "integer"), "1TB"),
            Some(1024.0 * 1024.0 * 1024.0)
        );
    }

    #[test]
    fn rounding_gives_away_at_most_an_eighth() {
        assert_eq!(round_down(25_455_230_976 / 4), 5632 * MIB);
        assert_eq!(round_down(6 * GIB), 6 * GIB);
        assert_eq!(round_down(7), 7);
        assert_eq!(round_down(0), 0);
        for value in [1_000_003_u64, 123_456_789, 98_765_432_101, u64::MAX] {
            let rounded = round_down(value);
            assert!(
                rounded <= value && value - rounded < value / 8 + 1,
                "{value} → {rounded}"
            );
        }
    }
}
