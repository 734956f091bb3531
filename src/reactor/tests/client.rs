//! A blocking client that writes and expects visible bytes.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

use super::PATIENCE;

/// A request that every check accepts.
pub(crate) const UPGRADE: &str = "GET / HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
/// The answer to `UPGRADE`.
pub(crate) const SWITCHED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
    Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

pub(crate) struct Client(pub(crate) TcpStream);

impl Client {
    /// Connects and says nothing.
    pub(crate) fn connect(to: SocketAddr) -> Self {
        Self::of(TcpStream::connect(to).expect("the server listens"))
    }

    /// Connects with a receive buffer of about `bytes`, so that a server's writes block early.
    pub(crate) fn connect_narrow(to: SocketAddr, bytes: usize) -> Self {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).expect("a socket");
        socket.set_recv_buffer_size(bytes).expect("a size");
        socket.connect(&to.into()).expect("the server listens");
        Self::of(socket.into())
    }

    pub(crate) fn of(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("not zero");
        stream.set_write_timeout(Some(PATIENCE)).expect("not zero");
        stream.set_nodelay(true).expect("a live socket");
        Self(stream)
    }

    /// Connects and asks for an upgrade.
    pub(crate) fn asking(to: SocketAddr) -> Self {
        let mut client = Self::connect(to);
        client.write(UPGRADE.as_bytes());
        client
    }

    /// Connects and upgrades.
    pub(crate) fn open(to: SocketAddr) -> Self {
        Self::connect(to).upgrade()
    }

    pub(crate) fn upgrade(mut self) -> Self {
        self.write(UPGRADE.as_bytes());
        self.expect_text(SWITCHED);
        self
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("the server reads");
    }

    /// Writes the bytes that `bytes` reads from `text`.
    pub(crate) fn send(&mut self, text: &str) {
        self.write(&bytes(text));
    }

    /// Reads exactly the bytes that `bytes` reads from `text`.
    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) {
        let expected = bytes(text);
        let got = self.read(expected.len());
        assert!(got == expected, "expected {text}, got {}", show(&got));
    }

    /// Reads these characters.
    #[track_caller]
    pub(crate) fn expect_text(&mut self, text: &str) {
        let got = self.read(text.len());
        assert_eq!(String::from_utf8_lossy(&got), text);
    }

    /// Reads exactly `len` bytes.
    #[track_caller]
    pub(crate) fn read(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.0.read_exact(&mut bytes).expect("so many bytes");
        bytes
    }

    /// Reads an HTTP head and returns it.
    pub(crate) fn read_head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(self.read(1));
        }
        String::from_utf8(head).expect("ASCII")
    }

    /// Reads to the end of the stream, and returns the remaining bytes, however the stream ended.
    pub(crate) fn read_to_end(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut piece = [0; 4096];
        loop {
            match self.0.read(&mut piece) {
                Ok(0) => return all,
                Ok(len) => all.extend_from_slice(&piece[..len]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                    return all;
                }
                Err(error) => panic!("no end came: {error}, but {}", show(&all)),
            }
        }
    }

    /// Expects only the orderly end of the stream.
    #[track_caller]
    pub(crate) fn expect_end(&mut self) {
        let mut byte = [0; 1];
        match self.0.read(&mut byte) {
            Ok(0) => {}
            other => panic!("expected the end, got {other:?} {byte:02x?}"),
        }
    }

    /// Reads and drops everything until the server is gone, in whatever way.
    pub(crate) fn drain(&mut self) -> usize {
        self.read_to_end().len()
    }

    /// Ends our side.
    pub(crate) fn end(&self) {
        self.0.shutdown(Shutdown::Write).expect("a live socket");
    }

    /// Closes with a reset.
    pub(crate) fn reset(self) {
        SockRef::from(&self.0).set_linger(Some(Duration::ZERO)).expect("a live socket");
    }
}

/// Hexadecimal digits and 'text'; spaces separate, and are characters only within the text.
pub(crate) fn bytes(text: &str) -> Vec<u8> {
    let mut all = Vec::new();
    for (index, part) in text.split('\'').enumerate() {
        if index % 2 == 1 {
            all.extend_from_slice(part.as_bytes());
            continue;
        }
        let digits: Vec<u8> = part.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
        let (pairs, odd) = digits.as_chunks::<2>();
        assert!(odd.is_empty(), "half a byte: {text}");
        all.extend(pairs.iter().map(|[high, low]| high << 4 | low));
    }
    all
}

/// A frame: `first` is its first byte, `mask` the key of a client or `None` as from a server.
pub(crate) fn frame(first: u8, mask: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
    let masked = if mask.is_some() { 0x80 } else { 0 };
    let mut all = vec![first];
    match payload.len() {
        len @ 0..=125 => all.push(masked | len as u8),
        len @ 126..=0xffff => {
            all.push(masked | 126);
            all.extend((len as u16).to_be_bytes());
        }
        len => {
            all.push(masked | 127);
            all.extend((len as u64).to_be_bytes());
        }
    }
    let key = mask.unwrap_or_default();
    if mask.is_some() {
        all.extend(key);
    }
    all.extend(payload.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key));
    all
}

fn show(bytes: &[u8]) -> String {
    let shown: Vec<String> = bytes.iter().take(64).map(|byte| format!("{byte:02x}")).collect();
    let more = if bytes.len() > 64 { format!(" and {} more", bytes.len() - 64) } else { String::new() };
    format!("{}{more} {:?}", shown.join(" "), String::from_utf8_lossy(&bytes[..bytes.len().min(64)]))
}
