//! The sockets that a listener accepts from: a port, or a socket of the file system.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mio::event::Source;
use mio::net::{TcpListener, TcpStream};

pub(super) use system::LocalListener;

/// A listening socket. Accepted connections are `TcpStream`s either way: they are read and written
/// alike, and calls for TCP alone fail harmlessly on the others.
pub(in crate::reactor) struct Door {
    /// Dropped before the socket is closed, after which its number may be another one's.
    known: Option<Known>,
    socket: ListeningSocket,
}

pub(super) enum ListeningSocket {
    Tcp(TcpListener),
    Local(LocalListener),
}

impl Door {
    pub(super) fn new(socket: ListeningSocket) -> Self {
        Self { known: socket.descriptor().map(Known::new), socket }
    }

    /// The next connection, and its peer's address if it has one.
    ///
    /// # Errors
    /// The system's; `WouldBlock` when there is none.
    pub(super) fn accept(&self) -> io::Result<(TcpStream, Option<SocketAddr>)> {
        match &self.socket {
            ListeningSocket::Tcp(listener) => listener.accept().map(|(stream, peer)| (stream, Some(peer))),
            ListeningSocket::Local(listener) => listener.accept().map(|stream| (stream, None)),
        }
    }

    #[cfg(test)]
    pub(in crate::reactor) fn as_tcp(&self) -> &TcpListener {
        match &self.socket {
            ListeningSocket::Tcp(listener) => listener,
            ListeningSocket::Local(_) => unreachable!("a socket of the file system"),
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match &self.socket {
            ListeningSocket::Tcp(_) => None,
            ListeningSocket::Local(listener) => listener.path(),
        }
    }

    pub(super) fn descriptor(&self) -> Option<i32> {
        self.known.as_ref().map(|known| known.0)
    }

    /// Whether the file stays when this is dropped, because another process goes on with the same
    /// socket, or with one of the same name.
    pub(super) fn keep_file(&mut self, keeps: bool) {
        if let ListeningSocket::Local(listener) = &mut self.socket {
            listener.keep_file(keeps);
        }
    }

    pub(super) fn source(&mut self) -> &mut dyn Source {
        match &mut self.socket {
            ListeningSocket::Tcp(listener) => listener,
            ListeningSocket::Local(listener) => listener.source(),
        }
    }
}

impl ListeningSocket {
    fn descriptor(&self) -> Option<i32> {
        #[cfg(unix)]
        {
            use std::os::fd::AsRawFd as _;

            Some(match self {
                Self::Tcp(listener) => listener.as_raw_fd(),
                Self::Local(listener) => listener.as_raw_fd(),
            })
        }
        #[cfg(not(unix))]
        None
    }
}

/// Descriptors on which this process's reactors listen: whoever is given one must not close it.
static KNOWN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

struct Known(i32);

impl Known {
    fn new(descriptor: i32) -> Self {
        known().insert(descriptor);
        Self(descriptor)
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        known().remove(&self.0);
    }
}

pub(super) fn known() -> MutexGuard<'static, BTreeSet<i32>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
mod system {
    use std::fs;
    use std::io::{self, ErrorKind};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::path::{Path, PathBuf};

    use mio::event::Source;
    use mio::net::{TcpStream, UnixListener};
    use socket2::{Domain, SockAddr, Socket, Type};

    pub(in crate::reactor::open) struct LocalListener {
        socket: UnixListener,
        path: Option<PathBuf>,
        /// Device and inode of its file, if the file is its own.
        file: Option<(u64, u64)>,
        /// The file stays even if it is its own.
        keeps_file: bool,
    }

    impl LocalListener {
        pub(in crate::reactor::open) fn bind(
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
            let listener = Self::new(socket, Some(path.to_owned()), identity(path));
            // Before it listens, so nobody connects by permissions that were not meant.
            if let Some(mode) = mode {
                fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
            }
            socket2::SockRef::from(&listener.socket).listen(backlog)?;
            Ok(listener)
        }

        /// The file belongs to another process.
        pub(in crate::reactor::open) fn take(socket: Socket, path: Option<PathBuf>) -> Self {
            Self::new(socket, path, None)
        }

        fn new(socket: Socket, path: Option<PathBuf>, file: Option<(u64, u64)>) -> Self {
            Self { socket: OwnedFd::from(socket).into(), path, file, keeps_file: false }
        }

        pub(in crate::reactor::open) fn path(&self) -> Option<&Path> {
            self.path.as_deref()
        }

        pub(in crate::reactor::open) fn keep_file(&mut self, keeps: bool) {
            self.keeps_file = keeps;
        }

        pub(in crate::reactor::open) fn accept(&self) -> io::Result<TcpStream> {
            let (stream, _peer_without_a_name) = self.socket.accept()?;
            Ok(OwnedFd::from(stream).into())
        }

        pub(in crate::reactor::open) fn source(&mut self) -> &mut dyn Source {
            &mut self.socket
        }
    }

    impl AsRawFd for LocalListener {
        fn as_raw_fd(&self) -> i32 {
            self.socket.as_raw_fd()
        }
    }

    impl Drop for LocalListener {
        /// Removes the file, as Node does, unless another one has taken its place.
        fn drop(&mut self) {
            if let (Some(path), Some(file)) = (&self.path, self.file)
                && !self.keeps_file
                && identity(path) == Some(file)
            {
                let _gone_anyway = fs::remove_file(path);
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

    pub(in crate::reactor::open) enum LocalListener {}

    impl LocalListener {
        pub(in crate::reactor::open) fn bind(
            _path: &Path,
            _mode: Option<u32>,
            _backlog: i32,
        ) -> io::Result<Self> {
            Err(ErrorKind::Unsupported.into())
        }

        pub(in crate::reactor::open) fn path(&self) -> Option<&Path> {
            match *self {}
        }

        pub(in crate::reactor::open) fn keep_file(&mut self, _keeps: bool) {
            match *self {}
        }

        pub(in crate::reactor::open) fn accept(&self) -> io::Result<TcpStream> {
            match *self {}
        }

        pub(in crate::reactor::open) fn source(&mut self) -> &mut dyn Source {
            match *self {}
        }
    }
}
