//! Who one is, proven to the server: by trust, password, MD5 or SCRAM-SHA-256.

use std::borrow::Cow;
use std::io;

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};

use super::message::{self, Fields};
use super::{string, tagged};
use crate::wire::WireError;

/// How far the proof has come.
pub(super) enum Proof {
    /// Which one does the server want?
    Open,
    /// SASLInitialResponse was sent.
    ScramBegun(ScramSha256),
    /// SASLResponse was sent. The server has to prove itself too.
    ScramAnswered(ScramSha256),
    /// Nothing more is asked of either side.
    Complete,
    /// AuthenticationOk has come.
    Accepted,
    Failed,
}

#[derive(Clone, Copy)]
pub(super) struct Credentials<'a> {
    pub(super) user: &'a str,
    pub(super) password: Option<&'a str>,
}

impl Proof {
    /// Takes the body of an Authentication message, and appends the response if it wants one.
    pub(super) fn answer(
        self,
        body: &[u8],
        credentials: Credentials<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Self, WireError> {
        let mut data = Fields(body);
        match (self, data.i32()?) {
            (Self::Open | Self::Complete, 0) => Ok(Self::Accepted),
            (Self::Open, 3) => {
                let password = credentials.password()?;
                tagged(out, b'p', |out| string(out, password));
                Ok(Self::Complete)
            }
            (Self::Open, 5) => {
                let password = credentials.password()?.as_bytes();
                let hash = md5_hash(credentials.user.as_bytes(), password, data.array()?);
                tagged(out, b'p', |out| string(out, &hash));
                Ok(Self::Complete)
            }
            (Self::Open, 10) => begin_scram(data, credentials, out),
            (Self::Open, request) => Err(unspoken(request)),
            (Self::ScramBegun(mut scram), 11) => {
                scram.update(data.0).map_err(scram_failed)?;
                tagged(out, b'p', |out| out.extend_from_slice(scram.message()));
                Ok(Self::ScramAnswered(scram))
            }
            (Self::ScramAnswered(mut scram), 12) => {
                scram.finish(data.0).map_err(scram_failed)?;
                Ok(Self::Complete)
            }
            (Self::ScramBegun(_) | Self::ScramAnswered(_), 0) => Err(WireError::Authentication(
                "the server did not prove that it knows the password".to_owned(),
            )),
            _ => Err(message::unexpected(b'R')),
        }
    }
}

impl<'a> Credentials<'a> {
    fn password(self) -> Result<&'a str, WireError> {
        self.password.ok_or_else(|| {
            WireError::Authentication("the server asks for a password; none was given".to_owned())
        })
    }
}

/// Without channel binding, even if the server offers that too.
fn begin_scram(
    data: Fields<'_>,
    credentials: Credentials<'_>,
    out: &mut Vec<u8>,
) -> Result<Proof, WireError> {
    let offered = mechanisms(data)?;
    if !offered.iter().any(|name| name == SCRAM_SHA_256) {
        return Err(WireError::Authentication(format!(
            "the server asks for SASL by {}, of which none is spoken here",
            offered.join(", ")
        )));
    }
    let password = credentials.password()?.as_bytes();
    let scram = ScramSha256::new(password, ChannelBinding::unsupported());
    let first = scram.message();
    tagged(out, b'p', |out| {
        string(out, SCRAM_SHA_256);
        // A nonce of 24 characters, and what is around it.
        out.extend_from_slice(&(first.len() as u32).to_be_bytes());
        out.extend_from_slice(first);
    });
    Ok(Proof::ScramBegun(scram))
}

