//! Live connections that move to another process: what this process keeps of them, and what it takes over.
//!
//! ```text
//! Freeze   the listener does not accept, its connections are not read -> on_frozen, after all that was read
//! Pack     each connection that can move as bytes, with a duplicate of its socket; it is not written any more
//! Moved    the other process has these: they leave without an end
//! Thaw     the others go on -> on_thawed
//!
//! Import   in the other process: connections open again, and are not read before Thaw
//! ```
//!
//! A connection that is packed has lost nothing: to go on with it is to forget the pack.

#[cfg(unix)]
pub mod courier;
pub(super) mod parcel;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use mio::Token;

use crate::bridge::layout::Cause;
use crate::engine::Engine;
use crate::engine::deflate::Settings;
use crate::engine::handshake::{HeadScanner, read_accept};

use crate::reactor::conn::life::Life;
use crate::reactor::conn::origin::Origin;
use crate::reactor::read::{PeerSide, ReadClass};
use crate::reactor::topics::Following;
use crate::reactor::upgrade::head::Head;
use crate::reactor::write::HoldReason;
use crate::reactor::{
    Conn, Connection, ConnectionId, Consumer, Descriptor, HandshakeInfo, ListenerConfig, Reactor, Transport,
};
use parcel::{Opened, Parcel, State};

/// A deadline that comes while its connection is about to move is put off for this long.
const PUT_OFF: Duration = Duration::from_millis(100);

/// A connection on its way out.
pub struct Packed {
    pub id: ConnectionId,
    pub socket: Descriptor,
    pub state: Vec<u8>,
}

/// What a reactor has packed.
pub struct Packs {
    /// The caller's number.
    pub reactor: usize,
    pub packed: Vec<Packed>,
    /// Connections of the listener that cannot move.
    pub stay: usize,
}

#[derive(Default)]
pub(super) struct Handovers {
    frozen: HashSet<u32>,
    /// By slot, of open connections that can move.
    origins: HashMap<u32, Origin>,
}

impl Handovers {
    pub(super) fn begin(&mut self, slot: u32, origin: Origin) {
        self.origins.insert(slot, origin);
    }

    /// Whether the connection can move, now or later.
    pub(super) fn knows(&self, slot: u32) -> bool {
        self.origins.contains_key(&slot)
    }

    pub(super) fn attach(&mut self, slot: u32, attachment: &[u8], stays: bool) {
        if let Some(origin) = self.origins.get_mut(&slot) {
            (origin.attachment, origin.stays) = (attachment.into(), stays);
        }
    }

    pub(super) fn forget(&mut self, slot: u32) {
        if !self.origins.is_empty() {
            self.origins.remove(&slot);
        }
    }

    /// Whether new connections of the listener are not read.
    pub(super) fn freezes(&self, listener: u32) -> bool {
        self.frozen.contains(&listener)
    }
}

impl<C: Consumer> Reactor<C> {
    pub(super) fn on_freeze(&mut self, listener: u32) {
        self.listeners.stop(listener);
        self.handovers.frozen.insert(listener);
        for slot in self.slots_of(listener) {
            if let Some(connection) = self.connections.get_mut(slot)
                && matches!(connection.life, Life::Opening(_) | Life::Open)
                && connection.read.class != ReadClass::AwaitingHandback
            {
                connection.read.class = ReadClass::Frozen;
            }
        }
        self.consumer.on_frozen(listener);
    }

    pub(super) fn on_pack(&mut self, listener: u32, reactor: usize, to: &Sender<Packs>) {
        // Sends that wait for a long message that is being compressed.
        while self.writer.is_deferring() {
            self.writer.begin_turn();
            self.on_deferred();
        }
        let mut packs = Packs { reactor, packed: Vec::new(), stay: 0 };
        for slot in self.slots_of(listener) {
            let Some((mut conn, ..)) = self.conn_at(slot) else { continue };
            match conn.pack() {
                Some(packed) => packs.packed.push(packed),
                None => packs.stay += 1,
            }
        }
        // If no receiver is left, `Thaw` follows.
        let _given_up = to.send(packs);
    }

