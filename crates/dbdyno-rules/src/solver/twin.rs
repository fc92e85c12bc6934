//! A server's own settings, and what they become on a machine with other memory.

use std::collections::BTreeMap;

use dbdyno_model::Facts;
use dbdyno_model::finding::Want;
use dbdyno_model::postgres::Setting;

use super::{humane, memory};
use crate::formulas::memory::budget_bytes;
use crate::postgres::machine;

/// Settings that hold for one place only, by name.
const SKIPPED: &[&str] = &[
    // Paths and files.
    "config_file",
    "data_directory",
    "dynamic_library_path",
    "extension_control_path",
    "extension_destdir",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "stats_temp_directory",
    // Addresses and names.
    "allow_alter_system",
    "application_name",
    "cluster_name",
    "listen_addresses",
    "port",
    // Replication, recovery and archiving: a twin has no partner, and waiting for one would
    // block its commits.
    "hot_standby",
    "hot_standby_feedback",
    "max_slot_wal_keep_size",
    "promote_trigger_file",
    "restore_command",
    "standby_mode",
    "sync_replication_slots",
    "synchronized_standby_slots",
    "synchronous_standby_names",
    "wal_keep_size",
    // Libraries that the twin's binaries may lack.
    "jit_provider",
    "local_preload_libraries",
    "session_preload_libraries",
    "shared_preload_libraries",
    // Language and place: they change results, not speed.
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "client_encoding",
    "client_min_messages",
    "default_text_search_config",
    "timezone_abbreviations",
    // What exists only in the server's own catalogue.
    "default_table_access_method",
    "default_tablespace",
    "search_path",
    "temp_tablespaces",
    // What would end or refuse the load itself.
    "db_user_namespace",
    "default_transaction_read_only",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
    "lock_timeout",
    "row_security",
    "session_replication_role",
    "statement_timeout",
    "temp_file_limit",
    "transaction_timeout",
    // What the twin's own limits decide, and what would keep it from starting beside the server.
    "dynamic_shared_memory_type",
    "huge_page_size",
    "huge_pages",
    "max_stack_depth",
    "min_dynamic_shared_memory",
    "shared_memory_type",
    // Access.
    "password_encryption",
    // Where the log goes; what is logged is kept.
    "event_source",
    "log_destination",
    "log_directory",
    "log_file_mode",
    "log_filename",
    "log_rotation_age",
    "log_rotation_size",
    "log_timezone",
    "log_truncate_on_rotation",
    "logging_collector",
];

/// Families of the same, by how their names begin.
const SKIPPED_PREFIXES: &[&str] = &[
    "archive_",
    "bonjour",
    "gss_",
    "krb_",
    "lc_",
    "max_standby_",
    "oauth_",
    "primary_",
    "recovery_target",
    "recovery_end_",
    "ssl",
    "syslog_",
    "unix_socket_",
    "wal_receiver_",
];

/// Sizes that follow the memory. max_wal_size and min_wal_size do not: they follow the writing.
const MEMORY_SIZED: [&str; 7] = [
    "autovacuum_work_mem",
    "effective_cache_size",
    "maintenance_work_mem",
    "shared_buffers",
    "temp_buffers",
    "wal_buffers",
    "work_mem",
];

/// The server's own settings that a twin needs to behave like it, as in postgresql.conf.
///
/// Kept is what its owner set to another value than the compiled-in one. Left out are: paths and
/// addresses, preload libraries and extensions' settings (the twin may lack them), replication,
/// recovery and archiving (the twin is alone), TLS and authentication, where the log goes,
/// language and time zone, limits that would end the load, huge pages and shared-memory
/// types (the twin must start beside the server), and what a role set for itself.
pub fn current_settings(facts: &Facts) -> BTreeMap<String, String> {
    let Some(postgres) = &facts.postgres else {
        return BTreeMap::new();
    };
    postgres
        .settings
        .iter()
        .map(|(name, setting)| (name, in_database(setting)))
        .filter(|(name, setting)| {
            matters(setting) && !is_skipped(name) && !(*name == "io_method" && is_io_uring(setting))
        })
        .map(|(name, setting)| (name.clone(), humane::setting(&setting)))
        .collect()
}

