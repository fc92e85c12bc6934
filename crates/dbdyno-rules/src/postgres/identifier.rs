//! Names as SQL has them.

/// With quotes where the name needs them.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn names_that_need_quotes_get_them() {
        assert_eq!(quoted("shop_1"), "shop_1");
        assert_eq!(quoted("Shop"), "\"Shop\"");
        assert_eq!(quoted("1st"), "\"1st\"");
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
        assert_eq!(quoted(""), "\"\"");
    }
}
