//! From a server's handshake to a session that takes commands.

use std::ops::Range;

use dbdyno_model::Secret;

use super::answers::Capabilities;
use super::auth::{self, Plugin};
use super::handshake::{
    self, CLIENT_CONNECT_ATTRS, CLIENT_CONNECT_WITH_DB, CLIENT_DEPRECATE_EOF, CLIENT_SSL, Flavour,
    Handshake, MARIADB_CLIENT_CACHE_METADATA, Server,
};
use super::packet::{self, Cursor, put_lenenc_bytes};
use super::response;
use crate::wire::{Inbound, LoginStep, WireError};

/// First byte of what a plugin's server side says.
const AUTH_MORE_DATA: u8 = 0x01;

/// What caching_sha2_password's server side says: the password is known already, or is needed.
const FAST_AUTH_SUCCESS: &[u8] = &[3];
const PERFORM_FULL_AUTHENTICATION: &[u8] = &[4];
/// How it is asked for its RSA key, and how sha256_password's is.
const REQUEST_PUBLIC_KEY: u8 = 2;
const SHA256_REQUEST_PUBLIC_KEY: u8 = 1;

/// Whether the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tls {
    Never,
    /// If the server can, and the connection leaves this machine.
    Prefer,
    /// Or there is no connection.
    Require,
}

/// A login under way.
#[derive(Debug)]
pub(crate) struct Login {
    user: String,
    database: Option<String>,
    /// Empty where there is none.
    password: Secret,
    tls: Tls,
    secure_transport: bool,
    phase: Phase,
    handshake: Handshake,
    encrypted: bool,
    capabilities: u32,
    /// MariaDB's own.
    extended: u32,
    plugin: Plugin,
    key_requested: bool,
    /// Number of the next packet.
    sequence: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Handshake,
    /// TLS has begun, or is not spoken.
    Response,
    Authentication,
    Ready,
}

impl super::super::Login for Login {
    fn step(&mut self, inbound: &mut Inbound, out: &mut Vec<u8>) -> Result<LoginStep, WireError> {
        loop {
            match self.phase {
                Phase::Handshake => {
                    let Some(payload) = self.take(inbound)? else {
                        return Ok(LoginStep::More);
                    };
                    self.greeted(inbound.slice(payload))?;
                    if self.encrypted {
                        return self.start_tls(inbound, out);
                    }
                }
                Phase::Response => {
                    self.respond(out)?;
                    return Ok(LoginStep::Send);
                }
                Phase::Authentication => {
                    let Some(payload) = self.take(inbound)? else {
                        return Ok(LoginStep::More);
                    };
                    let before = out.len();
                    self.authenticate(inbound.slice(payload), out)?;
                    if out.len() > before {
                        return Ok(LoginStep::Send);
                    }
                }
                Phase::Ready => return Ok(LoginStep::Ready),
            }
        }
    }
}

impl Login {
    /// `secure_transport`: nobody can listen even without TLS, because it is a unix socket.
    pub(crate) fn new(
        user: &str,
        database: Option<&str>,
        password: Option<&str>,
        tls: Tls,
        secure_transport: bool,
    ) -> Self {
        Self {
            user: user.to_owned(),
            database: database.map(str::to_owned),
            password: Secret::new(password.unwrap_or_default()),
            tls,
            secure_transport,
            phase: Phase::Handshake,
            handshake: Handshake::default(),
            encrypted: false,
            capabilities: 0,
            extended: 0,
            plugin: Plugin::Native,
            key_requested: false,
            sequence: 0,
        }
    }

    /// What the server said of itself, once it has.
    pub(crate) fn server(&self) -> &Server {
        &self.handshake.server
    }

    /// For [`super::Answers::new`], once the login is ready.
    pub(crate) fn capabilities(&self) -> Capabilities {
        Capabilities {
            deprecate_eof: self.capabilities & CLIENT_DEPRECATE_EOF != 0,
            cache_metadata: self.extended & MARIADB_CLIENT_CACHE_METADATA != 0,
        }
    }

    fn take(&mut self, inbound: &mut Inbound) -> Result<Option<Range<usize>>, WireError> {
        Ok(packet::take(inbound)?.map(|packet| {
            self.sequence = packet.sequence.wrapping_add(1);
            packet.payload
        }))
    }

    fn send(&mut self, out: &mut Vec<u8>, payload: &[u8]) {
        let body = |out: &mut Vec<u8>| out.extend_from_slice(payload);
        self.sequence = packet::append(out, self.sequence, body);
    }

    fn greeted(&mut self, payload: &[u8]) -> Result<(), WireError> {
        // Too many connections, or a host that is blocked.
        if payload.first() == Some(&response::ERR) {
            return Err(refused(payload));
        }
        self.handshake = Handshake::parse(payload)?;
        self.encrypted = self.wants_tls()?;
        let with_database = self.database.is_some();
        (self.capabilities, self.extended) = self.handshake.agreed(with_database, self.encrypted);
        self.plugin = Plugin::named(&self.handshake.plugin).unwrap_or(Plugin::Native);
        self.phase = Phase::Response;
        Ok(())
    }

    fn wants_tls(&self) -> Result<bool, WireError> {
        let offered = self.handshake.capabilities & CLIENT_SSL != 0;
        match self.tls {
            Tls::Never => Ok(false),
            Tls::Prefer => Ok(offered && !self.secure_transport),
            Tls::Require if offered => Ok(true),
            Tls::Require => Err(WireError::TlsNotOffered),
        }
    }

