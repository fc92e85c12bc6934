//! The connection parameters of libpq, and what becomes of each.

use std::collections::BTreeMap;

use super::error::ConnectionError;

/// Values by name of those parameters that are read; no Debug, since one is the password.
#[derive(Default)]
pub(super) struct Parameters(BTreeMap<&'static str, String>);

enum Treatment {
    /// Ends up in the connection; the variable stands in for it when it is not given.
    Read(&'static str),
    /// Changes nothing for us: taken and dropped.
    Dropped,
    /// Taken with one of these values, which is what happens anyway.
    Only(&'static [&'static str], &'static str),
    /// Ignoring it would reach another server, or reach it less safely than was asked for.
    Refused(&'static str),
}

use Treatment::{Dropped, Only, Read, Refused};

const CLIENT_CERTIFICATE: &str = "client certificates are not supported: use a password";
const WRITE_THEM: &str = "service files are not supported: write the parameters themselves";

const KNOWN: &[(&str, Treatment)] = &[
    ("host", Read("PGHOST")),
    ("port", Read("PGPORT")),
    ("user", Read("PGUSER")),
    ("password", Read("PGPASSWORD")),
    ("dbname", Read("PGDATABASE")),
    ("sslmode", Read("PGSSLMODE")),
    ("sslrootcert", Read("PGSSLROOTCERT")),
    ("connect_timeout", Read("PGCONNECT_TIMEOUT")),
    ("passfile", Read("PGPASSFILE")),
    ("application_name", Dropped),
    ("fallback_application_name", Dropped),
    ("client_encoding", Dropped),
    ("keepalives", Dropped),
    ("keepalives_idle", Dropped),
    ("keepalives_interval", Dropped),
    ("keepalives_count", Dropped),
    ("tcp_user_timeout", Dropped),
    ("sslcompression", Dropped),
    ("sslsni", Dropped),
    ("krbsrvname", Dropped),
    ("gsslib", Dropped),
    ("gssdelegation", Dropped),
    ("load_balance_hosts", Dropped),
    (
        "gssencmode",
        Only(&["disable", "prefer"], "GSSAPI is not supported: use TLS"),
    ),
    (
        "channel_binding",
        Only(
            &["disable", "prefer"],
            "leave channel_binding out; sslmode=verify-full proves the server as well",
        ),
    ),
    (
        "target_session_attrs",
        Only(&["any"], "name the one server that is to be tuned"),
    ),
    (
        "sslnegotiation",
        Only(&["postgres"], "leave sslnegotiation out"),
    ),
    (
        "ssl_min_protocol_version",
        Only(
            &["TLSv1", "TLSv1.1", "TLSv1.2"],
            "leave it out: 1.2 is the oldest protocol that is spoken",
        ),
    ),
    ("ssl_max_protocol_version", Refused("leave it out")),
    ("service", Refused(WRITE_THEM)),
    ("servicefile", Refused(WRITE_THEM)),
    ("hostaddr", Refused("write the address in `host`")),
    ("options", Refused("set the options for the role instead")),
    (
        "replication",
        Refused("a replication connection answers no queries: leave it out"),
    ),
    ("sslcert", Refused(CLIENT_CERTIFICATE)),
    ("sslkey", Refused(CLIENT_CERTIFICATE)),
    ("sslpassword", Refused(CLIENT_CERTIFICATE)),
    ("sslcertmode", Refused(CLIENT_CERTIFICATE)),
    (
        "sslcrl",
        Refused("revocation lists are not supported: leave it out"),
    ),
    (
        "sslcrldir",
        Refused("revocation lists are not supported: leave it out"),
    ),
    ("requirepeer", Refused("leave it out")),
    ("requiressl", Refused("write sslmode=require")),
    ("require_auth", Refused("leave it out")),
];

/// Variables that would choose another server, were they not set aside.
const REFUSED_VARIABLES: &[(&str, &str)] = &[("PGSERVICE", "service"), ("PGHOSTADDR", "hostaddr")];

impl Parameters {
    /// Takes one parameter as the user gave it; an empty one counts as not given.
    pub(super) fn set(&mut self, name: &str, value: String) -> Result<(), ConnectionError> {
        let Some((name, treatment)) = KNOWN.iter().find(|(known, _)| *known == name) else {
            return Err(unknown(name));
        };
        let unsupported = |instead| ConnectionError::Unsupported {
            parameter: name,
            instead,
        };
        match treatment {
            _ if value.is_empty() => {}
            Read(_) => {
                self.0.insert(name, value);
            }
            Dropped => {}
            Only(values, _) if values.contains(&value.as_str()) => {}
            Only(_, instead) | Refused(instead) => return Err(unsupported(instead)),
        }
        Ok(())
    }

    /// Fills from the environment what was not given.
    pub(super) fn fill(
        &mut self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), ConnectionError> {
        let lookup = |variable| environment(variable).filter(|value| !value.is_empty());
        for (variable, parameter) in REFUSED_VARIABLES {
            // A host that was typed wins over the variable, as it does in libpq for a service.
            if !self.0.contains_key("host")
                && let Some(value) = lookup(variable)
            {
                self.set(parameter, value)?;
            }
        }
        for (name, treatment) in KNOWN {
            if let Read(variable) = treatment
                && !self.0.contains_key(name)
                && let Some(value) = lookup(variable)
            {
                self.0.insert(name, value);
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

fn unknown(name: &str) -> ConnectionError {
    // Anything but a plain word may be a piece of a password that was not quoted.
    let is_word = name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'-');
    if name.is_empty() || name.len() > 40 || !is_word {
        return ConnectionError::Malformed {
            form: "parameters",
            why: "a name in front of `=` is not one of a parameter",
        };
    }
    let nearest = KNOWN
        .iter()
        .map(|(known, _)| (distance(name, known), *known))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4);
    ConnectionError::UnknownParameter {
        name: name.to_owned(),
        nearest: nearest.map(|(_, known)| known),
    }
}

/// Levenshtein's distance between two short ASCII words.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_answered_with_the_nearest_parameter() {
        let mut parameters = Parameters::default();
        let error = parameters.set("sslmod", "require".into()).unwrap_err();
        assert_eq!(error.to_string(), "unknown connection parameter `sslmod`");
        assert_eq!(error.hint().unwrap(), "did you mean `sslmode`?");
        let error = parameters.set("database", "x".into()).unwrap_err();
        assert!(error.hint().unwrap().contains("dbname"), "{error:?}");
    }

    #[test]
    fn what_would_weaken_the_connection_is_refused_and_what_changes_nothing_is_taken() {
        let mut parameters = Parameters::default();
        parameters.set("keepalives", "1".into()).unwrap();
        parameters.set("channel_binding", "prefer".into()).unwrap();
        for (name, value) in [
            ("channel_binding", "require"),
            ("service", "prod"),
            ("sslcert", "me.crt"),
            ("hostaddr", "10.0.0.1"),
        ] {
            let error = parameters.set(name, value.into()).unwrap_err();
            assert!(matches!(error, ConnectionError::Unsupported { .. }));
            assert!(error.hint().is_some());
        }
    }

    #[test]
    fn a_service_of_the_environment_is_refused_unless_a_host_was_typed() {
        let environment = |name: &str| (name == "PGSERVICE").then(|| "prod".to_owned());
        assert!(Parameters::default().fill(&environment).is_err());
        let mut typed = Parameters::default();
        typed.set("host", "db".into()).unwrap();
        typed.fill(&environment).unwrap();
    }
}
