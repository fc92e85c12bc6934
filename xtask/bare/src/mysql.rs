//! MySQL's protocol, as far as a prepared point select by a user without a password needs it.

use std::io;

use crate::Connection;
use crate::socket::Socket;

const PROTOCOL: u8 = 10;

/// CLIENT_LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, SECURE_CONNECTION and PLUGIN_AUTH.
const CAPABILITIES: u32 = 1 | (1 << 3) | (1 << 9) | (1 << 15) | (1 << 19);
const MAX_PACKET: u32 = 1 << 24;
/// utf8mb4_general_ci.
const COLLATION: u8 = 45;

const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
/// The type of an INT.
const TYPE_LONG: u8 = 3;

const OK: u8 = 0;
const EOF: u8 = 0xfe;
const ERROR: u8 = 0xff;

pub(crate) struct MySql {
    socket: Socket,
    queries: Vec<Query>,
}

/// COM_STMT_EXECUTE, with a place for the id at its end.
struct Query(Vec<u8>);

impl MySql {
    pub(crate) fn open(address: &str, user: &str, database: &str, tables: u32) -> io::Result<Self> {
        let mut socket = Socket::connect(address)?;
        let greeting = packet(&mut socket)?;
        match greeting.first() {
            Some(&PROTOCOL) => {}
            Some(&ERROR) => return Err(told(greeting)),
            _ => return Err(io::Error::other("the server does not greet as MySQL does")),
        }
        socket.send(&framed(1, &response(user, database)))?;
        let mut answer = packet(&mut socket)?;
        if answer.first() == Some(&EOF) {
            // Another plugin: to each of them, no password is an empty packet.
            socket.send(&framed(3, &[]))?;
            answer = packet(&mut socket)?;
        }
        if answer.first() != Some(&OK) {
            return Err(told(answer));
        }
        let queries = (1..=tables)
            .map(|table| prepare(&mut socket, table))
            .collect::<io::Result<_>>()?;
        Ok(Self { socket, queries })
    }
}

impl Connection for MySql {
    fn select(&mut self, table: usize, id: i32) -> io::Result<()> {
        let Query(bytes) = &mut self.queries[table];
        let place = bytes.len() - 4;
        bytes[place..].copy_from_slice(&id.to_le_bytes());
        self.socket.send(bytes)?;
        let head = packet(&mut self.socket)?;
        let columns = match head {
            [ERROR, ..] => return Err(told(head)),
            [columns, ..] => *columns,
            [] => return Err(io::Error::other("an empty packet")),
        };
        for _ in 0..columns {
            packet(&mut self.socket)?;
        }
        until_end(&mut self.socket)?;
        until_end(&mut self.socket)
    }
}

/// To the packet that ends the columns, or the rows.
fn until_end(socket: &mut Socket) -> io::Result<()> {
    loop {
        let packet = packet(socket)?;
        match packet {
            [EOF, ..] if packet.len() < 9 => return Ok(()),
            [ERROR, ..] => return Err(told(packet)),
            _ => {}
        }
    }
}

fn prepare(socket: &mut Socket, table: u32) -> io::Result<Query> {
    let sql = format!("SELECT c FROM sbtest{table} WHERE id = ?");
    socket.send(&framed(0, &[&[COM_STMT_PREPARE], sql.as_bytes()].concat()))?;
    let answer = packet(socket)?;
    let &[OK, a, b, c, d, ..] = answer else {
        return Err(told(answer));
    };
    let id = u32::from_le_bytes([a, b, c, d]);
    // The parameter, then the column.
    until_end(socket)?;
    until_end(socket)?;
    Ok(query(id))
}

fn query(id: u32) -> Query {
    let mut body = vec![COM_STMT_EXECUTE];
    body.extend(id.to_le_bytes());
    // No cursor, one execution.
    body.push(0);
    body.extend(1_u32.to_le_bytes());
    // Nothing is null; the types follow.
    body.extend([0, 1, TYPE_LONG, 0]);
    body.extend(0_i32.to_le_bytes());
    Query(framed(0, &body))
}

fn response(user: &str, database: &str) -> Vec<u8> {
    let mut body = CAPABILITIES.to_le_bytes().to_vec();
    body.extend(MAX_PACKET.to_le_bytes());
    body.push(COLLATION);
    body.extend([0; 23]);
    body.extend(user.as_bytes());
    // Its end, and no password.
    body.extend([0, 0]);
    for word in [database, "mysql_native_password"] {
        body.extend(word.as_bytes());
        body.push(0);
    }
    body
}

fn packet(socket: &mut Socket) -> io::Result<&[u8]> {
    let head = socket.take(4)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
    socket.take(length as usize)
}

fn framed(sequence: u8, body: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (body.len() as u32).to_le_bytes();
    [&[a, b, c, sequence], body].concat()
}

/// What an error packet says behind its code.
fn told(packet: &[u8]) -> io::Error {
    let text = packet.get(3..).unwrap_or_default();
    io::Error::other(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn commands_are_laid_out_as_the_protocol_says() {
        let Query(bytes) = query(7);
        assert_eq!(
            bytes,
            b"\x12\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\0\x01\x03\0\0\0\0\0"
        );
        let response = response("u", "d");
        assert_eq!(response[..9], [9, 0x82, 8, 0, 0, 0, 0, 1, 45]);
        assert!(response.ends_with(b"\0u\0\0d\0mysql_native_password\0"));
    }

    #[test]
    fn rows_end_where_the_server_says_so_and_errors_are_told() {
        let read = |packets: &[&[u8]]| {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            for packet in packets {
                theirs.write_all(&framed(0, packet)).unwrap();
            }
            let mut connection = MySql {
                socket: Socket::over(ours),
                queries: vec![query(1)],
            };
            connection.select(0, 5)
        };
        let end: &[u8] = &[EOF, 0, 0, 2, 0];
        assert!(read(&[&[1], b"column", end, &[0, 0, 1, b'x'], end]).is_ok());
        let error = read(&[b"\xff\x10\x04#HY000why"]).unwrap_err();
        assert!(error.to_string().contains("why"), "{error}");
    }
}
