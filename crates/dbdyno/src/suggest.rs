//! What somebody may have meant who wrote a name that does not exist.

/// Below this two names have little in common.
const LEAST_LIKENESS: f64 = 0.7;

/// The name that is most like the one that was written.
pub(crate) fn nearest<'a>(
    written: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (likeness(written, name), name))
        .filter(|(likeness, _)| *likeness >= LEAST_LIKENESS)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// A rule may be named without its family, and often is.
fn likeness(written: &str, name: &str) -> f64 {
    let alone = name.rsplit('.').next().unwrap_or(name);
    [name, alone]
        .map(|name| strsim::jaro_winkler(written, name))
        .into_iter()
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const NAMES: [&str; 4] = [
        "kernel.swappiness",
        "postgres.fsync",
        "postgres.full_page_writes",
        "postgres.shared_buffers",
    ];

    #[test]
    fn a_slip_and_a_missing_family_are_understood() {
        assert_eq!(
            nearest("kernel.swapiness", NAMES),
            Some("kernel.swappiness")
        );
        assert_eq!(nearest("fsync", NAMES), Some("postgres.fsync"));
        assert_eq!(
            nearest("shared_bufers", NAMES),
            Some("postgres.shared_buffers")
        );
        assert_eq!(nearest("zzz", NAMES), None);
        assert_eq!(nearest("", NAMES), None);
    }
}
