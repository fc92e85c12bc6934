//! SQLite's words for what a store does.

pub(super) const SAVE_TRIAL: &str = "
    INSERT INTO trial (name, started_at, finished_at, complete, command, workload, machine, engine,
        server_version, budget, arms, word, ratio, interval_low, interval_high, level, pairs,
        dbdyno_version, document)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
    ON CONFLICT (name) DO UPDATE SET
        finished_at = excluded.finished_at, complete = excluded.complete,
        workload = excluded.workload, machine = excluded.machine, engine = excluded.engine,
        server_version = excluded.server_version, budget = excluded.budget, arms = excluded.arms,
        word = excluded.word, ratio = excluded.ratio, interval_low = excluded.interval_low,
        interval_high = excluded.interval_high, level = excluded.level, pairs = excluded.pairs,
        dbdyno_version = excluded.dbdyno_version, document = excluded.document
    WHERE trial.started_at = excluded.started_at AND trial.command = excluded.command";

pub(super) const REMOVE_RUNS: &str = "DELETE FROM run WHERE trial = ?1";

pub(super) const ADD_RUN: &str = "
    INSERT INTO run (trial, number, arm, pair, started_at, tps, tps_with_checkpoint, p99_ms,
        wal_bytes_per_transaction, steady, discarded, document)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
    ON CONFLICT (trial, number) DO NOTHING";

pub(super) const TRIAL_IS_THERE: &str = "SELECT EXISTS (SELECT 1 FROM trial WHERE name = ?1)";

pub(super) const RUN_DOCUMENT: &str = "SELECT document FROM run WHERE trial = ?1 AND number = ?2";

pub(super) const UNMARKED_RUNS: &str =
    "SELECT number, document FROM run WHERE trial = ?1 AND pair = ?2 AND discarded IS NULL";

pub(super) const MARK_RUN: &str =
    "UPDATE run SET discarded = ?3, document = ?4 WHERE trial = ?1 AND number = ?2";

pub(super) const HEADER: &str = "SELECT document FROM trial WHERE name = ?1";

pub(super) const RUNS: &str =
    "SELECT number, discarded, document FROM run WHERE trial = ?1 ORDER BY number";

pub(super) const NAMES: &str = "SELECT name FROM trial ORDER BY started_at DESC, name DESC";

/// The length of a BLOB stands before it: SQLite does not read the document for it.
pub(super) const LIST: &str = "
    SELECT name, started_at, finished_at, complete, workload, machine, engine, server_version,
        budget, arms, word, ratio, interval_low, interval_high, level,
        coalesce(trial.pairs, kept.pairs, 0), coalesce(measured.runs, 0),
        length(document) + coalesce(measured.bytes, 0), dbdyno_version
    FROM trial
    LEFT JOIN (
        SELECT trial, count(*) AS runs, sum(length(document)) AS bytes FROM run GROUP BY trial
    ) AS measured ON measured.trial = name
    LEFT JOIN (
        SELECT trial, count(*) AS pairs FROM (
            SELECT trial FROM run WHERE pair IS NOT NULL AND discarded IS NULL
            GROUP BY trial, pair HAVING count(*) > 1)
        GROUP BY trial
    ) AS kept ON kept.trial = name
    ORDER BY started_at DESC, name DESC";

pub(super) const REMOVE_TRIAL: &str = "DELETE FROM trial WHERE name = ?1";

pub(super) const WRITTEN_BY: &str = "
    INSERT INTO meta (one, dbdyno_version) VALUES (1, ?1)
    ON CONFLICT (one) DO UPDATE SET dbdyno_version = excluded.dbdyno_version
    WHERE meta.dbdyno_version <> excluded.dbdyno_version";

pub(super) const WHO_WROTE: &str = "SELECT dbdyno_version FROM meta";
