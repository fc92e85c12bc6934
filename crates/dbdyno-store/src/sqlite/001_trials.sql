-- docs/reference/store.md explains the columns.

CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    -- The dbdyno that migrated this store or saved a trial in it last. Every later version keeps
    -- this column, so that an older dbdyno can say which one it needs.
    dbdyno_version TEXT NOT NULL
) STRICT;

CREATE TABLE trial (
    name TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
    started_at TEXT NOT NULL,
    finished_at TEXT,
    complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
    command TEXT NOT NULL,
    workload TEXT NOT NULL,
    machine TEXT NOT NULL,
    engine TEXT NOT NULL,
    server_version TEXT NOT NULL,
    budget TEXT,
    arms TEXT NOT NULL,
    word TEXT,
    ratio REAL,
    interval_low REAL,
    interval_high REAL,
    level REAL,
    pairs INTEGER,
    dbdyno_version TEXT NOT NULL,
    -- The last column, so that a list does not read it.
    document BLOB NOT NULL
) STRICT;

CREATE TABLE run (
    trial TEXT NOT NULL REFERENCES trial (name) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    arm TEXT NOT NULL,
    pair INTEGER,
    started_at TEXT NOT NULL,
    tps REAL NOT NULL,
    tps_with_checkpoint REAL NOT NULL,
    p99_ms REAL,
    wal_bytes_per_transaction REAL,
    steady INTEGER NOT NULL CHECK (steady IN (0, 1)),
    discarded TEXT,
    document BLOB NOT NULL,
    PRIMARY KEY (trial, number)
) STRICT;
