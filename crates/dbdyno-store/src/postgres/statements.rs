//! PostgreSQL's words for what a store does.

pub(super) const SAVE_TRIAL: &str = "
    INSERT INTO dbdyno.trial (name, started_at, finished_at, complete, command, workload, machine,
        engine, server_version, budget, arms, word, ratio, interval_low, interval_high, level,
        pairs, dbdyno_version, document)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
    ON CONFLICT (name) DO UPDATE SET
        finished_at = excluded.finished_at, complete = excluded.complete,
        workload = excluded.workload, machine = excluded.machine, engine = excluded.engine,
        server_version = excluded.server_version, budget = excluded.budget, arms = excluded.arms,
        word = excluded.word, ratio = excluded.ratio, interval_low = excluded.interval_low,
        interval_high = excluded.interval_high, level = excluded.level, pairs = excluded.pairs,
        dbdyno_version = excluded.dbdyno_version, document = excluded.document
    WHERE trial.started_at = excluded.started_at AND trial.command = excluded.command";

pub(super) const REMOVE_RUNS: &str = "DELETE FROM dbdyno.run WHERE trial = $1";

pub(super) const ADD_RUN: &str = "
    INSERT INTO dbdyno.run (trial, number, arm, pair, started_at, tps, tps_with_checkpoint, p99_ms,
        wal_bytes_per_transaction, steady, discarded, document)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
    ON CONFLICT (trial, number) DO NOTHING";

/// Whoever writes runs of one trial takes turns.
pub(super) const LOCK_TRIAL: &str = "SELECT name FROM dbdyno.trial WHERE name = $1 FOR UPDATE";

pub(super) const RUN_DOCUMENT: &str =
    "SELECT document FROM dbdyno.run WHERE trial = $1 AND number = $2";

pub(super) const UNMARKED_RUNS: &str =
    "SELECT number, document FROM dbdyno.run WHERE trial = $1 AND pair = $2 AND discarded IS NULL";

pub(super) const MARK_RUN: &str =
    "UPDATE dbdyno.run SET discarded = $3, document = $4 WHERE trial = $1 AND number = $2";

pub(super) const HEADER: &str = "SELECT document FROM dbdyno.trial WHERE name = $1";

pub(super) const RUNS: &str =
    "SELECT number, discarded, document FROM dbdyno.run WHERE trial = $1 ORDER BY number";

pub(super) const NAMES: &str = "SELECT name FROM dbdyno.trial ORDER BY started_at DESC, name DESC";

/// The length of a bytea stands before it: PostgreSQL does not fetch the document for it.
pub(super) const LIST: &str = "
    SELECT name, started_at, finished_at, complete, workload, machine, engine, server_version,
        budget, arms, word, ratio, interval_low, interval_high, level,
        coalesce(trial.pairs, kept.pairs, 0), coalesce(measured.runs, 0),
        octet_length(document) + coalesce(measured.bytes, 0), dbdyno_version
    FROM dbdyno.trial
    LEFT JOIN (
        SELECT trial, count(*) AS runs, sum(octet_length(document)) AS bytes
        FROM dbdyno.run GROUP BY trial
    ) AS measured ON measured.trial = name
    LEFT JOIN (
        SELECT trial, count(*) AS pairs FROM (
            SELECT trial FROM dbdyno.run WHERE pair IS NOT NULL AND discarded IS NULL
            GROUP BY trial, pair HAVING count(*) > 1) AS whole
        GROUP BY trial
    ) AS kept ON kept.trial = name
    ORDER BY started_at DESC, name DESC";

pub(super) const REMOVE_TRIAL: &str = "DELETE FROM dbdyno.trial WHERE name = $1";

pub(super) const WRITTEN_BY: &str = "
    UPDATE dbdyno.meta SET dbdyno_version = $1 WHERE dbdyno_version <> $1";

pub(super) const MIGRATED: &str = "
    INSERT INTO dbdyno.meta (one, version, dbdyno_version) VALUES (1, $1, $2)
    ON CONFLICT (one) DO UPDATE SET version = excluded.version,
        dbdyno_version = excluded.dbdyno_version";

pub(super) const VERSION: &str = "SELECT version, dbdyno_version FROM dbdyno.meta WHERE one = 1";

/// Whether there is the schema, how many relations it has, and whether `meta` is one of them.
pub(super) const LOOK: &str = "
    SELECT count(DISTINCT namespace.oid) > 0, count(relation.oid),
        coalesce(bool_or(relation.relname = 'meta'), false)
    FROM pg_catalog.pg_namespace AS namespace
    LEFT JOIN pg_catalog.pg_class AS relation ON relation.relnamespace = namespace.oid
    WHERE namespace.nspname = 'dbdyno'";

pub(super) const CREATE_SCHEMA: &str = "CREATE SCHEMA dbdyno";

/// Held by whoever migrates: `dbdyno` in ASCII.
pub(super) const MIGRATION_LOCK: &str = "SELECT pg_advisory_xact_lock(x'646264796e6f'::bigint)";

/// A role or a database may have been set to lose the last commits; a finished run is not for that.
pub(super) const DURABLE: &str = "
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'";

pub(super) const PATIENCE: &str = "SELECT set_config('lock_timeout', $1, false)";

pub(super) const WHERE: &str = "
    SELECT current_database()::text, pg_encoding_to_char(encoding)::text
    FROM pg_catalog.pg_database WHERE datname = current_database()";
