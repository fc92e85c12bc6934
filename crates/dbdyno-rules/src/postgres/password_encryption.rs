//! Passwords that are stored as MD5.
//!
//! ## What it finds
//! `password_encryption` at md5, or roles that may log in and whose password is stored so.
//!
//! ## Why it matters
//! Whoever gets hold of an MD5 hash (from a backup, a dump of the roles, a replica) can log in with
//! it, and finds most passwords in hours. SCRAM has neither weakness. PostgreSQL 18 warns of MD5
//! passwords, and a later release will drop them.
//!
//! ## What to do
//! Set `password_encryption` to scram-sha-256, have every role set its password anew, and then let
//! pg_hba.conf ask for scram-sha-256 instead of md5.
//!
//! ## Risk
//! Clients with a libpq before 10 or an old driver cannot log in with a password stored as SCRAM.
//!
//! ## When it does not apply
//! Lab servers. How passwords are stored is visible to superusers only.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/auth-password.html>
//! - <https://www.postgresql.org/docs/18/release-18.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, need, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.password_encryption",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/auth-password.html",
        "https://www.postgresql.org/docs/18/release-18.html",
    ],
    check,
    source_text: include_str!("password_encryption.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if facts.intent.lab {
        return Err(Outcome::NotApplicable(
            "a lab server has no passwords".to_owned(),
        ));
    }
    let stored_fact = &postgres.access.md5_passwords;
    let is_md5 = settings::text(postgres, "password_encryption")? == "md5";
    let stored = if is_md5 {
        stored_fact.get()
    } else {
        Some(need(stored_fact, "how passwords are stored")?)
    };
    let mut found = Vec::new();
    if is_md5 {
        found.push("password_encryption is md5".to_owned());
    }
    if let Some(count) = stored.filter(|count| *count > 0) {
        found.push(format!(
            "{} {} a password stored as MD5",
            plural(count, "role"),
            verb(count, "has", "have")
        ));
    }
    if found.is_empty() {
        return Ok(Outcome::Ok);
    }
    let mut finding = RULE
        .finding(found.join("; "))
        .shows(postgres, "password_encryption");
    if let Some(count) = stored {
        finding = finding.evidence("roles with MD5", count, stored_fact.origin.clone());
    }
    if is_md5 {
        let action = match &postgres.managed_by {
            Some(manager) => {
                format!("set password_encryption to scram-sha-256 where {manager} keeps it")
            }
            None => {
                "ALTER SYSTEM SET password_encryption = 'scram-sha-256'; SELECT pg_reload_conf()"
                    .to_owned()
            }
        };
        finding = finding.host_action(action, Needs::Reload);
    }
    Ok(finding
        .host_action(
            "have every role set its password anew (\\password), then ask for scram-sha-256 in pg_hba.conf",
            Needs::Online,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::{Fact, Facts};

    fn stored(setting: &str, md5: Fact<u64>) -> Facts {
        let mut facts = healthy();
        configure(&mut facts, "password_encryption", setting);
        postgres(&mut facts).access.md5_passwords = md5;
        facts
    }

    #[test]
    fn the_setting_is_found_whoever_looks() {
        let unseen = Fact::unknown("only a superuser may see it", "pg_authid");
        let finding = finding(&RULE, &stored("md5", unseen));
        assert_eq!(finding.message, "password_encryption is md5");
        assert_eq!(finding.host_actions.len(), 2);
        assert!(finding.host_actions[0].action.starts_with("ALTER SYSTEM"));
    }

    #[test]
    fn a_manager_keeps_the_setting_where_alter_system_does_not_reach() {
        let mut facts = stored("md5", Fact::default());
        postgres(&mut facts).managed_by = Some("Amazon RDS".into());
        let finding = finding(&RULE, &facts);
        assert_eq!(
            finding.host_actions[0].action,
            "set password_encryption to scram-sha-256 where Amazon RDS keeps it"
        );
    }

    #[test]
    fn passwords_from_before_the_setting_changed_are_found() {
        let finding = finding(&RULE, &stored("scram-sha-256", Fact::known(3, "pg_authid")));
        assert_eq!(finding.message, "3 roles have a password stored as MD5");
        assert_eq!(finding.host_actions.len(), 1);
    }

    #[test]
    fn scram_throughout_is_fine() {
        ok(&RULE, &stored("scram-sha-256", Fact::known(0, "pg_authid")));
    }

    #[test]
    fn unseen_passwords_are_unknown_and_a_lab_not_applicable() {
        let mut facts = healthy();
        assert!(unknown(&RULE, &facts).starts_with("how passwords are stored"));
        facts.intent.lab = true;
        not_applicable(&RULE, &facts);
    }
}