/// The setting as every session of this database has it: a twin has one database.
fn in_database(setting: &Setting) -> Setting {
    match &setting.instead {
        Some(instead) if instead.source == "database" => Setting {
            value: instead.value.clone(),
            source: instead.source.clone(),
            ..setting.clone()
        },
        _ => setting.clone(),
    }
}

fn matters(setting: &Setting) -> bool {
    setting.is_set_by_user()
        && setting.context != "internal"
        && !matches!(
            setting.source.as_str(),
            "user" | "database user" | "interactive" | "test"
        )
        && setting.boot_value.as_ref() != Some(&setting.value)
}

fn is_skipped(name: &str) -> bool {
    name.contains('.')
        || SKIPPED.contains(&name)
        || SKIPPED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Another build, or a container around it, may refuse to start with it.
fn is_io_uring(setting: &Setting) -> bool {
    setting.value == "io_uring"
}

/// A server's own settings for a twin with `memory_here` bytes: sizes that follow the memory
/// shrink in proportion where the server has more of it, and then until the memory model fits.
/// Nothing grows, and whatever is no size stays as it is.
pub fn rescale(
    facts: &Facts,
    settings: &BTreeMap<String, String>,
    memory_here: u64,
) -> BTreeMap<String, String> {
    let mut scaled = settings.clone();
    if let Some(memory_there) = machine::memory(facts)
        .get()
        .filter(|there| *there > memory_here)
    {
        let ratio = memory_here as f64 / memory_there as f64;
        for name in MEMORY_SIZED {
            shrink(facts, &mut scaled, name, ratio);
        }
    }
    let budget = budget_bytes(memory_here);
    while memory::terms_with(facts, &scaled).is_some_and(|terms| terms.sum() > budget) {
        // The term that takes most gives first: what is small already stays as it was chosen.
        if !by_weight(facts, &scaled)
            .iter()
            .any(|name| shrink(facts, &mut scaled, name, 7.0 / 8.0))
        {
            break;
        }
    }
    promise_no_more(facts, &mut scaled, memory_here);
    scaled
}

/// effective_cache_size takes nothing, but must not tell the planner of memory that is not here.
fn promise_no_more(facts: &Facts, settings: &mut BTreeMap<String, String>, memory_here: u64) {
    let name = "effective_cache_size";
    let setting = facts
        .postgres
        .as_ref()
        .and_then(|postgres| postgres.settings.get(name));
    let (Some(setting), Some(value)) = (setting, settings.get_mut(name)) else {
        return;
    };
    let told = humane::with_value(setting, value).and_then(|with| with.bytes());
    if told.is_some_and(|told| told > memory_here)
        && let Ok(less) = super::conf_value(setting, &Want::Bytes(memory_here / 4 * 3))
    {
        *value = less;
    }
}

/// The sizes that count in the memory model, the one that takes most first.
fn by_weight(facts: &Facts, settings: &BTreeMap<String, String>) -> Vec<&'static str> {
    let Some(terms) = memory::terms_with(facts, settings) else {
        return Vec::new();
    };
    let mut weights = [
        (terms.shared_buffers, "shared_buffers"),
        (terms.active.saturating_add(terms.parallel), "work_mem"),
        (terms.autovacuum, "autovacuum_work_mem"),
        (terms.autovacuum, "maintenance_work_mem"),
        (terms.wal_buffers, "wal_buffers"),
    ];
    weights.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    weights.map(|(_, name)| name).to_vec()
}

