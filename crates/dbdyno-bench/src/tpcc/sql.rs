//! SQL that is written once for both engines.

use crate::wire::{Engine, Session, Statement, WireError};

/// Prepares SQL whose placeholders are `?`, which no string in it holds.
pub(crate) async fn prepare(session: &mut Session, sql: &str) -> Result<Statement, WireError> {
    match session.engine() {
        Engine::MySql => session.prepare(sql).await,
        Engine::Postgres => session.prepare(&numbered(sql)).await,
    }
}

/// With `$1`, `$2` and so on for each `?`.
fn numbered(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 32);
    let mut pieces = sql.split('?');
    out.extend(pieces.next());
    for (index, piece) in pieces.enumerate() {
        out.push_str(&format!("${}", index + 1));
        out.push_str(piece);
    }
    out
}

/// `(?, ?), (?, ?)`: so many of these, for IN lists and rows of VALUES.
pub(crate) fn repeated(piece: &str, count: usize) -> String {
    vec![piece; count].join(", ")
}

/// `((a = ? AND b = ?) OR (a = ? AND b = ?))`: rows by so many keys of these columns. MariaDB finds no
/// index for `(a, b) IN ((?, ?))`, a list of one.
pub(crate) fn any_of(columns: &[&str], count: usize) -> String {
    let equal: Vec<String> = columns
        .iter()
        .map(|column| format!("{column} = ?"))
        .collect();
    let one = format!("({})", equal.join(" AND "));
    format!("({})", vec![one.as_str(); count].join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_in_order() {
        assert_eq!(numbered("a = ? AND b = ?"), "a = $1 AND b = $2");
        assert_eq!(numbered("?"), "$1");
        assert_eq!(numbered("BEGIN"), "BEGIN");
        assert_eq!(repeated("(?, ?)", 2), "(?, ?), (?, ?)");
        assert_eq!(any_of(&["a", "b"], 1), "((a = ? AND b = ?))");
        assert_eq!(any_of(&["a"], 2), "((a = ?) OR (a = ?))");
    }
}
