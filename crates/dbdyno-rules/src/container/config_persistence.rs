//! The configuration file is lost with the container, or belongs to an operator.
//!
//! ## What it finds
//! A configuration file in a layer of the container's own (overlay, fuse-overlayfs as rootless Podman
//! mounts it, aufs), which is warned of; and a server that an operator or Patroni configures.
//!
//! ## Why it matters
//! What is written into a container's layer is gone when the container is made anew, at the latest
//! with the next update of its image. What is written behind an operator's back it writes over with
//! its next change. ALTER SYSTEM, where it is not refused, acts on one member alone: the others do
//! not get it, and a failover leaves it behind.
//!
//! ## What to do
//! Change the settings where their owner keeps them: the operator's resource, Patroni's dynamic
//! configuration, a ConfigMap or a mounted file. Without an owner, ALTER SYSTEM writes into the data
//! directory, which lies on a volume.
//!
//! ## Risk
//! None.
//!
//! ## When it does not apply
//! Servers on a machine of their own without an operator, and services of a cloud
//! (cloud.managed_service).
//!
//! ## Sources
//! - <https://cloudnative-pg.io/documentation/current/postgresql_conf/>
//! - <https://patroni.readthedocs.io/en/latest/patroni_configuration.html>
//! - <https://www.postgresql.org/docs/current/runtime-config-compatible.html>

use std::path::Path;

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::{Host, MountPoint, is_container_layer};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::cloud::{CLOUD_NATIVE_PG, PATRONI, is_service};
use crate::rule::{FindingExt, Rule, host, need, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "container.config_persistence",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://cloudnative-pg.io/documentation/current/postgresql_conf/",
        "https://patroni.readthedocs.io/en/latest/patroni_configuration.html",
        "https://www.postgresql.org/docs/current/runtime-config-compatible.html",
    ],
    check,
    source_text: include_str!("config_persistence.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    if let Some(owner) = &server.managed_by {
        if is_service(owner) {
            return Err(Outcome::NotApplicable(format!(
                "{owner} keeps the configuration: see cloud.managed_service"
            )));
        }
        return Ok(owned(owner));
    }
    let host = host(facts)?;
    if !need(&host.container, "whether this is a container")? {
        return Err(Outcome::NotApplicable(
            "the server is not in a container".to_owned(),
        ));
    }
    let Some(setting) = server.setting("config_file") else {
        return Err(Outcome::Unknown(
            "config_file: only pg_read_all_settings shows it".to_owned(),
        ));
    };
    let file = setting.value.as_str();
    let mount = mount_of(host, file)?;
    if !is_container_layer(&mount.filesystem) {
        return Ok(Outcome::Ok);
    }
    let by_volume = match host.data.value() {
        Some(data) if !is_container_layer(&data.filesystem) => {
            "ALTER SYSTEM, which writes into the data directory on its volume; or "
        }
        _ => "",
    };
    Ok(RULE
        .finding(format!(
            "{file} lies in the container's own layer: changes to it are gone with the container"
        ))
        .evidence("config_file", file, "pg_settings")
        .evidence(
            "file system",
            format!("{} at {}", mount.filesystem, mount.path),
            &host.mounts.origin,
        )
        .host_action(
            format!("change settings by {by_volume}mount {file} from a volume or a ConfigMap"),
            Needs::Restart,
        )
        .into_outcome())
}

fn owned(owner: &str) -> Outcome {
    let action = match owner {
        PATRONI => "patronictl edit-config, which applies to all members".to_owned(),
        CLOUD_NATIVE_PG => {
            "spec.postgresql.parameters of the Cluster resource: kubectl edit cluster NAME"
                .to_owned()
        }
        other => format!("change settings where {other} keeps them"),
    };
    RULE.finding(format!(
        "{owner} configures this server: what is changed in files or by ALTER SYSTEM is refused, \
         written over or kept from the other members"
    ))
    .severity(Severity::Info)
    .evidence("configured by", owner, "pg_settings and pg_roles")
    .host_action(action, Needs::Reload)
    .into_outcome()
}

/// The deepest mount that holds a file.
fn mount_of<'a>(host: &'a Host, file: &str) -> Result<&'a MountPoint, Outcome> {
    let mounts = need_ref(&host.mounts, "mounts of the server")?;
    mounts
        .iter()
        .filter(|mount| Path::new(file).starts_with(&mount.path))
        .max_by_key(|mount| Path::new(&mount.path).components().count())
        .ok_or_else(|| Outcome::Unknown(format!("mount of {file}: none is listed")))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, postgres, set, unknown};
    use dbdyno_model::host::MountPoint;
    use dbdyno_model::{Fact, Facts, Severity};

    fn in_container(config_file: &str) -> Facts {
        let mut facts = healthy();
        set(&mut facts, "config_file", config_file);
        let host = host(&mut facts);
        host.container = Fact::known(true, "/.dockerenv");
        let mount = |path: &str, filesystem: &str| MountPoint {
            path: path.to_owned(),
            filesystem: filesystem.to_owned(),
        };
        let mounts = vec![mount("/", "overlay"), mount("/var/lib/dbdyno", "xfs")];
        host.mounts = Fact::known(mounts, "/proc/4242/mountinfo");
        facts
    }

    #[test]
    fn a_file_in_the_containers_layer_is_found() {
        let facts = in_container("/etc/postgresql/postgresql.conf");
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"/etc/postgresql/postgresql.conf lies in the container's own layer: changes to it are gone with the container");
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("change settings by ALTER SYSTEM,")
        );
    }

    #[test]
    fn a_rootless_containers_layer_is_one_too() {
        let mut facts = in_container("/etc/postgresql/postgresql.conf");
        let mounts = &mut host(&mut facts).mounts;
        *mounts = mounts.clone().map(|mut mounts| {
            mounts[0].filesystem = "fuse.fuse-overlayfs".to_owned();
            mounts
        });
        let finding = finding(&RULE, &facts);
        assert_eq!(finding.evidence[1].value, "fuse.fuse-overlayfs at /");
    }

    #[test]
    fn an_operators_server_is_told() {
        let mut facts = healthy();
        postgres(&mut facts).managed_by = Some("Patroni".to_owned());
        let finding = finding(&RULE, &facts);
        assert_eq!(finding.severity, Severity::Info);
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("patronictl edit-config")
        );
    }

    #[test]
    fn a_file_on_a_volume_is_fine() {
        ok(
            &RULE,
            &in_container("/var/lib/dbdyno/lab/data/postgresql.conf"),
        );
    }

    #[test]
    fn own_machines_and_services_are_not_applicable() {
        not_applicable(&RULE, &healthy());
        let mut facts = healthy();
        postgres(&mut facts).managed_by = Some("Amazon RDS".to_owned());
        assert!(not_applicable(&RULE, &facts).contains("cloud.managed_service"));
    }

    #[test]
    fn unread_mounts_and_a_hidden_setting_are_unknown() {
        let mut facts = in_container("/etc/postgresql/postgresql.conf");
        host(&mut facts).mounts = Fact::default();
        assert_eq!(
            unknown(&RULE, &facts),
            "mounts of the server: not collected"
        );
        postgres(&mut facts).settings.remove("config_file");
        assert!(unknown(&RULE, &facts).starts_with("config_file:"));
    }
}
