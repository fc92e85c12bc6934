//! From an open socket to a ready session: TLS, startup and what the server tells of itself.

use std::{fmt, mem};

use super::authentication::{Credentials, Proof};
use super::message::{self, Fields};
use super::{framed, string};
use crate::wire::{Inbound, LoginStep, WireError};

const SSL_REQUEST: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";

/// Version 3.0: newer ones bring nothing that is used here, and not every pooler speaks them.
const PROTOCOL: &[u8] = b"\0\x03\0\0";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tls {
    Never,
    /// In the clear if the server speaks none.
    Prefer,
    Require,
}

/// A login under way.
pub(crate) struct Login {
    user: String,
    database: String,
    password: Option<String>,
    options: Option<String>,
    tls: Tls,
    state: State,
    proof: Proof,
    key: Option<(i32, Box<[u8]>)>,
}

enum State {
    New,
    /// SSLRequest was sent.
    TlsAsked,
    /// Encrypted, or never to be.
    Open,
    /// StartupMessage was sent.
    Started,
    Ready,
}

impl Login {
    pub(crate) fn new(user: &str, database: &str, password: Option<&str>, tls: Tls) -> Self {
        Self {
            user: user.to_owned(),
            database: database.to_owned(),
            password: password.map(str::to_owned),
            options: None,
            tls,
            state: State::New,
            proof: Proof::Open,
            key: None,
        }
    }

    /// With command-line options for the session's server process.
    #[must_use]
    pub(crate) fn with_options(self, options: Option<&str>) -> Self {
        Self {
            options: options.map(str::to_owned),
            ..self
        }
    }

    /// Process and secret for [`super::cancel_request`], if the server has told them.
    pub(crate) fn key(&self) -> Option<(i32, &[u8])> {
        self.key.as_ref().map(|(pid, secret)| (*pid, &**secret))
    }

    fn tls_answer(
        &mut self,
        inbound: &mut Inbound,
        out: &mut Vec<u8>,
    ) -> Result<LoginStep, WireError> {
        match inbound.unread() {
            [] => Ok(LoginStep::More),
            [b'S'] => {
                inbound.consume(1);
                self.state = State::Open;
                Ok(LoginStep::StartTls)
            }
            [b'N', ..] if self.tls == Tls::Require => Err(WireError::TlsNotOffered),
            [b'N'] => {
                inbound.consume(1);
                self.start(inbound, out)
            }
            [b'S' | b'N', ..] => Err(stuffed()),
            [b'E', ..] => self.messages(inbound, out),
            [kind, ..] => Err(message::unexpected(*kind)),
        }
    }

    fn start(&mut self, inbound: &Inbound, out: &mut Vec<u8>) -> Result<LoginStep, WireError> {
        if !inbound.unread().is_empty() {
            return Err(stuffed());
        }
        let password = self.password.as_deref().unwrap_or_default();
        let options = self.options.as_deref();
        let given = [
            self.user.as_str(),
            self.database.as_str(),
            password,
            options.unwrap_or_default(),
        ];
        if given.iter().any(|text| text.contains('\0')) {
            return Err(WireError::Authentication(
                "neither user, database, password nor options may hold a zero byte".to_owned(),
            ));
        }
        let parameters = [
            ("user", self.user.as_str()),
            ("database", self.database.as_str()),
            ("application_name", "dbdyno"),
            ("client_encoding", "UTF8"),
        ];
        framed(out, |out| {
            out.extend_from_slice(PROTOCOL);
            let options = options.map(|options| ("options", options));
            for (name, value) in parameters.into_iter().chain(options) {
                string(out, name);
                string(out, value);
            }
            out.push(0);
        });
        self.state = State::Started;
        Ok(LoginStep::Send)
    }

    fn messages(
        &mut self,
        inbound: &mut Inbound,
        out: &mut Vec<u8>,
    ) -> Result<LoginStep, WireError> {
        loop {
            let Some((kind, body)) = message::first(inbound.unread())? else {
                return Ok(LoginStep::More);
            };
            let end = body.end;
            let step = self.take(kind, &inbound.unread()[body], out);
            inbound.consume(end);
            if let Some(step) = step? {
                return Ok(step);
            }
        }
    }

