//! What a server says of itself first, and what is agreed on with it.

use super::packet::{Cursor, put_lenenc_bytes};
use crate::wire::WireError;

const PROTOCOL_VERSION: u8 = 10;

/// Set by MySQL (as CLIENT_LONG_PASSWORD), and by no MariaDB that has capabilities of its own.
pub(super) const CLIENT_MYSQL: u32 = 1;
pub(super) const CLIENT_CONNECT_WITH_DB: u32 = 1 << 3;
const CLIENT_LOCAL_FILES: u32 = 1 << 7;
const CLIENT_PROTOCOL_41: u32 = 1 << 9;
pub(super) const CLIENT_SSL: u32 = 1 << 11;
const CLIENT_TRANSACTIONS: u32 = 1 << 13;
const CLIENT_SECURE_CONNECTION: u32 = 1 << 15;
const CLIENT_MULTI_STATEMENTS: u32 = 1 << 16;
const CLIENT_MULTI_RESULTS: u32 = 1 << 17;
const CLIENT_PS_MULTI_RESULTS: u32 = 1 << 18;
const CLIENT_PLUGIN_AUTH: u32 = 1 << 19;
pub(super) const CLIENT_CONNECT_ATTRS: u32 = 1 << 20;
const CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA: u32 = 1 << 21;
pub(super) const CLIENT_DEPRECATE_EOF: u32 = 1 << 24;

/// Of MariaDB's extended capabilities, which are bits 32 to 63.
pub(super) const MARIADB_CLIENT_CACHE_METADATA: u32 = 1 << 4;

/// CLIENT_FOUND_ROWS is not among them: rows affected are rows changed.
const WANTED: u32 = CLIENT_MYSQL
    | CLIENT_LOCAL_FILES
    | CLIENT_PROTOCOL_41
    | CLIENT_TRANSACTIONS
    | CLIENT_SECURE_CONNECTION
    | CLIENT_MULTI_STATEMENTS
    | CLIENT_MULTI_RESULTS
    | CLIENT_PS_MULTI_RESULTS
    | CLIENT_PLUGIN_AUTH
    | CLIENT_CONNECT_ATTRS
    | CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
    | CLIENT_DEPRECATE_EOF;

const NEEDED: u32 = CLIENT_PROTOCOL_41 | CLIENT_PLUGIN_AUTH;

/// Of one payload; more than any server takes.
const MAX_PACKET_SIZE: u32 = 1 << 30;
/// The first collation of utf8mb4 that every version knows.
const UTF8MB4_GENERAL_CI: u8 = 45;

/// Before MariaDB's version up to 10, for old replicas.
const REPLICATION_PREFIX: &str = "5.5.5-";

/// Which server it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Server {
    /// Such as `8.4.6` or `11.8.3-MariaDB-log`.
    pub version: String,
    pub flavour: Flavour,
    /// What KILL and the process list call the connection.
    pub connection_id: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flavour {
    #[default]
    MySql,
    MariaDb,
}

/// The first packet of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Handshake {
    pub(super) server: Server,
    pub(super) capabilities: u32,
    /// MariaDB's own.
    pub(super) extended: u32,
    pub(super) nonce: Vec<u8>,
    /// The authentication plugin that most accounts have.
    pub(super) plugin: Vec<u8>,
}

impl Handshake {
    /// # Errors
    /// The packet is none of this protocol, or of a server older than those that are spoken to.
    pub(super) fn parse(payload: &[u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(payload);
        let protocol = cursor.u8()?;
        if protocol != PROTOCOL_VERSION {
            return Err(WireError::protocol(format!(
                "the server speaks version {protocol} of the protocol, and {PROTOCOL_VERSION} \
                 is spoken here: is it MySQL?"
            )));
        }
        let version = String::from_utf8_lossy(cursor.until_nul()?);
        let connection_id = cursor.u32()?;
        let mut nonce = cursor.bytes(8)?.to_vec();
        let _filler = cursor.u8()?;
        let low = cursor.u16()?;
        let _character_set = cursor.u8()?;
        let _status = cursor.u16()?;
        let high = cursor.u16()?;
        let capabilities = (u32::from(high) << 16) | u32::from(low);
        if capabilities & NEEDED != NEEDED {
            return Err(WireError::protocol(format!(
                "the server, version {version}, is too old: MySQL 8.0 or MariaDB 10.6 is needed"
            )));
        }
        let nonce_length = usize::from(cursor.u8()?);
        let _reserved = cursor.bytes(6)?;
        let extended = cursor.u32()?;
        nonce.extend_from_slice(cursor.bytes(nonce_length.saturating_sub(8).max(13))?);
        let plugin = cursor.until_nul()?.to_vec();
        let mysql = capabilities & CLIENT_MYSQL != 0;
        Ok(Self {
            server: server(&version, mysql, connection_id),
            capabilities,
            extended: if mysql { 0 } else { extended },
            nonce: without_nul(&nonce).to_vec(),
            plugin,
        })
    }

    /// What both sides can do, the second part MariaDB's own.
    pub(super) fn agreed(&self, with_database: bool, tls: bool) -> (u32, u32) {
        let mut wanted = WANTED;
        if with_database {
            wanted |= CLIENT_CONNECT_WITH_DB;
        }
        if tls {
            wanted |= CLIENT_SSL;
        }
        (
            wanted & self.capabilities,
            MARIADB_CLIENT_CACHE_METADATA & self.extended,
        )
    }
}

/// A nonce is sent with a zero behind it, which is no part of it.
pub(super) fn without_nul(nonce: &[u8]) -> &[u8] {
    nonce.strip_suffix(b"\0").unwrap_or(nonce)
}

fn server(version: &str, mysql: bool, connection_id: u32) -> Server {
    let bare = version.strip_prefix(REPLICATION_PREFIX);
    let is_mariadb = !mysql || bare.is_some() || version.to_lowercase().contains("mariadb");
    Server {
        version: bare.unwrap_or(version).to_owned(),
        flavour: if is_mariadb {
            Flavour::MariaDb
        } else {
            Flavour::MySql
        },
        connection_id,
    }
}

/// Appends the part that SSLRequest consists of, and that the handshake response begins with.
pub(super) fn put_client(out: &mut Vec<u8>, capabilities: u32, extended: u32) {
    out.extend_from_slice(&capabilities.to_le_bytes());
    out.extend_from_slice(&MAX_PACKET_SIZE.to_le_bytes());
    out.push(UTF8MB4_GENERAL_CI);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&extended.to_le_bytes());
}