    /// The other process has these connections.
    pub(super) fn on_moved(&mut self, ids: &[ConnectionId]) {
        for &id in ids {
            if self.connections.get(id).is_none_or(|connection| connection.read.class != ReadClass::Packed) {
                continue;
            }
            let packed_at = self.handovers.origins.get(&id.slot).map_or(0, |origin| origin.packed_at);
            let Some((id, mut connection)) = self.detach(id.slot) else { continue };
            if connection.life.is_reported() {
                match connection.write.take_moved(packed_at) {
                    0 => {}
                    sent => self.consumer.on_sent(id, sent),
                }
                self.consumer.on_moved(id);
                if let Some(progress) = self.consumer.progress() {
                    self.connections.retain(id.slot, progress.recorded);
                }
            }
            self.writer.forget(id, connection.write);
        }
    }

    /// Connections of the listener go on here. `accepts`: the listener too.
    pub(super) fn on_thaw(&mut self, listener: u32, accepts: bool) {
        self.handovers.frozen.remove(&listener);
        for slot in self.slots_of(listener) {
            if let Some((mut conn, ..)) = self.conn_at(slot) {
                conn.thaw();
            }
        }
        self.consumer.on_thawed(listener, accepts);
        if accepts {
            self.listeners.start(listener);
            self.accept(listener);
        }
    }

    /// Takes over connections, which are not read before `Thaw`.
    pub(super) fn on_import(&mut self, listener: u32, parcels: Vec<(Transport, Parcel)>) {
        self.handovers.frozen.insert(listener);
        for (stream, parcel) in parcels {
            let imported = self.listeners.config(listener).and_then(|config| {
                let id = self.connections.next_id()?;
                self.import(id, stream, (listener, config), parcel)
            });
            if imported.is_none() {
                self.metrics.tally.refused += 1;
            }
        }
    }

    fn import(
        &mut self,
        id: ConnectionId,
        mut stream: Transport,
        (listener, config): (u32, Arc<ListenerConfig>),
        Parcel { client, unread, state }: Parcel,
    ) -> Option<()> {
        stream.register(self.registry(), Token(id.slot as usize)).ok()?;
        let ip = client.or_else(|| stream.remote_address()).map(|address| address.ip());
        let handshake_timeout = config.handshake_timeout;
        let admission = config.admission.clone();
        let mut connection = Connection::new(stream, listener, config, Life::Open);
        connection.read.class = ReadClass::Frozen;
        connection.read.unread = true;
        let opened = match state {
            State::Opening { proxied } => {
                connection.life = Life::Opening(Box::new(Head::new(client, proxied, None)));
                connection.read.received = unread.len() as u64;
                self.timers.arm(id, &mut connection.deadline, handshake_timeout);
                None
            }
            State::Open(opened) => {
                let pool = self.writer.deflate_pool();
                let settings = connection.config.deflate.map(|deflate| deflate.settings).unwrap_or_default();
                let settings = Settings { movable: true, ..settings };
                let config = &connection.config.engine;
                connection.engine = Engine::import(opened.engine, config, &settings, pool)?;
                Some((opened.rest, Origin::new(&opened.request, &opened.response, client)))
            }
        };
        self.connections.insert(id, connection);
        self.shard.came();
        let (mut conn, consumer, _) = self.conn_at(id.slot)?;
        if let Some(admission) = admission {
            // An open connection is not refused by a limit of the new version.
            conn.teardown.set_ticket(id.slot, admission.admit(ip).ok());
        }
        conn.reader.keep(id.slot, &unread);
        let Some((rest, origin)) = opened else { return Some(()) };
        let opens = conn.reopen(consumer, rest, origin);
        if opens.is_none() {
            self.destroy(id.slot, Cause::Handshake);
        }
        opens
    }

    fn slots_of(&mut self, listener: u32) -> Vec<u32> {
        let mut slots = self.connections.slots();
        slots.retain(|&slot| {
            self.connections.get_mut(slot).is_some_and(|connection| connection.listener == listener)
        });
        slots
    }
}

