//! Passwords and TLS in front of real servers: who is let in by which way, and what the others are told.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use dbdyno_bench::wire::WireError;
use dbdyno_model::connection::{Address, Connection, Secret, SslMode};
use dbdyno_testing::{MySql, MySqlBinaries, Place};

use super::open;
use crate::alone;
use crate::tls::{Authority, NAME, refused, works};

use SslMode::{Disable, Prefer, Require, VerifyCa, VerifyFull};

/// As the certificate does not name it.
const ADDRESS: &str = "127.0.0.1";
const PASSWORD: &str = "correct horse #1 %/@ battery";

/// ER_ACCESS_DENIED_ERROR.
const ACCESS_DENIED: u16 = 1045;

/// A server with a certificate and an account with a password, and the files of two authorities, of
/// which one signed the certificate.
struct Guarded {
    server: MySql,
    ours: PathBuf,
    other: PathBuf,
    _files: Place,
}

impl Guarded {
    fn start(binaries: &MySqlBinaries) -> Self {
        let files = Place::new("certificates");
        // The server's account reads them too.
        let write = |name: &str, pem: &str| {
            let file = files.root.join(name);
            fs::write(&file, pem).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
            file
        };
        let (ours, other) = (Authority::new("ours"), Authority::new("other"));
        let (certificate, key) = ours.certificate();
        let (certificate, key) = (write("server.pem", &certificate), write("key.pem", &key));
        let (ours, other) = (write("ours.pem", &ours.pem), write("other.pem", &other.pem));
        let settings = [
            ("ssl-ca", path(&ours)),
            ("ssl-cert", path(&certificate)),
            ("ssl-key", path(&key)),
        ];
        let server = MySql::start(binaries, &settings);
        let plugin = if binaries.is_mariadb() {
            format!("VIA mysql_native_password USING PASSWORD('{PASSWORD}')")
        } else {
            format!("WITH caching_sha2_password BY '{PASSWORD}'")
        };
        let mut root = open(&server.connection());
        root.run("CREATE DATABASE guarded").unwrap();
        // By the socket and by TCP: names are not looked up.
        for account in ["app@localhost", "app@'127.0.0.1'"] {
            for sql in [
                format!("CREATE USER {account} IDENTIFIED {plugin}"),
                format!("GRANT ALL ON guarded.* TO {account}"),
            ] {
                root.run(&sql)
                    .unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
        }
        Self {
            server,
            ours,
            other,
            _files: files,
        }
    }

    fn by_socket(&self) -> Connection {
        Connection {
            user: "app".into(),
            password: Some(Secret::new(PASSWORD)),
            database: "guarded".into(),
            ..self.server.connection()
        }
    }

    fn by_tcp(&self, host: &str, ssl_mode: SslMode, roots: Option<&PathBuf>) -> Connection {
        Connection {
            address: Address::Tcp(host.into()),
            ssl_mode,
            ssl_root_cert: roots.cloned(),
            ..self.by_socket()
        }
    }

    fn root(&self, sql: &str) {
        let done = open(&self.server.connection()).run(sql);
        done.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What the server says of the session's encryption: nothing where there is none.
fn cipher(connection: &Connection) -> String {
    let mut cipher = String::new();
    open(connection)
        .rows("SHOW SESSION STATUS LIKE 'Ssl_cipher'", |mut row| {
            row.skip()?;
            cipher = row.text()?.to_owned();
            Ok(())
        })
        .unwrap();
    cipher
}

#[test]
fn needs_mysql_passwords_and_certificates_are_proved_in_every_way() {
    let _alone = alone();
    for binaries in &MySqlBinaries::all() {
        let guarded = Guarded::start(binaries);
        passwords_are_proved(&guarded);
        each_mode_checks_as_much_as_it_says(&guarded);
        a_way_that_can_be_overheard_is_barred(&guarded);
    }
}

/// MySQL asks for the password itself when it has not seen it since its privileges were read: over TLS
/// and a socket as it is, over plain TCP under the server's RSA key. From then on a proof will do.
fn passwords_are_proved(guarded: &Guarded) {
    for (way, encrypted) in [
        (guarded.by_socket(), false),
        (guarded.by_tcp(ADDRESS, Disable, None), false),
        (guarded.by_tcp(ADDRESS, Require, None), true),
    ] {
        guarded.root("FLUSH PRIVILEGES");
        for _ in 0..2 {
            assert_eq!(!cipher(&way).is_empty(), encrypted, "{}", way.display());
        }
        works(&way);

        for wrong in [None, Some(Secret::new("wrong")), Some(Secret::new(""))] {
            let denied = Connection {
                password: wrong,
                ..way.clone()
            };
            let (error, hint) = refused(&denied);
            let number = error.server().and_then(|server| server.number);
            assert_eq!(number, Some(ACCESS_DENIED), "{error}");
            assert!(error.to_string().contains("app"), "{error}");
            assert!(hint.contains("password"), "{error}: {hint}");
        }
    }
}

fn each_mode_checks_as_much_as_it_says(guarded: &Guarded) {
    let (ours, other) = (Some(&guarded.ours), Some(&guarded.other));
    for encrypted in [
        guarded.by_tcp(ADDRESS, Prefer, None),
        guarded.by_tcp(ADDRESS, Require, ours),
        guarded.by_tcp(ADDRESS, VerifyCa, ours),
        guarded.by_tcp(NAME, VerifyFull, ours),
    ] {
        assert_ne!(cipher(&encrypted), "", "{:?}", encrypted.ssl_mode);
    }
    works(&guarded.by_tcp(NAME, VerifyFull, ours));

    for mode in [Require, VerifyCa, VerifyFull] {
        let (error, hint) = refused(&guarded.by_tcp(NAME, mode, other));
        assert!(matches!(error, WireError::Tls(_)), "{error:?}");
        assert!(error.to_string().contains("UnknownIssuer"), "{error}");
        assert!(hint.contains("ssl-ca=FILE"), "{hint}");
    }
    let (error, hint) = refused(&guarded.by_tcp(ADDRESS, VerifyFull, ours));
    assert!(matches!(error, WireError::Tls(_)), "{error:?}");
    assert!(error.to_string().contains("not valid for name"), "{error}");
    assert!(hint.contains("ssl-mode=VERIFY_CA"), "{hint}");
}

fn a_way_that_can_be_overheard_is_barred(guarded: &Guarded) {
    guarded.root("SET GLOBAL require_secure_transport = ON");
    let (error, hint) = refused(&guarded.by_tcp(ADDRESS, Disable, None));
    // MariaDB calls it a wrong password.
    let number = error.server().and_then(|server| server.number);
    assert!(
        number == Some(ACCESS_DENIED) || error.to_string().contains("insecure transport"),
        "{error}"
    );
    assert!(hint.contains("ssl-mode=REQUIRED"), "{hint}");
    assert_ne!(cipher(&guarded.by_tcp(ADDRESS, Prefer, None)), "");
    assert_eq!(cipher(&guarded.by_socket()), "");
}

/// TLS that was asked for, of a server that speaks none.
pub(super) fn refuses_to_go_without_tls(server: &MySql) {
    let asking = Connection {
        address: Address::Tcp(ADDRESS.into()),
        ssl_mode: Require,
        ..server.connection()
    };
    let (error, hint) = refused(&asking);
    assert!(matches!(error, WireError::TlsNotOffered), "{error:?}");
    assert!(hint.contains("ssl-mode=DISABLED"), "{hint}");
}
