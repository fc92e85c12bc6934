//! Counts as sentences have them: `1 index is invalid`, `2 indexes are invalid`.

/// `1 pair`, `1,200 indexes`, `2 retries`: of a noun of several words the last one says how many.
pub fn plural(count: u64, noun: &str) -> String {
    let number = grouped(&count.to_string());
    if count == 1 {
        return format!("{number} {noun}");
    }
    let hisses = ["s", "x", "z", "ch", "sh"];
    match noun.strip_suffix('y') {
        // Made of `by`, which stays as it is.
        _ if noun.ends_with("standby") => format!("{number} {noun}s"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number} {stem}ies"),
        _ if hisses.iter().any(|end| noun.ends_with(*end)) => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// The form of a verb that goes with the count: `is` with 1, `are` with any other.
pub fn verb(count: u64, one: &'static str, others: &'static str) -> &'static str {
    if count == 1 { one } else { others }
}

/// Commas between thousands of the integer part.
pub fn grouped(text: &str) -> String {
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or(("", text), |rest| ("-", rest));
    let (integer, fraction) = digits
        .find('.')
        .map_or((digits, ""), |point| digits.split_at(point));
    let mut grouped = String::with_capacity(text.len() + integer.len() / 3);
    grouped.push_str(sign);
    for (index, digit) in integer.chars().enumerate() {
        if index > 0 && (integer.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped.push_str(fraction);
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_stands_alone_and_all_others_together() {
        for (count, noun, told) in [
            (1, "pair", "1 pair"),
            (0, "pair", "0 pairs"),
            (1200, "B-tree index", "1,200 B-tree indexes"),
            (2, "foreign key", "2 foreign keys"),
            (2, "retry", "2 retries"),
            (2, "synchronous standby", "2 synchronous standbys"),
            (2, "branch", "2 branches"),
            (1, "retry", "1 retry"),
        ] {
            assert_eq!(plural(count, noun), told);
        }
    }

    #[test]
    fn verbs_agree_with_their_count() {
        assert_eq!(verb(1, "runs", "run"), "runs");
        assert_eq!(verb(0, "runs", "run"), "run");
        assert_eq!(verb(2, "is", "are"), "are");
    }

    #[test]
    fn thousands_are_told_apart() {
        assert_eq!(grouped("999"), "999");
        assert_eq!(grouped("-1234567.8901"), "-1,234,567.8901");
    }
}
