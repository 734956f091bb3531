//! The smallest server: every message goes back to its sender.
//!
//! `cargo run --example echo --no-default-features --features reactor`; PORT chooses the port.

use std::io::{self, Write};
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

fn main() -> io::Result<()> {
    let port = std::env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(8080);
    let host = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let listener = BoundListener::bind(&ListenAddress { host, port, ..ListenAddress::default() })?;
    writeln!(io::stdout(), "listening on port {}", listener.address().port())?;

    let mut reactor = Reactor::with_handler(Echo, ReactorConfig::default())?;
    let handle = reactor.handle();
    handle.submit(Command::Listen { id: 0, listener, config: Arc::new(ListenerConfig::default()) })?;
    handle.submit(Command::Accept(0))?;
    reactor.run()
}