    fn take(
        &mut self,
        kind: u8,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<LoginStep>, WireError> {
        let accepted = matches!(self.proof, Proof::Accepted);
        match kind {
            b'E' => {
                let mut error = message::server_error(body)?;
                error.fatal = true;
                Err(error.into())
            }
            b'R' => self.authenticate(body, out),
            // NoticeResponse, ParameterStatus, NegotiateProtocolVersion.
            b'N' | b'S' | b'v' => Ok(None),
            b'K' if accepted => {
                let mut fields = Fields(body);
                self.key = Some((fields.i32()?, fields.0.into()));
                Ok(None)
            }
            b'Z' if accepted => {
                message::in_transaction(body)?;
                self.state = State::Ready;
                Ok(Some(LoginStep::Ready))
            }
            _ => Err(message::unexpected(kind)),
        }
    }

    fn authenticate(
        &mut self,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<LoginStep>, WireError> {
        let credentials = Credentials {
            user: &self.user,
            password: self.password.as_deref(),
        };
        let before = out.len();
        let proof = mem::replace(&mut self.proof, Proof::Failed);
        self.proof = proof.answer(body, credentials, out)?;
        Ok((out.len() > before).then_some(LoginStep::Send))
    }
}

impl crate::wire::Login for Login {
    fn step(&mut self, inbound: &mut Inbound, out: &mut Vec<u8>) -> Result<LoginStep, WireError> {
        match self.state {
            State::New if self.tls != Tls::Never => {
                out.extend_from_slice(SSL_REQUEST);
                self.state = State::TlsAsked;
                Ok(LoginStep::Send)
            }
            State::New | State::Open => self.start(inbound, out),
            State::TlsAsked => self.tls_answer(inbound, out),
            State::Started => self.messages(inbound, out),
            State::Ready => Ok(LoginStep::Ready),
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user)
            .field("database", &self.database)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

/// What came in the clear must not be taken for what came encrypted (CVE-2021-23222).
fn stuffed() -> WireError {
    WireError::protocol("bytes came ahead of the startup, as if slipped in by a third party")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::message::{built, refusal};
    use super::*;
    use crate::wire::Login as _;

    const STARTUP: &[u8] = b"\0\0\0\x50\0\x03\0\0user\0carol\0database\0bench\0\
        application_name\0dbdyno\0client_encoding\0UTF8\0\0";
    const OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";
    const KEY: &[u8] = b"K\0\0\0\x10\0\0\x01\x02secret!!";
    const READY: &[u8] = b"Z\0\0\0\x05I";

    fn login(tls: Tls) -> Login {
        Login::new("carol", "bench", Some("open sesame"), tls)
    }

    /// One step with what has newly arrived, and what it sends.
    fn step(
        login: &mut Login,
        inbound: &mut Inbound,
        arrived: &[u8],
    ) -> (Result<LoginStep, WireError>, Vec<u8>) {
        let mut out = Vec::new();
        inbound.extend(arrived);
        (login.step(inbound, &mut out), out)
    }

    /// A login that has asked for TLS or started, and the bytes that it sent for that.
    fn begun(tls: Tls) -> (Login, Inbound, Vec<u8>) {
        let (mut login, mut inbound) = (login(tls), Inbound::default());
        let (result, sent) = step(&mut login, &mut inbound, b"");
        assert_eq!(result.unwrap(), LoginStep::Send);
        (login, inbound, sent)
    }

    #[test]
    fn trust_leads_to_a_session_with_a_key() {
        let (mut login, mut inbound, sent) = begun(Tls::Never);
        assert_eq!(sent, STARTUP);
        let status = built(b'S', b"server_version\x0018.1\0");
        let notice = built(b'N', b"SWARNING\0Mexpires soon\0\0");
        let answer = [OK, &status, KEY, &notice, READY, b"rest"].concat();
        let (result, sent) = step(&mut login, &mut inbound, &answer);
        assert_eq!(result.unwrap(), LoginStep::Ready);
        assert!(sent.is_empty());
        assert_eq!(login.key(), Some((258, &b"secret!!"[..])));
        assert_eq!(inbound.unread(), b"rest");
    }

    #[test]
    fn an_answer_may_come_byte_by_byte() {
        let (mut login, mut inbound, _) = begun(Tls::Never);
        let answer = [OK, KEY, READY].concat();
        let (last, others) = answer.split_last().unwrap();
        for byte in others {
            let (result, _) = step(&mut login, &mut inbound, &[*byte]);
            assert_eq!(result.unwrap(), LoginStep::More);
        }
        let (result, _) = step(&mut login, &mut inbound, &[*last]);
        assert_eq!(result.unwrap(), LoginStep::Ready);
    }

    #[test]
    fn a_password_is_sent_when_it_is_asked_for() {
        let (mut login, mut inbound, _) = begun(Tls::Never);
        let (result, sent) = step(&mut login, &mut inbound, b"R\0\0\0\x08\0\0\0\x03");
        assert_eq!(result.unwrap(), LoginStep::Send);
        assert_eq!(sent, b"p\0\0\0\x10open sesame\0");
        let (result, _) = step(&mut login, &mut inbound, &[OK, READY].concat());
        assert_eq!(result.unwrap(), LoginStep::Ready);
        assert_eq!(login.key(), None);
    }

    #[test]
    fn no_session_begins_before_the_server_has_accepted() {
        for early in [READY, KEY] {
            let (mut login, mut inbound, _) = begun(Tls::Never);
            let (result, _) = step(&mut login, &mut inbound, early);
            assert!(matches!(result, Err(WireError::Protocol(_))), "{result:?}");
        }
    }

    #[test]
    fn a_refusal_is_fatal() {
        let answer = refusal("ERROR", "28P01", "password authentication failed");
        for tls in [Tls::Never, Tls::Prefer] {
            let (mut login, mut inbound, _) = begun(tls);
            let (result, _) = step(&mut login, &mut inbound, &answer[..9]);
            assert_eq!(result.unwrap(), LoginStep::More);
            let (result, _) = step(&mut login, &mut inbound, &answer[9..]);
            let Err(WireError::Server(error)) = result else {
                panic!("not the server's error");
            };
            assert!(error.fatal && error.sqlstate == "28P01");
        }
    }

    #[test]
    fn tls_comes_first_where_the_server_speaks_it() {
        for tls in [Tls::Prefer, Tls::Require] {
            let (mut login, mut inbound, sent) = begun(tls);
            assert_eq!(sent, SSL_REQUEST);
            let (result, sent) = step(&mut login, &mut inbound, b"S");
            assert_eq!(result.unwrap(), LoginStep::StartTls);
            assert!(sent.is_empty());
            let (result, sent) = step(&mut login, &mut inbound, b"");
            assert_eq!(result.unwrap(), LoginStep::Send);
            assert_eq!(sent, STARTUP);
        }
    }

    #[test]
    fn without_tls_it_depends_on_what_was_asked_for() {
        let (mut login, mut inbound, _) = begun(Tls::Prefer);
        let (result, sent) = step(&mut login, &mut inbound, b"N");
        assert_eq!(result.unwrap(), LoginStep::Send);
        assert_eq!(sent, STARTUP);

        let (mut login, mut inbound, _) = begun(Tls::Require);
        let (result, sent) = step(&mut login, &mut inbound, b"N");
        let error = result.unwrap_err().to_string();
        assert!(error.contains("does not speak TLS"), "{error}");
        assert!(sent.is_empty());

        let (mut login, mut inbound, _) = begun(Tls::Prefer);
        let (result, _) = step(&mut login, &mut inbound, b"");
        assert_eq!(result.unwrap(), LoginStep::More);
        let (result, _) = step(&mut login, &mut inbound, b"H");
        assert!(matches!(result, Err(WireError::Protocol(_))), "{result:?}");
    }

    #[test]
    fn nothing_may_be_slipped_in_ahead_of_tls() {
        let (mut login, mut inbound, _) = begun(Tls::Require);
        let (result, _) = step(&mut login, &mut inbound, &[&b"S"[..], OK].concat());
        assert!(matches!(result, Err(WireError::Protocol(_))), "{result:?}");

        let (mut login, mut inbound, _) = begun(Tls::Require);
        let (result, _) = step(&mut login, &mut inbound, b"S");
        assert_eq!(result.unwrap(), LoginStep::StartTls);
        let (result, sent) = step(&mut login, &mut inbound, OK);
        assert!(matches!(result, Err(WireError::Protocol(_))), "{result:?}");
        assert!(sent.is_empty());
    }

    #[test]
    fn a_zero_byte_is_not_sent() {
        let mut login = Login::new("carol\0superuser", "bench", None, Tls::Never);
        let (result, sent) = step(&mut login, &mut Inbound::default(), b"");
        assert!(matches!(result, Err(WireError::Authentication(_))));
        assert!(sent.is_empty());
    }

    #[test]
    fn options_are_part_of_the_startup_and_hold_no_zero_byte() {
        let started = |options| {
            let mut login = login(Tls::Never).with_options(Some(options));
            step(&mut login, &mut Inbound::default(), b"")
        };
        let (result, sent) = started("-c jit=off");
        assert_eq!(result.unwrap(), LoginStep::Send);
        assert!(sent.ends_with(b"UTF8\0options\0-c jit=off\0\0"));
        let (result, sent) = started("-c jit=off\0user\0postgres");
        assert!(matches!(result, Err(WireError::Authentication(_))));
        assert!(sent.is_empty());
    }

    #[test]
    fn the_password_is_not_shown() {
        let shown = format!("{:?}", login(Tls::Never));
        assert!(
            shown.contains("carol") && !shown.contains("sesame"),
            "{shown}"
        );
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(
            tls in prop::sample::select(vec![Tls::Never, Tls::Prefer, Tls::Require]),
            answer in prop::sample::select(b"SNE".to_vec()),
            messages in prop::collection::vec((prop::sample::select(b"RRRKZESNv".to_vec()), 0_u32..14, prop::collection::vec(any::<u8>(), 0..20)), 0..8),
            raw in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let framed: Vec<u8> = messages.iter().flat_map(|(kind, request, data)| {
                let request = if *kind == b'R' { request.to_be_bytes().to_vec() } else { Vec::new() };
                built(*kind, &[request, data.clone()].concat())
            }).collect();
            let answer = if tls == Tls::Never { Vec::new() } else { vec![answer] };
            let mut chunks = [answer, framed, raw].into_iter();
            let (mut login, mut inbound) = (login(tls), Inbound::default());
            let ended = (0..100).any(|_| match step(&mut login, &mut inbound, b"").0 {
                Ok(LoginStep::Send | LoginStep::StartTls) => false,
                Ok(LoginStep::More) => chunks.next().map(|chunk| inbound.extend(&chunk)).is_none(),
                Ok(LoginStep::Ready) | Err(_) => true,
            });
            prop_assert!(ended, "the bytes were read more than once");
        }
    }
}
