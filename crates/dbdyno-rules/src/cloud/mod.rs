//! Rules on rented machines and managed services, and what these take out of the user's hands.

mod aurora;
mod burstable_machine;
mod managed_service;
mod nvme_timeout;
mod rds_autovacuum;

use dbdyno_model::Facts;
use dbdyno_model::host::Host;

use crate::Rule;

pub const RULES: &[Rule] = &[
    aurora::RULE,
    burstable_machine::RULE,
    managed_service::RULE,
    nvme_timeout::RULE,
    rds_autovacuum::RULE,
];

/// Services of clouds, as the collector names them; operators are the user's own.
const SERVICES: [&str; 11] = [
    "Aiven",
    "Amazon Aurora",
    "Amazon RDS",
    "Azure Database for PostgreSQL",
    "Crunchy Bridge",
    "DigitalOcean",
    "Google AlloyDB",
    "Google Cloud SQL",
    "Neon",
    "Supabase",
    "Timescale Cloud",
];

pub(crate) const AURORA: &str = "Amazon Aurora";

/// An operator: it passes on the server's command line what all members have to agree on.
pub(crate) const PATRONI: &str = "Patroni";

/// An operator of servers in Kubernetes.
pub(crate) const CLOUD_NATIVE_PG: &str = "CloudNativePG";

/// Clouds that rent machines, as the hypervisor shows itself.
const CLOUDS: [&str; 7] = [
    "alibaba",
    "amazon",
    "digitalocean",
    "google",
    "hetzner",
    "hyper-v",
    "oracle",
];

/// Families whose subject is the machine, which a service owns.
const OF_THE_MACHINE: [&str; 4] = ["container", "filesystem", "hardware", "kernel"];

/// Rules on what Aurora's storage does instead of the server: log, checkpoints, full pages, and a
/// cache that is meant to take three quarters of the memory.
const NOT_ON_AURORA: [&str; 13] = [
    "postgres.background_writer",
    "postgres.checkpoint_completion_target",
    "postgres.checkpoint_timeout",
    "postgres.data_checksums",
    "postgres.effective_cache_size",
    "postgres.fsync",
    "postgres.full_page_writes",
    "postgres.max_wal_size",
    "postgres.min_wal_size",
    "postgres.random_page_cost",
    "postgres.shared_buffers",
    "postgres.wal_buffers",
    "postgres.wal_compression",
];

/// Whether a manager is a cloud's service, behind which there is no machine to log in to.
pub(crate) fn is_service(manager: &str) -> bool {
    SERVICES.contains(&manager)
}

/// Whether the machine is a cloud's.
pub(crate) fn is_rented(host: &Host) -> bool {
    host.virtualisation
        .value()
        .is_some_and(|virtualisation| CLOUDS.contains(&virtualisation.kind.as_str()))
}

/// Why a rule has nothing to say of a server in a service's hands; none where it has.
pub(crate) fn out_of_reach(rule: &Rule, facts: &Facts) -> Option<String> {
    let service = facts.postgres.as_ref()?.managed_by.as_deref()?;
    if !is_service(service) {
        return None;
    }
    if service == AURORA && NOT_ON_AURORA.contains(&rule.id) {
        return Some(
            "Aurora's storage does this instead of the server: see cloud.aurora".to_owned(),
        );
    }
    (facts.host.is_none() && OF_THE_MACHINE.contains(&rule.family()))
        .then(|| format!("the machine belongs to {service}"))
}

#[cfg(test)]
mod tests {
    use super::{NOT_ON_AURORA, out_of_reach};
    use crate::catalogue::{catalogue, check};
    use crate::testing::{healthy, postgres};

    #[test]
    fn what_aurora_does_itself_is_a_rule() {
        let rules = catalogue();
        for id in NOT_ON_AURORA {
            assert!(rules.iter().any(|rule| rule.id == id), "{id}");
        }
    }

    #[test]
    fn a_services_machine_is_not_applicable_and_its_settings_are_assessed() {
        let mut facts = healthy();
        facts.host = None;
        let reached = |facts: &dbdyno_model::Facts| {
            let rules = catalogue();
            rules
                .iter()
                .filter(|rule| out_of_reach(rule, facts).is_none())
                .count()
        };
        assert_eq!(reached(&facts), catalogue().len());
        postgres(&mut facts).managed_by = Some("Amazon RDS".to_owned());
        let checked = check(&facts);
        let why = checked
            .not_applicable
            .iter()
            .find(|one| one.rule == "kernel.swappiness");
        assert_eq!(why.unwrap().why, "the machine belongs to Amazon RDS");
        assert!(
            checked
                .findings
                .iter()
                .any(|one| one.rule == "cloud.managed_service")
        );
        let on_rds = reached(&facts);
        postgres(&mut facts).managed_by = Some("Amazon Aurora".to_owned());
        assert_eq!(reached(&facts), on_rds - NOT_ON_AURORA.len());
        postgres(&mut facts).managed_by = Some("Patroni".to_owned());
        assert_eq!(reached(&facts), catalogue().len());
    }
}
