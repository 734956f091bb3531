//! Several reactors behind one listener.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use super::server::bind;
use super::*;
use crate::bridge::layout::Cause;
use crate::engine::Event;
use crate::reactor::config::READ_SIZE;
use crate::reactor::{
    Command, Conn, ConnectionId, Events, Flow, HandshakeInfo, ListenerConfig, Memory, ReactorConfig, reactors,
};

struct Echo {
    number: usize,
    seen: Sender<(usize, u32, &'static str)>,
    buffer: Vec<u8>,
}

impl Echo {
    fn new(number: usize, seen: &Sender<(usize, u32, &'static str)>) -> Self {
        Self { number, seen: seen.clone(), buffer: vec![0; READ_SIZE] }
    }
}

impl Memory for Echo {
    fn buffer(&mut self, range: Range<usize>) -> &mut [u8] {
        self.buffer.get_mut(range).unwrap_or_default()
    }
}

impl Flow for Echo {}

impl Events for Echo {
    fn on_open(&mut self, conn: &mut Conn<'_>, _info: &HandshakeInfo<'_>) {
        let _over = self.seen.send((self.number, conn.id().slot, "open"));
    }

    fn on_event(&mut self, conn: &mut Conn<'_>, event: Event) {
        if let Event::Message { kind, payload } = event {
            conn.send(kind, true, payload.bytes(&self.buffer));
        }
    }

    fn on_end(&mut self, conn: &mut Conn<'_>) {
        conn.end();
    }

    fn on_closed(&mut self, id: ConnectionId, _cause: Cause) {
        let _over = self.seen.send((self.number, id.slot, "closed"));
    }

    fn on_listener_closed(&mut self, listener: u32) {
        let _over = self.seen.send((self.number, listener, "listener closed"));
    }
}

#[test]
fn connections_are_spread_evenly_and_each_stays_where_it_is() {
    const COUNT: usize = 3;
    let (seen, next) = channel();
    let next = || next.recv_timeout(PATIENCE).unwrap();
    let echoes = (0..COUNT).map(|number| Echo::new(number, &seen)).collect();
    let reactors = reactors(echoes, ReactorConfig::default()).unwrap();
    let handles: Vec<_> = reactors.iter().map(|reactor| reactor.handle()).collect();
    let threads: Vec<_> =
        reactors.into_iter().map(|mut reactor| std::thread::spawn(move || reactor.run().unwrap())).collect();

    let listener = bind();
    let address = listener.address();
    let config = Arc::new(ListenerConfig::default());
    for handle in &handles[..2] {
        handle.submit(Command::Join { id: 0, config: config.clone() }).unwrap();
    }
    handles[2].submit(Command::Listen { id: 0, listener, config }).unwrap();
    handles[2].submit(Command::Accept(0)).unwrap();

    let mut clients: Vec<_> = (0..3 * COUNT).map(|_| Client::open(address)).collect();
    let opened: Vec<_> = clients.iter().map(|_| next()).collect();
    for number in 0..COUNT {
        assert_eq!(opened.iter().filter(|open| open.0 == number).count(), 3, "{opened:?}");
    }
    assert!(opened.iter().all(|&(number, slot, _)| slot as usize & 3 == number), "{opened:?}");
    let slots: HashSet<_> = opened.iter().map(|open| open.1).collect();
    assert_eq!(slots.len(), clients.len());
    for client in &mut clients {
        client.send("81 81 00000000 'x'");
        client.expect("81 01 'x'");
    }

    // The place that becomes free is taken next, wherever it is.
    drop(clients.pop());
    let (emptied, _, what) = next();
    assert_eq!(what, "closed");
    clients.push(Client::open(address));
    assert_eq!(next().0, emptied);

    for handle in &handles {
        handle.submit(Command::CloseListener(0)).unwrap();
    }
    let closed: HashSet<_> = (0..COUNT).map(|_| next()).collect();
    assert_eq!(closed, (0..COUNT).map(|number| (number, 0, "listener closed")).collect());
    for client in &mut clients {
        client.send("81 81 00000000 'x'");
        client.expect("81 01 'x'");
    }
    for handle in &handles {
        handle.submit(Command::Stop).unwrap();
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_connection_that_comes_after_its_listener_is_closed() {
    let (seen, _next) = channel();
    let echoes = (0..2).map(|number| Echo::new(number, &seen)).collect();
    let mut reactors = reactors(echoes, ReactorConfig::default()).unwrap();
    let (mut second, mut first) = (reactors.pop().unwrap(), reactors.pop().unwrap());
    let listener = bind();
    let address = listener.address();
    let config: Arc<ListenerConfig> = Arc::default();
    second.handle().submit(Command::Join { id: 7, config: config.clone() }).unwrap();
    first.handle().submit(Command::Listen { id: 7, listener, config }).unwrap();
    first.handle().submit(Command::Accept(7)).unwrap();
    second.handle().submit(Command::CloseListener(7)).unwrap();
    second.run_once(Some(Duration::ZERO)).unwrap();

    let late = Client::connect(address);
    late.0.set_nonblocking(true).unwrap();
    let begun = Instant::now();
    // Among equals the other one is chosen.
    while !matches!(late.0.peek(&mut [0]), Ok(0)) {
        assert!(begun.elapsed() < PATIENCE, "it stays open");
        first.run_once(Some(Duration::from_millis(1))).unwrap();
        second.run_once(Some(Duration::ZERO)).unwrap();
    }
    assert_eq!(first.connections() + second.connections(), 0);
}
