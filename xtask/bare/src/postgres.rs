//! PostgreSQL's protocol, as far as a prepared point select needs it.

use std::io;

use crate::Connection;
use crate::socket::Socket;

/// 3.0.
const PROTOCOL: i32 = 196_608;
/// The oid of `integer`.
const INT4: i32 = 23;
const BINARY: i16 = 1;

pub(crate) struct Postgres {
    socket: Socket,
    queries: Vec<Query>,
}

/// Bind, Execute and Sync, with a place for the id.
struct Query {
    bytes: Vec<u8>,
    id: usize,
}

impl Postgres {
    pub(crate) fn open(address: &str, user: &str, database: &str, tables: u32) -> io::Result<Self> {
        let mut socket = Socket::connect(address)?;
        socket.send(&startup(user, database))?;
        until_ready(&mut socket)?;
        for table in 1..=tables {
            socket.send(&prepare(table))?;
            until_ready(&mut socket)?;
        }
        Ok(Self {
            socket,
            queries: (1..=tables).map(query).collect(),
        })
    }
}

impl Connection for Postgres {
    fn select(&mut self, table: usize, id: i32) -> io::Result<()> {
        let query = &mut self.queries[table];
        query.bytes[query.id..query.id + 4].copy_from_slice(&id.to_be_bytes());
        self.socket.send(&query.bytes)?;
        until_ready(&mut self.socket)
    }
}

fn until_ready(socket: &mut Socket) -> io::Result<()> {
    loop {
        let head = socket.take(5)?;
        let kind = head[0];
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let body = socket.take((length as usize).saturating_sub(4))?;
        match kind {
            b'Z' => return Ok(()),
            b'E' => {
                let fields = String::from_utf8_lossy(body).replace('\0', " ");
                return Err(io::Error::other(fields));
            }
            b'R' if body != [0_u8; 4] => {
                return Err(io::Error::other("the server asks for a password"));
            }
            _ => {}
        }
    }
}

fn startup(user: &str, database: &str) -> Vec<u8> {
    let mut body = PROTOCOL.to_be_bytes().to_vec();
    for word in ["user", user, "database", database, ""] {
        put_text(&mut body, word);
    }
    with_length(&[], &body)
}

/// Parse and Sync.
fn prepare(table: u32) -> Vec<u8> {
    let mut body = Vec::new();
    put_text(&mut body, &name(table));
    put_text(
        &mut body,
        &format!("SELECT c FROM sbtest{table} WHERE id = $1"),
    );
    body.extend(1_i16.to_be_bytes());
    body.extend(INT4.to_be_bytes());
    [with_length(b"P", &body), with_length(b"S", &[])].concat()
}

fn query(table: u32) -> Query {
    let mut bind = Vec::new();
    put_text(&mut bind, "");
    put_text(&mut bind, &name(table));
    // Formats of the parameters, then the parameters.
    for count_and_format in [1, BINARY, 1] {
        bind.extend(count_and_format.to_be_bytes());
    }
    bind.extend(4_i32.to_be_bytes());
    // Behind the kind and the length of the message.
    let id = 5 + bind.len();
    bind.extend(0_i32.to_be_bytes());
    for count_and_format in [1, BINARY] {
        bind.extend(count_and_format.to_be_bytes());
    }
    let mut execute = Vec::new();
    put_text(&mut execute, "");
    // All rows.
    execute.extend(0_i32.to_be_bytes());
    let messages = [
        with_length(b"B", &bind),
        with_length(b"E", &execute),
        with_length(b"S", &[]),
    ];
    Query {
        bytes: messages.concat(),
        id,
    }
}

fn name(table: u32) -> String {
    format!("s{table}")
}

fn put_text(body: &mut Vec<u8>, text: &str) {
    body.extend(text.as_bytes());
    body.push(0);
}

/// The length counts itself and what follows, not the kind.
fn with_length(kind: &[u8], body: &[u8]) -> Vec<u8> {
    let length = body.len() as u32 + 4;
    [kind, &length.to_be_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn messages_are_laid_out_as_the_protocol_says() {
        assert_eq!(
            startup("u", "d"),
            b"\0\0\0\x1b\0\x03\0\0user\0u\0database\0d\0\0"
        );
        assert_eq!(
            prepare(2),
            b"P\0\0\0\x31s2\0SELECT c FROM sbtest2 WHERE id = $1\0\0\x01\0\0\0\x17S\0\0\0\x04"
        );
        let query = query(1);
        assert_eq!(
            query.bytes,
            b"B\0\0\0\x1a\0s1\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\0\0\x01\0\x01\
              E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04"
        );
        assert_eq!(query.bytes[query.id - 4..query.id], [0, 0, 0, 4]);
    }

    #[test]
    fn an_error_is_told_and_a_password_refused() {
        let read = |bytes: &[u8]| {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(bytes).unwrap();
            until_ready(&mut Socket::over(ours))
        };
        assert!(read(b"C\0\0\0\x05\0Z\0\0\0\x05I").is_ok());
        assert!(read(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").is_ok());
        let error = read(b"E\0\0\0\x0aMwhy\0\0").unwrap_err();
        assert!(error.to_string().contains("why"), "{error}");
        let error = read(b"R\0\0\0\x08\0\0\0\x03").unwrap_err();
        assert!(error.to_string().contains("password"), "{error}");
    }
}
