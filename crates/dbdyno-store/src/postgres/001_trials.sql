-- docs/reference/store.md explains the columns.

CREATE TABLE dbdyno.meta (
    one integer PRIMARY KEY CHECK (one = 1),
    version integer NOT NULL,
    -- The dbdyno that migrated this store or saved a trial in it last. Every later version keeps
    -- these columns, so that an older dbdyno can say which one it needs.
    dbdyno_version text NOT NULL
);

CREATE TABLE dbdyno.trial (
    -- Sorted by bytes, as in SQLite.
    name text COLLATE "C" NOT NULL PRIMARY KEY CHECK (name <> ''),
    started_at text COLLATE "C" NOT NULL,
    finished_at text COLLATE "C",
    complete boolean NOT NULL,
    command text[] NOT NULL,
    workload text NOT NULL,
    machine text NOT NULL,
    engine text NOT NULL,
    server_version text NOT NULL,
    budget text,
    arms text[] NOT NULL,
    word text,
    ratio double precision,
    interval_low double precision,
    interval_high double precision,
    level double precision,
    pairs bigint,
    dbdyno_version text NOT NULL,
    document bytea NOT NULL
);

CREATE TABLE dbdyno.run (
    trial text COLLATE "C" NOT NULL REFERENCES dbdyno.trial (name) ON DELETE CASCADE,
    number bigint NOT NULL,
    arm text NOT NULL,
    pair bigint,
    started_at text COLLATE "C" NOT NULL,
    tps double precision NOT NULL,
    tps_with_checkpoint double precision NOT NULL,
    p99_ms double precision,
    wal_bytes_per_transaction double precision,
    steady boolean NOT NULL,
    discarded text,
    document bytea NOT NULL,
    PRIMARY KEY (trial, number)
);

-- They are compressed already.
ALTER TABLE dbdyno.trial ALTER COLUMN document SET STORAGE EXTERNAL;
ALTER TABLE dbdyno.run ALTER COLUMN document SET STORAGE EXTERNAL;
