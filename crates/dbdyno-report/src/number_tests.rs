//! Tests of the numbers: examples, order, and the way back.

use super::*;
use proptest::prelude::*;

#[test]
fn examples() {
    assert_eq!(bytes(0), "0 B");
    assert_eq!(bytes(71), "71 B");
    assert_eq!(bytes(1023), "0.999 KiB");
    assert_eq!(bytes(134_217_728), "128 MiB");
    assert_eq!(bytes(25_233_051_648), "23.5 GiB");
    assert_eq!(bytes(u64::MAX), "16 EiB");
    assert_eq!(tps(3_164.7), "3,160 TPS");
    assert_eq!(tps(97.44), "97.4 TPS");
    assert_eq!(tps(f64::NAN), "–");
    assert_eq!(count(1_234_567), "1,234,567");
    assert_eq!(measured(9.996), "10.0");
    assert_eq!(measured(0.071_23), "0.0712");
    assert_eq!(percent(0.039), "3.9 %");
    assert_eq!(percent(0.004_11), "0.41 %");
    assert_eq!(percent(0.434), "43 %");
    assert_eq!(percent(1.04), "104 %");
    assert_eq!(percent(-0.03), "−3 %");
    assert_eq!(level(0.9818), "98.18 %");
    assert_eq!(level(0.981), "98.1 %");
    assert_eq!(level(0.95), "95 %");
}

#[test]
fn durations() {
    assert_eq!(duration(0.0), "0 s");
    assert_eq!(duration(71e-6), "71 µs");
    assert_eq!(duration(0.85), "850 ms");
    assert_eq!(duration(0.999_6), "1.0 s");
    assert_eq!(duration(1.8), "1.8 s");
    assert_eq!(duration(24.3), "24 s");
    assert_eq!(duration(59.7), "1 min");
    assert_eq!(duration(380.0), "6 min 20 s");
    assert_eq!(duration(3_599.7), "1 h");
    assert_eq!(duration(9_000.0), "2 h 30 min");
    assert_eq!(duration(86_399.0), "1 d");
    assert_eq!(duration(f64::INFINITY), "–");
    assert_eq!(duration(-1.0), "–");
    assert_eq!(duration_ms(18.44), "18.4 ms");
}

#[test]
fn uncertainty_decides_the_digits() {
    assert_eq!(ratio(1.2213, [1.18, 1.27]), "1.22 (1.18 to 1.27)");
    assert_eq!(ratio(1.2213, [1.219, 1.223]), "1.22 (1.22 to 1.22)");
    assert_eq!(ratio(2.41, [1.6, 3.6]), "2.4 (1.6 to 3.6)");
    assert_eq!(ratio(12.41, [11.9, 13.0]), "12.4 (11.9 to 13.0)");
    assert_eq!(ratio(0.871, [0.8233, 0.9204]), "0.87 (0.82 to 0.92)");
    assert_eq!(ratio(f64::NAN, [1.0, 2.0]), "–");
    assert_eq!(change(1.22, [1.18, 1.27]), "+22 % (+18 to +27 %)");
    assert_eq!(change(0.9904, [0.954, 1.028]), "−1 % (−5 to +3 %)");
}

#[test]
fn a_share_is_never_rounded_to_all_or_nothing() {
    assert_eq!(share(0.9721), "97.2 %");
    assert_eq!(share(0.996), "99.6 %");
    assert_eq!(share(0.999_7), "> 99.9 %");
    assert_eq!(share(1.0), "100 %");
    assert_eq!(share(0.0), "0 %");
    assert_eq!(share(0.000_1), "< 0.1 %");
    assert_eq!(share(f64::NAN), "–");
    assert_eq!(share(1.2), "–");
}

#[test]
fn a_short_ratio_has_three_digits_and_keeps_its_side() {
    assert_eq!(ratio_short(1.2213, [1.18, 1.27]), "1.22 (1.18 to 1.27)");
    assert_eq!(ratio_short(1.06, [1.003, 1.12]), "1.06 (>1.00 to 1.12)");
    assert_eq!(ratio_short(0.94, [0.87, 0.998]), "0.94 (0.87 to <1.00)");
    assert_eq!(ratio_short(1.06, [0.998, 1.12]), "1.06 (1.00 to 1.12)");
    assert_eq!(ratio_short(0.869, [0.834, 0.904]), "0.869 (0.834 to 0.904)");
    assert_eq!(ratio_short(1.0, [f64::NAN, 1.1]), "–");
}

