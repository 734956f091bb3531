//! An echo server for WebSockets over HTTP/3 (RFC 9220).
//!
//! The engine knows no transport: here its bytes come from DATA frames on a stream of QUIC. Nothing of the reactor, Node
//! or TCP is in this program.
//!
//! `cargo run -- <certificate.pem> <key.pem>`; PORT chooses the port of UDP.

mod http3;

use std::error::Error;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, Endpoint, RecvStream, SendStream};
use reactor_ws::engine::{Config, Engine, Event, FrameKind};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use wtransport_proto::headers::Headers;

use http3::{Failure, Frames, GENERAL_PROTOCOL_ERROR, NO_ERROR};

/// Bytes read at once from a stream.
const INPUT: usize = 16 << 10;

/// Bytes of a message.
const MAX_PAYLOAD: u64 = 16 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = std::env::args().skip(1);
    let (Some(certificate), Some(key)) = (files.next(), files.next()) else {
        return Err("usage: http3-echo <certificate.pem> <key.pem>".into());
    };
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<Vec<_>, _>>()?;
    let mut tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let port = std::env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(8443);
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(listen(config, port))
}

async fn listen(config: quinn::ServerConfig, port: u16) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::server(config, SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    writeln!(io::stdout(), "listening on port {}", endpoint.local_addr()?.port())?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            if let Ok(connection) = incoming.await {
                // What ends a connection is of no interest here.
                let _ended = serve(connection).await;
            }
        });
    }
    Ok(())
}

/// Serves a connection of HTTP/3: each bidirectional stream is a request.
async fn serve(connection: Connection) -> Result<(), Failure> {
    // The control stream stays open: its end would be an error (RFC 9114, 6.2.1).
    let mut control = connection.open_uni().await?;
    control.write_all(&http3::settings()).await?;
    let other = connection.clone();
    tokio::spawn(async move {
        // Without a dynamic table, the client's settings and its streams of QPACK say nothing that matters here.
        while let Ok(mut stream) = other.accept_uni().await {
            tokio::spawn(async move { while let Ok(Some(_)) = stream.read_chunk(INPUT, true).await {} });
        }
    });
    loop {
        let (mut send, receive) = connection.accept_bi().await?;
        tokio::spawn(async move {
            if request(&mut send, receive).await.is_err() {
                // Without effect if the stream has gone.
                let _reset = send.reset(GENERAL_PROTOCOL_ERROR);
            }
        });
    }
}

/// Answers a request, and echoes if it asks for a WebSocket.
async fn request(send: &mut SendStream, mut receive: RecvStream) -> Result<(), Failure> {
    let mut frames = Frames::default();
    let mut input = vec![0; INPUT];
    let (headers, rest) = loop {
        let Some(length) = receive.read(&mut input).await? else { return Ok(()) };
        let bytes = input.get(..length).unwrap_or_default();
        if let Some(found) = frames.headers(bytes)? {
            break found;
        }
    };
    let status = status_of(&headers);
    send.write_all(&http3::answer(status)).await?;
    if status != 200 {
        send.finish()?;
        return Ok(());
    }
    let mut socket =
        Socket { config: Config { max_payload: MAX_PAYLOAD, ..Config::default() }, ..Socket::default() };
    let mut bytes = rest;
    loop {
        let is_open = frames.data(&mut bytes, |payload| socket.feed(payload))?;
        if !socket.out.is_empty() {
            send.write_all(&http3::data(&socket.out)).await?;
            socket.out.clear();
        }
        if !is_open {
            break;
        }
        let Some(length) = receive.read(&mut input).await? else { break };
        bytes = input.get(..length).unwrap_or_default().to_vec();
    }
    // The end of a stream is that of a TCP connection (RFC 9220, 3; RFC 8441, 5).
    send.finish()?;
    // Whatever else the client sends is of no interest.
    let _gone = receive.stop(NO_ERROR);
    Ok(())
}

/// The status of the answer: 501 for another protocol (RFC 9220, 3).
fn status_of(headers: &Headers) -> u16 {
    let is = |name: &str, value: &str| headers.get(name) == Some(value);
    match headers.get(":path") {
        _ if !is(":method", "CONNECT") => 405,
        _ if !is(":protocol", "websocket") => 501,
        Some(path) if path.starts_with('/') && is("sec-websocket-version", "13") => 200,
        _ => 400,
    }
}

/// A WebSocket: bytes in, and what is to be sent.
#[derive(Default)]
struct Socket {
    engine: Engine,
    config: Config,
    out: Vec<u8>,
}

impl Socket {
    /// Echoes the messages in `input`. Returns false when nothing more is to be read.
    fn feed(&mut self, input: &mut [u8]) -> bool {
        let mut pos = 0;
        while let Some(event) = self.engine.poll(&self.config, input, &mut pos) {
            match event {
                Event::Message { kind, payload } => self.frame(kind.into(), payload.bytes(input)),
                Event::Ping(payload) => self.frame(FrameKind::Pong, payload.bytes(input)),
                Event::Pong(_) => {}
                Event::Close { code, .. } => {
                    self.frame(
                        FrameKind::Close,
                        code.map(|code| code.to_bytes()).as_ref().map_or(&[], |code| &code[..]),
                    );
                    return false;
                }
                Event::Error(error) => {
                    self.frame(FrameKind::Close, &error.close_code().to_bytes());
                    return false;
                }
            }
        }
        true
    }

    fn frame(&mut self, kind: FrameKind, payload: &[u8]) {
        let header = self.engine.encode(kind, true, payload.len(), None);
        self.out.extend_from_slice(&header);
        self.out.extend_from_slice(payload);
    }
}
