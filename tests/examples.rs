//! The examples in Rust, as their readers run them: each is started and spoken to, byte by byte.

#![cfg(feature = "reactor")]
#![expect(clippy::disallowed_types, clippy::unwrap_used, reason = "a client that waits for what comes")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// An example that listens; the test kills it at the end.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start(name: &str) -> Self {
        // Beside the folder of this test. `cargo test` has built the example before, `cargo test
        // --test examples` has not.
        let here = std::env::current_exe().unwrap();
        let folder: PathBuf = here.ancestors().nth(2).unwrap().join("examples");
        let mut process = Command::new(folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
            .env("PORT", "0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("listening on port ").unwrap().parse().unwrap();
        Self { process, port }
    }

    fn open(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(byte(&mut stream));
        }
        assert!(head.starts_with(b"HTTP/1.1 101 "));
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _status = self.process.wait();
    }
}

fn byte(stream: &mut TcpStream) -> u8 {
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    byte[0]
}

/// "hi", masked with zeros.
const HI: [u8; 8] = [0x81, 0x82, 0, 0, 0, 0, b'h', b'i'];
/// The server's frame for it.
const HI_BACK: [u8; 4] = [0x81, 2, b'h', b'i'];

#[track_caller]
fn hears_hi(stream: &mut TcpStream) {
    let mut frame = [0; 4];
    stream.read_exact(&mut frame).unwrap();
    assert_eq!(frame, HI_BACK);
}

#[test]
fn echo_sends_back() {
    let server = Server::start("echo");
    let mut client = server.open("/");
    client.write_all(&HI).unwrap();
    hears_hi(&mut client);
}

#[test]
fn chat_goes_to_the_room() {
    let server = Server::start("chat");
    let mut first = server.open("/room");
    // A client that hears itself has joined.
    first.write_all(&HI).unwrap();
    hears_hi(&mut first);
    let mut other = server.open("/other");
    let mut second = server.open("/room");
    second.write_all(&HI).unwrap();
    hears_hi(&mut second);
    hears_hi(&mut first);
    // The other room hears its own message first, and so none of this room's.
    other.write_all(&[0x82, 0x81, 0, 0, 0, 0, 7]).unwrap();
    let mut frame = [0; 3];
    other.read_exact(&mut frame).unwrap();
    assert_eq!(frame, [0x82, 1, 7]);
}
