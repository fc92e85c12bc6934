//! Facts of a PostgreSQL server: one file a subject, each with its SQL per version and its decoding.

mod access;
mod activity;
mod ages;
mod all_databases;
mod archiver;
mod checkpoints;
mod counters;
mod database;
mod error;
mod extensions;
mod files;
mod foreign_keys;
mod grants;
mod index_parts;
mod index_picks;
mod indexes;
mod inventory;
mod io;
mod locales;
mod locks;
mod managed;
mod overridden;
mod partitions;
mod promotion;
mod query_text;
mod reader;
mod senders;
mod sequences;
mod settings;
mod sizes;
mod slots;
mod standby;
mod statements;
mod statistics_age;
mod tables;
mod tablespaces;
mod text;
mod timer;
mod transactions;
mod version;
mod waits;
mod wal;
mod watched;
mod widths;

use std::time::{Duration, Instant};

use ::postgres::Client;
use dbdyno_model::Fact;
use dbdyno_model::facts::CollectorFailure;
use dbdyno_model::host::Sampled;
use dbdyno_model::postgres::{
    Checkpoints, Database, DatabaseCounters, Io, Postgres, Replication, ReplicationRole, Wal,
};

pub use counters::{CounterReader, Counters, counters};
pub use error::{CollectError, NEWEST, OLDEST};
pub use grants::{Granted, PROPOSED_ROLE, granted, grants};
#[doc(hidden)]
pub use query_text::without_literals;
pub use version::{Version, version};

use reader::Reader;

#[derive(Debug, Clone, Copy)]
pub struct CollectOptions {
    /// Time between the two readings of each counter; zero reads them once.
    pub window: Duration,
}

/// What was read, and which subjects could not be.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    pub postgres: Postgres,
    pub failures: Vec<CollectorFailure>,
}

/// For the session while it reads: nothing may wait long, hold anything, or write. Names and
/// operators mean PostgreSQL's own: else whoever may create functions in a schema of the path had
/// this role run them. A standby takes no serializable transaction, which may be the role's default.
/// Compiling a statement that runs once takes longer than running it.
const LIMITS: &str = "SET search_path = pg_catalog, pg_temp; \
     SET default_transaction_isolation = 'read committed'; \
     SET statement_timeout = '5s'; SET lock_timeout = '1s'; \
     SET idle_in_transaction_session_timeout = '10s'; SET default_transaction_read_only = on; \
     SET jit = off";
/// From a database whose encoding is nobody's, the server would refuse to send what is not ours. Takes
/// a snapshot, and so comes behind the limits.
const ENCODING: &str = "SELECT set_config('client_encoding', 'SQL_ASCII', false) \
     WHERE current_setting('server_encoding') = 'SQL_ASCII'";
const NO_LIMITS: &str = "RESET search_path; RESET default_transaction_isolation; \
     RESET statement_timeout; RESET lock_timeout; \
     RESET idle_in_transaction_session_timeout; RESET default_transaction_read_only; RESET jit; \
     RESET client_encoding";

/// Reads everything there is to know about the server behind `client`.
///
/// The window passes between the first and the second reading of the counters.
///
/// # Errors
/// For a server of the wrong kind or age, and when the connection is lost; a subject that cannot
/// be read is recorded in the result instead.
pub fn collect(client: &mut Client, options: &CollectOptions) -> Result<Collected, CollectError> {
    let version = version(client)?;
    let mut reader = Reader::new(client, version.number);
    if version.major() > NEWEST {
        reader.note(
            "postgres.version",
            format!("{version} is newer than tested: dbdyno knows {OLDEST} to {NEWEST}"),
        );
    }
    let mut postgres = Postgres {
        version_num: version.number,
        version: version.text,
        ..Postgres::default()
    };
    // In front of the limits, which would stand in pg_settings as values of the session. So this and
    // the version name the schema of all that they call.
    let settings = reader.read(&settings::SUBJECT, settings::read)?;
    reader.set(LIMITS)?;
    reader.set(ENCODING)?;
    let settings = overridden::fill(&mut reader, settings)?;

    let mut before = Counted::read(&mut reader)?;
    let second_reading_at = Instant::now() + options.window;
    reader.find_privileges()?;
    let watched = watched::open(&mut reader)?;
    (postgres.role, postgres.started_at) = version::read_role_and_start(&mut reader)?;
    postgres.extensions = reader.read(&extensions::SUBJECT, extensions::read)?;
    postgres.available_extensions = reader.read(&extensions::AVAILABLE, extensions::available)?;
    postgres.databases = reader.read(&ages::SUBJECT, ages::read)?;
    postgres.tablespaces = reader.read(&tablespaces::SUBJECT, tablespaces::read)?;
    postgres.locales = reader.read(&locales::DATABASES, locales::read_databases)?;
    postgres.collations = reader.read(&locales::COLLATIONS, locales::read_collations)?;
    postgres.activity = activity::read(&mut reader)?;
    postgres.slots = reader.read(&slots::SUBJECT, slots::read)?;
    postgres.replication = replication(&mut reader, &postgres.role)?;
    postgres.file_errors = reader.read(&files::SUBJECT, files::read)?;
    postgres.access = access::read(&mut reader)?;
    postgres.timer_cost_ns = timer_cost(&mut reader)?;
    inventory::read(&mut reader, &mut postgres)?;
    let wal_directory = reader.read(&wal::DIRECTORY, wal::read_directory)?;
    let roles = reader.read(&managed::SUBJECT, managed::read)?;

    postgres.waits = waits::watch(&mut reader, second_reading_at)?;
    let mut after = if options.window.is_zero() {
        None
    } else {
        Some(Counted::read(&mut reader)?)
    };
    watched::close(
        &mut reader,
        watched,
        !options.window.is_zero(),
        &mut postgres,
    )?;
    if version.number >= statistics_age::SINCE && before.lacks_ages() {
        let ages = statistics_age::read(&mut reader)?;
        before.fill_ages(&ages);
        if let Some(after) = &mut after {
            after.fill_ages(&ages);
        }
    }
    fill_samples(&mut postgres, before, after, wal_directory.get());

    if let Some(settings) = settings.value() {
        let none = managed::Signs::default();
        postgres.managed_by = managed::detect(settings, roles.value().unwrap_or(&none));
        postgres.settings = settings::without_secrets(settings.clone());
    }
    let (missing, failures) = reader.finish(NO_LIMITS)?;
    postgres.missing_privileges = missing;
    Ok(Collected { postgres, failures })
}