impl Conn<'_> {
    /// Its bytes, if it can move. From here on it is not written.
    fn pack(&mut self) -> Option<Packed> {
        if self.state.read.class != ReadClass::Frozen {
            return None;
        }
        // The consumer has dealt with all records before this command.
        self.go_on(HoldReason::Delivery);
        let connection = &*self.state;
        let read = &connection.read;
        if read.peer == PeerSide::Ended {
            return None;
        }
        let (unread, client, state) = match &connection.life {
            Life::Opening(head) => {
                let (proxied, bytes) = head.export().filter(|_| self.queued() == 0)?;
                (bytes.to_vec(), head.client(), State::Opening { proxied })
            }
            Life::Open => {
                let origin = self.handovers.origins.get(&self.id.slot).filter(|origin| !origin.stays)?;
                let opened = self.export(origin)?;
                (Vec::new(), origin.client, State::Open(Box::new(opened)))
            }
            _ => return None,
        };
        let unread = [&unread, self.reader.kept(self.id.slot)].concat();
        let mut bytes = Vec::new();
        Parcel { client, unread, state }.encode(&mut bytes);
        if bytes.len() > parcel::LONGEST {
            return None;
        }
        let socket = connection.transport.duplicate()?;
        let packed_at = connection.write.pushed();
        if let Some(origin) = self.handovers.origins.get_mut(&self.id.slot) {
            origin.packed_at = packed_at;
        }
        self.state.read.class = ReadClass::Packed;
        Some(Packed { id: self.id, socket, state: bytes })
    }

    fn export(&self, origin: &Origin) -> Option<Opened> {
        let connection = &*self.state;
        // Its topics have messages for it that are in no queue.
        if connection.following == Following::Lagging {
            return None;
        }
        let write = connection.write.export()?;
        Some(Opened {
            request: origin.request.to_vec(),
            response: origin.response.to_vec(),
            engine: connection.engine.export(connection.config.engine.role)?,
            rest: parcel::Rest {
                attachment: origin.attachment.to_vec(),
                paused: connection.read.paused,
                pinged: connection.pinged,
                silence: self.timers.left(&connection.deadline),
                rates: self.reader.export_rates(self.id.slot, self.timers.now()),
                received: connection.read.received,
                queued: write,
            },
        })
    }

    fn thaw(&mut self) {
        if self.state.read.class.is_moving() {
            self.state.read.class = ReadClass::Modest;
            self.touch();
            self.read_again();
        }
    }

    /// Opens a connection that has come from another process. `None`: its heads are none.
    fn reopen<C: Consumer>(&mut self, consumer: &mut C, rest: parcel::Rest, origin: Origin) -> Option<()> {
        let request = HeadScanner::default().parse(&origin.request, &parcel::HEADS).ok()??;
        let (protocol, extensions) = read_accept(&origin.response)?;
        let info = HandshakeInfo {
            request: Some(&request),
            remote: origin.client.or_else(|| self.remote_address()),
            protocol,
            extensions,
            ..self.handshake_info()
        };
        let parcel::Rest { attachment, paused, pinged, silence, rates, received, queued } = rest;
        self.limit_rate();
        self.reader.import_rates(self.id.slot, rates, self.timers.now());
        if let Some(after) = self.state.silence() {
            self.arm(silence.map_or(after, |left| left.min(after)));
        }
        self.reader.resume_message(self.id, self.state.engine.buffered(), self.timers.now());
        let state = &mut *self.state;
        (state.pinged, state.read.paused, state.read.received) = (pinged, paused, received);
        let moved = crate::bridge::layout::Moved { queued: queued.len(), attachment: &attachment };
        state.write.import(queued);
        consumer.on_resumed(self, &info, &moved);
        self.handovers.begin(self.id.slot, origin);
        self.touch();
        Some(())
    }

    /// A deadline has come. True: the connection is about to move, and it comes again.
    pub(super) fn puts_off(&mut self) -> bool {
        let moves = self.state.read.class.is_moving();
        if moves {
            self.arm(PUT_OFF);
        }
        moves
    }
}
