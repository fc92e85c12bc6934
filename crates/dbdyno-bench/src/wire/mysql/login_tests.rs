//! Logins packet by packet: what is sent, what is refused, and what nobody may see.

use super::super::auth::{caching_sha2, native};
use super::super::testing::{greeting, packet};
use super::*;
use crate::wire::Login as _;
use proptest::prelude::*;
use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPrivateKey};

const OFFERED: u32 = 0xffff_f7ff;
const OFFERED_WITH_TLS: u32 = 0xffff_ffff;
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const SHA2: &[u8] = b"caching_sha2_password";
const NATIVE: &[u8] = b"mysql_native_password";

/// A login with what went to and fro.
struct Talk {
    login: Login,
    inbound: Inbound,
    /// Of the last packet, whoever sent it.
    sequence: u8,
}

impl Talk {
    fn new(login: Login) -> Self {
        Self {
            login,
            inbound: Inbound::default(),
            sequence: 255,
        }
    }

    /// The server sends a packet: the next step, and the payload of the one packet that is sent.
    fn hear(&mut self, payload: &[u8]) -> Result<(LoginStep, Vec<u8>), WireError> {
        self.sequence = self.sequence.wrapping_add(1);
        self.inbound.extend(&packet(self.sequence, payload));
        self.step()
    }

    fn step(&mut self) -> Result<(LoginStep, Vec<u8>), WireError> {
        let mut out = Vec::new();
        let step = self.login.step(&mut self.inbound, &mut out)?;
        if out.is_empty() {
            return Ok((step, out));
        }
        self.sequence = self.sequence.wrapping_add(1);
        let sent = packet::split(&out)?.expect("a whole packet");
        assert_eq!(sent.sequence, self.sequence);
        assert!(sent.rest.is_empty());
        Ok((step, sent.payload.to_vec()))
    }
}

fn login(tls: Tls, secure_transport: bool) -> Login {
    Login::new("me", Some("shop"), Some("secret"), tls, secure_transport)
}

fn plain() -> Talk {
    Talk::new(login(Tls::Never, false))
}

fn socket() -> Talk {
    Talk::new(login(Tls::Never, true))
}

fn nonce() -> Vec<u8> {
    (1..=20).collect()
}

fn mysql(plugin: &[u8]) -> Vec<u8> {
    greeting("8.4.6", OFFERED, 0, plugin)
}

/// AuthSwitchRequest with the nonce 101, … 120.
fn switch(plugin: &[u8]) -> Vec<u8> {
    let nonce: Vec<u8> = (101..=120).collect();
    [&[0xfe][..], plugin, &[0], &nonce, &[0]].concat()
}

fn response(capabilities: [u8; 4], extended: u8, proof: &[u8], plugin: &[u8]) -> Vec<u8> {
    [
        &capabilities[..],
        &[0, 0, 0, 0x40, 45],
        &[0; 19],
        &[extended, 0, 0, 0],
        b"me\0",
        &[proof.len() as u8],
        proof,
        b"shop\0",
        plugin,
        b"\0\x14\x0cprogram_name\x06dbdyno",
    ]
    .concat()
}

