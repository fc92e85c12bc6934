//! What each sslmode accepts, in front of a real server behind a line that speaks TLS.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use dbdyno_model::{Address, Connection, SslMode};
use dbdyno_target::connection::{ConnectError, connect};
use dbdyno_testing::{Running, binaries};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_rustls::TlsAcceptor;

fn certificates(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/certificates")
        .join(name)
}

/// Ends TLS with the certificate of that name and passes the rest on to the socket; with none,
/// passes everything on, and the server declines TLS as it does on every socket.
fn line(socket: PathBuf, certificate: Option<&str>) -> u16 {
    let acceptor = certificate.map(|name| {
        let chain = CertificateDer::pem_file_iter(certificates(&format!("{name}.pem")))
            .unwrap()
            .collect::<Result<Vec<_>, _>>()
            .unwrap();
        let key = PrivateKeyDer::from_pem_file(certificates(&format!("{name}.key"))).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    });
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(pass_on(stream, socket.clone(), acceptor.clone()));
            }
        });
    });
    port
}

async fn pass_on(
    mut stream: TcpStream,
    socket: PathBuf,
    acceptor: Option<TlsAcceptor>,
) -> std::io::Result<()> {
    let mut server = UnixStream::connect(socket).await?;
    let Some(acceptor) = acceptor else {
        copy_bidirectional(&mut stream, &mut server).await?;
        return Ok(());
    };
    let mut request = [0; 8];
    stream.read_exact(&mut request).await?;
    assert_eq!(request[4..], 80_877_103_u32.to_be_bytes(), "an SSLRequest");
    stream.write_all(b"S").await?;
    let mut stream = acceptor.accept(stream).await?;
    copy_bidirectional(&mut stream, &mut server).await?;
    Ok(())
}

#[test]
fn each_mode_checks_as_much_as_it_says() {
    let running = Running::start(binaries(), &[]);
    let local = running.connection();
    let Address::Socket(socket) = &local.address else {
        panic!("a lab server listens on a socket");
    };
    let socket = socket.join(format!(".s.PGSQL.{}", local.port));
    let signed = line(socket.clone(), Some("server"));
    let self_signed = line(socket.clone(), Some("self-signed"));
    let plain = line(socket, None);

    let attempt = |port: u16, host: &str, ssl_mode, root: Option<&str>| {
        let connection = Connection {
            address: Address::Tcp(host.into()),
            port,
            ssl_mode,
            ssl_root_cert: root.map(certificates),
            ..local.clone()
        };
        connect(&connection).map(|mut client| client.batch_execute("SELECT 1").unwrap())
    };
    let (ca, own) = (Some("ca.pem"), Some("self-signed.pem"));
    use SslMode::{Disable, Prefer, Require, VerifyCa, VerifyFull};

    for mode in [Prefer, Require] {
        attempt(signed, "localhost", mode, None).unwrap();
        attempt(self_signed, "127.0.0.1", mode, None).unwrap();
    }
    attempt(signed, "localhost", VerifyFull, ca).unwrap();
    attempt(signed, "127.0.0.1", VerifyCa, ca).unwrap();
    attempt(self_signed, "localhost", VerifyFull, own).unwrap();

    let other_name = attempt(signed, "127.0.0.1", VerifyFull, ca).unwrap_err();
    assert!(
        matches!(other_name, ConnectError::WrongName { .. }),
        "{other_name:?}"
    );
    assert!(other_name.hint().unwrap().contains("sslmode=verify-ca"));
    for (port, mode, root) in [
        (self_signed, VerifyFull, ca),
        (self_signed, VerifyCa, ca),
        (signed, VerifyCa, own),
        // With roots, libpq verifies the chain in this mode as well.
        (self_signed, Require, ca),
    ] {
        let error = attempt(port, "localhost", mode, root).unwrap_err();
        assert!(matches!(error, ConnectError::Untrusted { .. }), "{error:?}");
        assert!(error.hint().unwrap().contains("sslmode=require"));
    }
    let missing = attempt(signed, "localhost", VerifyFull, Some("none.pem")).unwrap_err();
    assert!(missing.to_string().contains("none.pem"), "{missing}");

    attempt(plain, "localhost", Disable, None).unwrap();
    attempt(plain, "localhost", Prefer, None).unwrap();
    for mode in [Require, VerifyFull] {
        let error = attempt(plain, "localhost", mode, ca).unwrap_err();
        assert!(
            matches!(error, ConnectError::TlsNotOffered { .. }),
            "{error:?}"
        );
        assert!(error.hint().unwrap().contains("sslmode=disable"));
    }
}
