//! Exact decimals on the wire: scaled integers here, binary `numeric` there.
//!
//! The binary form is a row of 16-bit words: number of base-10000 digits, weight of the first
//! (the power of 10000 that it counts), sign, decimal places, digits.

use std::io::Write;

use super::decode::Unreadable;

/// Decimals that a scaled integer may have.
pub(super) const MAX_SCALE: u8 = 18;

pub(super) const POSITIVE: u16 = 0x0000;
pub(super) const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const MINUS_INFINITY: u16 = 0xf000;

/// Digits of 10000 that a scaled integer takes at most: five before the point, five behind it.
const DIGITS: usize = 10;

/// Digits of 10000 that a float is made of. What lies behind is far below its precision.
const FLOAT_DIGITS: usize = 12;

/// Appends `value` / 10^`scale` as `numeric_send` writes it. The scale is [`MAX_SCALE`] at most.
pub(crate) fn encode(out: &mut Vec<u8>, value: i64, scale: u8) {
    debug_assert!(scale <= MAX_SCALE);
    let one = 10_u64.pow(u32::from(scale));
    let magnitude = value.unsigned_abs();
    let (digits, first) = split(magnitude / one, magnitude % one, scale);
    let leading = digits[first..].iter().take_while(|&&d| d == 0).count();
    let trailing = digits.iter().rev().take_while(|&&d| d == 0).count();
    let first = first + leading;
    let end = (DIGITS - trailing).max(first);
    let places = u16::from(scale);
    // Small numbers all: there are ten digits.
    let behind_point = places.div_ceil(4) as i16;
    let (weight, sign) = match value {
        0 => (0, POSITIVE),
        _ => (
            (DIGITS - first) as i16 - behind_point - 1,
            if value < 0 { NEGATIVE } else { POSITIVE },
        ),
    };
    out.extend_from_slice(&((end - first) as u16).to_be_bytes());
    out.extend_from_slice(&weight.to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&places.to_be_bytes());
    for digit in &digits[first..end] {
        out.extend_from_slice(&digit.to_be_bytes());
    }
}

/// Base-10000 digits, which end with the array, and the index of the first.
fn split(mut whole: u64, mut fraction: u64, scale: u8) -> ([u16; DIGITS], usize) {
    let mut digits = [0; DIGITS];
    let mut first = DIGITS;
    let mut prepend = |digit: u64| {
        first -= 1;
        digits[first] = digit as u16;
    };
    let partial = u32::from(scale % 4);
    if partial > 0 {
        let unit = 10_u64.pow(partial);
        prepend(fraction % unit * 10_u64.pow(4 - partial));
        fraction /= unit;
    }
    for _ in 0..scale / 4 {
        prepend(fraction % 10_000);
        fraction /= 10_000;
    }
    while whole > 0 {
        prepend(whole % 10_000);
        whole /= 10_000;
    }
    (digits, first)
}

/// A numeric times 10^`scale`, exactly.
///
/// # Errors
/// It has more decimals other than zeros, is too large, or is no number.
pub(super) fn decode(raw: &[u8], scale: u8) -> Result<i64, Unreadable> {
    let numeric = Numeric::parse(raw)?;
    let mut exponent = 4 * numeric.weight + i32::from(scale);
    let mut magnitude = 0_u64;
    for digit in numeric.digits() {
        let shifted = shifted(digit?, exponent)?;
        let sum = magnitude.checked_add(shifted);
        magnitude = sum.ok_or(Unreadable::TooLarge)?;
        exponent -= 4;
    }
    match numeric.sign {
        POSITIVE => 0_i64.checked_add_unsigned(magnitude),
        NEGATIVE => 0_i64.checked_sub_unsigned(magnitude),
        NAN | INFINITY | MINUS_INFINITY => return Err(Unreadable::NotFinite),
        _ => return Err(Unreadable::Malformed),
    }
    .ok_or(Unreadable::TooLarge)
}

/// `digit` times 10^`exponent`.
fn shifted(digit: u16, exponent: i32) -> Result<u64, Unreadable> {
    let digit = u64::from(digit);
    match exponent {
        _ if digit == 0 => Ok(0),
        19.. => Err(Unreadable::TooLarge),
        0..=18 => digit
            .checked_mul(10_u64.pow(exponent.unsigned_abs()))
            .ok_or(Unreadable::TooLarge),
        -3..=-1 => {
            let unit = 10_u64.pow(exponent.unsigned_abs());
            if digit.is_multiple_of(unit) {
                Ok(digit / unit)
            } else {
                Err(Unreadable::Decimals)
            }
        }
        ..=-4 => Err(Unreadable::Decimals),
    }
}

