//! A server that lets nobody in without a certificate of its authority.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use dbdyno_model::{ClientCertificate, Connection, SslMode};
use dbdyno_target::connection::{ConnectError, connect};
use dbdyno_testing::{Listening, binaries};

const HBA: &str = "hostssl all all 127.0.0.1/32 trust clientcert=verify-ca\n";

fn pem(name: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates");
    fs::read_to_string(directory.join(name)).unwrap()
}

#[test]
fn a_certificate_lets_in_and_its_key_is_kept_from_others() {
    let (certificate, key, authority) = (pem("server.pem"), pem("server.key"), pem("ca.pem"));
    let files = [
        ("server.crt", certificate.as_str()),
        ("server.key", key.as_str()),
        ("ca.crt", authority.as_str()),
        ("pg_hba.conf", HBA),
    ];
    let set = [("ssl", "on"), ("ssl_ca_file", "ca.crt")];
    let server = Listening::start(&binaries(), &set, &files);

    // The same pair will do for the client: it is not bound to one use.
    let own = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str, mode: u32| {
        let path = own.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let shown = ClientCertificate {
        chain: write("client.crt", &certificate, 0o644),
        key: write("client.key", &key, 0o600),
    };
    let with = |client_certificate| {
        let connection = Connection {
            ssl_mode: SslMode::Require,
            client_certificate,
            ..server.connection("localhost")
        };
        connect(&connection).map(drop)
    };
    with(Some(shown.clone())).unwrap();
    let error = with(None).unwrap_err();
    assert!(
        !matches!(error, ConnectError::Timeout { .. }) && error.to_string().contains("certificate"),
        "{error:?}"
    );

    let told = |chain, key| {
        let error = with(Some(ClientCertificate { chain, key })).unwrap_err();
        assert!(matches!(error, ConnectError::Tls { .. }), "{error:?}");
        assert!(error.hint().unwrap().contains("sslkey=FILE"));
        error.to_string()
    };
    let open = write("open.key", &key, 0o644);
    let open = told(shown.chain.clone(), open);
    assert!(open.contains("open.key") && open.contains("0644"), "{open}");
    let none = told(shown.chain.clone(), write("none.key", "nothing\n", 0o600));
    assert!(none.contains("none.key"), "{none}");
    let missing = told(own.path().join("missing.crt"), shown.key.clone());
    assert!(missing.contains("missing.crt"), "{missing}");
}