fn mechanisms(mut fields: Fields<'_>) -> Result<Vec<Cow<'_, str>>, WireError> {
    let mut names = Vec::new();
    loop {
        let name = fields.string()?;
        if name.is_empty() {
            return Ok(names);
        }
        names.push(String::from_utf8_lossy(name));
    }
}

fn scram_failed(error: io::Error) -> WireError {
    WireError::Authentication(format!("{SCRAM_SHA_256}: {error}"))
}

fn unspoken(request: i32) -> WireError {
    let method = match request {
        2 => "Kerberos V5",
        6 => "SCM credentials",
        7 => "GSSAPI",
        9 => "SSPI",
        _ => "an unknown method",
    };
    WireError::Authentication(format!(
        "the server asks for {method} (request {request}), which is not spoken here"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(
        proof: Proof,
        request: u32,
        data: &[u8],
        password: Option<&str>,
    ) -> Result<(Proof, Vec<u8>), WireError> {
        let body = [&request.to_be_bytes()[..], data].concat();
        let user = "md5_user";
        let mut out = Vec::new();
        let proof = proof.answer(&body, Credentials { user, password }, &mut out)?;
        Ok((proof, out))
    }

    fn refused(proof: Proof, request: u32, data: &[u8], password: Option<&str>) -> String {
        match answered(proof, request, data, password) {
            Err(WireError::Authentication(message)) => message,
            Err(error) => panic!("not an error of authentication: {error:?}"),
            Ok(_) => panic!("request {request} was answered"),
        }
    }

    fn begun() -> (Proof, Vec<u8>) {
        let offered = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
        answered(Proof::Open, 10, offered, Some("secret")).unwrap()
    }

    /// The client's first message and what the server makes of its nonce.
    fn server_first(sent: &[u8]) -> String {
        let (_, nonce) = std::str::from_utf8(&sent[5..])
            .unwrap()
            .split_once("r=")
            .unwrap();
        format!("r={nonce}server,s=c2FsdA==,i=2")
    }

    #[test]
    fn trust_asks_for_nothing() {
        let (proof, sent) = answered(Proof::Open, 0, b"", None).unwrap();
        assert!(matches!(proof, Proof::Accepted));
        assert!(sent.is_empty());
    }

    #[test]
    fn a_password_is_sent_as_it_is_asked_for() {
        let (proof, sent) = answered(Proof::Open, 3, b"", Some("secret")).unwrap();
        assert_eq!(sent, b"p\0\0\0\x0bsecret\0");
        let (proof, sent) = answered(proof, 0, b"", Some("secret")).unwrap();
        assert!(matches!(proof, Proof::Accepted) && sent.is_empty());

        let salt = [0x2a, 0x3d, 0x8f, 0xe0];
        let (proof, sent) = answered(Proof::Open, 5, &salt, Some("password")).unwrap();
        assert!(matches!(proof, Proof::Complete));
        let expected = b"p\0\0\0\x28md562af4dd09bbb41884907a838a3233294\0";
        assert_eq!(sent, expected);
        assert!(answered(Proof::Open, 5, &salt[1..], Some("password")).is_err());
    }

    #[test]
    fn a_password_that_is_missing_is_missed() {
        let cases: [(u32, &[u8]); 3] = [(3, b""), (5, b"salt"), (10, b"SCRAM-SHA-256\0\0")];
        for (request, data) in cases {
            let error = refused(Proof::Open, request, data, None);
            assert!(error.contains("none was given"), "{error}");
        }
    }

    #[test]
    fn methods_that_are_not_spoken_are_named() {
        let cases = [
            (2, "Kerberos"),
            (6, "SCM"),
            (7, "GSSAPI"),
            (9, "SSPI"),
            (77, "77"),
        ];
        for (request, name) in cases {
            let error = refused(Proof::Open, request, b"", Some("secret"));
            assert!(error.contains(name), "{error}");
        }
        let offered = b"OAUTHBEARER\0SCRAM-SHA-256-PLUS\0\0";
        let error = refused(Proof::Open, 10, offered, Some("secret"));
        assert!(error.contains("OAUTHBEARER, SCRAM-SHA-256-PLUS"), "{error}");
    }

    #[test]
    fn scram_goes_without_channel_binding() {
        let (proof, sent) = begun();
        let expected = b"p\0\0\0\x36SCRAM-SHA-256\0\0\0\0\x20n,,n=,r=";
        assert!(sent.starts_with(expected), "{}", sent.escape_ascii());
        let first = server_first(&sent);
        let (proof, sent) = answered(proof, 11, first.as_bytes(), Some("secret")).unwrap();
        assert!(matches!(proof, Proof::ScramAnswered(_)));
        assert_eq!(sent[..1], *b"p");
        let (nonce, _) = first.split_once(',').unwrap();
        let expected = format!("c=biws,{nonce},p=");
        assert!(
            sent[5..].starts_with(expected.as_bytes()),
            "{}",
            sent.escape_ascii()
        );
    }

    #[test]
    fn a_server_that_does_not_know_the_password_is_refused() {
        let signature = format!("v={}=", "A".repeat(43));
        for proof_of_server in [signature.as_str(), "v=AAAA", "e=other-error", "garbage", ""] {
            let (proof, sent) = begun();
            let first = server_first(&sent);
            let (proof, _) = answered(proof, 11, first.as_bytes(), Some("secret")).unwrap();
            let error = refused(proof, 12, proof_of_server.as_bytes(), Some("secret"));
            assert!(error.starts_with("SCRAM-SHA-256: "), "{error}");
        }
    }

    #[test]
    fn a_server_cannot_skip_its_proof() {
        let (proof, sent) = begun();
        let first = server_first(&sent);
        let (proof, _) = answered(proof, 11, first.as_bytes(), Some("secret")).unwrap();
        let error = refused(proof, 0, b"", Some("secret"));
        assert!(error.contains("did not prove"), "{error}");
        let error = refused(begun().0, 0, b"", Some("secret"));
        assert!(error.contains("did not prove"), "{error}");
    }

    #[test]
    fn what_the_server_makes_up_is_refused() {
        let error = refused(begun().0, 11, b"r=other,s=c2FsdA==,i=2", Some("secret"));
        assert!(error.contains("nonce"), "{error}");
        for proof in [Proof::Accepted, Proof::Failed, Proof::Complete] {
            let again = answered(proof, 3, b"", Some("secret"));
            assert!(matches!(again, Err(WireError::Protocol(_))));
        }
    }
}