fn authentication_error(result: Result<(LoginStep, Vec<u8>), WireError>, words: &str) {
    match result {
        Err(WireError::Authentication(text)) => assert!(text.contains(words), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn native_password_on_mysql() {
    let mut talk = plain();
    let (step, sent) = talk.hear(&mysql(NATIVE)).unwrap();
    assert_eq!(step, LoginStep::Send);
    let proof = native("secret", &nonce());
    let expected = response([0x89, 0xa2, 0x3f, 0x01], 0, &proof, NATIVE);
    assert_eq!(sent, expected);
    assert_eq!(talk.step().unwrap().0, LoginStep::More);
    assert_eq!(talk.hear(OK).unwrap(), (LoginStep::Ready, Vec::new()));
    assert_eq!(talk.step().unwrap().0, LoginStep::Ready);
    let server = talk.login.server();
    assert_eq!(server.version, "8.4.6");
    assert_eq!(server.connection_id, 0x0403_0201);
    let expected = Capabilities {
        deprecate_eof: true,
        cache_metadata: false,
    };
    assert_eq!(talk.login.capabilities(), expected);
}

#[test]
fn native_password_on_mariadb() {
    let mut talk = plain();
    let hello = greeting("5.5.5-10.11.6-MariaDB", OFFERED - 1, 0x1d, NATIVE);
    let (_, sent) = talk.hear(&hello).unwrap();
    let proof = native("secret", &nonce());
    let expected = response([0x88, 0xa2, 0x3f, 0x01], 0x10, &proof, NATIVE);
    assert_eq!(sent, expected);
    assert_eq!(talk.hear(OK).unwrap().0, LoginStep::Ready);
    assert_eq!(talk.login.server().flavour, Flavour::MariaDb);
    let expected = Capabilities {
        deprecate_eof: true,
        cache_metadata: true,
    };
    assert_eq!(talk.login.capabilities(), expected);
}

#[test]
fn without_password_and_database() {
    let mut talk = Talk::new(Login::new("me", None, None, Tls::Never, false));
    let (_, sent) = talk.hear(&mysql(SHA2)).unwrap();
    assert_eq!(sent[..4], [0x81, 0xa2, 0x3f, 0x01]);
    let rest = [&b"me\0\0"[..], SHA2, b"\0\x14\x0cprogram_name\x06dbdyno"].concat();
    assert_eq!(sent[32..], rest);
    let (_, sent) = talk.hear(&switch(b"sha256_password")).unwrap();
    assert_eq!(sent, [0]);
    assert_eq!(talk.hear(OK).unwrap().0, LoginStep::Ready);
}

#[test]
fn caching_sha2_on_the_fast_path() {
    let mut talk = plain();
    let (_, sent) = talk.hear(&mysql(SHA2)).unwrap();
    let proof = caching_sha2("secret", &nonce());
    let expected = response([0x89, 0xa2, 0x3f, 0x01], 0, &proof, SHA2);
    assert_eq!(sent, expected);
    assert_eq!(talk.hear(&[1, 3]).unwrap().0, LoginStep::More);
    assert_eq!(talk.hear(OK).unwrap().0, LoginStep::Ready);
}

#[test]
fn caching_sha2_in_full_over_a_socket() {
    let mut talk = socket();
    talk.hear(&mysql(SHA2)).unwrap();
    let (step, sent) = talk.hear(&[1, 4]).unwrap();
    assert_eq!(step, LoginStep::Send);
    assert_eq!(sent, b"secret\0");
    assert_eq!(talk.hear(OK).unwrap().0, LoginStep::Ready);
}

/// What the server reads of the password that was sent under its key.
fn decrypted(private: &RsaPrivateKey, sent: &[u8], nonce: &[u8]) -> Vec<u8> {
    let mut password = private
        .decrypt(Oaep::new::<sha1_for_rsa::Sha1>(), sent)
        .unwrap();
    for (byte, mask) in password.iter_mut().zip(nonce) {
        *byte ^= mask;
    }
    password
}

#[test]
fn passwords_are_encrypted_where_somebody_may_listen() {
    let private = RsaPrivateKey::new(&mut OsRng, 1024).unwrap();
    let public = private.to_public_key();
    let pem = public.to_public_key_pem(LineEnding::LF).unwrap();
    let key = [&[1][..], pem.as_bytes()].concat();

    let mut talk = plain();
    talk.hear(&mysql(SHA2)).unwrap();
    assert_eq!(talk.hear(&[1, 4]).unwrap(), (LoginStep::Send, vec![2]));
    let (step, sent) = talk.hear(&key).unwrap();
    assert_eq!(step, LoginStep::Send);
    assert_eq!(decrypted(&private, &sent, &nonce()), b"secret\0");
    assert_eq!(talk.hear(OK).unwrap().0, LoginStep::Ready);

    // sha256_password encrypts on a socket too.
    let mut talk = socket();
    talk.hear(&mysql(SHA2)).unwrap();
    let (_, sent) = talk.hear(&switch(b"sha256_password")).unwrap();
    assert_eq!(sent, [1]);
    let (_, sent) = talk.hear(&key).unwrap();
    let nonce: Vec<u8> = (101..=120).collect();
    assert_eq!(decrypted(&private, &sent, &nonce), b"secret\0");
}

#[test]
fn a_key_that_nobody_asked_for_is_refused() {
    let mut talk = socket();
    talk.hear(&mysql(SHA2)).unwrap();
    let error = talk.hear(b"\x01-----BEGIN PUBLIC KEY-----").unwrap_err();
    assert!(matches!(error, WireError::Protocol(_)), "{error}");
}

#[test]
fn the_account_may_have_another_plugin() {
    let mut talk = plain();
    talk.hear(&mysql(SHA2)).unwrap();
    let (step, sent) = talk.hear(&switch(NATIVE)).unwrap();
    assert_eq!(step, LoginStep::Send);
    let nonce: Vec<u8> = (101..=120).collect();
    assert_eq!(sent, native("secret", &nonce));
    assert_eq!(talk.hear(OK).unwrap().0, LoginStep::Ready);
}

#[test]
fn a_key_that_was_asked_for_is_forgotten_with_its_plugin() {
    let mut talk = plain();
    let (_, sent) = talk.hear(&mysql(b"sha256_password")).unwrap();
    assert_eq!(
        sent,
        response([0x89, 0xa2, 0x3f, 0x01], 0, &[1], b"sha256_password")
    );
    talk.hear(&switch(SHA2)).unwrap();
    assert_eq!(talk.hear(&[1, 3]).unwrap().0, LoginStep::More);
    assert_eq!(talk.hear(OK).unwrap().0, LoginStep::Ready);
}

#[test]
fn plugins_that_are_not_spoken_are_named() {
    for plugin in ["client_ed25519", "parsec", "dialog", "auth_gssapi_client"] {
        let mut talk = plain();
        talk.hear(&mysql(plugin.as_bytes())).unwrap();
        let refusal = talk.hear(&switch(plugin.as_bytes()));
        authentication_error(refusal, plugin);
    }
    let mut talk = plain();
    talk.hear(&mysql(SHA2)).unwrap();
    let refusal = talk.hear(&switch(b"parsec"));
    authentication_error(refusal, "caching_sha2_password");
    let mut talk = plain();
    talk.hear(&greeting("11.4.8-MariaDB", OFFERED - 1, 0, NATIVE))
        .unwrap();
    let refusal = talk.hear(&switch(b"parsec"));
    authentication_error(refusal, "mysql_native_password");
    let mut talk = plain();
    talk.hear(&mysql(NATIVE)).unwrap();
    authentication_error(talk.hear(&[0xfe]), "mysql_old_password");
}

#[test]
fn clear_text_is_sent_only_where_nobody_listens() {
    let mut talk = plain();
    talk.hear(&mysql(SHA2)).unwrap();
    authentication_error(talk.hear(&switch(b"mysql_clear_password")), "TLS");
    let mut talk = socket();
    talk.hear(&mysql(SHA2)).unwrap();
    let (_, sent) = talk.hear(&switch(b"mysql_clear_password")).unwrap();
    assert_eq!(sent, b"secret\0");
}

#[test]
fn tls_begins_before_the_user_is_named() {
    let mut talk = Talk::new(login(Tls::Prefer, false));
    let hello = greeting("8.4.6", OFFERED_WITH_TLS, 0, SHA2);
    let (step, sent) = talk.hear(&hello).unwrap();
    assert_eq!(step, LoginStep::StartTls);
    let request = [&[0x89, 0xaa, 0x3f, 0x01, 0, 0, 0, 0x40, 45][..], &[0; 23]].concat();
    assert_eq!(sent, request);
    let (step, sent) = talk.step().unwrap();
    assert_eq!(step, LoginStep::Send);
    let proof = caching_sha2("secret", &nonce());
    let expected = response([0x89, 0xaa, 0x3f, 0x01], 0, &proof, SHA2);
    assert_eq!(sent, expected);
    let (_, sent) = talk.hear(&[1, 4]).unwrap();
    assert_eq!(sent, b"secret\0");
    let (_, sent) = talk.hear(&switch(b"sha256_password")).unwrap();
    assert_eq!(sent, b"secret\0");
}

#[test]
fn tls_may_be_required_or_done_without() {
    let hello = mysql(SHA2);
    let mut talk = Talk::new(login(Tls::Require, true));
    let refused = talk.hear(&hello);
    assert!(
        matches!(refused, Err(WireError::TlsNotOffered)),
        "{refused:?}"
    );
    let mut talk = Talk::new(login(Tls::Prefer, false));
    assert_eq!(talk.hear(&hello).unwrap().0, LoginStep::Send);

    let hello = greeting("8.4.6", OFFERED_WITH_TLS, 0, SHA2);
    for (tls, secure_transport, step) in [
        (Tls::Never, false, LoginStep::Send),
        (Tls::Prefer, true, LoginStep::Send),
        (Tls::Require, true, LoginStep::StartTls),
        (Tls::Require, false, LoginStep::StartTls),
    ] {
        let mut talk = Talk::new(login(tls, secure_transport));
        assert_eq!(talk.hear(&hello).unwrap().0, step, "{tls:?}");
    }
}

#[test]
fn what_comes_before_tls_is_not_trusted() {
    let mut talk = Talk::new(login(Tls::Require, false));
    let hello = greeting("8.4.6", OFFERED_WITH_TLS, 0, SHA2);
    talk.inbound
        .extend(&[packet(0, &hello), packet(1, OK)].concat());
    let error = talk.step().unwrap_err();
    assert!(error.to_string().contains("before TLS"));
}

#[test]
fn refusals_end_the_connection() {
    let fatal = |result: Result<(LoginStep, Vec<u8>), WireError>, expected: u16| match result {
        Err(WireError::Server(error)) => error.fatal && error.number == Some(expected),
        other => panic!("{other:?}"),
    };
    let early = plain().hear(b"\xff\x10\x04Too many connections");
    assert!(fatal(early, 1040));
    let mut talk = plain();
    talk.hear(&mysql(NATIVE)).unwrap();
    let denied = talk.hear(b"\xff\x15\x04#28000Access denied");
    assert!(fatal(denied, 1045));
}

#[test]
fn names_with_zeros_are_refused() {
    for (user, database) in [("m\0e", "shop"), ("me", "sh\0op")] {
        let login = Login::new(user, Some(database), None, Tls::Never, true);
        let refusal = Talk::new(login).hear(&mysql(SHA2));
        authentication_error(refusal, "zero byte");
    }
}

#[test]
fn the_password_is_not_shown() {
    let mut talk = socket();
    talk.hear(&mysql(SHA2)).unwrap();
    let shown = format!("{:?}", talk.login);
    assert!(
        shown.contains("shop") && !shown.contains("secret"),
        "{shown}"
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(
        greeted in any::<bool>(),
        tls in prop_oneof![Just(Tls::Never), Just(Tls::Prefer), Just(Tls::Require)],
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..8),
        bytes in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let mut login = login(tls, false);
        let mut inbound = Inbound::default();
        if greeted {
            inbound.extend(&packet(0, &greeting("8.4.6", OFFERED, 0, SHA2)));
        }
        for payload in &payloads {
            inbound.extend(&packet(0, payload));
        }
        inbound.extend(&bytes);
        let mut out = Vec::new();
        while let Ok(step) = login.step(&mut inbound, &mut out) {
            if matches!(step, LoginStep::More | LoginStep::Ready) {
                break;
            }
            prop_assert!(!out.is_empty(), "nothing to send");
            out.clear();
        }
    }
}
