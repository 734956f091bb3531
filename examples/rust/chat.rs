//! A chat broker: the path of the address is the room, and each message goes to
//! all members of the sender's room.
//!
//! It has two threads. The reactor owns the sockets, and must not wait: its handler
//! hands everything on. The broker owns the rooms, and answers through a
//! [`Handle`], which any thread may use.
//!
//! `cargo run --example chat --no-default-features --features reactor`; PORT chooses the port.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use reactor_ws::engine::MessageKind;
use reactor_ws::reactor::{
    BoundListener, Cause, Command, ConnectionId, Handle, Handler, ListenAddress, ListenerConfig, Message,
    Opening, Reactor, ReactorConfig, Session,
};

/// The events that the broker gets.
enum Event {
    Joined(ConnectionId, Vec<u8>),
    Said(ConnectionId, MessageKind, Vec<u8>),
    Left(ConnectionId),
}

/// The handler, on the reactor's thread.
struct Reporter(Sender<Event>);

impl Reporter {
    fn report(&self, event: Event) {
        // This fails when the broker has ended: then nothing is to be reported.
        let _ended = self.0.send(event);
    }
}

impl Handler for Reporter {
    fn on_open(&mut self, session: &mut Session<'_>, opening: &Opening<'_>) {
        let room = opening.request.map_or_else(Vec::new, |request| request.target.to_vec());
        self.report(Event::Joined(session.id(), room));
    }

    fn on_message(&mut self, session: &mut Session<'_>, message: Message<'_>) {
        self.report(Event::Said(session.id(), message.kind, message.payload.to_vec()));
    }

    fn on_closed(&mut self, id: ConnectionId, _cause: Cause) {
        self.report(Event::Left(id));
    }
}

/// The rooms, on a thread of their own.
#[derive(Default)]
struct Broker {
    rooms: HashMap<Vec<u8>, HashSet<ConnectionId>>,
    whereabouts: HashMap<ConnectionId, Vec<u8>>,
}

impl Broker {
    fn run(mut self, events: &Receiver<Event>, handle: &Handle) -> io::Result<()> {
        for event in events {
            match event {
                Event::Joined(id, room) => {
                    self.rooms.entry(room.clone()).or_default().insert(id);
                    self.whereabouts.insert(id, room);
                }
                Event::Said(id, kind, text) => {
                    let room = self.whereabouts.get(&id).and_then(|room| self.rooms.get(room));
                    for member in room.into_iter().flatten() {
                        handle.send(*member, kind, &text)?;
                    }
                }
                Event::Left(id) => self.leave(id),
            }
        }
        Ok(())
    }

    fn leave(&mut self, id: ConnectionId) {
        let Some(room) = self.whereabouts.remove(&id) else { return };
        let Some(members) = self.rooms.get_mut(&room) else { return };
        members.remove(&id);
        if members.is_empty() {
            self.rooms.remove(&room);
        }
    }
}

fn main() -> io::Result<()> {
    let port = std::env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(8080);
    let host = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let listener = BoundListener::bind(&ListenAddress { host, port, ..ListenAddress::default() })?;
    writeln!(io::stdout(), "listening on port {}", listener.address().port())?;

    let mut config = ListenerConfig { ping_interval: Duration::from_secs(30), ..ListenerConfig::default() };
    config.engine.max_payload = 16 << 10;
    let (reports, events) = channel();
    let mut reactor = Reactor::with_handler(Reporter(reports), ReactorConfig::default())?;
    let handle = reactor.handle();
    handle.submit(Command::Listen { id: 0, listener, config: Arc::new(config) })?;
    handle.submit(Command::Accept(0))?;
    let broker = thread::Builder::new().name("broker".to_owned());
    broker.spawn(move || Broker::default().run(&events, &handle))?;
    reactor.run()
}
