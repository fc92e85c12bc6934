//! The connection parameters of libpq with their variables, and how each is treated.

use super::error::ConnectionError;

/// A parameter that libpq knows.
pub(super) struct Known {
    pub(super) name: &'static str,
    /// Stands in for it where it is not given.
    pub(super) variable: Option<&'static str>,
    pub(super) treatment: Treatment,
}

pub(super) enum Treatment {
    /// Ends up in the connection, or in the choice of the server.
    Read,
    /// Changes nothing for us: taken and dropped.
    Dropped,
    /// Taken with one of these values, which is what happens anyway.
    Only(&'static [&'static str], &'static str),
    /// Ignoring it would reach another server, or reach it less safely than was asked for.
    Refused(&'static str),
}

use Treatment::{Dropped, Only, Read, Refused};

const CLIENT_KEY: &str =
    "keys with a password are not supported: decrypt it into a file of mode 0600";
const REVOCATION: &str = "revocation lists are not supported: leave it out";
const OAUTH: &str = "OAuth is not supported: use a password or a client certificate";
const METHODS: &str = "which ways to authenticate are taken cannot be limited here: leave it out, \
                       and let sslmode=verify-full make sure of the server";

const fn with(name: &'static str, variable: &'static str, treatment: Treatment) -> Known {
    Known {
        name,
        variable: Some(variable),
        treatment,
    }
}

const fn without(name: &'static str, treatment: Treatment) -> Known {
    Known {
        name,
        variable: None,
        treatment,
    }
}

pub(super) const KNOWN: &[Known] = &[
    with("host", "PGHOST", Read),
    with("port", "PGPORT", Read),
    with("user", "PGUSER", Read),
    with("password", "PGPASSWORD", Read),
    with("dbname", "PGDATABASE", Read),
    with("service", "PGSERVICE", Read),
    with("servicefile", "PGSERVICEFILE", Read),
    with("sslmode", "PGSSLMODE", Read),
    with("sslrootcert", "PGSSLROOTCERT", Read),
    with("sslcert", "PGSSLCERT", Read),
    with("sslkey", "PGSSLKEY", Read),
    with("sslcertmode", "PGSSLCERTMODE", Read),
    with("connect_timeout", "PGCONNECT_TIMEOUT", Read),
    with("passfile", "PGPASSFILE", Read),
    with("options", "PGOPTIONS", Read),
    with("target_session_attrs", "PGTARGETSESSIONATTRS", Read),
    with("load_balance_hosts", "PGLOADBALANCEHOSTS", Read),
    with("application_name", "PGAPPNAME", Dropped),
    without("fallback_application_name", Dropped),
    with("client_encoding", "PGCLIENTENCODING", Dropped),
    without("keepalives", Dropped),
    without("keepalives_idle", Dropped),
    without("keepalives_interval", Dropped),
    without("keepalives_count", Dropped),
    without("tcp_user_timeout", Dropped),
    with("sslcompression", "PGSSLCOMPRESSION", Dropped),
    with("sslsni", "PGSSLSNI", Dropped),
    without("sslkeylogfile", Dropped),
    with("krbsrvname", "PGKRBSRVNAME", Dropped),
    with("gsslib", "PGGSSLIB", Dropped),
    with("gssdelegation", "PGGSSDELEGATION", Dropped),
    with("max_protocol_version", "PGMAXPROTOCOLVERSION", Dropped),
    with(
        "min_protocol_version",
        "PGMINPROTOCOLVERSION",
        Only(&["3.0"], "leave it out: version 3.0 is what is spoken"),
    ),
    with(
        "gssencmode",
        "PGGSSENCMODE",
        Only(&["disable", "prefer"], "GSSAPI is not supported: use TLS"),
    ),
    with(
        "channel_binding",
        "PGCHANNELBINDING",
        Only(
            &["disable", "prefer"],
            "leave channel_binding out; sslmode=verify-full proves the server as well",
        ),
    ),
    with(
        "sslnegotiation",
        "PGSSLNEGOTIATION",
        Only(&["postgres"], "leave sslnegotiation out"),
    ),
    with(
        "ssl_min_protocol_version",
        "PGSSLMINPROTOCOLVERSION",
        Only(
            &["TLSv1", "TLSv1.1", "TLSv1.2"],
            "leave it out: 1.2 is the oldest protocol that is spoken",
        ),
    ),
    with(
        "ssl_max_protocol_version",
        "PGSSLMAXPROTOCOLVERSION",
        Refused("leave it out"),
    ),
    with(
        "hostaddr",
        "PGHOSTADDR",
        Refused("write the address in `host`"),
    ),
    without(
        "replication",
        Refused("a replication connection answers no queries: leave it out"),
    ),
    without("sslpassword", Refused(CLIENT_KEY)),
    with("sslcrl", "PGSSLCRL", Refused(REVOCATION)),
    with("sslcrldir", "PGSSLCRLDIR", Refused(REVOCATION)),
    with(
        "requirepeer",
        "PGREQUIREPEER",
        Refused("whose the socket is cannot be asked here: leave it out"),
    ),
    with(
        "requiressl",
        "PGREQUIRESSL",
        Only(&["0"], "write sslmode=require"),
    ),
    with("require_auth", "PGREQUIREAUTH", Refused(METHODS)),
    without("scram_client_key", Refused("give the password itself")),
    without("scram_server_key", Refused("give the password itself")),
    without("oauth_issuer", Refused(OAUTH)),
    without("oauth_client_id", Refused(OAUTH)),
    without("oauth_client_secret", Refused(OAUTH)),
    without("oauth_scope", Refused(OAUTH)),
];

pub(super) fn known(name: &str) -> Result<&'static Known, ConnectionError> {
    let found = KNOWN.iter().find(|known| known.name == name);
    found.ok_or_else(|| unknown(name))
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
        .map(|known| (distance(name, known.name), known.name))
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
        let error = known("sslmod").err().unwrap();
        assert_eq!(error.to_string(), "unknown connection parameter `sslmod`");
        assert_eq!(error.hint().unwrap(), "did you mean `sslmode`?");
        let error = known("database").err().unwrap();
        assert!(error.hint().unwrap().contains("dbname"), "{error:?}");
    }

    #[test]
    fn nothing_is_listed_twice() {
        for (index, one) in KNOWN.iter().enumerate() {
            let same = |other: &Known| {
                other.name == one.name || one.variable.is_some() && other.variable == one.variable
            };
            assert!(!KNOWN[index + 1..].iter().any(same), "{}", one.name);
        }
    }
}
