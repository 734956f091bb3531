//! A chat broker: the path of the address is the room, and what one of a room says goes to all of it.
//!
//! Two threads. The reactor has the sockets, and must not wait: its handler hands everything on. The broker has the rooms, and
//! answers through a [`Handle`], which any thread may use.
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
    BoundListener, Command, ConnectionId, Handle, Handler, ListenAddress, ListenerConfig, Message, Opening,
    Reactor, ReactorConfig, Session,
};

/// What the broker hears.
enum Heard {
    Joined(ConnectionId, Vec<u8>),
    Said(ConnectionId, MessageKind, Vec<u8>),
    Left(ConnectionId),
}

/// On the reactor's thread.
struct Ears(Sender<Heard>);

impl Ears {
    fn report(&self, heard: Heard) {
        // It fails when the broker has ended: then nothing is to be reported.
        let _ended = self.0.send(heard);
    }
}

impl Handler for Ears {
    fn on_open(&mut self, session: &mut Session<'_>, opening: &Opening<'_>) {
        let room = opening.request.map_or_else(Vec::new, |request| request.target().to_vec());
        self.report(Heard::Joined(session.id(), room));
    }

    fn on_message(&mut self, session: &mut Session<'_>, message: Message<'_>) {
        self.report(Heard::Said(session.id(), message.kind, message.payload.as_slice().to_vec()));
    }

    fn on_closed(&mut self, id: ConnectionId) {
        self.report(Heard::Left(id));
    }
}

/// On a thread of its own.
#[derive(Default)]
struct Broker {
    rooms: HashMap<Vec<u8>, HashSet<ConnectionId>>,
    whereabouts: HashMap<ConnectionId, Vec<u8>>,
}

impl Broker {
    fn run(mut self, heard: &Receiver<Heard>, handle: &Handle) -> io::Result<()> {
        for each in heard {
            match each {
                Heard::Joined(id, room) => {
                    self.rooms.entry(room.clone()).or_default().insert(id);
                    self.whereabouts.insert(id, room);
                }
                Heard::Said(id, kind, text) => {
                    let room = self.whereabouts.get(&id).and_then(|room| self.rooms.get(room));
                    for member in room.into_iter().flatten() {
                        handle.send(*member, kind, &text)?;
                    }
                }
                Heard::Left(id) => self.leave(id),
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
    let (ears, heard) = channel();
    let mut reactor = Reactor::with_handler(Ears(ears), ReactorConfig::default())?;
    let handle = reactor.handle();
    handle.submit(Command::Listen { id: 0, listener, config: Arc::new(config) })?;
    handle.submit(Command::Accept(0))?;
    let broker = thread::Builder::new().name("broker".to_owned());
    broker.spawn(move || Broker::default().run(&heard, &handle))?;
    reactor.run()
}
