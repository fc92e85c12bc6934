//! No connection kept free for who has to look at a full server.
//!
//! ## What it finds
//! `superuser_reserved_connections` below 3, its default.
//!
//! ## Why it matters
//! When all connections are taken, only a superuser on a reserved one can find out by whom and end
//! them. Monitoring and a backup may each hold one at that moment.
//!
//! ## What to do
//! Set it to 3. From PostgreSQL 16 on, `reserved_connections` keeps further ones for roles that
//! have `pg_use_reserved_connections`, such as the monitoring.
//!
//! ## Risk
//! None to data. It needs a restart; so many connections fewer are left to everyone else.
//!
//! ## When it does not apply
//! Nowhere.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-connection.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.reserved_connections",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-connection.html"],
    check,
    source_text: include_str!("reserved_connections.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const WANTED: f64 = 3.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::number(postgres, "superuser_reserved_connections")?;
    if now >= WANTED {
        return Ok(Outcome::Ok);
    }
    let severity = if now < 1.0 {
        Severity::Warn
    } else {
        Severity::Info
    };
    Ok(RULE
        .finding(format!(
            "superuser_reserved_connections is {now}: a full server may let nobody in who could mend it"
        ))
        .severity(severity)
        .keeps_running()
        .shows(postgres, "superuser_reserved_connections")
        .shows(postgres, "max_connections")
        .recommend(
            safe(
                "superuser_reserved_connections",
                value(WANTED.to_string()),
                "a superuser can still log in to a full server",
            )
            .giving_up("a restart, and as many connections fewer for everyone else"),
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, postgres, unknown};
    use dbdyno_model::Severity;
    use dbdyno_model::finding::Want;

    #[test]
    fn none_is_graver_than_one() {
        let mut facts = healthy();
        configure(&mut facts, "superuser_reserved_connections", "0");
        let none = finding(&RULE, &facts);
        assert_eq!(none.severity, Severity::Warn);
        assert_eq!(none.recommendations[0].want, Want::Value("3".into()));
        configure(&mut facts, "superuser_reserved_connections", "1");
        assert_eq!(finding(&RULE, &facts).severity, Severity::Info);
    }

    #[test]
    fn the_default_is_fine_and_an_unread_setting_unknown() {
        let mut facts = healthy();
        ok(&RULE, &facts);
        postgres(&mut facts)
            .settings
            .remove("superuser_reserved_connections");
        unknown(&RULE, &facts);
    }
}
