//! Which trial a user means.

/// What a text that names no single trial means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    None,
    Several(Vec<String>),
}

/// Finds the trial among all names, newest first: the exact name, `latest`, the only one that begins
/// so, or the only one with this last part.
pub(crate) fn resolve(text: &str, names: &[String]) -> Result<String, Miss> {
    if let Some(name) = names.iter().find(|name| *name == text) {
        return Ok(name.clone());
    }
    if text == LATEST {
        return names.first().cloned().ok_or(Miss::None);
    }
    let mut found: Vec<String> = names
        .iter()
        .filter(|name| !text.is_empty() && is_meant(name, text))
        .cloned()
        .collect();
    match found.len() {
        0 => Err(Miss::None),
        1 => Ok(found.swap_remove(0)),
        _ => Err(Miss::Several(found)),
    }
}

/// What no trial may be named.
pub(crate) const LATEST: &str = "latest";

fn is_meant(name: &str, text: &str) -> bool {
    name.starts_with(text) || name.rsplit('-').next() == Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        [
            "tune-20261122T010000Z-k3f9",
            "tune-20261121T214640Z-zz22",
            "tune-20261121T214640Z-k3f",
            "aa-k3f",
            "aa",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    #[test]
    fn exact_before_prefix_and_the_newest_on_request() {
        let found = |text: &str| resolve(text, &names());
        assert_eq!(found("aa").unwrap(), "aa");
        assert_eq!(found("latest").unwrap(), "tune-20261122T010000Z-k3f9");
        assert_eq!(
            found("tune-20261122").unwrap(),
            "tune-20261122T010000Z-k3f9"
        );
        assert_eq!(found("zz22").unwrap(), "tune-20261121T214640Z-zz22");
        assert_eq!(found("k3f9").unwrap(), "tune-20261122T010000Z-k3f9");
    }

    #[test]
    fn what_may_be_several_is_not_guessed() {
        let several = |text: &str| match resolve(text, &names()) {
            Err(Miss::Several(found)) => found.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!(several("tune-20261121"), 2);
        assert_eq!(several("tune"), 3);
        // The same last part, of which one is longer elsewhere.
        assert_eq!(several("k3f"), 2);
    }

    #[test]
    fn a_part_of_the_last_part_is_nothing() {
        for text in ["3f9", "Z-k3f9", "", "TUNE"] {
            assert_eq!(resolve(text, &names()), Err(Miss::None), "{text}");
        }
        assert_eq!(resolve("latest", &[]), Err(Miss::None));
        let only = vec!["tune-1".to_owned()];
        assert_eq!(resolve("", &only), Err(Miss::None), "nothing was named");
    }
}
