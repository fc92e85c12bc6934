//! Every number a person reads is formatted here, once: unit, digits and uncertainty.
//!
//! Measured values carry at most three significant digits, and no more than their interval
//! supports. What is not a number reads `–`.

use dbdyno_model::words::grouped;

/// What stands where a value is not known.
pub const MISSING: &str = "–";

/// The formatted value, or `–`.
pub fn or_missing<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| MISSING.to_owned(), format)
}

/// An exact count: `1,234,567`.
#[must_use]
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A measured value with three significant digits: `3,160`, `18.4`, `0.0712`.
#[must_use]
pub fn measured(value: f64) -> String {
    significant(value, 3)
}

/// Bytes in binary units, three significant digits: `71 B`, `5.25 KiB`, `6 GiB`.
#[must_use]
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut scaled = value as f64;
    let mut unit = 0;
    // From 999.5 on, three digits would round to 1,000 of the smaller unit.
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", trim(&significant(scaled, 3)), UNITS[unit])
}

/// Transactions a second: `3,160 TPS`.
#[must_use]
pub fn tps(value: f64) -> String {
    with_unit(&significant(value, 3), "TPS")
}

/// A duration as people say it: `6 min 20 s`, `1.8 s`, `850 ms`, `71 µs`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return MISSING.to_owned();
    }
    if seconds == 0.0 {
        return "0 s".to_owned();
    }
    // Each bound is where the smaller unit would round up to the larger one.
    if seconds < 0.000_999_5 {
        with_unit(&trim(&significant(seconds * 1e6, 3)), "µs")
    } else if seconds < 0.9995 {
        with_unit(&trim(&significant(seconds * 1e3, 3)), "ms")
    } else if seconds < 9.95 {
        format!("{seconds:.1} s")
    } else if seconds < 59.5 {
        format!("{seconds:.0} s")
    } else if seconds.round() < 3600.0 {
        two_units(seconds.round(), 60, "min", "s")
    } else if (seconds / 60.0).round() < 1440.0 {
        two_units((seconds / 60.0).round(), 60, "h", "min")
    } else {
        two_units((seconds / 3600.0).round(), 24, "d", "h")
    }
}

/// A duration given in milliseconds.
#[must_use]
pub fn duration_ms(milliseconds: f64) -> String {
    duration(milliseconds / 1e3)
}

/// A share or a relative difference: 0.039 reads `3.9 %`, 0.43 reads `43 %`.
#[must_use]
pub fn percent(fraction: f64) -> String {
    let value = fraction * 100.0;
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    // Two digits below 10; above, whole percents are fine enough for a share.
    if value.abs() >= 9.95 && value.abs() < 1000.0 {
        return with_unit(&signed_minus(&format!("{value:.0}")), "%");
    }
    let digits = if value.abs() < 10.0 { 2 } else { 3 };
    with_unit(&trim(&significant(value, digits)), "%")
}

/// A share of which the last tenths matter, such as buffer hits: `97.2 %`. What is not all never
/// reads `100 %`, nor what is not nothing `0 %`.
#[must_use]
pub fn share(fraction: f64) -> String {
    if !(0.0..=1.0).contains(&fraction) {
        return MISSING.to_owned();
    }
    let text = trim(&format!("{:.1}", fraction * 100.0));
    if text == "100" && fraction < 1.0 {
        "> 99.9 %".to_owned()
    } else if text == "0" && fraction > 0.0 {
        "< 0.1 %".to_owned()
    } else {
        with_unit(&text, "%")
    }
}

/// The declared level of an interval, exact to two decimals: `98.18 %`, `95 %`.
#[must_use]
pub fn level(level: f64) -> String {
    let value = level * 100.0;
    if value.is_finite() {
        with_unit(&trim(&format!("{value:.2}")), "%")
    } else {
        MISSING.to_owned()
    }
}

/// A ratio with its uncertainty: `1.22 (1.18 to 1.27)`.
#[must_use]
pub fn ratio(ratio: f64, interval: [f64; 2]) -> String {
    let [value, low, high] = ratio_parts(ratio, interval);
    if value == MISSING {
        return value;
    }
    format!("{value} ({low} to {high})")
}

/// Ratio, lower and upper bound with the same decimals, for sentences that put more beside them.
///
/// As many decimals as the interval supports. A bound that lies off 1 is never printed as 1: the
/// reader would take a difference for none.
#[must_use]
pub fn ratio_parts(ratio: f64, interval: [f64; 2]) -> [String; 3] {
    parts([ratio, interval[0], interval[1]], 1.0, |value, decimals| {
        signed_minus(&format!("{value:.decimals$}"))
    })
}

