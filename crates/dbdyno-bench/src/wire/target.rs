//! Where a server is, and who wants in.

use std::sync::Arc;
use std::time::Duration;

pub use dbdyno_model::Engine;
use dbdyno_model::Secret;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::stream::Endpoint;
use super::{mysql, postgres};

/// Everything that is needed to open a session, again and again.
#[derive(Debug, Clone)]
pub struct Target {
    pub engine: Engine,
    pub endpoint: Endpoint,
    pub user: String,
    pub password: Option<Secret>,
    pub database: String,
    /// What PostgreSQL's startup packet asks of the session's process.
    pub options: Option<String>,
    pub tls: Option<Tls>,
    /// For connecting and logging in together.
    pub timeout: Duration,
}

impl Target {
    fn password(&self) -> Option<&str> {
        self.password.as_ref().map(Secret::expose)
    }

    pub(super) fn postgres_login(&self) -> postgres::Login {
        let tls = match &self.tls {
            None => postgres::Tls::Never,
            Some(tls) if tls.required => postgres::Tls::Require,
            Some(_) => postgres::Tls::Prefer,
        };
        let login = postgres::Login::new(&self.user, &self.database, self.password(), tls);
        login.with_options(self.options.as_deref())
    }

    pub(super) fn mysql_login(&self) -> mysql::Login {
        let tls = match &self.tls {
            None => mysql::Tls::Never,
            Some(tls) if tls.required => mysql::Tls::Require,
            Some(_) => mysql::Tls::Prefer,
        };
        let database = Some(self.database.as_str()).filter(|name| !name.is_empty());
        let secure = matches!(self.endpoint, Endpoint::Unix(_));
        mysql::Login::new(&self.user, database, self.password(), tls, secure)
    }
}

#[derive(Debug, Clone)]
pub struct Tls {
    pub config: Arc<ClientConfig>,
    pub name: ServerName<'static>,
    /// Else a server that speaks none is talked to in the clear.
    pub required: bool,
}
