//! What only a server has: roles, encodings, sessions that end, locks of others.

use dbdyno_model::Connection;
use dbdyno_store::{Store, StoreError};
use dbdyno_target::connection::connect;

use crate::bed::Bed;
use crate::trials::{NAME, begun, run, tune};

fn client_as(bed: &Bed, user: &str) -> postgres::Client {
    let connection = Connection {
        user: user.into(),
        ..bed.connection().clone()
    };
    connect(&connection).unwrap()
}

/// Roles belong to the whole server, which other tests share.
fn role(bed: &Bed, suffix: &str) -> String {
    let role = format!("{}_{suffix}", bed.connection().database);
    bed.execute(&format!("CREATE ROLE {role} LOGIN"));
    role
}

#[test]
fn a_role_without_privileges_is_told_what_to_grant() {
    let bed = Bed::postgres();
    let role = role(&bed, "none");
    let error = Store::postgres(client_as(&bed, &role)).unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    assert!(
        error.to_string().contains("permission denied for database"),
        "{error}"
    );
    let hint = error.hint().unwrap();
    assert!(hint.contains("may create a schema"), "{hint}");

    bed.open().save(&begun()).unwrap();
    let error = Store::postgres(client_as(&bed, &role)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("permission denied for schema dbdyno"),
        "{error}"
    );

    // What the hint says is enough.
    bed.execute(&format!(
        "GRANT USAGE ON SCHEMA dbdyno TO {role}; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA dbdyno TO {role}"
    ));
    let mut store = Store::postgres(client_as(&bed, &role)).unwrap();
    store.add_run(NAME, &run(1, "a", 1)).unwrap();
    store.discard_pair(NAME, 1, "steal").unwrap();
    store.save(&tune()).unwrap();
    assert_eq!(store.load(NAME).unwrap(), tune());
    store.remove(NAME).unwrap();
}

#[test]
fn a_role_that_only_reads_lists_and_loads() {
    let bed = Bed::postgres();
    bed.open().save(&tune()).unwrap();
    let role = role(&bed, "reads");
    bed.execute(&format!(
        "GRANT USAGE ON SCHEMA dbdyno TO {role}; \
         GRANT SELECT ON ALL TABLES IN SCHEMA dbdyno TO {role}; \
         ALTER ROLE {role} SET default_transaction_read_only = on"
    ));
    let mut store = Store::postgres(client_as(&bed, &role)).unwrap();
    assert_eq!(store.load("tune-20261121T214640Z-k3f9").unwrap(), tune());
    assert_eq!(store.list().unwrap().len(), 1);
    let error = store.save(&tune()).unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    assert_eq!(bed.open().load(NAME).unwrap(), tune());
}

#[test]
fn an_empty_schema_that_was_made_for_us_is_used() {
    let bed = Bed::postgres();
    let role = role(&bed, "owner");
    bed.execute(&format!("CREATE SCHEMA dbdyno AUTHORIZATION {role}"));
    let mut store = Store::postgres(client_as(&bed, &role)).unwrap();
    store.save(&begun()).unwrap();
    assert_eq!(bed.rows("SELECT version FROM dbdyno.meta"), ["(1)"]);
}

#[test]
fn a_commit_is_on_the_disk_whatever_the_database_says() {
    let bed = Bed::postgres();
    let database = &bed.connection().database;
    bed.execute(&format!(
        "ALTER DATABASE {database} SET synchronous_commit = off; \
         ALTER DATABASE {database} SET default_transaction_isolation = 'serializable'; \
         ALTER DATABASE {database} SET search_path = pg_catalog"
    ));
    // The session of the store tells what it is set to, from within an insert of its own.
    let mut store = bed.open();
    bed.execute(
        "CREATE TABLE public.seen (value text); \
         CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN \
             INSERT INTO public.seen VALUES (current_setting('synchronous_commit')), \
                 (current_setting('transaction_isolation')), (current_setting('lock_timeout')); \
             RETURN NEW; END$$; \
         CREATE TRIGGER see AFTER INSERT ON dbdyno.run EXECUTE FUNCTION public.see()",
    );
    store.save(&begun()).unwrap();
    store.add_run(NAME, &run(1, "a", 1)).unwrap();
    let seen = bed.rows("SELECT value FROM public.seen");
    assert_eq!(seen, ["(on)", "(\"read committed\")", "(10s)"]);
}

#[test]
fn a_database_that_does_not_hold_every_text_is_refused() {
    let bed = Bed::postgres();
    let database = format!("{}_latin", bed.connection().database);
    bed.execute(&format!(
        "CREATE DATABASE {database} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    ));
    let connection = Connection {
        database,
        ..bed.connection().clone()
    };
    let error = Store::postgres(connect(&connection).unwrap()).unwrap_err();
    assert!(matches!(error, StoreError::Encoding { .. }), "{error}");
    assert!(error.to_string().contains("LATIN1"), "{error}");
    assert!(error.hint().unwrap().contains("ENCODING 'UTF8'"));
}

#[test]
fn a_session_that_was_ended_is_told_of_and_nothing_is_half_stored() {
    let bed = Bed::postgres();
    let mut store = bed.open();
    store.save(&begun()).unwrap();
    bed.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    let error = store.save(&tune()).unwrap_err();
    assert!(matches!(error, StoreError::Lost { .. }), "{error}");
    assert!(
        error.to_string().contains(&bed.connection().database),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("server's log"));
    assert_eq!(bed.open().load(NAME).unwrap(), begun());
}

#[test]
fn a_lock_of_another_session_is_waited_for_and_then_told_of() {
    let bed = Bed::postgres();
    let mut store = bed.open();
    store.save(&begun()).unwrap();
    let mut other = bed.client();
    let mut held = other.transaction().unwrap();
    held.execute("SELECT 1 FROM dbdyno.trial FOR UPDATE", &[])
        .unwrap();
    let error = store.add_run(NAME, &run(1, "a", 1)).unwrap_err();
    assert!(
        matches!(error, StoreError::Locked { seconds: 10, .. }),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("pg_locks"));
    held.rollback().unwrap();
    store.add_run(NAME, &run(1, "a", 1)).unwrap();
}
