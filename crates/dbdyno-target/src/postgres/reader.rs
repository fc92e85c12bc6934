//! Runs one subject after another; one that is denied or fails is recorded and stops nothing.

use std::time::Instant;

use ::postgres::Client;
use ::postgres::error::SqlState;
use dbdyno_model::Fact;
use dbdyno_model::facts::CollectorFailure;
use dbdyno_model::postgres::MissingPrivilege;

use super::error::{CollectError, describe};

/// What one collector reads.
pub(super) struct Subject {
    /// Name of the collector.
    pub(super) name: &'static str,
    /// View or function, as the user would name it.
    pub(super) origin: &'static str,
    /// SQL that opens it, with `{role}` for the role's name.
    grant: &'static str,
}

impl Subject {
    pub(super) const fn new(name: &'static str, origin: &'static str) -> Self {
        Self {
            name,
            origin,
            grant: "GRANT pg_monitor TO {role}",
        }
    }

    pub(super) const fn granted_by(self, grant: &'static str) -> Self {
        Self { grant, ..self }
    }

    pub(super) const fn grant(&self) -> &'static str {
        self.grant
    }
}

pub(super) struct Reader<'a> {
    client: &'a mut Client,
    version: u32,
    /// The role, quoted for SQL.
    role: String,
    /// Sees the sessions of others; without it their rows are there, but empty.
    pub(super) sees_all_sessions: bool,
    missing: Vec<MissingPrivilege>,
    failures: Vec<CollectorFailure>,
}

const PRIVILEGES: Subject = Subject::new("postgres.privileges", "pg_roles");
const HIDDEN_SETTINGS: Subject = Subject::new(
    "postgres.settings",
    "pg_settings (rows for pg_read_all_settings, source files)",
);

impl<'a> Reader<'a> {
    pub(super) fn new(client: &'a mut Client, version: u32) -> Self {
        Self {
            client,
            version,
            role: "CURRENT_USER".into(),
            sees_all_sessions: false,
            missing: Vec::new(),
            failures: Vec::new(),
        }
    }

    pub(super) fn set(&mut self, settings: &str) -> Result<(), CollectError> {
        self.client
            .batch_execute(settings)
            .map_err(CollectError::Session)
    }

    /// Gives the session back as it was, and what could not be read.
    pub(super) fn finish(
        self,
        no_limits: &str,
    ) -> Result<(Vec<MissingPrivilege>, Vec<CollectorFailure>), CollectError> {
        self.client
            .batch_execute(no_limits)
            .map_err(CollectError::Session)?;
        let Self {
            role, mut missing, ..
        } = self;
        for privilege in &mut missing {
            privilege.grant = privilege.grant.replace("{role}", &role);
        }
        Ok((missing, self.failures))
    }

    pub(super) fn note(&mut self, collector: &str, why: String) {
        let failure = CollectorFailure {
            collector: collector.to_owned(),
            why,
        };
        // A counter that fails at both ends of the window is told once.
        if !self.failures.contains(&failure) {
            self.failures.push(failure);
        }
    }

    pub(super) fn deny(&mut self, subject: &Subject) {
        let privilege = MissingPrivilege {
            object: subject.origin.to_owned(),
            grant: subject.grant.to_owned(),
        };
        if !self.missing.contains(&privilege) {
            self.missing.push(privilege);
        }
    }

    /// A view whose rows would be there but empty: not read, and its grant named.
    pub(super) fn unseen<T>(&mut self, subject: &Subject) -> Fact<T> {
        self.deny(subject);
        let why = "the role may not see the sessions of other roles";
        Fact::unknown(why, subject.origin)
    }

    /// Reads one subject in a transaction of its own.
    pub(super) fn read<T>(
        &mut self,
        subject: &Subject,
        read: impl FnOnce(&mut Client, u32) -> Result<T, ::postgres::Error>,
    ) -> Result<Fact<T>, CollectError> {
        let error = match read(self.client, self.version) {
            Ok(value) => return Ok(Fact::known(value, subject.origin)),
            Err(error) => error,
        };
        // The server closes the session with an error of its own when it shuts down.
        if error.is_closed() || self.client.is_closed() {
            return Err(CollectError::Lost {
                subject: subject.origin,
                source: error,
            });
        }
        let why = describe(&error);
        if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
            self.deny(subject);
        } else {
            self.note(subject.name, why.clone());
        }
        Ok(Fact::unknown(why, subject.origin))
    }

    /// Like `read`, with the moment in the middle of the reading.
    pub(super) fn read_at<T>(
        &mut self,
        subject: &Subject,
        read: impl FnOnce(&mut Client, u32) -> Result<T, ::postgres::Error>,
    ) -> Result<(Fact<T>, Instant), CollectError> {
        let began = Instant::now();
        let fact = self.read(subject, read)?;
        Ok((fact, began + began.elapsed() / 2))
    }

    /// Finds out what the role may see where a view would rather show nothing than an error.
    pub(super) fn find_privileges(&mut self) -> Result<(), CollectError> {
        const SQL: &str = "SELECT quote_ident(current_user), \
             pg_has_role(current_user, 'pg_read_all_settings', 'USAGE'), \
             pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')";
        let privileges = self.read(&PRIVILEGES, |client, _| {
            let row = client.query_one(SQL, &[])?;
            Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
        })?;
        let (role, sees_settings, sees_sessions) = match privileges.value() {
            Some((role, settings, sessions)) => (Some(role), *settings, *sessions),
            None => (None, false, false),
        };
        if let Some(role) = role {
            self.role = String::clone(role);
        }
        self.sees_all_sessions = sees_sessions;
        if !sees_settings {
            self.deny(&HIDDEN_SETTINGS);
        }
        Ok(())
    }
}

/// Reads in front of the session's limits, in a transaction that a standby takes whatever the role's
/// default is.
pub(super) fn read_committed<T>(
    client: &mut Client,
    read: impl FnOnce(&mut Client) -> Result<T, ::postgres::Error>,
) -> Result<T, ::postgres::Error> {
    client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED")?;
    let read = read(client);
    // What failed has to be ended, too, and that undoes it.
    let ended = client.batch_execute("COMMIT");
    let value = read?;
    ended?;
    Ok(value)
}

/// A count that the server keeps as a signed number.
pub(super) fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// The same, where the server may not have it.
pub(super) fn count_or_none(value: Option<i64>) -> Option<u64> {
    value.map(count)
}
