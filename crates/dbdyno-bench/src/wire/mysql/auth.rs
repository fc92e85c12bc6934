//! How a password is proved to a server, by authentication plugin.

use rsa::pkcs8::DecodePublicKey;
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::wire::WireError;

/// Authentication plugins that are spoken here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plugin {
    Native,
    CachingSha2,
    Sha256,
    ClearText,
}

impl Plugin {
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        [
            Self::Native,
            Self::CachingSha2,
            Self::Sha256,
            Self::ClearText,
        ]
        .into_iter()
        .find(|plugin| plugin.name().as_bytes() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Sha256 => "sha256_password",
            Self::ClearText => "mysql_clear_password",
        }
    }
}

/// For mysql_native_password: SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password))).
pub(super) fn native(password: &str, nonce: &[u8]) -> [u8; 20] {
    let once: [u8; 20] = Sha1::digest(password).into();
    let twice: [u8; 20] = Sha1::digest(once).into();
    let mask: [u8; 20] = Sha1::new()
        .chain_update(nonce)
        .chain_update(twice)
        .finalize()
        .into();
    xor(once, mask)
}

/// For caching_sha2_password: SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce).
pub(super) fn caching_sha2(password: &str, nonce: &[u8]) -> [u8; 32] {
    let once: [u8; 32] = Sha256::digest(password).into();
    let twice: [u8; 32] = Sha256::digest(once).into();
    let mask: [u8; 32] = Sha256::new()
        .chain_update(twice)
        .chain_update(nonce)
        .finalize()
        .into();
    xor(once, mask)
}

fn xor<const N: usize>(mut value: [u8; N], mask: [u8; N]) -> [u8; N] {
    for (byte, mask) in value.iter_mut().zip(mask) {
        *byte ^= mask;
    }
    value
}

/// As it is sent where nobody can listen.
pub(super) fn clear_text(password: &str) -> Vec<u8> {
    [password.as_bytes(), &[0]].concat()
}

/// The password under the server's public key (PEM), for connections that somebody may listen to.
///
/// # Errors
/// The key is none, or too short for the password.
pub(super) fn encrypted(password: &str, nonce: &[u8], key: &[u8]) -> Result<Vec<u8>, WireError> {
    let failed =
        |why: String| WireError::Authentication(format!("with the server's RSA key: {why}"));
    let key = std::str::from_utf8(key).map_err(|error| failed(error.to_string()))?;
    let key = RsaPublicKey::from_public_key_pem(key.trim_end_matches('\0'))
        .map_err(|error| failed(error.to_string()))?;
    let mut masked = clear_text(password);
    for (byte, mask) in masked.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
    key.encrypt(&mut OsRng, Oaep::new::<sha1_for_rsa::Sha1>(), &masked)
        .map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsa::RsaPrivateKey;
    use rsa::pkcs8::{EncodePublicKey, LineEnding};

    /// 1, 2, … 20.
    fn nonce() -> Vec<u8> {
        (1..=20).collect()
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn scrambles_are_those_of_hashlib() {
        assert_eq!(
            hex(&native("secret", &nonce())),
            "b32bb3a583e1340c0a1108d58b1be49781ad8c2f"
        );
        assert_eq!(
            hex(&caching_sha2("secret", &nonce())),
            "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9"
        );
    }

    #[test]
    fn an_encrypted_password_is_read_with_the_private_key() {
        let private = RsaPrivateKey::new(&mut OsRng, 1024).unwrap();
        let pem = private
            .to_public_key()
            .to_public_key_pem(LineEnding::LF)
            .unwrap();
        let password = "a password longer than the nonce";
        let sent = encrypted(password, &nonce(), format!("{pem}\0").as_bytes()).unwrap();
        let mut read = private
            .decrypt(Oaep::new::<sha1_for_rsa::Sha1>(), &sent)
            .unwrap();
        assert_ne!(read, clear_text(password));
        for (index, byte) in read.iter_mut().enumerate() {
            *byte ^= (index % 20) as u8 + 1;
        }
        assert_eq!(read, b"a password longer than the nonce\0");
        let long = encrypted(&"x".repeat(100), &nonce(), pem.as_bytes());
        assert!(matches!(long, Err(WireError::Authentication(_))));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for key in [&b"\xff"[..], b"", b"-----BEGIN PUBLIC KEY-----"] {
            let error = encrypted("secret", &nonce(), key).unwrap_err();
            assert!(matches!(error, WireError::Authentication(text) if text.contains("RSA key")));
        }
    }

    #[test]
    fn plugins_have_names() {
        assert_eq!(
            Plugin::named(b"caching_sha2_password"),
            Some(Plugin::CachingSha2)
        );
        assert_eq!(Plugin::named(b"sha256_password"), Some(Plugin::Sha256));
        assert_eq!(Plugin::named(b"parsec"), None);
        assert_eq!(Plugin::named(b""), None);
    }
}
