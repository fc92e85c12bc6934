//! A document itself, as JSON.

use serde::Serialize;

/// The whole document, indented, ending in a line feed. Nothing is rounded: that is for texts.
#[must_use]
pub fn to_json<T: Serialize>(document: &T) -> String {
    // Documents have string keys only, so that serialising one into memory cannot fail.
    let mut json = serde_json::to_string_pretty(document).expect("a document with string keys");
    json.push('\n');
    json
}

#[cfg(test)]
mod tests {
    use super::to_json;
    use crate::testing;

    #[test]
    fn the_document_comes_back_unchanged() {
        let tune = testing::with_unsafe_arms(testing::tune());
        let json = to_json(&tune);
        assert!(json.ends_with("}\n"));
        assert_eq!(
            serde_json::from_str::<dbdyno_model::Tune>(&json).unwrap(),
            tune
        );
    }
}
