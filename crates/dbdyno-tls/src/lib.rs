//! TLS by rustls with the meaning that libpq gives to each sslmode, on either engine.
//!
//! What collects from a server and what drives load at it must not differ in whom they trust, so
//! both take their configuration from here.

mod client;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dbdyno_model::{Connection, SslMode};
use rustls::client::WantsClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    #[error("cannot read the root certificates in {path}: {why}")]
    RootFile { path: PathBuf, why: String },
    #[error("this system has no root certificates")]
    NoSystemRoots,
    #[error("cannot use the client certificate {path}: {why}")]
    ClientCertificate { path: PathBuf, why: String },
    #[error("cannot use the key {path} of the client certificate: {why}")]
    ClientKey { path: PathBuf, why: String },
    #[error("the key {path} of the client certificate can be read by others (mode {mode:04o})")]
    ClientKeyMode { path: PathBuf, mode: u32 },
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
}

/// What a refusal of the other side's certificate was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is good, and made out to somebody else.
    WrongName,
    /// No trusted authority vouches for it, or no longer.
    Untrusted,
    /// Not the certificate: the two sides do not agree on how to encrypt.
    Protocol,
}

impl Refusal {
    pub fn of(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(
                rustls::CertificateError::NotValidForName
                | rustls::CertificateError::NotValidForNameContext { .. },
            ) => Self::WrongName,
            rustls::Error::InvalidCertificate(_) => Self::Untrusted,
            _ => Self::Protocol,
        }
    }
}

/// The configuration for a mode that encrypts.
///
/// # Errors
/// The root certificates that the mode needs cannot be read.
pub fn client_config(mode: SslMode, root_file: Option<&Path>) -> Result<ClientConfig, TlsError> {
    Ok(trusting(mode, root_file)?.with_no_client_auth())
}

/// The same for a connection, in a mode that encrypts, with the client certificate that it names.
///
/// # Errors
/// The root certificates that the mode needs, or the client's own, cannot be read.
pub fn client_config_for(connection: &Connection, mode: SslMode) -> Result<ClientConfig, TlsError> {
    let trusting = trusting(mode, connection.ssl_root_cert.as_deref())?;
    match &connection.client_certificate {
        None => Ok(trusting.with_no_client_auth()),
        Some(certificate) => client::proving(trusting, certificate),
    }
}

fn trusting(
    mode: SslMode,
    root_file: Option<&Path>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(verifier(&provider, mode, root_file)?);
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier))
}

fn verifier(
    provider: &CryptoProvider,
    mode: SslMode,
    root_file: Option<&Path>,
) -> Result<Verifier, TlsError> {
    let trusted = match (mode, root_file) {
        // libpq verifies the chain in `require` as well once it is given roots.
        (SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull, Some(file)) => {
            Some(read_roots(file)?)
        }
        (SslMode::VerifyCa | SslMode::VerifyFull, None) => {
            let certificates = rustls_native_certs::load_native_certs().certs;
            if certificates.is_empty() {
                return Err(TlsError::NoSystemRoots);
            }
            Some(Trusted::new(certificates))
        }
        (SslMode::Disable | SslMode::Prefer | SslMode::Require, _) => None,
    };
    Ok(Verifier {
        trusted,
        checks_name: mode == SslMode::VerifyFull,
        algorithms: provider.signature_verification_algorithms,
    })
}

fn read_roots(file: &Path) -> Result<Trusted, TlsError> {
    let failed = |why: String| TlsError::RootFile {
        path: file.to_owned(),
        why,
    };
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(error.to_string()))?;
    if certificates.is_empty() {
        return Err(failed("it holds no certificate in PEM".into()));
    }
    Ok(Trusted::new(certificates))
}

#[derive(Debug)]
struct Trusted {
    anchors: RootCertStore,
    certificates: Vec<CertificateDer<'static>>,
}

impl Trusted {
    fn new(certificates: Vec<CertificateDer<'static>>) -> Self {
        let mut anchors = RootCertStore::empty();
        anchors.add_parsable_certificates(certificates.iter().cloned());
        Self {
            anchors,
            certificates,
        }
    }
}

/// Checks as much of the certificate as the sslmode asks for.
#[derive(Debug)]
struct Verifier {
    /// None: whoever answers is taken, as long as the line is encrypted.
    trusted: Option<Trusted>,
    checks_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(trusted) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let verified = verify_server_cert_signed_by_trust_anchor(
            &certificate,
            &trusted.anchors,
            intermediates,
            now,
            self.algorithms.all,
        );
        match verified {
            // A self-signed certificate that is itself the root: OpenSSL trusts it in its time, webpki
            // refuses it as a CA in the place of a server, once it has looked at the time.
            Err(error) if trusted.certificates.contains(end_entity) && !is_out_of_time(&error) => {}
            verified => verified?,
        }
        if self.checks_name {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn is_out_of_time(error: &rustls::Error) -> bool {
    use rustls::CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    matches!(
        error,
        rustls::Error::InvalidCertificate(
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Where tests with servers have theirs.
    const CERTIFICATES: &str = "../dbdyno-target/tests/certificates";

    #[test]
    fn a_certificate_that_is_its_own_authority_is_trusted_in_its_time_alone() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(CERTIFICATES);
        let file = directory.join("self-signed.pem");
        let own = CertificateDer::from_pem_file(&file).unwrap();
        let provider = rustls::crypto::ring::default_provider();
        let verifier = verifier(&provider, SslMode::VerifyFull, Some(&file)).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let after_years = |years: u64| {
            let now = UnixTime::since_unix_epoch(Duration::from_secs(years * 365 * 86_400));
            verifier.verify_server_cert(&own, &[], &name, &[], now)
        };
        after_years(130).unwrap();
        for years in [1, 3_000] {
            let error = after_years(years).unwrap_err();
            assert!(is_out_of_time(&error), "{years}: {error}");
            assert_eq!(Refusal::of(&error), Refusal::Untrusted);
        }
    }

    #[test]
    fn roots_that_cannot_be_read_are_named() {
        let missing = Path::new("/nonexistent/roots.pem");
        for mode in [SslMode::Require, SslMode::VerifyCa, SslMode::VerifyFull] {
            let error = client_config(mode, Some(missing)).unwrap_err();
            assert!(error.to_string().contains("roots.pem"), "{error}");
        }
        let empty = client_config(SslMode::VerifyFull, Some(Path::new("/dev/null")));
        let error = empty.unwrap_err().to_string();
        assert!(error.contains("/dev/null"), "{error}");
        // Nothing is verified there, so that no roots are needed.
        client_config(SslMode::Prefer, Some(missing)).unwrap();
        client_config(SslMode::Require, None).unwrap();
    }

    #[test]
    fn a_name_is_told_from_an_authority() {
        use rustls::{AlertDescription, CertificateError, Error};
        let of = |error| Refusal::of(&Error::InvalidCertificate(error));
        assert_eq!(of(CertificateError::NotValidForName), Refusal::WrongName);
        assert_eq!(of(CertificateError::UnknownIssuer), Refusal::Untrusted);
        assert_eq!(of(CertificateError::Expired), Refusal::Untrusted);
        let alert = Error::AlertReceived(AlertDescription::HandshakeFailure);
        assert_eq!(Refusal::of(&alert), Refusal::Protocol);
    }
}