#[test]
fn a_difference_never_reads_as_none() {
    assert_eq!(ratio(1.06, [1.003, 1.12]), "1.060 (1.003 to 1.120)");
    assert_eq!(ratio(0.94, [0.89, 0.998]), "0.940 (0.890 to 0.998)");
    assert_eq!(change(1.06, [1.003, 1.12]), "+6.0 % (+0.3 to +12.0 %)");
    // Where the interval holds 1, a bound that rounds to it misleads nobody.
    assert_eq!(ratio(1.06, [0.998, 1.12]), "1.06 (1.00 to 1.12)");
}

/// Reads a number back as printed.
fn number(text: &str) -> f64 {
    text.replace(',', "").replace('−', "-").parse().unwrap()
}

fn bytes_back(text: &str) -> f64 {
    let (value, unit) = text.split_once(' ').unwrap();
    let power = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        .iter()
        .position(|name| *name == unit)
        .unwrap();
    number(value) * 1024_f64.powi(power as i32)
}

fn seconds_back(text: &str) -> f64 {
    let words: Vec<&str> = text.split(' ').collect();
    words
        .chunks(2)
        .map(|pair| {
            let unit = match pair[1] {
                "µs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "min" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                other => panic!("unit {other}"),
            };
            number(pair[0]) * unit
        })
        .sum()
}

fn is_clean(text: &str) -> bool {
    !text.contains("NaN") && !text.contains("inf") && !text.is_empty()
}

proptest! {
    #[test]
    fn bytes_are_monotone_and_come_back(a: u64, b: u64, shift in 0_u32..64) {
        let (a, b) = (a >> shift, b >> shift);
        let (low, high) = (a.min(b), a.max(b));
        prop_assert!(bytes_back(&bytes(low)) <= bytes_back(&bytes(high)));
        let error = (bytes_back(&bytes(a)) - a as f64).abs();
        prop_assert!(error <= a as f64 * 0.005_001, "{a} {}", bytes(a));
    }

    #[test]
    fn durations_are_monotone_and_come_back(x in -5.0_f64..7.0, y in -5.0_f64..7.0) {
        let (a, b) = (10_f64.powf(x.min(y)), 10_f64.powf(x.max(y)));
        let (low, high) = (seconds_back(&duration(a)), seconds_back(&duration(b)));
        prop_assert!(low <= high * (1.0 + 1e-12), "{} {}", duration(a), duration(b));
        prop_assert!((low - a).abs() <= a * 0.051, "{a} {}", duration(a));
    }

    #[test]
    fn measured_values_are_monotone_and_come_back(x in -5.0_f64..14.0, y in -5.0_f64..14.0) {
        let (a, b) = (10_f64.powf(x.min(y)), 10_f64.powf(x.max(y)));
        prop_assert!(number(&measured(a)) <= number(&measured(b)));
        prop_assert!((number(&measured(a)) - a).abs() <= a * 0.005_001);
        prop_assert_eq!(measured(-a), format!("−{}", measured(a)));
    }

    #[test]
    fn a_count_is_exact(value: u64) {
        prop_assert_eq!(count(value).replace(',', "").parse::<u64>().unwrap(), value);
    }

    #[test]
    fn nothing_prints_as_not_a_number(a in any::<f64>(), b in any::<f64>(), c in any::<f64>()) {
        for text in [
            measured(a), tps(a), duration(a), duration_ms(a), percent(a), level(a),
            ratio(a, [b, c]), change(a, [b, c]), share(a), ratio_short(a, [b, c]),
        ] {
            prop_assert!(is_clean(&text), "{text}");
        }
    }

    #[test]
    fn a_ratio_keeps_its_side_of_one(centre in -1.0_f64..1.0, half in 0.0001_f64..0.5) {
        let [low, high] = [(centre - half).exp(), (centre + half).exp()];
        let [value, shown_low, shown_high] = ratio_parts(centre.exp(), [low, high]);
        let (value, shown_low, shown_high) = (number(&value), number(&shown_low), number(&shown_high));
        prop_assert!(shown_low <= value && value <= shown_high);
        if low > 1.000_001 {
            prop_assert!(shown_low > 1.0);
        }
        if high < 0.999_999 {
            prop_assert!(shown_high < 1.0);
        }
        prop_assert!((value - centre.exp()).abs() <= (0.51 * half * centre.exp()).max(0.006 * high));
    }
}
