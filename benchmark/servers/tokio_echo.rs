//! The same engine under tokio: one thread, a task for each
//! connection, `read().await` and `try_write`.
//!
//! What a reactor of our own gains is the difference to it. Prints `{"port":N,"pid":P}` when it
//! listens on 127.0.0.1. The first argument is the port, 0 by default.

use std::io::{self, ErrorKind, Write as _};
use std::net::Ipv4Addr;
use std::sync::Arc;

use reactor_ws::engine::handshake::{HeadLimits, HeadScanner, Options, accept, check};
use reactor_ws::engine::{Config, Engine, Event, FrameKind, MessageKind, Payload};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};

/// Bytes read at once; each task has its own, for it may wait while it holds some of them.
const INPUT: usize = 64 << 10;

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(listen(port))
}

async fn listen(port: u16) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    writeln!(io::stdout(), "{{\"port\":{},\"pid\":{}}}", listener.local_addr()?.port(), std::process::id())?;
    let config = Arc::new(Config::default());
    loop {
        let (stream, _) = listener.accept().await?;
        // What ends a connection is of no interest here.
        tokio::spawn(serve(stream, config.clone()));
    }
}

async fn serve(mut stream: TcpStream, config: Arc<Config>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; INPUT];
    let mut out = Vec::new();
    open(&mut stream, &mut buffer).await?;
    let mut engine = Engine::new();
    loop {
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        let input = buffer.get_mut(..length).unwrap_or_default();
        let mut pos = 0;
        while let Some(event) = engine.poll(&config, input, &mut pos) {
            let (kind, payload) = match event {
                Event::Message { kind: MessageKind::Text, payload } => (FrameKind::Text, payload),
                Event::Message { kind: MessageKind::Binary, payload } => (FrameKind::Binary, payload),
                Event::Ping(payload) => (FrameKind::Pong, payload),
                Event::Pong(_) => continue,
                Event::Close { code, .. } => {
                    let body = code.map(|code| code.to_bytes());
                    out.extend_from_slice(&engine.encode(
                        FrameKind::Close,
                        true,
                        body.map_or(0, |_| 2),
                        None,
                    ));
                    out.extend_from_slice(body.as_ref().map_or(&[], |body| &body[..]));
                    return send(&stream, &out).await;
                }
                Event::Error(_) => return Err(ErrorKind::InvalidData.into()),
            };
            let header = engine.encode(kind, true, payload.bytes(input).len(), None);
            // The only answer to an input leaves from the buffer that the message came in.
            if let Payload::Input(range) = &payload
                && out.is_empty()
                && pos == input.len()
                && let Some(start) = range.start.checked_sub(header.len())
                && let Some(before) = input.get_mut(start..range.start)
            {
                before.copy_from_slice(&header);
                send(&stream, input.get(start..range.end).unwrap_or_default()).await?;
                continue;
            }
            out.extend_from_slice(&header);
            out.extend_from_slice(payload.bytes(input));
        }
        send(&stream, &out).await?;
        out.clear();
    }
}

/// Answers the handshake; a request that is not one ends the connection.
async fn open(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<()> {
    let (mut scanner, mut length) = (HeadScanner::default(), 0);
    loop {
        let read = stream.read(buffer.get_mut(length..).unwrap_or_default()).await?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        length += read;
        match scanner.parse(buffer.get(..length).unwrap_or_default(), &HeadLimits::default()) {
            Ok(None) => {}
            Ok(Some(request)) => {
                let upgrade = check(&request, &Options::default()).map_err(|_| ErrorKind::InvalidData)?;
                return send(stream, &accept(&upgrade.accept, None, None)).await;
            }
            Err(_) => return Err(ErrorKind::InvalidData.into()),
        }
    }
}

/// Writes at once what the kernel takes, and waits only for the rest.
async fn send(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.try_write(bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => stream.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
