//! A database that takes text in any encoding for text.
//!
//! ## What it finds
//! A database with the encoding `SQL_ASCII`, other than the templates.
//!
//! ## Why it matters
//! The server then checks and converts nothing: clients with different encodings store bytes that
//! none of the others can read, and length, case and order of everything beyond ASCII are wrong.
//! The day somebody needs UTF-8, nobody knows which row is in which encoding.
//!
//! ## What to do
//! Find out which encodings the clients used, dump the database, convert it, and load it into a
//! database made with `ENCODING 'UTF8'`.
//!
//! ## Risk
//! Writes stop while the data move. Rows with broken bytes have to be mended by hand.
//!
//! ## When it does not apply
//! Data that are ASCII throughout and stay so.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/multibyte.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.encoding",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &["https://www.postgresql.org/docs/current/multibyte.html"],
    check,
    source_text: include_str!("encoding.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const UNCHECKED: &str = "SQL_ASCII";

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let locales = need_ref(&postgres.locales, "encodings of the databases")?;
    let names: Vec<&str> = locales
        .iter()
        .filter(|one| one.encoding == UNCHECKED && !one.name.starts_with("template"))
        .map(|one| one.name.as_str())
        .collect();
    if names.is_empty() {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "{} stored as {UNCHECKED}: the server neither checks nor converts what is not ASCII",
            names.join(", ")
        ))
        .evidence("encoding", UNCHECKED, postgres.locales.origin.clone())
        .host_action(
            "find out what the clients used, then dump, convert and load into a database with ENCODING 'UTF8'",
            Needs::Migration,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, unknown};
    use dbdyno_model::postgres::DatabaseLocale;
    use dbdyno_model::{Fact, Facts};

    fn stored(databases: &[(&str, &str)]) -> Facts {
        let mut facts = healthy();
        let locales = databases
            .iter()
            .map(|(name, encoding)| DatabaseLocale {
                name: (*name).into(),
                encoding: (*encoding).into(),
                ..DatabaseLocale::default()
            })
            .collect();
        postgres(&mut facts).locales = Fact::known(locales, "pg_database");
        facts
    }

    #[test]
    fn unchecked_text_is_found() {
        let facts = stored(&[("shop", "SQL_ASCII"), ("crm", "UTF8")]);
        assert_eq!(
            finding(&RULE, &facts).message,
            "shop stored as SQL_ASCII: the server neither checks nor converts what is not ASCII"
        );
    }

    #[test]
    fn templates_and_real_encodings_are_fine_and_unread_ones_unknown() {
        ok(
            &RULE,
            &stored(&[("template0", "SQL_ASCII"), ("shop", "LATIN1")]),
        );
        assert!(unknown(&RULE, &healthy()).starts_with("encodings of the databases"));
    }
}
