//! Why what the user typed is not a connection, in words that never repeat a secret.

use std::path::PathBuf;

/// What a malformed URI of a MySQL or MariaDB server is called, so that the hint fits it.
pub(super) const MYSQL_URI: &str = "MySQL URI";

/// No variant holds text out of a part that may be a password: values are described, not quoted.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error(
        "neither a postgres:// or mysql:// URI nor key=value parameters nor the name of a database"
    )]
    NotUnderstood,
    #[error("{0}:// is no address of a PostgreSQL, MySQL or MariaDB server")]
    OtherScheme(String),
    #[error("cannot read the connection {form}: {why}")]
    Malformed {
        form: &'static str,
        why: &'static str,
    },
    #[error("cannot tell user, password and host apart in the connection URI")]
    Ambiguous,
    #[error("unknown connection parameter `{name}`")]
    UnknownParameter {
        name: String,
        nearest: Option<&'static str>,
    },
    #[error("unknown parameter `{name}` in the MySQL URI")]
    UnknownMySqlParameter { name: String },
    #[error("the connection parameter `{parameter}` is not {expected}")]
    BadValue {
        parameter: &'static str,
        expected: &'static str,
    },
    #[error("the connection parameter `{parameter}` is not supported")]
    Unsupported {
        parameter: &'static str,
        instead: &'static str,
    },
    #[error("several hosts in one MySQL URI are not supported")]
    SeveralHosts,
    #[error("{hosts} in `host` and {ports} in `port` do not go together")]
    PortCount { hosts: usize, ports: usize },
    #[error("{variable}: {why}")]
    InVariable {
        variable: &'static str,
        why: Box<ConnectionError>,
    },
    #[error("{path}, line {line}, service {service}: {why}")]
    InService {
        path: PathBuf,
        line: usize,
        service: String,
        why: Box<ConnectionError>,
    },
    #[error("there is no service {service:?} in {}", either(searched))]
    NoService {
        service: String,
        searched: Vec<PathBuf>,
    },
    #[error("cannot read the service file {path}: {why}")]
    ServiceFile { path: PathBuf, why: String },
    #[error("a service cannot name another service or its file")]
    NestedService,
    #[error("a client certificate has no key")]
    NoClientKey,
    #[error("sslrootcert=system needs sslmode=verify-full")]
    SystemRootsUnverified,
    #[error("sslmode=verify-ca asks for an authority, and none is named")]
    NoAuthority,
    #[error("ssl-mode=VERIFY_CA asks for an authority, and none is named")]
    NoMySqlAuthority,
    #[error("the list of revoked certificates in {path} cannot be heeded: it is not supported")]
    RevocationList { path: PathBuf },
    #[error("the password file {path} can be read by others (mode {mode:04o})")]
    PassfileMode { path: PathBuf, mode: u32 },
    #[error("cannot read the password file {path}")]
    Passfile {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("no database user: none was given, and this user has no name")]
    NoUser,
}

fn either(files: &[PathBuf]) -> String {
    let files: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    match files.is_empty() {
        true => "any file: neither ~/.pg_service.conf nor one of this system is there".to_owned(),
        false => files.join(" or "),
    }
}

impl ConnectionError {
    /// What to do next, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotUnderstood => {
                "write postgres://user@host:5432/database, or host=… user=… dbname=…".into()
            }
            Self::OtherScheme(_) => "write postgres://user@host:5432/database, or \
                                     mysql://user@host:3306/database"
                .into(),
            Self::Malformed {
                form: MYSQL_URI, ..
            } => "the form is mysql://user@host:3306/database?ssl-mode=REQUIRED".into(),
            Self::Malformed { .. } | Self::NoUser => {
                "the form is postgres://user@host:5432/database?sslmode=require".into()
            }
            Self::Ambiguous => "in a user name or password, write @ as %40, / as %2F, ? as %3F, \
                                : as %3A and % as %25"
                .into(),
            Self::UnknownParameter { nearest, .. } => match nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => {
                    "the parameters are those of libpq: host, port, user, dbname, sslmode, …".into()
                }
            },
            Self::UnknownMySqlParameter { .. } => {
                "the parameters are socket, ssl-mode, ssl-ca and connect-timeout; user, password, \
                 host, port and database stand in front of the `?`"
                    .into()
            }
            Self::BadValue { .. } => return None,
            Self::Unsupported { instead, .. } => (*instead).into(),
            Self::SeveralHosts => "name the one server that is meant".into(),
            Self::PortCount { .. } => "give one port for all hosts, or one for each".into(),
            Self::InVariable { why, .. } | Self::InService { why, .. } => return why.hint(),
            Self::NoService { service, .. } => format!(
                "a service is a section [{}] with a line for each parameter, such as host=db",
                service.escape_debug()
            ),
            Self::ServiceFile { .. } => {
                "name another with PGSERVICEFILE, or leave the service out".into()
            }
            Self::NestedService => "write that service's parameters here".into(),
            Self::NoClientKey => "sslkey=FILE names it; it has to be readable by you alone".into(),
            Self::SystemRootsUnverified => {
                "leave sslmode out, or name a file of root certificates in sslrootcert".into()
            }
            Self::NoAuthority => "sslrootcert=FILE names it; sslmode=verify-full trusts this \
                                  system's authorities and checks the name too"
                .into(),
            Self::NoMySqlAuthority => "ssl-ca=FILE names it; ssl-mode=VERIFY_IDENTITY trusts this \
                                       system's authorities and checks the name too"
                .into(),
            Self::RevocationList { .. } => {
                "move it away to take certificates whether they were revoked or not".into()
            }
            Self::PassfileMode { path, .. } => format!("chmod 0600 {}", path.display()),
            Self::Passfile { .. } => {
                "name another in PGPASSFILE, or set it to /dev/null to use none".into()
            }
        })
    }
}
