//! Since when counters count that nobody reset: all of them were discarded at once, or nobody knows.

use dbdyno_model::postgres::Postgres;
use dbdyno_testing::{Running, every_major};
use postgres::Client;

use crate::facts;

/// From 15 on a database has no reset until somebody asks for one.
fn undated() -> impl Iterator<Item = Running> {
    let servers = every_major().into_iter();
    servers
        .filter(|binaries| binaries.version.major >= 15)
        .map(|binaries| Running::start(binaries, &[]))
}

fn age_s(told: &Postgres, database: Option<&str>) -> Option<f64> {
    let all = told.database_counters.latest().unwrap();
    let found = all.iter().find(|one| one.name.as_deref() == database);
    found.unwrap().stats_age_s
}

fn reset(client: &mut Client, calls: &[&str]) {
    for call in calls {
        client.batch_execute(&format!("SELECT {call}")).unwrap();
    }
}

#[test]
fn views_that_were_reset_apart_do_not_date_a_database() {
    for running in undated() {
        let mut client = running.client();
        let before = facts(&mut client).database.latest().unwrap().stats_age_s;
        assert!(before.is_some());
        // The others still agree.
        reset(&mut client, &["pg_stat_reset_shared('bgwriter')"]);
        let told = facts(&mut client);
        assert!(told.database.latest().unwrap().stats_age_s > before);
        reset(
            &mut client,
            &[
                "pg_stat_reset_shared('archiver')",
                "pg_stat_reset_slru(NULL)",
                "pg_stat_reset_shared('wal')",
            ],
        );
        let told = facts(&mut client);
        assert_eq!(told.database.latest().unwrap().stats_age_s, None);
        assert_eq!(age_s(&told, None), None);
    }
}

#[test]
fn all_views_reset_in_one_call_do_not_date_a_database() {
    for running in undated() {
        let mut client = running.client();
        let version = facts(&mut client).version_num;
        // Before 17 a call resets what it names.
        if version >= 170_000 {
            reset(&mut client, &["pg_stat_reset_shared()"]);
            let told = facts(&mut client);
            assert_eq!(age_s(&told, Some("postgres")), None);
        }
    }
}

#[test]
fn what_all_databases_share_is_dated_without_the_privilege_for_files() {
    for running in undated() {
        running
            .client()
            .batch_execute("CREATE ROLE reader LOGIN; GRANT pg_monitor TO reader")
            .unwrap();
        let told = facts(&mut running.client_as("reader"));
        assert_eq!(age_s(&told, Some("postgres")), None);
        assert!(age_s(&told, None).unwrap() > 0.0);
        let missing = told.missing_privileges.iter();
        let files = missing.filter(|privilege| privilege.object == "pg_stat_file()");
        assert_eq!(files.count(), 1, "{:?}", told.missing_privileges);
    }
}