fn replication(
    reader: &mut Reader<'_>,
    role: &Fact<ReplicationRole>,
) -> Result<Replication, CollectError> {
    let (receiver, replay) = standby::read(reader, role)?;
    Ok(Replication {
        senders: senders::read(reader)?,
        receiver,
        replay,
        archiver: archiver::read(reader)?,
        promotion: promotion::read(reader)?,
    })
}

fn timer_cost(reader: &mut Reader<'_>) -> Result<Fact<f64>, CollectError> {
    let cost = reader.read(&timer::SUBJECT, timer::read)?;
    Ok(match cost.value() {
        Some(None) => Fact::unknown("EXPLAIN showed no time", timer::SUBJECT.origin),
        _ => cost.map(Option::unwrap_or_default),
    })
}

/// One reading of every subject that counts, each with the moment it was taken.
struct Counted {
    database: (Fact<Database>, Instant),
    all_databases: (Fact<Vec<DatabaseCounters>>, Instant),
    wal: (Fact<Wal>, Instant),
    checkpoints: (Fact<Checkpoints>, Instant),
    io: (Fact<Io>, Instant),
}

impl Counted {
    fn read(reader: &mut Reader<'_>) -> Result<Self, CollectError> {
        Ok(Self {
            wal: reader.read_at(&wal::SUBJECT, wal::read)?,
            checkpoints: reader.read_at(&checkpoints::SUBJECT, checkpoints::read)?,
            io: reader.read_at(&io::SUBJECT, io::read)?,
            all_databases: reader.read_at(&all_databases::SUBJECT, all_databases::read)?,
            database: database::read(reader)?,
        })
    }

    /// Whether some database never had its statistics reset.
    fn lacks_ages(&self) -> bool {
        let all = self.all_databases.0.value();
        let is_undated = all.is_some_and(|all| all.iter().any(|one| one.stats_age_s.is_none()));
        let own = self.database.0.value();
        is_undated || own.is_some_and(|own| own.stats_age_s.is_none())
    }

    fn fill_ages(&mut self, ages: &statistics_age::Ages) {
        let of = |name: &Option<String>| ages.get(name).copied();
        let own = &mut self.database.0;
        *own = std::mem::take(own).map(|own| {
            let found = own.stats_age_s.or_else(|| of(&Some(own.name.clone())));
            Database {
                stats_age_s: found,
                ..own
            }
        });
        let all = &mut self.all_databases.0;
        *all = std::mem::take(all).map(|mut all| {
            for one in &mut all {
                one.stats_age_s = one.stats_age_s.or_else(|| of(&one.name));
            }
            all
        });
    }
}

fn fill_samples(
    postgres: &mut Postgres,
    mut before: Counted,
    after: Option<Counted>,
    wal_directory_bytes: Option<u64>,
) {
    let with_directory = |(fact, at): (Fact<Wal>, Instant)| {
        let fact = fact.map(|wal| Wal {
            directory_bytes: wal_directory_bytes,
            ..wal
        });
        (fact, at)
    };
    before.wal = with_directory(before.wal);
    let (database, all_databases, wal, checkpoints, io) = match after {
        Some(after) => (
            Some(after.database),
            Some(after.all_databases),
            Some(with_directory(after.wal)),
            Some(after.checkpoints),
            Some(after.io),
        ),
        None => (None, None, None, None, None),
    };
    postgres.database = sampled(before.database, database);
    postgres.database_counters = sampled(before.all_databases, all_databases);
    postgres.wal = sampled(before.wal, wal);
    postgres.checkpoints = sampled(before.checkpoints, checkpoints);
    postgres.io = sampled(before.io, io);
}

fn sampled<T>(before: (Fact<T>, Instant), after: Option<(Fact<T>, Instant)>) -> Sampled<T> {
    let (before, began) = before;
    match after {
        Some((after, ended)) => Sampled {
            before,
            after,
            seconds: ended.duration_since(began).as_secs_f64(),
        },
        None => Sampled {
            before,
            ..Sampled::default()
        },
    }
}