    fn start_tls(&mut self, inbound: &Inbound, out: &mut Vec<u8>) -> Result<LoginStep, WireError> {
        if !inbound.unread().is_empty() {
            return Err(WireError::protocol(
                "bytes came from the server before TLS began, and they may be somebody else's",
            ));
        }
        let mut request = Vec::new();
        handshake::put_client(&mut request, self.capabilities, self.extended);
        self.send(out, &request);
        Ok(LoginStep::StartTls)
    }

    fn respond(&mut self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let proof = self.proof()?;
        let mut payload = Vec::new();
        handshake::put_client(&mut payload, self.capabilities, self.extended);
        put_name(&mut payload, &self.user)?;
        put_lenenc_bytes(&mut payload, &proof);
        if let Some(database) = &self.database
            && self.capabilities & CLIENT_CONNECT_WITH_DB != 0
        {
            put_name(&mut payload, database)?;
        }
        put_name(&mut payload, self.plugin.name())?;
        if self.capabilities & CLIENT_CONNECT_ATTRS != 0 {
            handshake::put_attributes(&mut payload);
        }
        self.send(out, &payload);
        self.phase = Phase::Authentication;
        Ok(())
    }

    fn authenticate(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        match payload {
            [response::OK, ..] => {
                self.phase = Phase::Ready;
                Ok(())
            }
            [response::ERR, ..] => Err(refused(payload)),
            [response::EOF] => Err(self.unknown_plugin("mysql_old_password")),
            [response::EOF, request @ ..] => self.switch(request, out),
            [AUTH_MORE_DATA, data @ ..] => self.more_data(data, out),
            _ => Err(WireError::protocol(
                "the server sent what is no part of a login",
            )),
        }
    }

    /// AuthSwitchRequest: the account has another plugin than most.
    fn switch(&mut self, request: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let mut cursor = Cursor::new(request);
        let name = cursor.until_nul()?;
        let Some(plugin) = Plugin::named(name) else {
            return Err(self.unknown_plugin(&String::from_utf8_lossy(name)));
        };
        self.plugin = plugin;
        self.key_requested = false;
        self.handshake.nonce = handshake::without_nul(cursor.rest()).to_vec();
        let proof = self.proof()?;
        self.send(out, &proof);
        Ok(())
    }

    /// AuthMoreData: how caching_sha2_password goes on, or the RSA key that was asked for.
    fn more_data(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        if self.key_requested {
            self.key_requested = false;
            let password = self.password.expose();
            let sent = auth::encrypted(password, &self.handshake.nonce, data)?;
            self.send(out, &sent);
            return Ok(());
        }
        match (self.plugin, data) {
            (Plugin::CachingSha2, FAST_AUTH_SUCCESS) => Ok(()),
            (Plugin::CachingSha2, PERFORM_FULL_AUTHENTICATION) => {
                if self.is_secure() {
                    let sent = auth::clear_text(self.password.expose());
                    self.send(out, &sent);
                } else {
                    self.key_requested = true;
                    self.send(out, &[REQUEST_PUBLIC_KEY]);
                }
                Ok(())
            }
            _ => Err(WireError::protocol(format!(
                "the server went on with {} in a way that is not known here",
                self.plugin.name()
            ))),
        }
    }

    /// What the plugin sends first.
    fn proof(&mut self) -> Result<Vec<u8>, WireError> {
        let password = self.password.expose();
        let nonce = &self.handshake.nonce;
        match self.plugin {
            Plugin::Native | Plugin::CachingSha2 if password.is_empty() => Ok(Vec::new()),
            Plugin::Native => Ok(auth::native(password, nonce).to_vec()),
            Plugin::CachingSha2 => Ok(auth::caching_sha2(password, nonce).to_vec()),
            // Its server side takes no clear text on a unix socket.
            Plugin::Sha256 if password.is_empty() || self.encrypted => {
                Ok(auth::clear_text(password))
            }
            Plugin::Sha256 => {
                self.key_requested = true;
                Ok(vec![SHA256_REQUEST_PUBLIC_KEY])
            }
            Plugin::ClearText if self.is_secure() => Ok(auth::clear_text(password)),
            Plugin::ClearText => Err(WireError::Authentication(format!(
                "the account uses {}, which would show the password to everybody on the way: \
                 connect over TLS",
                self.plugin.name()
            ))),
        }
    }

    fn is_secure(&self) -> bool {
        self.encrypted || self.secure_transport
    }

    fn unknown_plugin(&self, name: &str) -> WireError {
        let instead = match self.handshake.server.flavour {
            Flavour::MySql => Plugin::CachingSha2,
            Flavour::MariaDb => Plugin::Native,
        };
        WireError::Authentication(format!(
            "the account uses {name}, which is not spoken here: use one with {}",
            instead.name()
        ))
    }
}

/// Whatever the reason, a server that refuses a login closes the connection.
fn refused(payload: &[u8]) -> WireError {
    match response::err(payload) {
        Ok(mut error) => {
            error.fatal = true;
            error.into()
        }
        Err(error) => error,
    }
}

fn put_name(out: &mut Vec<u8>, name: &str) -> Result<(), WireError> {
    if name.contains('\0') {
        return Err(WireError::Authentication(format!(
            "{name:?} is no name, because of its zero byte"
        )));
    }
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    Ok(())
}

#[cfg(test)]
#[path = "login_tests.rs"]
mod tests;