/// A ratio with its uncertainty in a narrow column, three significant digits at most: where 1 would
/// be printed for a bound that lies off it, a sign tells the side: `1.06 (>1.00 to 1.12)`.
#[must_use]
pub fn ratio_short(ratio: f64, interval: [f64; 2]) -> String {
    let [low, high] = interval;
    let values = [ratio, low, high];
    if values.iter().any(|value| !value.is_finite()) {
        return MISSING.to_owned();
    }
    let largest = values.map(f64::abs).into_iter().fold(0.0, f64::max);
    let decimals = supported_decimals((high - low).abs() / 2.0, largest);
    let shown = |value: f64| signed_minus(&format!("{value:.decimals$}"));
    let bound = |value: f64, sign: &str| {
        let off = value != 1.0 && shown(value) == shown(1.0);
        format!("{}{}", if off { sign } else { "" }, shown(value))
    };
    let low_text = bound(low, if low > 1.0 { ">" } else { "" });
    let high_text = bound(high, if high < 1.0 { "<" } else { "" });
    format!("{} ({low_text} to {high_text})", shown(ratio))
}

/// A ratio as a change: `+22 % (+18 to +27 %)`.
#[must_use]
pub fn change(ratio: f64, interval: [f64; 2]) -> String {
    let percents = [ratio, interval[0], interval[1]].map(|x| (x - 1.0) * 100.0);
    let [value, low, high] = parts(percents, 0.0, signed);
    if value == MISSING {
        return value;
    }
    format!("{value} % ({low} to {high} %)")
}

/// Value and bounds, all with the decimals that the width of the interval supports.
fn parts(values: [f64; 3], neutral: f64, format: impl Fn(f64, usize) -> String) -> [String; 3] {
    let [_, low, high] = values;
    if values.iter().any(|value| !value.is_finite()) {
        return [MISSING, MISSING, MISSING].map(str::to_owned);
    }
    let largest = values
        .iter()
        .fold(0.0_f64, |max, value| max.max(value.abs()));
    let mut decimals = supported_decimals((high - low).abs() / 2.0, largest);
    let nearest = if low > neutral {
        low
    } else if high < neutral {
        high
    } else {
        return values.map(|value| format(value, decimals));
    };
    let neutral_at = |decimals| format(neutral, decimals);
    while decimals < 6 && format(nearest, decimals) == neutral_at(decimals) {
        decimals += 1;
    }
    values.map(|value| format(value, decimals))
}

/// Decimals that an uncertainty supports, by the Particle Data Group's rule: two digits of it up
/// to 3.54, one above; and never more than three significant digits of the largest value.
fn supported_decimals(half_width: f64, largest: f64) -> usize {
    let cap = 2 - exponent(largest, 3);
    if half_width <= 0.0 {
        return cap.clamp(0, 12) as usize;
    }
    let magnitude = half_width.log10().floor();
    let leading = half_width / 10_f64.powf(magnitude);
    let extra = i32::from(leading < 3.55);
    // The difference of two close numbers can be so small that its magnitude means nothing.
    (extra - magnitude as i32).min(cap).clamp(0, 12) as usize
}

/// `+22`, `−3.5`, `0`.
fn signed(value: f64, decimals: usize) -> String {
    let text = signed_minus(&format!("{value:.decimals$}"));
    if value > 0.0 && text.contains(|c: char| ('1'..='9').contains(&c)) {
        format!("+{text}")
    } else {
        text
    }
}

/// The decimal exponent after rounding to so many digits; 0 for 0.
fn exponent(value: f64, digits: usize) -> i32 {
    let text = format!("{:.*e}", digits.saturating_sub(1), value);
    text.split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0)
}

fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:.*e}", digits.saturating_sub(1), value);
    // Beyond this nobody counts digits.
    if value.abs() >= 1e15 || value.abs() < 1e-6 {
        return signed_minus(&scientific);
    }
    let decimals = digits as i32 - 1 - exponent(value, digits);
    // Rounded to the digits first: `{:.0}` alone would keep all those before the point.
    let rounded: f64 = scientific.parse().unwrap_or(value);
    let decimals = decimals.max(0) as usize;
    signed_minus(&grouped(&format!("{rounded:.decimals$}")))
}

/// Drops zeros at the end of a fraction.
fn trim(text: &str) -> String {
    if !text.contains('.') || text.contains('e') {
        return text.to_owned();
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A real minus sign, and none before zero.
fn signed_minus(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.contains(|c: char| ('1'..='9').contains(&c)) => format!("−{rest}"),
        Some(rest) => rest.to_owned(),
        None => text.to_owned(),
    }
}

fn two_units(total: f64, per: u64, large: &str, small: &str) -> String {
    let total = total as u64;
    let (many, few) = (total / per, total % per);
    if few == 0 {
        format!("{} {large}", count(many))
    } else {
        format!("{} {large} {few} {small}", count(many))
    }
}

fn with_unit(number: &str, unit: &str) -> String {
    if number == MISSING {
        MISSING.to_owned()
    } else {
        format!("{number} {unit}")
    }
}

#[cfg(test)]
#[path = "number_tests.rs"]
mod tests;
