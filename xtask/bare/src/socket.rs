//! A blocking socket with a buffer that whole messages are taken out of.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

/// Room for the answers that are read here, several times over.
const BUFFER: usize = 16 << 10;

trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

pub(crate) struct Socket {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    /// What was read and not taken yet.
    begin: usize,
    end: usize,
}

impl Socket {
    /// A path begins with a slash; all else is HOST:PORT.
    pub(crate) fn connect(address: &str) -> io::Result<Self> {
        if address.starts_with('/') {
            return UnixStream::connect(address).map(Self::over);
        }
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self::over(stream))
    }

    pub(crate) fn over(stream: impl Read + Write + Send + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            buffer: vec![0; BUFFER],
            begin: 0,
            end: 0,
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The next so many bytes.
    pub(crate) fn take(&mut self, length: usize) -> io::Result<&[u8]> {
        while self.end - self.begin < length {
            self.fill(length)?;
        }
        let from = self.begin;
        self.begin += length;
        Ok(&self.buffer[from..from + length])
    }

    fn fill(&mut self, length: usize) -> io::Result<()> {
        self.buffer.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        let read = self.stream.read(&mut self.buffer[self.end..])?;
        if read == 0 {
            let why = "the server closed the connection";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        self.end += read;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn both_kinds_of_address_are_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut socket = Socket::connect(&address).unwrap();
        listener.accept().unwrap().0.write_all(b"tcp").unwrap();
        assert_eq!(socket.take(3).unwrap(), b"tcp");
        let missing = Socket::connect("/nowhere/socket").err().unwrap();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn messages_come_whole_however_they_were_cut() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut socket = Socket::over(ours);
        theirs.write_all(b"abc").unwrap();
        assert_eq!(socket.take(2).unwrap(), b"ab");
        theirs.write_all(b"def").unwrap();
        assert_eq!(socket.take(4).unwrap(), b"cdef");
        assert_eq!(socket.take(0).unwrap(), b"");
        // More than the buffer has room for.
        let large = vec![7; 3 * BUFFER];
        let sent = large.clone();
        let writer = std::thread::spawn(move || theirs.write_all(&sent));
        assert_eq!(socket.take(large.len()).unwrap(), large);
        writer.join().unwrap().unwrap();
        let closed = socket.take(1).unwrap_err();
        assert_eq!(closed.kind(), io::ErrorKind::UnexpectedEof);
    }
}
