//! The sockets that a listener accepts from: a port, or a socket of the file system.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mio::event::Source;
use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};

pub(super) use system::LocalListener;

/// A listening socket. The thread that closes its listener closes it at once, as a port is free when
/// `close()` returns. Dropped, it closes too.
///
/// The lock is held for one call that does not block.
pub(super) struct Door(Arc<Mutex<Option<Watched>>>);

/// Closes the socket of a listener, from any thread.
pub struct Closer(Weak<Mutex<Option<Watched>>>);

struct Watched {
    socket: ListeningSocket,
    /// The poll that watches the socket. Another process can have the socket too, and then it stays in
    /// the poll when it is closed here.
    poll: Option<Registry>,
}

/// Accepted connections are `TcpStream`s either way: they are read and written alike, and calls for
/// TCP alone fail harmlessly on the others.
pub(super) enum ListeningSocket {
    Tcp(TcpListener),
    Local(LocalListener),
}

impl Door {
    pub(super) fn new(socket: ListeningSocket) -> Self {
        Self(Arc::new(Mutex::new(Some(Watched { socket, poll: None }))))
    }

    pub(super) fn closer(&self) -> Closer {
        Closer(Arc::downgrade(&self.0))
    }

    /// # Errors
    /// The system's; `NotConnected` if it is closed.
    pub(super) fn watch(&self, poll: &Registry, token: Token) -> io::Result<()> {
        let mut watched = lock(&self.0);
        let watched = watched.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        poll.register(watched.socket.source(), token, Interest::READABLE)?;
        watched.poll = poll.try_clone().ok();
        Ok(())
    }

    /// The next connection, and its peer's address if it has one.
    ///
    /// # Errors
    /// The system's; `WouldBlock` when there is none, or the socket is closed.
    pub(super) fn accept(&self) -> io::Result<(TcpStream, Option<SocketAddr>)> {
        match lock(&self.0).as_ref().map(|watched| &watched.socket) {
            Some(ListeningSocket::Tcp(listener)) => {
                listener.accept().map(|(stream, peer)| (stream, Some(peer)))
            }
            Some(ListeningSocket::Local(listener)) => listener.accept().map(|stream| (stream, None)),
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    #[cfg(test)]
    pub(super) fn duplicate(&self) -> socket2::Socket {
        match lock(&self.0).as_ref().map(|watched| &watched.socket) {
            Some(ListeningSocket::Tcp(listener)) => socket2::SockRef::from(listener).try_clone().unwrap(),
            _ => unreachable!("no port"),
        }
    }
}

impl Closer {
    /// Another descriptor of the socket, which stays open.
    ///
    /// # Errors
    /// The system's; `NotConnected` if it is closed.
    #[cfg(unix)]
    pub fn duplicate(&self) -> io::Result<std::os::fd::OwnedFd> {
        use std::os::fd::AsFd as _;
        let door = self.0.upgrade().ok_or(io::ErrorKind::NotConnected)?;
        let watched = lock(&door);
        match watched.as_ref().map(|watched| &watched.socket) {
            Some(ListeningSocket::Tcp(listener)) => listener.as_fd().try_clone_to_owned(),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// The port is free, and the file of the socket is gone, when this returns.
    pub fn close(&self) {
        // If the reactor has ended, so has the socket.
        let watched = self.0.upgrade().and_then(|door| lock(&door).take());
        drop(watched);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(poll) = &self.poll {
            let _closed_next = poll.deregister(self.socket.source());
        }
    }
}

/// A panic leaves the socket as it was: each change is one store.
fn lock(door: &Mutex<Option<Watched>>) -> MutexGuard<'_, Option<Watched>> {
    door.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ListeningSocket {
    fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(listener) => listener,
            Self::Local(listener) => listener.source(),
        }
    }
}

#[cfg(unix)]
mod system {
    use std::fs;
    use std::io::{self, ErrorKind};
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::path::{Path, PathBuf};

    use mio::event::Source;
    use mio::net::{TcpStream, UnixListener};
    use socket2::{Domain, SockAddr, SockRef, Socket, Type};

    pub(in crate::reactor::listen) struct LocalListener {
        socket: UnixListener,
        _file: Option<OwnFile>,
    }

    struct OwnFile {
        path: PathBuf,
        /// Device and inode.
        identity: (u64, u64),
    }

    impl LocalListener {
        pub(in crate::reactor::listen) fn bind(
            path: &Path,
            mode: Option<u32>,
            backlog: i32,
        ) -> io::Result<Self> {
            // socket2 takes an empty path for a socket without a name; systems end a path at a zero
            // byte.
            let bytes = path.as_os_str().as_bytes();
            if bytes.is_empty() || bytes.contains(&0) {
                return Err(ErrorKind::InvalidInput.into());
            }
            let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
            socket.set_nonblocking(true)?;
            socket.bind(&SockAddr::unix(path)?)?;
            // From here on the file goes with the listener.
            let file = identity(path).map(|identity| OwnFile { path: path.to_owned(), identity });
            let listener = Self { _file: file, ..Self::take(socket) };
            // Before it listens, so no user connects by permissions that were not meant.
            if let Some(mode) = mode {
                fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
            }
            SockRef::from(&listener.socket).listen(backlog)?;
            Ok(listener)
        }

        /// The file belongs to another process.
        pub(in crate::reactor::listen) fn take(socket: Socket) -> Self {
            Self { socket: OwnedFd::from(socket).into(), _file: None }
        }

        pub(in crate::reactor::listen) fn accept(&self) -> io::Result<TcpStream> {
            let (stream, _peer_without_a_name) = self.socket.accept()?;
            Ok(OwnedFd::from(stream).into())
        }

        pub(in crate::reactor::listen) fn source(&mut self) -> &mut dyn Source {
            &mut self.socket
        }
    }

    impl Drop for OwnFile {
        /// Removes the file, as Node does, unless another one has taken its place.
        fn drop(&mut self) {
            if identity(&self.path) == Some(self.identity) {
                let _gone_anyway = fs::remove_file(&self.path);
            }
        }
    }

    fn identity(path: &Path) -> Option<(u64, u64)> {
        fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
    }
}

/// Elsewhere there is no such socket: Node's own server listens on a pipe.
#[cfg(not(unix))]
mod system {
    use std::io::{self, ErrorKind};
    use std::path::Path;

    use mio::event::Source;
    use mio::net::TcpStream;

    pub(in crate::reactor::listen) enum LocalListener {}

    impl LocalListener {
        pub(in crate::reactor::listen) fn bind(
            _path: &Path,
            _mode: Option<u32>,
            _backlog: i32,
        ) -> io::Result<Self> {
            Err(ErrorKind::Unsupported.into())
        }

        pub(in crate::reactor::listen) fn accept(&self) -> io::Result<TcpStream> {
            match *self {}
        }

        pub(in crate::reactor::listen) fn source(&mut self) -> &mut dyn Source {
            match *self {}
        }
    }
}
