//! Listening sockets before a reactor has them: bound at once, or given by another process.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use crate::bridge::layout::BACKLOG;

use super::door::{Closer, Door, ListeningSocket, LocalListener};

/// Whether accepted sockets inherit the options of their listener.
pub(in crate::reactor) const INHERITS: bool = cfg!(target_os = "linux");

#[derive(Debug, Clone, Copy)]
pub struct ListenAddress {
    /// `None`: all addresses; IPv6 and IPv4 in one socket if the system has IPv6, as in Node.
    pub host: Option<IpAddr>,
    /// 0 = the system chooses.
    pub port: u16,
    /// Connections that can wait to be accepted. Default: 4096.
    pub backlog: i32,
    pub ipv6_only: bool,
    /// Other sockets with this might have the same port, and the system spreads connections over
    /// them. Default: false.
    pub reuse_port: bool,
    pub tcp: TcpOptions,
}

impl Default for ListenAddress {
    fn default() -> Self {
        Self {
            host: None,
            port: 0,
            backlog: BACKLOG,
            ipv6_only: false,
            reuse_port: false,
            tcp: TcpOptions::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpOptions {
    /// Small writes leave at once (TCP_NODELAY). Default: true.
    pub no_delay: bool,
    /// Silence after which the system probes a peer (SO_KEEPALIVE); zero: the system's time.
    /// Default: `None`, no probes.
    pub keep_alive: Option<Duration>,
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self { no_delay: true, keep_alive: None }
    }
}

impl TcpOptions {
    /// The options to set on each accepted socket. `taken`: the listener comes from another
    /// process, and connections might have waited there before these options were known.
    pub fn after_accept(self, taken: bool) -> Option<Self> {
        (!INHERITS || taken).then_some(self)
    }

    /// A socket that refuses them is no TCP socket, or dead, as the first read will report.
    pub(in crate::reactor) fn apply(self, stream: &TcpStream) {
        let _dead_anyway = self.set(&SockRef::from(stream));
    }

    fn set(self, socket: &Socket) -> io::Result<()> {
        socket.set_tcp_nodelay(self.no_delay)?;
        self.keep_alive.map_or(Ok(()), |after| probe(socket, after))
    }
}

/// `after`: as in [`TcpOptions`].
pub(in crate::reactor) fn probe(socket: &Socket, after: Duration) -> io::Result<()> {
    match after {
        Duration::ZERO => socket.set_keepalive(true),
        idle => socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(idle)),
    }
}

/// A socket that listens and has no reactor yet.
pub struct BoundListener {
    pub(super) socket: Door,
    address: Option<SocketAddr>,
    path: Option<PathBuf>,
}

impl BoundListener {
    /// Binds and listens.
    ///
    /// # Errors
    /// The system's: the address is in use, is not ours, or is not allowed; `Unsupported` for
    /// `reuse_port` where the system does not spread connections.
    pub fn bind(address: &ListenAddress) -> io::Result<Self> {
        match address.host {
            Some(host) => Self::bind_to(SocketAddr::new(host, address.port), address),
            None => {
                let any = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), address.port);
                Self::bind_to(any, address).or_else(|error| match error.kind() {
                    ErrorKind::AddrInUse | ErrorKind::PermissionDenied | ErrorKind::Unsupported => Err(error),
                    // No IPv6 on this machine.
                    _ => Self::bind_to(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port), address),
                })
            }
        }
    }

    /// Listens on a socket of the file system, which is removed when the listener closes. `mode`:
    /// its permissions; a user who can write to it can connect.
    ///
    /// # Errors
    /// The system's: there is such a file, or it cannot be made; `Unsupported` elsewhere than on
    /// Unix.
    pub fn bind_path(path: &Path, mode: Option<u32>, backlog: i32) -> io::Result<Self> {
        let socket = LocalListener::bind(path, mode, backlog)?;
        Ok(Self::local(socket, Some(path.to_owned())))
    }

    /// Listens on a socket that another process has bound.
    ///
    /// # Errors
    /// `InvalidInput`: it is not a socket that can listen. Else the system's.
    #[cfg(unix)]
    pub fn take(descriptor: std::os::fd::OwnedFd, backlog: i32) -> io::Result<Self> {
        let socket = Socket::from(descriptor);
        if socket.r#type()? != Type::STREAM {
            return Err(ErrorKind::InvalidInput.into());
        }
        let at = socket.local_addr()?;
        if at.as_socket().is_none() && !at.is_unix() {
            return Err(ErrorKind::InvalidInput.into());
        }
        socket.set_nonblocking(true)?;
        socket.listen(backlog)?;
        Ok(match at.as_socket() {
            Some(address) => Self::over(TcpListener::from_std(socket.into()), address),
            None => Self::local(LocalListener::take(socket), at.as_pathname().map(Path::to_owned)),
        })
    }

    /// `0.0.0.0:0` for a socket of the file system.
    pub fn address(&self) -> SocketAddr {
        self.address.unwrap_or_else(|| SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0))
    }

    /// `None` for an address, and for a socket without a name.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// For the thread that closes the listener.
    pub fn closer(&self) -> Closer {
        self.socket.closer()
    }

    pub fn is_tcp(&self) -> bool {
        self.address.is_some()
    }

    fn bind_to(at: SocketAddr, address: &ListenAddress) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
        if at.is_ipv6() {
            socket.set_only_v6(address.ipv6_only)?;
        }
        // On Windows this option would let two servers share a port.
        #[cfg(not(windows))]
        socket.set_reuse_address(true)?;
        if address.reuse_port {
            share_port(&socket)?;
        }
        socket.set_nonblocking(true)?;
        if INHERITS {
            address.tcp.set(&socket)?;
        }
        socket.bind(&at.into())?;
        socket.listen(address.backlog)?;
        let socket = TcpListener::from_std(socket.into());
        let address = socket.local_addr()?;
        Ok(Self::over(socket, address))
    }

    fn over(socket: TcpListener, address: SocketAddr) -> Self {
        Self { socket: Door::new(ListeningSocket::Tcp(socket)), address: Some(address), path: None }
    }

    fn local(socket: LocalListener, path: Option<PathBuf>) -> Self {
        Self { socket: Door::new(ListeningSocket::Local(socket)), address: None, path }
    }
}

/// Only where the system spreads connections; elsewhere the last one to bind would get them all.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn share_port(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_port(true)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn share_port(_socket: &Socket) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}
