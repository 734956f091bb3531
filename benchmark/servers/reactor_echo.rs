//! The same echo server on the same reactor without JavaScript: what the
//! crossing costs is the difference to it.
//!
//! Prints `{"port":N,"pid":P}` when it listens on 127.0.0.1. The first
//! argument is the port, 0 by default.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use reactor_ws::reactor::{
    BoundListener, Command, Handler, ListenAddress, ListenerConfig, Message, Reactor, ReactorConfig, Session,
};

struct Echo;

impl Handler for Echo {
    fn on_message(&mut self, session: &mut Session<'_>, message: Message<'_>) {
        session.send(message.kind, true, message.payload);
    }
}

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    let host = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let listener = BoundListener::bind(&ListenAddress { host, port, ..ListenAddress::default() })?;
    let address = listener.address();
    let mut reactor = Reactor::with_handler(Echo, ReactorConfig::default())?;
    let handle = reactor.handle();
    handle.submit(Command::Listen { id: 0, listener, config: Arc::new(ListenerConfig::default()) })?;
    handle.submit(Command::Accept(0))?;
    writeln!(std::io::stdout(), "{{\"port\":{},\"pid\":{}}}", address.port(), std::process::id())?;
    reactor.run()
}