/// Appends what the server shows in its table of connection attributes.
pub(super) fn put_attributes(out: &mut Vec<u8>) {
    let mut attributes = Vec::new();
    put_lenenc_bytes(&mut attributes, b"program_name");
    put_lenenc_bytes(&mut attributes, b"dbdyno");
    put_lenenc_bytes(out, &attributes);
}

#[cfg(test)]
mod tests {
    use super::super::testing::greeting;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_handshake_of_mysql() {
        let payload = greeting("8.4.6", 0xdfff_f7ff, 0, b"caching_sha2_password");
        let handshake = Handshake::parse(&payload).unwrap();
        let server = Server {
            version: "8.4.6".to_owned(),
            flavour: Flavour::MySql,
            connection_id: 0x0403_0201,
        };
        assert_eq!(handshake.server, server);
        assert_eq!(handshake.capabilities, 0xdfff_f7ff);
        assert_eq!(handshake.nonce, (1..=20).collect::<Vec<u8>>());
        assert_eq!(handshake.plugin, b"caching_sha2_password");
        assert_eq!(handshake.agreed(true, true), (0x013f_a289, 0));
        assert_eq!(handshake.agreed(false, false), (0x013f_a281, 0));
    }

    #[test]
    fn a_handshake_of_mariadb() {
        for (version, shown) in [
            ("5.5.5-10.6.22-MariaDB-log", "10.6.22-MariaDB-log"),
            ("12.0.2-MariaDB", "12.0.2-MariaDB"),
            ("11.4.8-custom", "11.4.8-custom"),
        ] {
            let payload = greeting(version, 0xffff_fffe, 0x3d, b"mysql_native_password");
            let handshake = Handshake::parse(&payload).unwrap();
            assert_eq!(handshake.server.version, shown);
            assert_eq!(handshake.server.flavour, Flavour::MariaDb);
            assert_eq!(handshake.agreed(true, false), (0x013f_a288, 0x10));
            assert_eq!(handshake.agreed(false, true), (0x013f_aa80, 0x10));
        }
        let without_cache = greeting("11.4.8-MariaDB", 0xffff_fffe, 0x0d, b"");
        let handshake = Handshake::parse(&without_cache).unwrap();
        assert_eq!(handshake.agreed(false, false).1, 0);
    }

    #[test]
    fn what_is_reserved_is_not_read_as_mariadbs() {
        let payload = greeting("8.0.44", 0xffff_ffff, 0x10, b"caching_sha2_password");
        let handshake = Handshake::parse(&payload).unwrap();
        assert_eq!(handshake.agreed(false, false).1, 0);
    }

    #[test]
    fn other_protocols_are_refused() {
        let mut payload = greeting("8.4.6", 0xffff_ffff, 0, b"x");
        payload[0] = 9;
        let error = Handshake::parse(&payload).unwrap_err();
        assert!(error.to_string().contains("version 9"));
        let old = greeting("5.1.1", 0x0000_a23f, 0, b"x");
        let error = Handshake::parse(&old).unwrap_err();
        assert!(error.to_string().contains("too old"));
        let payload = greeting("8.4.6", 0xffff_ffff, 0, b"x");
        for length in 0..payload.len() {
            assert!(Handshake::parse(&payload[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            mut payload in prop::collection::vec(any::<u8>(), 1..90),
            known in any::<bool>(),
        ) {
            if known {
                payload[0] = PROTOCOL_VERSION;
            }
            if let Ok(handshake) = Handshake::parse(&payload) {
                prop_assert!(handshake.nonce.len() >= 20);
            }
        }
    }
}
