//! When a connection that only preferred TLS goes on without it.

use super::WireError;
use super::target::Target;

impl Target {
    /// As libpq: what was only preferred is given up where it cannot be had, or where the server
    /// lets nobody in that way. A server that answers "no TLS here" was talked to in the clear at
    /// once, and never comes here.
    pub(super) fn gives_tls_up(&self, error: &WireError) -> bool {
        if self.tls.as_ref().is_none_or(|tls| tls.required) {
            return false;
        }
        match error {
            WireError::Tls(_) => true,
            WireError::Server(error) => error.is_hba(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use dbdyno_model::{Engine, SslMode};
    use rustls::pki_types::ServerName;

    use super::*;
    use crate::wire::{Endpoint, ServerError, Tls};

    fn target(mode: SslMode) -> Target {
        let config = dbdyno_tls::client_config(mode, None).unwrap();
        let tls = Tls {
            config: Arc::new(config),
            name: ServerName::try_from("localhost").unwrap(),
            required: mode != SslMode::Prefer,
        };
        Target {
            engine: Engine::Postgres,
            endpoint: Endpoint::Tcp(Vec::new()),
            user: "u".to_owned(),
            password: None,
            database: "d".to_owned(),
            options: None,
            tls: Some(tls),
            timeout: Duration::from_secs(1),
        }
    }

    fn refused(sqlstate: &str, message: &str) -> WireError {
        WireError::from(ServerError {
            sqlstate: sqlstate.to_owned(),
            number: None,
            message: message.to_owned(),
            hint: None,
            fatal: true,
        })
    }

    #[test]
    fn only_what_was_preferred_is_given_up_and_only_for_tls() {
        let hba = refused(
            "28000",
            "no pg_hba.conf entry for host \"::1\", SSL encryption",
        );
        let broken = WireError::Tls(rustls::Error::HandshakeNotComplete);
        let preferred = target(SslMode::Prefer);
        assert!(preferred.gives_tls_up(&hba) && preferred.gives_tls_up(&broken));
        assert!(!preferred.gives_tls_up(&refused("28P01", "wrong password")));
        assert!(!preferred.gives_tls_up(&WireError::Closed));
        let required = target(SslMode::Require);
        assert!(!required.gives_tls_up(&hba) && !required.gives_tls_up(&broken));
        let plain = Target {
            tls: None,
            ..preferred
        };
        assert!(!plain.gives_tls_up(&hba));
    }
}
