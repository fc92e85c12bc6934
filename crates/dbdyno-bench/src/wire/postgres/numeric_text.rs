//! Numbers in decimal text, as binary `numeric`.

use super::numeric::{NEGATIVE, POSITIVE};

/// Appends what decimal text says, such as `-12.050`, with as many places as it has; false where it is
/// no such text.
pub(super) fn encode(out: &mut Vec<u8>, text: &str) -> bool {
    let text = text.as_bytes();
    let (negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    let point = text
        .iter()
        .position(|&byte| byte == b'.')
        .unwrap_or(text.len());
    let (whole, fraction) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    if (whole.is_empty() && fraction.is_empty())
        || !whole.iter().chain(fraction).all(u8::is_ascii_digit)
    {
        return false;
    }
    let whole_groups = whole.len().div_ceil(4);
    // Digit `at` of the number padded on both sides to full groups.
    let lead = whole_groups * 4 - whole.len();
    let digit = |at: usize| -> i16 {
        let found = match at.checked_sub(lead) {
            None => None,
            Some(at) if at < whole.len() => whole.get(at),
            Some(at) => fraction.get(at - whole.len()),
        };
        found.map_or(0, |byte| i16::from(byte - b'0'))
    };
    let groups = whole_groups + fraction.len().div_ceil(4);
    let group = |at: usize| (0..4).fold(0, |sum, place| sum * 10 + digit(at * 4 + place));
    let first = (0..groups).find(|&at| group(at) != 0).unwrap_or(groups);
    let last = (first..groups)
        .rev()
        .find(|&at| group(at) != 0)
        .map_or(first, |at| at + 1);
    let header = (
        i16::try_from(last - first),
        i16::try_from(whole_groups),
        i16::try_from(first),
        i16::try_from(fraction.len()),
    );
    let (Ok(count), Ok(whole_groups), Ok(first_group), Ok(places)) = header else {
        return false;
    };
    let weight = if count == 0 {
        0
    } else {
        whole_groups - 1 - first_group
    };
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(&weight.to_be_bytes());
    let sign = if negative && count > 0 {
        NEGATIVE
    } else {
        POSITIVE
    };
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&places.to_be_bytes());
    for at in first..last {
        out.extend_from_slice(&group(at).to_be_bytes());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_text_by_hand() {
        for (text, words) in [
            ("0", vec![0, 0, 0, 0]),
            ("12345", vec![2, 1, 0, 0, 1, 2345]),
            ("-10000", vec![1, 1, 0x4000, 0, 1]),
            ("0.05", vec![1, -1, 0, 2, 500]),
            ("12.5", vec![2, 0, 0, 1, 12, 5000]),
            ("-0.0", vec![0, 0, 0, 1]),
        ] {
            let mut out = Vec::new();
            assert!(encode(&mut out, text), "{text}");
            let expected: Vec<u8> = words
                .iter()
                .flat_map(|word: &i16| word.to_be_bytes())
                .collect();
            assert_eq!(out, expected, "{text}");
        }
        for text in ["", "-", "1e5", "NaN", "inf", "1.2.3", "--1"] {
            let mut out = Vec::new();
            let is_number = encode(&mut out, text);
            assert!(!is_number && out.is_empty(), "{text}");
        }
    }
}
