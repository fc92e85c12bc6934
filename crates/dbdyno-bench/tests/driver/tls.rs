//! Each sslmode in front of a real server with TLS: what drives the load, and what loads the data.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use dbdyno_bench::driver::{ClientTarget, Driver, DriverError, Options, TargetError};
use dbdyno_bench::wire::WireError;
use dbdyno_bench::workload::LoadError;
use dbdyno_model::SslMode;
use dbdyno_model::connection::Connection;
use dbdyno_testing::{Listening, binaries};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::{alone, script};

use SslMode::{Disable, Prefer, Require, VerifyCa, VerifyFull};

/// Whom the server's certificate is made out to.
pub(super) const NAME: &str = "localhost";

const ONE: &str = "\
-- dbdyno: setup
CREATE TABLE IF NOT EXISTS one (n int);
-- dbdyno: transaction one
SELECT n FROM one;
";

/// `postgres` gets in under TLS only, `plain` only without it.
const HBA: &str = "\
hostssl all postgres 127.0.0.1/32 trust
hostnossl all plain 127.0.0.1/32 trust
";

/// What signs certificates, and its own in PEM.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: String,
}

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// A certificate for [`NAME`], and its key.
    pub(super) fn certificate(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

/// A server with a certificate, and the files of two authorities, of which one signed it.
struct Secured {
    server: Listening,
    ours: PathBuf,
    other: PathBuf,
}

impl Secured {
    fn start() -> Self {
        let (ours, other) = (Authority::new("ours"), Authority::new("other"));
        let (certificate, key) = ours.certificate();
        let files = [
            ("server.crt", certificate.as_str()),
            ("server.key", key.as_str()),
            ("pg_hba.conf", HBA),
        ];
        let server = Listening::start(&binaries(), &[("ssl", "on")], &files);
        let write = |name: &str, pem: &str| {
            let file = server.place.root.join(name);
            fs::write(&file, pem).unwrap();
            file
        };
        let (ours, other) = (write("ours.pem", &ours.pem), write("other.pem", &other.pem));
        Self {
            server,
            ours,
            other,
        }
    }

    fn connection(&self, host: &str, ssl_mode: SslMode, roots: Option<&PathBuf>) -> Connection {
        Connection {
            ssl_mode,
            ssl_root_cert: roots.cloned(),
            ..self.server.connection(host)
        }
    }
}

fn drive(connection: &Connection) -> Result<(), DriverError> {
    let options = Options {
        connections: 2,
        ..Options::default()
    };
    Driver::start(connection, &script(ONE), &options)?
        .stop()
        .map(drop)
}

fn load(connection: &Connection) -> Result<(), LoadError> {
    let loaded = script(ONE).load(connection, 1, &|_| (), &AtomicBool::new(false));
    loaded.map(drop)
}

pub(super) fn works(connection: &Connection) {
    let shown = format!("{} {:?}", connection.display(), connection.ssl_mode);
    load(connection).unwrap_or_else(|error| panic!("load {shown}: {error}"));
    drive(connection).unwrap_or_else(|error| panic!("drive {shown}: {error}"));
}

/// The driver's error and its hint; the loader's hint has to be the same.
pub(super) fn refused(connection: &Connection) -> (WireError, String) {
    let shown = connection.display();
    let error = drive(connection).expect_err(&shown);
    assert!(error.to_string().contains(&shown), "{error}");
    let hint = error.hint().unwrap_or_default().to_owned();
    let of_load = load(connection).expect_err(&shown);
    assert!(of_load.to_string().contains(&shown), "{of_load}");
    assert_eq!(of_load.hint().unwrap_or_default(), hint, "{of_load}");
    match error {
        DriverError::Connect { source, .. } => (source, hint),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_mode_checks_as_much_as_it_says() {
    let _alone = alone();
    let secured = Secured::start();
    let (ours, other) = (Some(&secured.ours), Some(&secured.other));

    works(&secured.connection("127.0.0.1", Require, None));
    works(&secured.connection("127.0.0.1", Prefer, None));
    works(&secured.connection("127.0.0.1", Require, ours));
    works(&secured.connection("127.0.0.1", VerifyCa, ours));
    works(&secured.connection(NAME, VerifyFull, ours));

    // With roots, libpq verifies the chain when TLS is only required as well.
    for mode in [Require, VerifyCa, VerifyFull] {
        let (error, hint) = refused(&secured.connection(NAME, mode, other));
        assert!(matches!(error, WireError::Tls(_)), "{error:?}");
        assert!(error.to_string().contains("UnknownIssuer"), "{error}");
        assert!(hint.contains("sslrootcert=FILE"), "{hint}");
    }

    let (error, hint) = refused(&secured.connection("127.0.0.1", VerifyFull, ours));
    assert!(matches!(error, WireError::Tls(_)), "{error:?}");
    assert!(error.to_string().contains("not valid for name"), "{error}");
    assert!(hint.contains("sslmode=verify-ca"), "{hint}");

    let (error, hint) = refused(&secured.connection(NAME, Disable, None));
    assert!(error.to_string().contains("pg_hba.conf"), "{error}");
    assert!(hint.contains("sslmode=require"), "{hint}");

    let missing = PathBuf::from("/nonexistent/ca.pem");
    let error = drive(&secured.connection(NAME, VerifyFull, Some(&missing))).unwrap_err();
    let setup = matches!(error, DriverError::Target(TargetError::Tls { .. }));
    assert!(setup && error.to_string().contains("ca.pem"), "{error:?}");
}

#[test]
fn what_was_only_preferred_is_given_up_and_what_was_required_is_not() {
    let _alone = alone();
    let secured = Secured::start();
    let admin = ClientTarget::of(&secured.connection(NAME, Require, None)).unwrap();
    let create = "CREATE ROLE plain LOGIN SUPERUSER";
    admin.open().unwrap().batch_execute(create).unwrap();
    let plain = |mode| Connection {
        user: "plain".into(),
        ..secured.connection(NAME, mode, None)
    };
    works(&plain(Disable));
    works(&plain(Prefer));
    let (error, _) = refused(&plain(Require));
    assert!(error.to_string().contains("pg_hba.conf"), "{error}");

    let bare = Listening::start(&binaries(), &[("ssl", "off")], &[]);
    let at = |ssl_mode| Connection {
        ssl_mode,
        ..bare.connection(NAME)
    };
    works(&at(Prefer));
    let (error, hint) = refused(&at(Require));
    assert!(matches!(error, WireError::TlsNotOffered), "{error:?}");
    assert!(hint.contains("sslmode=disable"), "{hint}");
}
