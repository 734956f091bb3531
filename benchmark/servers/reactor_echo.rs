//! The same echo server on the same reactor without JavaScript: what the
//! crossing costs is the difference to it.
//!
//! Prints `{"port":N,"pid":P}` when it listens on 127.0.0.1. The first
//! argument is the port, 0 by default.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;
use std::sync::Arc;

use reactor_ws::engine::Event;
use reactor_ws::reactor::{
    BoundListener, Command, Conn, Events, Flow, ListenAddress, ListenerConfig, Memory, Reactor, ReactorConfig,
};

struct Echo(Vec<u8>);

impl Memory for Echo {
    fn buffer(&mut self, range: Range<usize>) -> &mut [u8] {
        self.0.get_mut(range).unwrap_or_default()
    }
}

impl Flow for Echo {}

impl Events for Echo {
    fn on_event(&mut self, conn: &mut Conn<'_>, event: Event) {
        match event {
            Event::Message { kind, payload } => conn.send(kind, true, payload.bytes(&self.0)),
            Event::Close { code, reason } => conn.close(code, reason.bytes(&self.0)),
            Event::Error(error) => conn.close(Some(error.kind.row().close_code), &[]),
            Event::Ping(_) | Event::Pong(_) => {}
        }
    }

    fn on_end(&mut self, conn: &mut Conn<'_>) {
        conn.end();
    }
}

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    let host = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let listener = BoundListener::bind(&ListenAddress { host, port, ..ListenAddress::default() })?;
    let address = listener.address();
    let mut reactor = Reactor::new(Echo(vec![0; 64 << 10]), ReactorConfig::default())?;
    let handle = reactor.handle();
    handle.submit(Command::Listen { id: 0, listener, config: Arc::new(ListenerConfig::default()) })?;
    handle.submit(Command::Accept(0))?;
    writeln!(std::io::stdout(), "{{\"port\":{},\"pid\":{}}}", address.port(), std::process::id())?;
    reactor.run()
}
