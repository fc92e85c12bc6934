//! How a setting is changed where a service or an operator keeps the settings.

use dbdyno_model::check::{Way, WayKind};
use dbdyno_model::postgres::{Postgres, Setting};
use dbdyno_model::{Change, Needs};

use crate::quote::{list_elements, shell_word};

/// None where the server's own files and ALTER SYSTEM are the user's. What stands in capitals is for
/// the reader to fill in.
pub(super) fn ways(change: &Change, server: &Postgres) -> Option<Vec<Way>> {
    let owner = server.managed_by.as_deref()?;
    let name = change.setting.as_str();
    let text = match owner {
        "Amazon RDS" | "Amazon Aurora" | "Azure Database for PostgreSQL" | "Google Cloud SQL" => {
            let value = in_unit(&change.to, server.setting(name));
            of_service(owner, name, value.as_deref(), change)
        }
        "CloudNativePG" => of_cluster_resource(name, &change.to),
        "Patroni" => {
            let assignment = format!("{name}={}", change.to);
            format!("patronictl edit-config --pg {}", shell_word(&assignment))
        }
        other => format!(
            "set {name} to {} where {other} keeps the settings",
            change.to
        ),
    };
    Some(vec![Way {
        kind: WayKind::Manager,
        text,
    }])
}

/// These take numbers in the setting's own unit, as pg_settings shows them.
fn of_service(owner: &str, name: &str, value: Option<&str>, change: &Change) -> String {
    // What a shell or the service's own lists would read apart is not put into a command.
    let is_plain = |value: &&str| {
        !value.is_empty()
            && value
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    let Some(value) = value.filter(is_plain) else {
        return format!("set {name} to {} in the settings of {owner}", change.to);
    };
    match owner {
        "Google Cloud SQL" => format!(
            "gcloud sql instances patch INSTANCE --database-flags=FLAGS_SET_SO_FAR,{name}={value}"
        ),
        "Azure Database for PostgreSQL" => format!(
            "az postgres flexible-server parameter set --resource-group GROUP --server-name SERVER \
             --name {name} --value {value}"
        ),
        _ => {
            let (command, group) = if owner == "Amazon Aurora" {
                (
                    "modify-db-cluster-parameter-group",
                    "--db-cluster-parameter-group-name",
                )
            } else {
                ("modify-db-parameter-group", "--db-parameter-group-name")
            };
            let method = if change.needs >= Needs::Restart {
                "pending-reboot"
            } else {
                "immediate"
            };
            format!(
                "aws rds {command} {group} GROUP --parameters \
                 ParameterName={name},ParameterValue={value},ApplyMethod={method}"
            )
        }
    }
}

/// Libraries have a list of their own beside the parameters.
fn of_cluster_resource(name: &str, value: &str) -> String {
    let settings = if name == "shared_preload_libraries" {
        serde_json::json!({ name: list_elements(value) })
    } else {
        serde_json::json!({ "parameters": { name: value } })
    };
    let patch = serde_json::json!({ "spec": { "postgresql": settings } });
    format!(
        "kubectl patch cluster NAME --type merge --patch {}",
        shell_word(&patch.to_string())
    )
}

/// `6016MB` as 770048 where the unit is 8 kB; none where it is no whole number of them.
fn in_unit(value: &str, setting: Option<&Setting>) -> Option<String> {
    const UNITS: [(&str, f64); 11] = [
        ("B", 1.0),
        ("kB", 1024.0),
        ("MB", 1_048_576.0),
        ("GB", 1_073_741_824.0),
        ("TB", 1_099_511_627_776.0),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("min", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
    ];
    let setting = setting?;
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = &value[digits.len()..];
    let has_unit = setting.unit.as_deref().is_some_and(|unit| !unit.is_empty());
    if digits.is_empty() || suffix.is_empty() || !has_unit {
        return Some(value.to_owned());
    }
    let (_, factor) = UNITS.iter().find(|(unit, _)| *unit == suffix)?;
    let number: f64 = digits.trim().parse().ok()?;
    let in_units = number * factor / setting.unit_factor()?;
    let whole = in_units.round();
    ((in_units - whole).abs() < 1e-6 * whole.abs().max(1.0)).then(|| format!("{whole:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing;

    fn way(owner: &str, setting: &str, to: &str, needs: Needs) -> String {
        let mut server = testing::facts().postgres.unwrap();
        server.managed_by = Some(owner.to_owned());
        let mut change = testing::said().plan.changes.remove(0);
        change.setting = setting.to_owned();
        change.to = to.to_owned();
        change.needs = needs;
        let mut ways = ways(&change, &server).unwrap();
        assert_eq!((ways.len(), ways[0].kind), (1, WayKind::Manager));
        ways.remove(0).text
    }

    #[test]
    fn every_manager_has_its_own_command_and_unit() {
        let shared_buffers = |owner| way(owner, "shared_buffers", "6016MB", Needs::Restart);
        assert_eq!(
            shared_buffers("Amazon RDS"),
            "aws rds modify-db-parameter-group --db-parameter-group-name GROUP --parameters \
             ParameterName=shared_buffers,ParameterValue=770048,ApplyMethod=pending-reboot"
        );
        assert!(
            way("Amazon Aurora", "work_mem", "64MB", Needs::Reload)
                .ends_with("ParameterName=work_mem,ParameterValue=65536,ApplyMethod=immediate")
        );
        assert_eq!(
            shared_buffers("Google Cloud SQL"),
            "gcloud sql instances patch INSTANCE --database-flags=FLAGS_SET_SO_FAR,shared_buffers=770048"
        );
        assert!(
            way(
                "Azure Database for PostgreSQL",
                "checkpoint_timeout",
                "15min",
                Needs::Reload
            )
            .ends_with("--name checkpoint_timeout --value 900")
        );
        assert_eq!(
            shared_buffers("CloudNativePG"),
            "kubectl patch cluster NAME --type merge --patch \
             '{\"spec\":{\"postgresql\":{\"parameters\":{\"shared_buffers\":\"6016MB\"}}}}'"
        );
        assert_eq!(
            shared_buffers("Patroni"),
            "patronictl edit-config --pg shared_buffers=6016MB"
        );
        assert_eq!(
            shared_buffers("Neon"),
            "set shared_buffers to 6016MB where Neon keeps the settings"
        );
    }

    #[test]
    fn a_value_that_a_shell_would_read_apart_is_told_in_words() {
        let text = way("Amazon RDS", "log_line_prefix", "%m; reboot", Needs::Reload);
        assert_eq!(
            text,
            "set log_line_prefix to %m; reboot in the settings of Amazon RDS"
        );
        let text = way("Patroni", "log_line_prefix", "%m; reboot", Needs::Reload);
        assert_eq!(
            text,
            "patronictl edit-config --pg 'log_line_prefix=%m; reboot'"
        );
    }

    #[test]
    fn a_server_of_ones_own_keeps_its_own_ways() {
        let server = testing::facts().postgres.unwrap();
        let change = testing::said().plan.changes.remove(0);
        assert_eq!(ways(&change, &server), None);
    }
}