/// The nearest float; NaN and the infinities are what they are.
pub(super) fn to_float(raw: &[u8]) -> Result<f64, Unreadable> {
    let numeric = Numeric::parse(raw)?;
    match numeric.sign {
        POSITIVE | NEGATIVE => numeric.nearest(),
        NAN => Ok(f64::NAN),
        INFINITY => Ok(f64::INFINITY),
        MINUS_INFINITY => Ok(f64::NEG_INFINITY),
        _ => Err(Unreadable::Malformed),
    }
}

struct Numeric<'a> {
    weight: i32,
    sign: u16,
    digits: &'a [[u8; 2]],
}

impl<'a> Numeric<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, Unreadable> {
        let (words, rest) = raw.as_chunks::<2>();
        let [count, weight, sign, _places, digits @ ..] = words else {
            return Err(Unreadable::Malformed);
        };
        if !rest.is_empty() || usize::from(u16::from_be_bytes(*count)) != digits.len() {
            return Err(Unreadable::Malformed);
        }
        Ok(Self {
            weight: i32::from(i16::from_be_bytes(*weight)),
            sign: u16::from_be_bytes(*sign),
            digits,
        })
    }

    fn digits(&self) -> impl Iterator<Item = Result<u16, Unreadable>> {
        self.digits
            .iter()
            .map(|digit| match u16::from_be_bytes(*digit) {
                digit @ ..10_000 => Ok(digit),
                _ => Err(Unreadable::Malformed),
            })
    }

    /// By way of its text, on the stack: the standard library rounds that correctly.
    fn nearest(&self) -> Result<f64, Unreadable> {
        let mut text = [0_u8; 4 * FLOAT_DIGITS + 16];
        let mut rest = &mut text[..];
        let sign = if self.sign == NEGATIVE { "-" } else { "" };
        let mut written = write!(rest, "{sign}0");
        let mut exponent = 4 * (self.weight + 1);
        for digit in self.digits().take(FLOAT_DIGITS) {
            let digit = digit?;
            written = written.and_then(|()| write!(rest, "{digit:04}"));
            exponent -= 4;
        }
        written = written.and_then(|()| write!(rest, "e{exponent}"));
        let left = rest.len();
        let text = &text[..text.len() - left];
        written
            .ok()
            .and_then(|()| str::from_utf8(text).ok()?.parse().ok())
            .ok_or(Unreadable::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(value: i64, scale: u8) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out, value, scale);
        out
    }

    fn words(words: &[u16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    /// The binary form by way of the decimal digits as text.
    fn by_text(value: i64, scale: usize) -> Vec<u8> {
        let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let before = whole.len().div_ceil(4);
        let whole = format!("{whole:0>width$}", width = 4 * before);
        let fraction = format!("{fraction:0<width$}", width = 4 * scale.div_ceil(4));
        let all: Vec<u16> = (whole + &fraction)
            .as_bytes()
            .chunks(4)
            .map(|group| std::str::from_utf8(group).unwrap().parse().unwrap())
            .collect();
        let places = u16::try_from(scale).unwrap();
        let (Some(first), Some(last)) = (
            all.iter().position(|&group| group > 0),
            all.iter().rposition(|&group| group > 0),
        ) else {
            return words(&[0, 0, POSITIVE, places]);
        };
        let weight = i16::try_from(before).unwrap() - 1 - i16::try_from(first).unwrap();
        let count = u16::try_from(last - first + 1).unwrap();
        let sign = if value < 0 { NEGATIVE } else { POSITIVE };
        let header = [count, weight.cast_unsigned(), sign, places];
        words(&[&header[..], &all[first..=last]].concat())
    }

    #[test]
    fn the_form_is_the_servers() {
        let cases: [(i64, u8, &[u16]); 6] = [
            (1_234_567, 2, &[3, 1, 0, 2, 1, 2345, 6700]),
            (-100, 2, &[1, 0, NEGATIVE, 2, 1]),
            (5, 2, &[1, u16::MAX, 0, 2, 500]),
            (0, 4, &[0, 0, 0, 4]),
            (-20_000, 0, &[1, 1, NEGATIVE, 0, 2]),
            (1, 18, &[1, u16::MAX - 4, 0, 18, 100]),
        ];
        for (value, scale, form) in cases {
            assert_eq!(encoded(value, scale), words(form), "{value} e-{scale}");
        }
    }

    #[test]
    fn the_extremes_come_back_at_every_scale() {
        for scale in 0..=MAX_SCALE {
            for value in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX] {
                let raw = encoded(value, scale);
                assert_eq!(raw, by_text(value, usize::from(scale)), "{value} e-{scale}");
                assert_eq!(decode(&raw, scale), Ok(value));
            }
        }
    }

    #[test]
    fn what_is_no_scaled_integer_is_refused() {
        let cases: [(&[u16], Unreadable); 11] = [
            (&[0, 0, NAN, 0], Unreadable::NotFinite),
            (&[0, 0, INFINITY, 0], Unreadable::NotFinite),
            (&[0, 0, MINUS_INFINITY, 0], Unreadable::NotFinite),
            (&[0, 0, 0x1234, 0], Unreadable::Malformed),
            (&[1, 0, 0, 0], Unreadable::Malformed),
            (&[0, 0, 0, 0, 1], Unreadable::Malformed),
            (&[1, 0, 0, 0, 10_000], Unreadable::Malformed),
            (&[0, 0, 0], Unreadable::Malformed),
            (&[1, u16::MAX, 0, 3, 10], Unreadable::Decimals),
            (&[1, u16::MAX - 1, 0, 8, 9000], Unreadable::Decimals),
            (&[1, 5, 0, 0, 1], Unreadable::TooLarge),
        ];
        for (form, error) in cases {
            assert_eq!(decode(&words(form), 2), Err(error), "{form:?}");
        }
        let odd = [words(&[0, 0, 0, 0]), vec![0]].concat();
        assert_eq!(decode(&odd, 2), Err(Unreadable::Malformed));
    }

    #[test]
    fn zeros_that_the_scale_leaves_out_are_no_decimals() {
        let padded = words(&[3, 0, 0, 8, 7, 5000, 0]);
        assert_eq!(decode(&padded, 1), Ok(75));
        assert_eq!(decode(&padded, 0), Err(Unreadable::Decimals));
        let zero_in_front = words(&[2, 30, 0, 0, 0, 0]);
        assert_eq!(decode(&zero_in_front, 18), Ok(0));
    }

    #[test]
    fn floats_that_are_no_numbers_are_read() {
        assert!(to_float(&words(&[0, 0, NAN, 0])).unwrap().is_nan());
        assert_eq!(to_float(&words(&[0, 0, INFINITY, 0])), Ok(f64::INFINITY));
        let minus = to_float(&words(&[0, 0, MINUS_INFINITY, 0]));
        assert_eq!(minus, Ok(f64::NEG_INFINITY));
        assert_eq!(to_float(&words(&[0, 0, 0, 0])), Ok(0.0));
        let beyond = to_float(&words(&[1, 100, NEGATIVE, 0, 1]));
        assert_eq!(beyond, Ok(f64::NEG_INFINITY));
    }

    #[test]
    fn a_float_of_many_digits_is_read() {
        let thirds = [&[20_u16, 0, 0, 76][..], &[3333; 20]].concat();
        assert_eq!(to_float(&words(&thirds)), Ok(3_333.333_333_333_333_5));
        let smallest = [&[12, 0x8000, NEGATIVE, 0][..], &[9999; 12]].concat();
        assert_eq!(to_float(&words(&smallest)), Ok(-0.0));
    }

    proptest! {
        #[test]
        fn encoding_agrees_with_the_text(value in any::<i64>(), shift in 0_u32..=18, scale in 0..=MAX_SCALE) {
            for value in [value, value / 10_i64.pow(shift)] {
                prop_assert_eq!(encoded(value, scale), by_text(value, usize::from(scale)));
            }
        }

        #[test]
        fn decoding_at_another_scale_is_exact(value in any::<i64>(), shift in 0_u32..=18, sent in 0..=MAX_SCALE, read in 0..=MAX_SCALE) {
            let unit = 10_i64.pow(shift);
            for value in [value, value / unit, value / unit * unit] {
                let scaled = i128::from(value) * 10_i128.pow(u32::from(read));
                let one = 10_i128.pow(u32::from(sent));
                let expected = if scaled % one == 0 {
                    i64::try_from(scaled / one).map_err(|_| Unreadable::TooLarge)
                } else {
                    Err(Unreadable::Decimals)
                };
                match decode(&encoded(value, sent), read) {
                    // Which of the two it meets first is left open.
                    Err(Unreadable::TooLarge | Unreadable::Decimals) => prop_assert!(expected.is_err()),
                    decoded => prop_assert_eq!(decoded, expected),
                }
            }
        }

        #[test]
        fn a_float_is_the_nearest(value in any::<i64>(), scale in 0..=MAX_SCALE) {
            let nearest: f64 = format!("{value}e-{scale}").parse().unwrap();
            prop_assert_eq!(to_float(&encoded(value, scale)), Ok(nearest));
        }

        #[test]
        fn arbitrary_words_never_panic(count in any::<u16>(), header in any::<[u16; 3]>(), digits in prop::collection::vec(any::<u16>(), 0..40), honest in any::<bool>(), scale in any::<u8>()) {
            let count = if honest { u16::try_from(digits.len()).unwrap() } else { count };
            let raw = words(&[&[count][..], &header, &digits].concat());
            let _ = decode(&raw, scale);
            let _ = to_float(&raw);
        }
    }
}
