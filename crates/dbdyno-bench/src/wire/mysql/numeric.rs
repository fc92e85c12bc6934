//! Exact decimals on the wire: scaled integers here, text there.

use std::iter::repeat_n;

use crate::wire::WireError;

/// A sign, a zero, a point and 255 decimals, or fewer.
pub(super) const LONGEST: usize = 258;

/// `value` / 10^`scale`, with as many decimals.
pub(super) fn format(value: i64, scale: u8, buffer: &mut [u8; LONGEST]) -> &[u8] {
    let scale = usize::from(scale);
    let mut magnitude = value.unsigned_abs();
    let mut first = LONGEST;
    let mut prepend = |byte: u8| {
        first -= 1;
        buffer[first] = byte;
    };
    let mut digits = 0;
    while magnitude > 0 || digits <= scale {
        if digits == scale && scale > 0 {
            prepend(b'.');
        }
        prepend(b'0' + (magnitude % 10) as u8);
        magnitude /= 10;
        digits += 1;
    }
    if value < 0 {
        prepend(b'-');
    }
    &buffer[first..]
}

/// A decimal times 10^`scale`, exactly.
///
/// # Errors
/// It has more decimals other than zeros, is too large, or is no number.
pub(super) fn parse(text: &[u8], scale: u8) -> Result<i64, WireError> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (whole, fraction) = match digits.iter().position(|&byte| byte == b'.') {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, &digits[digits.len()..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(malformed(text));
    }
    let scale = usize::from(scale);
    let (fraction, beyond) = fraction.split_at(fraction.len().min(scale));
    if beyond.iter().any(|&digit| digit != b'0') {
        return Err(unfit(text, "has more decimals than were asked for"));
    }
    let padding = repeat_n(&b'0', scale - fraction.len());
    // Below zero there is room for one more.
    let mut negated = 0_i64;
    for digit in whole.iter().chain(fraction).chain(padding) {
        if !digit.is_ascii_digit() {
            return Err(malformed(text));
        }
        negated = negated
            .checked_mul(10)
            .and_then(|value| value.checked_sub(i64::from(digit - b'0')))
            .ok_or_else(|| unfit(text, "is too large"))?;
    }
    if negative {
        return Ok(negated);
    }
    negated
        .checked_neg()
        .ok_or_else(|| unfit(text, "is too large"))
}

/// The nearest floating-point number.
///
/// # Errors
/// It is no number.
pub(super) fn float(text: &[u8]) -> Result<f64, WireError> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| malformed(text))
}

/// An integer times 10^`scale`; none if it is too large.
pub(super) fn scaled(value: i128, scale: u8) -> Option<i64> {
    let factor = 10_i128.checked_pow(scale.into())?;
    i64::try_from(value.checked_mul(factor)?).ok()
}

fn malformed(text: &[u8]) -> WireError {
    let text = String::from_utf8_lossy(text);
    WireError::protocol(format!("the server sent {text:?} as a decimal"))
}

fn unfit(text: &[u8], how: &str) -> WireError {
    WireError::Type(format!(
        "the decimal {} {how}",
        String::from_utf8_lossy(text)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn formatted(value: i64, scale: u8) -> String {
        let mut buffer = [b'?'; LONGEST];
        String::from_utf8(format(value, scale, &mut buffer).to_vec()).unwrap()
    }

    #[test]
    fn the_scale_is_kept() {
        assert_eq!(formatted(0, 0), "0");
        assert_eq!(formatted(0, 2), "0.00");
        assert_eq!(formatted(5, 3), "0.005");
        assert_eq!(formatted(-5, 1), "-0.5");
        assert_eq!(formatted(123_456, 2), "1234.56");
        assert_eq!(formatted(-7, 0), "-7");
        assert_eq!(formatted(i64::MIN, 4), "-922337203685477.5808");
        assert_eq!(formatted(i64::MAX, 0), "9223372036854775807");
        let longest = formatted(-1, 255);
        assert_eq!(longest.len(), LONGEST);
        assert!(longest.starts_with("-0.000") && longest.ends_with("001"));
    }

    #[test]
    fn text_is_read_exactly() {
        for (text, scale, expected) in [
            ("12.34", 2, 1234),
            ("-12.34", 4, -123_400),
            ("12", 1, 120),
            ("12.000", 0, 12),
            ("0.10", 1, 1),
            (".5", 1, 5),
            ("007.5", 1, 75),
            ("-9223372036854775808", 0, i64::MIN),
            ("92233720368547758.07", 2, i64::MAX),
        ] {
            assert_eq!(parse(text.as_bytes(), scale).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (text, scale) in [
            ("12.345", 2),
            ("0.1", 0),
            ("9223372036854775808", 0),
            ("1", 19),
        ] {
            let error = parse(text.as_bytes(), scale).unwrap_err();
            assert!(matches!(error, WireError::Type(_)), "{text}");
        }
        for text in ["", "-", ".", "1e5", "1.2.3", "+1"] {
            let error = parse(text.as_bytes(), 6).unwrap_err();
            assert!(matches!(error, WireError::Protocol(_)), "{text}");
        }
    }

    #[test]
    fn integers_are_scaled() {
        assert_eq!(scaled(-12, 3), Some(-12_000));
        assert_eq!(scaled(i64::MAX.into(), 0), Some(i64::MAX));
        assert_eq!(scaled(u64::MAX.into(), 0), None);
        assert_eq!(scaled(10, 18), None);
        assert_eq!(scaled(1, 255), None);
    }

    #[test]
    fn floats_are_near() {
        assert_eq!(float(b"-12.5").unwrap(), -12.5);
        assert!(float(b"12,5").is_err());
        assert!(float(b"\xff").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(value in any::<i64>(), scale in any::<u8>()) {
            let text = formatted(value, scale);
            prop_assert_eq!(parse(text.as_bytes(), scale).unwrap(), value);
        }

        #[test]
        fn no_bytes_panic(text in prop::collection::vec(any::<u8>(), 0..30), scale in any::<u8>()) {
            if let Ok(value) = parse(&text, scale) {
                prop_assert!(text.iter().any(u8::is_ascii_digit), "{value} from nothing");
            }
        }
    }
}