/// Multiplies one size; false where it is not set, is a word, or has reached its minimum.
fn shrink(facts: &Facts, settings: &mut BTreeMap<String, String>, name: &str, ratio: f64) -> bool {
    let setting = facts
        .postgres
        .as_ref()
        .and_then(|postgres| postgres.settings.get(name));
    let (Some(setting), Some(value)) = (setting, settings.get_mut(name)) else {
        return false;
    };
    // −1 and 0 are words.
    let bytes = humane::with_value(setting, value).and_then(|with| with.bytes());
    let Some(bytes) = bytes.filter(|bytes| *bytes > 0) else {
        return false;
    };
    let want = Want::Bytes((bytes as f64 * ratio) as u64);
    match super::conf_value(setting, &want) {
        Ok(smaller) if smaller != *value => {
            *value = smaller;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{configure, healthy, set};

    #[test]
    fn own_settings_are_what_the_owner_set_and_a_twin_can_have() {
        let mut facts = healthy();
        assert_eq!(
            current_settings(&facts),
            BTreeMap::new(),
            "initdb's own are the defaults"
        );
        configure(&mut facts, "shared_buffers", "524288");
        configure(&mut facts, "checkpoint_timeout", "900");
        configure(&mut facts, "port", "5433");
        configure(&mut facts, "ssl", "on");
        configure(&mut facts, "archive_mode", "on");
        configure(&mut facts, "synchronous_standby_names", "replica");
        configure(&mut facts, "shared_preload_libraries", "timescaledb");
        configure(&mut facts, "statement_timeout", "30000");
        configure(&mut facts, "log_lock_waits", "on");
        set(&mut facts, "timescaledb.max_background_workers", "8");
        let own = current_settings(&facts);
        let own: Vec<_> = own
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            own,
            [
                "checkpoint_timeout=15min",
                "log_lock_waits=on",
                "shared_buffers=4GB"
            ]
        );
    }

    #[test]
    fn a_twin_has_what_every_session_of_the_database_has_and_not_what_our_role_has() {
        let mut facts = healthy();
        for (name, source) in [("random_page_cost", "database"), ("enable_seqscan", "user")] {
            let server = facts.postgres.as_mut().unwrap();
            let setting = server.settings.get_mut(name).unwrap();
            setting.instead = Some(dbdyno_model::postgres::Instead {
                value: "1.1".into(),
                source: source.into(),
            });
        }
        assert_eq!(
            current_settings(&facts),
            settings(&[("random_page_cost", "1.1")])
        );
    }

    fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    }

    #[test]
    fn a_twin_with_less_memory_gets_the_same_share() {
        let mut facts = healthy();
        facts.intent.memory_bytes = Some(64 << 30);
        let own = settings(&[
            ("autovacuum_work_mem", "-1"),
            ("checkpoint_timeout", "15min"),
            ("max_wal_size", "100GB"),
            ("shared_buffers", "16GB"),
            ("work_mem", "64MB"),
        ]);
        let twin = rescale(&facts, &own, 8 << 30);
        assert_eq!(
            twin,
            settings(&[
                ("autovacuum_work_mem", "-1"),
                ("checkpoint_timeout", "15min"),
                ("max_wal_size", "100GB"),
                ("shared_buffers", "2GB"),
                ("work_mem", "8MB"),
            ])
        );
        assert_eq!(
            rescale(&facts, &own, 64 << 30),
            own,
            "nothing changes on equal memory"
        );
        assert_eq!(rescale(&facts, &own, 128 << 30), own, "nothing grows");
    }

    #[test]
    fn a_twin_of_a_server_of_unknown_memory_is_cut_until_it_fits() {
        let mut facts = healthy();
        facts.host = None;
        let own = settings(&[("shared_buffers", "16GB"), ("work_mem", "4MB")]);
        let twin = rescale(&facts, &own, 4 << 30);
        assert_eq!(
            twin,
            settings(&[("shared_buffers", "2560MB"), ("work_mem", "4MB")])
        );
        assert_eq!(
            rescale(&facts, &twin, 4 << 30),
            twin,
            "what fits is left alone"
        );
        // Nothing fits into this; it ends all the same, at the server's minimum.
        assert_eq!(rescale(&facts, &own, 1 << 20)["shared_buffers"], "128kB");
    }

    #[test]
    fn the_planner_is_told_of_no_memory_that_is_not_here() {
        let mut facts = healthy();
        facts.host = None;
        let own = settings(&[("effective_cache_size", "48GB")]);
        let twin = rescale(&facts, &own, 4 << 30);
        assert_eq!(twin, settings(&[("effective_cache_size", "3GB")]));
    }
}
