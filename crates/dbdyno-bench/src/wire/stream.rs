//! A socket of a task, plain or under TLS.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with, sockopt,
};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::{Inbound, WireError};
use crate::reactor::Reactor;

/// How long to wait before a full backlog of a unix socket is tried again.
const BACKLOG_PAUSE: Duration = Duration::from_millis(5);

/// Where a server listens, names resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// The socket itself, not its directory.
    Unix(PathBuf),
    /// To be tried in order.
    Tcp(Vec<SocketAddr>),
}

#[derive(Debug)]
pub(crate) struct Stream {
    reactor: Reactor,
    socket: OwnedFd,
    tls: Option<Box<rustls::ClientConnection>>,
    /// Whether a read may find something: it was woken since the last one that came up short.
    readable: bool,
}

impl Stream {
    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    pub(crate) fn reactor(&self) -> &Reactor {
        &self.reactor
    }

    /// # Errors
    /// The server cannot be reached before the deadline: the last address's reason.
    pub(crate) async fn connect(
        reactor: &Reactor,
        endpoint: &Endpoint,
        deadline: Instant,
    ) -> Result<Self, WireError> {
        let failed = WireError::io("connect");
        match endpoint {
            Endpoint::Unix(path) => {
                let address = SocketAddrUnix::new(path).map_err(io::Error::from);
                let address = address.map_err(WireError::io("connect"))?;
                loop {
                    let socket = socket(AddressFamily::UNIX).map_err(WireError::io("connect"))?;
                    match connect(&socket, &address) {
                        Ok(()) => return Self::registered(reactor, socket).map_err(failed),
                        Err(Errno::AGAIN) if Instant::now() < deadline => {
                            reactor.sleep_until(Instant::now() + BACKLOG_PAUSE).await;
                        }
                        Err(error) => return Err(failed(error.into())),
                    }
                }
            }
            Endpoint::Tcp(addresses) => {
                let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
                for address in addresses {
                    match connect_tcp(reactor, address, deadline).await {
                        Ok(stream) => return Ok(stream),
                        Err(error) => last = error,
                    }
                }
                Err(failed(last))
            }
        }
    }

    fn registered(reactor: &Reactor, socket: OwnedFd) -> io::Result<Self> {
        reactor.register(&socket)?;
        Ok(Self {
            reactor: reactor.clone(),
            socket,
            tls: None,
            readable: true,
        })
    }

    /// Encrypts from here on. The handshake itself takes place with the next reads and writes.
    pub(crate) fn start_tls(
        &mut self,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<(), WireError> {
        let tls = rustls::ClientConnection::new(config, name).map_err(WireError::Tls)?;
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Waits until at least one more byte has come.
    pub(crate) async fn read(&mut self, inbound: &mut Inbound) -> Result<(), WireError> {
        if self.tls.is_some() {
            return self.read_tls(inbound).await;
        }
        loop {
            if !std::mem::replace(&mut self.readable, true) {
                self.reactor.pause().await;
            }
            let room = inbound.room();
            let wanted = room.len();
            match recv(&self.socket, room, RecvFlags::empty()) {
                Ok((_, 0)) => return Err(WireError::Closed),
                Ok((_, got)) => {
                    // What came up short has emptied the socket: an edge will tell of more.
                    self.readable = got == wanted;
                    inbound.filled(got);
                    return Ok(());
                }
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(error) => return Err(lost(error, "read from the server")),
            }
        }
    }

    /// Sends all of it.
    pub(crate) async fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), WireError> {
        if self.tls.is_some() {
            return self.write_tls(bytes).await;
        }
        while !bytes.is_empty() {
            match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::AGAIN) => self.writable().await?,
                Err(Errno::INTR) => {}
                Err(error) => return Err(lost(error, "send to the server")),
            }
        }
        Ok(())
    }

    async fn writable(&mut self) -> Result<(), WireError> {
        let want = |wanted| self.reactor.want_write(self.socket.as_fd(), wanted);
        want(true).map_err(WireError::io("send to the server"))?;
        self.reactor.pause().await;
        // The edge may have been the reader's.
        self.readable = true;
        want(false).map_err(WireError::io("send to the server"))
    }

    async fn read_tls(&mut self, inbound: &mut Inbound) -> Result<(), WireError> {
        const OPERATION: &str = "read from the server over TLS";
        loop {
            self.send_tls().await?;
            let Some(tls) = &mut self.tls else {
                return Err(WireError::Closed);
            };
            match tls.reader().read(inbound.room()) {
                Ok(0) => return Err(WireError::Closed),
                Ok(got) => {
                    inbound.filled(got);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(WireError::io(OPERATION)(error)),
            }
            if !std::mem::replace(&mut self.readable, true) {
                self.reactor.pause().await;
            }
            match tls.read_tls(&mut Socket(&self.socket)) {
                Ok(0) => return Err(WireError::Closed),
                Ok(_) => {
                    if let Err(error) = tls.process_new_packets() {
                        // The alert tells the server why.
                        let _ = tls.write_tls(&mut Socket(&self.socket));
                        return Err(WireError::Tls(error));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                Err(error) => return Err(WireError::io(OPERATION)(error)),
            }
        }
    }

    async fn write_tls(&mut self, mut bytes: &[u8]) -> Result<(), WireError> {
        while !bytes.is_empty() {
            let Some(tls) = &mut self.tls else {
                return Err(WireError::Closed);
            };
            let taken = tls.writer().write(bytes);
            bytes = &bytes[taken.map_err(WireError::io("encrypt"))?..];
            self.send_tls().await?;
        }
        Ok(())
    }

    /// Sends what TLS has ready: the handshake's part, or what was written.
    async fn send_tls(&mut self) -> Result<(), WireError> {
        while let Some(tls) = self.tls.as_mut().filter(|tls| tls.wants_write()) {
            match tls.write_tls(&mut Socket(&self.socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable().await?,
                Err(error) => return Err(WireError::io("send to the server over TLS")(error)),
            }
        }
        Ok(())
    }
}

/// For rustls, which wants the standard traits.
struct Socket<'a>(&'a OwnedFd);

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.0, buffer, RecvFlags::empty())?.1)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

async fn connect_tcp(
    reactor: &Reactor,
    address: &SocketAddr,
    deadline: Instant,
) -> io::Result<Stream> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let socket = socket(family)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match connect(&socket, address) {
        Ok(()) => return Stream::registered(reactor, socket),
        Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let stream = Stream::registered(reactor, socket)?;
    reactor.want_write(stream.socket.as_fd(), true)?;
    reactor.wake_at(deadline);
    loop {
        if let Err(error) = sockopt::socket_error(&stream.socket)? {
            return Err(error.into());
        }
        if rustix::net::getpeername(&stream.socket).is_ok() {
            break;
        }
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        reactor.pause().await;
    }
    reactor.want_write(stream.socket.as_fd(), false)?;
    Ok(stream)
}

/// A connection that is reset is as closed as one that ends.
fn lost(error: Errno, operation: &'static str) -> WireError {
    match error {
        Errno::CONNRESET | Errno::PIPE => WireError::Closed,
        error => WireError::io(operation)(error.into()),
    }
}
