//! The certificate that this side shows to a server, and its key.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;

use dbdyno_model::ClientCertificate;
use rustls::client::WantsClientCert;
use rustls::pki_types::pem::{Error as PemError, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder};

use crate::TlsError;

pub(crate) fn proving(
    trusting: ConfigBuilder<ClientConfig, WantsClientCert>,
    certificate: &ClientCertificate,
) -> Result<ClientConfig, TlsError> {
    let (chain, key) = (read_chain(certificate)?, read_key(certificate)?);
    let config = trusting.with_client_auth_cert(chain, key);
    config.map_err(|error| key_error(certificate, error.to_string()))
}

fn read_chain(certificate: &ClientCertificate) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |why: String| TlsError::ClientCertificate {
        path: certificate.chain.clone(),
        why,
    };
    let chain = CertificateDer::pem_file_iter(&certificate.chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(error.to_string()))?;
    if chain.is_empty() {
        return Err(failed("it holds no certificate in PEM".into()));
    }
    Ok(chain)
}

fn read_key(certificate: &ClientCertificate) -> Result<PrivateKeyDer<'static>, TlsError> {
    let file = File::open(&certificate.key);
    let file = file.map_err(|error| key_error(certificate, error.to_string()))?;
    let metadata = file.metadata();
    let metadata = metadata.map_err(|error| key_error(certificate, error.to_string()))?;
    // As libpq: a key that belongs to root may be lent to a group.
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    let mode = metadata.mode() & 0o777;
    if mode & forbidden != 0 {
        return Err(TlsError::ClientKeyMode {
            path: certificate.key.clone(),
            mode,
        });
    }
    PrivateKeyDer::from_pem_reader(file).map_err(|error| {
        // What the PEM's own errors quote may be a piece of the key.
        let why = match error {
            PemError::Io(error) => error.to_string(),
            PemError::NoItemsFound => "it holds no key in PEM that is not encrypted".to_owned(),
            _ => "it is no PEM".to_owned(),
        };
        key_error(certificate, why)
    })
}

fn key_error(certificate: &ClientCertificate, why: String) -> TlsError {
    TlsError::ClientKey {
        path: certificate.key.clone(),
        why,
    }
}
