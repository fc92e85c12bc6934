//! A service runs the server: the machine under it is not the user's to change.
//!
//! ## What it finds
//! A server of a managed service, recognised by its roles and settings.
//!
//! ## Why it matters
//! There is no machine to log in to: kernel, file system and disks are the service's. Settings are
//! changed through its parameter groups or flags, some of them only with a restart, some not at all;
//! ALTER SYSTEM is refused. Memory follows from the type of the instance.
//!
//! ## What to do
//! Change what dbdyno recommends through the service's own interface, and give the memory with
//! `--memory`.
//!
//! ## Risk
//! None.
//!
//! ## When it does not apply
//! Servers that nobody manages, and those of an operator on machines of one's own
//! (container.config_persistence).
//!
//! ## Sources
//! - <https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/Appendix.PostgreSQL.CommonDBATasks.html>
//! - <https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/USER_WorkingWithParamGroups.html> (unverified)

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::is_service;
use crate::rule::{FindingExt, Rule, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "cloud.managed_service",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/Appendix.PostgreSQL.CommonDBATasks.html",
        "https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/USER_WorkingWithParamGroups.html (unverified)",
    ],
    check,
    source_text: include_str!("managed_service.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    let Some(service) = server.managed_by.as_deref().filter(|name| is_service(name)) else {
        return Err(Outcome::NotApplicable(
            "no managed service is recognised".to_owned(),
        ));
    };
    Ok(RULE
        .finding(format!(
            "{service} runs this server: rules on machine, kernel and file system do not apply, \
             and settings are changed through the service"
        ))
        .evidence("managed by", service, "pg_settings and pg_roles")
        .host_action(interface(service), Needs::Reload)
        .into_outcome())
}

/// Where a service has its settings changed.
fn interface(service: &str) -> String {
    match service {
        "Amazon RDS" | "Amazon Aurora" => {
            "aws rds modify-db-parameter-group --db-parameter-group-name GROUP --parameters \
             ParameterName=NAME,ParameterValue=VALUE,ApplyMethod=immediate (pending-reboot for what \
             needs a restart; at most 20 a call)"
                .to_owned()
        }
        "Google Cloud SQL" => {
            "gcloud sql instances patch INSTANCE --database-flags=NAME=VALUE,... (it replaces the \
             whole list of flags)"
                .to_owned()
        }
        "Azure Database for PostgreSQL" => {
            "az postgres flexible-server parameter set --server-name SERVER --resource-group GROUP \
             --name NAME --value VALUE"
                .to_owned()
        }
        other => format!("change settings through the interface of {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, postgres};

    #[test]
    fn a_service_is_told_with_its_interface() {
        let mut facts = healthy();
        postgres(&mut facts).managed_by = Some("Amazon RDS".to_owned());
        let rds = finding(&RULE, &facts);
        insta::assert_snapshot!(rds.message, @"Amazon RDS runs this server: rules on machine, kernel and file system do not apply, and settings are changed through the service");
        assert!(
            rds.host_actions[0]
                .action
                .starts_with("aws rds modify-db-parameter-group")
        );
        postgres(&mut facts).managed_by = Some("Neon".to_owned());
        assert!(
            finding(&RULE, &facts).host_actions[0]
                .action
                .ends_with("of Neon")
        );
    }

    #[test]
    fn own_servers_and_operators_are_not_applicable() {
        let mut facts = healthy();
        not_applicable(&RULE, &facts);
        postgres(&mut facts).managed_by = Some("Patroni".to_owned());
        not_applicable(&RULE, &facts);
    }
}
