//! Live connections that move to another process: what this process keeps of them, and what it takes over.
//!
//! ```text
//! Tell     heads of connections, while all goes on
//! Copy     copies of long queues, as well; missed messages of topics are queued before, and again before Pack
//! Freeze   the listener does not accept, its connections are not read -> on_frozen, after all that was read
//! Pack     some connections that can move as bytes, with duplicates of their sockets; they are not written any more
//! Given    the other process has these
//! Moved    and they leave without an end: that is work, and comes later
//! Thaw     the others go on -> on_thawed
//!
//! Import   in the other process: connections open again, and are not read before Thaw
//! ```
//!
//! A connection that is packed has lost nothing: to go on with it is to forget the pack. If it ends here before it has moved,
//! its socket ends for both processes.

#[cfg(unix)]
pub mod courier;
pub(super) mod parcel;
#[cfg(test)]
#[cfg(unix)]
pub(super) mod tests;

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use mio::Token;

use crate::bridge::layout::{Cause, Moved};
use crate::engine::deflate::Settings;
use crate::engine::handshake::{HeadScanner, read_accept};
use crate::engine::portable::{Encoder, Portable};
use crate::engine::{CloseCode, Engine};

use crate::reactor::config::LAST_WRITE;
use crate::reactor::conn::life::Life;
use crate::reactor::conn::origin::{Asked, Origin};
use crate::reactor::read::{PeerSide, ReadClass};
use crate::reactor::topics::Following;
use crate::reactor::upgrade::head::{Head, PendingUpgrade};
use crate::reactor::write::HoldReason;
use crate::reactor::{
    Conn, Connection, ConnectionId, Consumer, Descriptor, HandshakeInfo, ListenerConfig, Reactor, Transport,
};
use parcel::{Heads, Opened, Parcel, State};

/// A deadline that comes while its connection is about to move is put off for this long.
const PUT_OFF: Duration = Duration::from_millis(100);

/// Most connections that are packed together: a message of the courier carries at most 253 descriptors.
const MOST: usize = 64;
/// No more are packed from these many bytes on.
const BATCH_BYTES: usize = 4 << 20;

/// Queued output of this length is copied while its connection works: little of it is left to be packed.
const MUCH: usize = 4 << 10;
/// Bytes of missed messages that are queued for members of topics while they work, and again in the pause.
const MISSED: usize = if cfg!(test) { 3 << 20 } else { 64 << 20 };
/// Most connections that are looked at together for their heads.
const LOOKS: usize = 1024;
/// Longer heads are not told ahead, and refused.
const SHORT_HEADS: usize = 4 << 10;
/// Connections that are told ahead: the program of the other process has objects for all of them at once. It refuses more.
const MOST_TOLD: usize = 1 << 14;

/// Bytes that hold the state of most connections.
const USUAL: usize = 1024;

/// A connection on its way out.
pub struct Packed {
    pub id: ConnectionId,
    pub socket: Descriptor,
    pub state: Vec<u8>,
}

/// Some of the connections that a reactor packs.
#[derive(Default)]
pub struct Packs {
    pub packed: Vec<Packed>,
    pub stay: Stays,
    /// If it is false and none are packed, no descriptors are left.
    pub is_last: bool,
}

/// Heads of connections, which another process is told ahead.
pub struct Told {
    /// Encoded.
    pub heads: Vec<u8>,
    pub count: usize,
    /// Slots to look at later.
    pub left: Vec<u32>,
}

/// Copies of queued output, by slot.
pub struct Copied {
    pub copies: Vec<(u32, Vec<u8>)>,
    /// Slots to look at later.
    pub left: Vec<u32>,
}

/// Why a connection cannot move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// One side has begun to close it.
    Closing,
    /// Its request is being decided about.
    Asked,
    /// A topic has messages for it that are in no queue.
    Behind,
    /// The consumer has work for it that cannot move.
    Busy,
    /// A long compressed message is under way.
    Compressed,
    /// Its state is too long.
    Long,
    /// The heads of its request and its answer are not known, or cannot be read here; or it has another state before it opens.
    Unknown,
}

/// Connections that cannot move, by the reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Stays([usize; Stay::ALL.len()]);

impl Stay {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Closing, "closing"),
        (Self::Asked, "asked"),
        (Self::Behind, "behind"),
        (Self::Busy, "busy"),
        (Self::Compressed, "compressed"),
        (Self::Long, "long"),
        (Self::Unknown, "unknown"),
    ];
}

impl Stays {
    fn note(&mut self, why: Stay) {
        for (count, (stay, _)) in self.0.iter_mut().zip(Stay::ALL) {
            *count += usize::from(stay == why);
        }
    }

    #[cfg(unix)]
    fn add(&mut self, others: &Self) {
        for (count, other) in self.0.iter_mut().zip(others.0) {
            *count += other;
        }
    }

    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, usize)> {
        Stay::ALL.into_iter().zip(self.0).map(|((_, name), count)| (name, count))
    }
}

#[derive(Default)]
pub(super) struct Handovers {
    frozen: HashSet<u32>,
    /// By slot, of open connections that can move.
    origins: HashMap<u32, Origin>,
    /// By listener, while its connections are packed: the slots that are left.
    unpacked: HashMap<u32, Vec<u32>>,
    /// Bytes of [`MISSED`] that are left.
    room: usize,
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

    /// How a connection is read once the consumer has handed back bytes.
    pub(super) fn class_of(&self, slot: u32) -> ReadClass {
        let is_frozen = self.origins.get(&slot).is_some_and(|origin| self.freezes(origin.port));
        if is_frozen { ReadClass::Frozen } else { ReadClass::Modest }
    }

    /// Whether new connections of the listener are not read.
    pub(super) fn freezes(&self, listener: u32) -> bool {
        self.frozen.contains(&listener)
    }
}

impl<C: Consumer> Reactor<C> {
    /// Tells of some connections, at most of `most`. `left`: of an earlier call, or all.
    pub(super) fn on_tell(&mut self, listener: u32, left: Option<Vec<u32>>, most: usize, to: &Sender<Told>) {
        let mut left = left.unwrap_or_else(|| self.slots_of(listener));
        let (mut heads, mut count) = (Vec::new(), 0);
        for slot in left.split_off(left.len().saturating_sub(LOOKS)) {
            let Some(origin) = self.handovers.origins.get_mut(&slot) else { continue };
            // Another process was told earlier.
            origin.is_told = false;
            let Some(connection) = self.connections.get_mut(slot) else { continue };
            if count < most
                && connection.is_open()
                && origin.request.len() + origin.response.len() <= SHORT_HEADS
                && is_readable(origin)
            {
                Heads {
                    slot: slot.into(),
                    local: connection.transport.local_address(),
                    remote: origin.client.or_else(|| connection.transport.remote_address()),
                    request: origin.request.to_vec(),
                    response: origin.response.to_vec(),
                }
                .encode(&mut Encoder(&mut heads));
                origin.is_told = true;
                count += 1;
            }
        }
        // If no receiver is left, the conversation has ended.
        let _given_up = to.send(Told { heads, count, left });
    }

    /// Copies the output of some connections. `left`: of an earlier call, or all.
    pub(super) fn on_copy(&mut self, listener: u32, left: Option<Vec<u32>>, to: &Sender<Copied>) {
        let mut left = left.unwrap_or_else(|| {
            self.handovers.room = MISSED;
            self.slots_of(listener)
        });
        let (mut copies, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH_BYTES
            && let Some(slot) = left.pop()
        {
            self.queue_missed(slot);
            let Some(origin) = self.handovers.origins.get_mut(&slot) else { continue };
            // Another process has an earlier one.
            origin.copied = None;
            let Some(connection) = self.connections.get_mut(slot) else { continue };
            if (MUCH..parcel::LONGEST).contains(&connection.write.waiting()) {
                let (copy, positions) = connection.write.copy();
                origin.copied = Some(positions);
                bytes += copy.len();
                copies.push((slot, copy));
            }
        }
        // If no receiver is left, the conversation has ended.
        let _given_up = to.send(Copied { copies, left });
    }

    pub(super) fn on_freeze(&mut self, listener: u32) {
        self.listeners.stop(listener);
        self.handovers.frozen.insert(listener);
        for slot in self.slots_of(listener) {
            if let Some(connection) = self.connections.get_mut(slot)
                && matches!(connection.life, Life::Opening(_) | Life::AwaitingDecision(_) | Life::Open)
                && connection.read.class != ReadClass::AwaitingHandback
            {
                connection.read.class = ReadClass::Frozen;
            }
        }
        self.consumer.on_frozen(listener);
    }

    /// Packs a few connections of the listener: each takes a descriptor and a copy of its queued output.
    pub(super) fn on_pack(&mut self, listener: u32, to: &Sender<Packs>) {
        // If no receiver is left, `Thaw` follows.
        let _given_up = to.send(self.pack_some(listener));
    }

    fn pack_some(&mut self, listener: u32) -> Packs {
        let mut slots = self.handovers.unpacked.remove(&listener).unwrap_or_else(|| {
            let slots = self.slots_of(listener);
            self.handovers.room = MISSED;
            slots.iter().for_each(|&slot| self.queue_missed(slot));
            // Sends that wait for a long message that is being compressed.
            while self.writer.is_deferring() {
                self.writer.begin_turn();
                self.on_deferred();
            }
            slots.into_iter().rev().collect()
        });
        let mut packs = Packs::default();
        let mut bytes = 0;
        while packs.packed.len() < MOST
            && bytes < BATCH_BYTES
            && let Some(slot) = slots.pop()
        {
            let Some((mut conn, ..)) = self.conn_at(slot) else { continue };
            match conn.pack() {
                Ok(state) => {
                    let Some(socket) = conn.state.transport.duplicate() else {
                        // Fewer at once need fewer.
                        conn.state.read.class = ReadClass::Frozen;
                        slots.push(slot);
                        break;
                    };
                    bytes += state.len();
                    packs.packed.push(Packed { id: conn.id, socket, state });
                }
                // The HTTP server of the consumer has it.
                Err(_) if conn.state.life.is_relayed() => {}
                Err(why) => packs.stay.note(why),
            }
        }
        packs.is_last = slots.is_empty();
        if !packs.is_last {
            self.handovers.unpacked.insert(listener, slots);
        }
        packs
    }

    /// The other process has these connections: nothing here ends them any more.
    pub(super) fn on_given(&mut self, ids: &[ConnectionId]) {
        for &id in ids {
            let Some(connection) = self.connections.get(id) else { continue };
            if matches!(connection.life, Life::Closing { .. }) {
                // The program has closed it on its way.
                if let Some((mut conn, ..)) = self.conn_at(id.slot) {
                    conn.write_last();
                }
                self.destroy(id.slot, Cause::Terminate);
            } else {
                connection.read.class = ReadClass::Moved;
            }
        }
    }

    /// These connections leave.
    pub(super) fn on_moved(&mut self, ids: &[ConnectionId]) {
        for &id in ids {
            if self.connections.get(id).is_none() {
                continue;
            }
            let packed_at = self.handovers.origins.get(&id.slot).map_or(0, |origin| origin.packed_at);
            if let Some((mut conn, consumer, _)) = self.conn_at(id.slot) {
                conn.report_dropped(consumer);
            }
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

    fn queue_missed(&mut self, slot: u32) {
        let mut room = self.handovers.room;
        if let Some((mut conn, consumer, _)) = self.conn_at(slot) {
            conn.catch_up(consumer, Some(&mut room));
        }
        self.handovers.room = room;
    }

    /// Connections of the listener go on here. `accepts`: the listener too.
    pub(super) fn on_thaw(&mut self, listener: u32, accepts: bool) {
        self.handovers.frozen.remove(&listener);
        self.handovers.unpacked.remove(&listener);
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
        for (number, (stream, parcel)) in parcels.into_iter().enumerate() {
            if number % MOST == 0 {
                // The consumer begins with the first ones while the others come.
                self.consumer.on_turn_end();
            }
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
        (mut listener, mut config): (u32, Arc<ListenerConfig>),
        Parcel { client, unread, state }: Parcel,
    ) -> Option<()> {
        let of_port = config.admission.clone();
        let handshake_timeout = config.handshake_timeout;
        // Of connections for the consumer's HTTP server, it decides.
        let asks = match (&state, &config.http) {
            (State::Open(opened), Some(http)) => {
                let request = HeadScanner::default().parse(&opened.request, &parcel::HEADS).ok()??;
                let route = http.routes.current().iter().find(|route| route.serves(&request)).cloned();
                let asks = route.is_none();
                if let Some(route) = route {
                    (listener, config) = (route.listener, route.config);
                }
                asks
            }
            _ => false,
        };
        let admission = config.admission.clone().filter(|it| it.counts()).or(of_port);
        // From here on the end of the connection takes it out of the poll; while the other process has the socket, nothing else does.
        stream.share();
        stream.register(self.registry(), Token(id.slot as usize)).ok()?;
        let mut connection = Connection::new(stream, listener, config, Life::Open);
        connection.read.class = ReadClass::Frozen;
        let opened = match state {
            State::Opening { proxied, kept } => {
                connection.life = Life::Opening(Box::new(Head::moved(client, proxied, kept)));
                connection.read.received = unread.len() as u64;
                self.timers.arm(id, &mut connection.deadline, kept.unwrap_or(handshake_timeout));
                None
            }
            State::Open(opened) => Some(*opened),
        };
        self.connections.insert(id, connection);
        self.shard.came();
        let (mut conn, consumer, _) = self.conn_at(id.slot)?;
        if let Some(admission) = admission {
            // An open connection is not refused by a limit of the new version.
            let ip = client.or_else(|| conn.remote_address()).map(|address| address.ip());
            conn.teardown.set_ticket(id.slot, Some(admission.adopt(ip)));
        }
        conn.reader.keep(id.slot, &unread);
        let Some(opened) = opened else { return Some(()) };
        let is_known = conn.reopen(consumer, opened, client, asks);
        if is_known.is_none() {
            // The consumer does not know of it.
            conn.state.life = Life::Opening(Box::default());
            self.destroy(id.slot, Cause::Handshake);
        }
        is_known
    }

    /// Connections that have come by the listener's port.
    fn slots_of(&mut self, listener: u32) -> Vec<u32> {
        let mut slots = self.connections.slots();
        slots.retain(|&slot| {
            self.handovers.origins.get(&slot).is_some_and(|origin| origin.port == listener)
                || self.connections.get_mut(slot).is_some_and(|connection| connection.listener == listener)
        });
        slots
    }
}

impl Conn<'_> {
    /// Its bytes. From here on it is not written.
    fn pack(&mut self) -> Result<Vec<u8>, Stay> {
        if self.state.life.is_awaiting_decision() {
            return Err(Stay::Asked);
        }
        // The program can have yet to hear of its end.
        let engine = &self.state.engine;
        let is_ending = engine.close_received() || engine.failure().is_some();
        if self.state.read.class != ReadClass::Frozen || self.state.read.peer == PeerSide::Ended || is_ending
        {
            return Err(Stay::Closing);
        }
        // The consumer has dealt with all records before this command.
        self.go_on(HoldReason::Delivery);
        let (unread, client, state) = match &self.state.life {
            Life::Opening(head) => {
                let exported = head.export().filter(|_| self.queued() == 0);
                let (proxied, bytes) = exported.ok_or(Stay::Unknown)?;
                (bytes.to_vec(), head.client(), State::Opening { proxied, kept: head.kept })
            }
            Life::Open => {
                let origin = self.handovers.origins.get(&self.id.slot).ok_or(Stay::Unknown)?;
                let opened = self.export(origin)?;
                (Vec::new(), origin.client, State::Open(Box::new(opened)))
            }
            _ => return Err(Stay::Closing),
        };
        let unread = [&unread, self.reader.kept(self.id.slot)].concat();
        let mut bytes = Vec::with_capacity(self.queued() + unread.len() + USUAL);
        Parcel { client, unread, state }.encode(&mut bytes);
        if bytes.len() > parcel::LONGEST {
            return Err(Stay::Long);
        }
        let packed_at = self.state.write.pushed();
        if let Some(origin) = self.handovers.origins.get_mut(&self.id.slot) {
            origin.packed_at = packed_at;
        }
        self.state.read.class = ReadClass::Packed;
        Ok(bytes)
    }

    fn export(&self, origin: &Origin) -> Result<Opened, Stay> {
        if origin.stays {
            return Err(Stay::Busy);
        }
        let connection = &*self.state;
        if connection.following == Following::Lagging {
            return Err(Stay::Behind);
        }
        if !origin.is_told && !is_readable(origin) {
            return Err(Stay::Unknown);
        }
        let ahead = origin.is_told.then_some(self.id.slot.into());
        let head = |bytes: &[u8]| if ahead.is_none() { bytes.to_vec() } else { Vec::new() };
        let (left, queued) = connection.write.export(origin.copied.as_ref()).ok_or(Stay::Closing)?;
        let engine = connection.engine.export(connection.config.engine.role).ok_or(Stay::Compressed)?;
        Ok(Opened {
            ahead,
            request: head(&origin.request),
            response: head(&origin.response),
            engine,
            rest: parcel::Rest {
                attachment: origin.attachment.to_vec(),
                paused: connection.read.paused,
                pinged: connection.pinged,
                silence: self.timers.left(&connection.deadline),
                rates: self.reader.export_rates(self.id.slot, self.timers.now()),
                received: connection.read.received,
                copied: left.map(|left| (self.id.slot.into(), left)),
                queued,
            },
        })
    }

    /// The other process writes no close frame. It leaves from here, unless the other process has bytes that precede it.
    fn write_last(&mut self) {
        let packed_at = self.handovers.origins.get(&self.id.slot).map(|origin| origin.packed_at);
        if packed_at == Some(self.state.write.pushed() - self.queued() as u64) {
            self.state.read.class = ReadClass::Frozen;
            self.write_at_once(LAST_WRITE);
            self.state.read.class = ReadClass::Packed;
        }
    }

    fn thaw(&mut self) {
        if self.state.read.class.is_moving() {
            self.state.read.class = ReadClass::Modest;
            self.touch();
            self.read_again();
        }
    }

    /// Opens a connection that has come from another process, or with `asks` when the consumer says so. `None`: its heads
    /// are none, or the settings forbid its state.
    fn reopen<C: Consumer>(
        &mut self,
        consumer: &mut C,
        opened: Opened,
        client: Option<SocketAddr>,
        asks: bool,
    ) -> Option<()> {
        let Opened { ahead, request: head, response, engine, rest } = opened;
        let engine = if asks { Err(engine) } else { Ok(self.revive(engine)?) };
        let request;
        let info = if ahead.is_some() {
            HandshakeInfo::known(self.state.listener)
        } else {
            request = HeadScanner::default().parse(&head, &parcel::HEADS).ok()??;
            let (protocol, extensions) = read_accept(&response)?;
            HandshakeInfo {
                request: Some(&request),
                remote: client.or_else(|| self.remote_address()),
                protocol,
                extensions,
                ..self.handshake_info()
            }
        };
        self.state.read.received = rest.received;
        let moved = Moved { queued: rest.queued.len(), ahead, attachment: &rest.attachment };
        consumer.on_resumed(self, &info, &moved, asks);
        match engine {
            Ok(engine) => {
                let asked = self.state.config.movable.map(|port| Asked { port, client, request: head });
                self.begin_again(engine, rest, asked.map(|asked| Origin::new(&asked, &response)));
            }
            Err(engine) => {
                let opened = Opened { ahead, request: head, response, engine, rest };
                self.state.life = Life::AwaitingDecision(Box::new(PendingUpgrade::resumed(opened, client)));
            }
        }
        Some(())
    }

    /// The consumer accepts a connection that has come from another process.
    pub(super) fn go_on_here(&mut self, opened: Opened, client: Option<SocketAddr>) {
        let Opened { request, response, engine, rest, .. } = opened;
        self.state.life = Life::Open;
        let Some(engine) = self.revive(engine) else { return self.terminate() };
        let asked = Asked { port: self.state.listener, client, request };
        self.begin_again(engine, rest, Some(Origin::new(&asked, &response)));
        self.read_again();
    }

    /// Closes such a connection, which the consumer does not accept. False: it is none.
    pub(super) fn restarts(&mut self) -> bool {
        let Life::AwaitingDecision(pending) = &mut self.state.life else { return false };
        let Some((opened, client)) = pending.take_resumed() else { return false };
        self.go_on_here(opened, client);
        self.close(Some(CloseCode::SERVICE_RESTART), b"");
        true
    }

    /// `None`: the settings forbid the state.
    fn revive(&self, engine: Portable) -> Option<Engine> {
        let config = &self.state.config;
        let settings = config.deflate.map(|deflate| deflate.settings).unwrap_or_default();
        let settings = Settings { movable: true, ..settings };
        Engine::import(engine, &config.engine, &settings, self.writer.deflate_pool())
    }

    fn begin_again(&mut self, engine: Engine, rest: parcel::Rest, origin: Option<Origin>) {
        let parcel::Rest { paused, pinged, silence, rates, queued, .. } = rest;
        self.state.engine = engine;
        self.limit_rate();
        self.reader.import_rates(self.id.slot, rates, self.timers.now());
        if let Some(after) = self.state.silence() {
            self.arm(silence.map_or(after, |left| left.min(after)));
        }
        self.reader.resume_message(self.id, self.state.engine.buffered(), self.timers.now());
        (self.state.pinged, self.state.read.paused) = (pinged, paused);
        self.state.write.import(queued);
        if let Some(origin) = origin {
            self.handovers.begin(self.id.slot, origin);
        }
        self.touch();
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

/// Whether the other process can read the heads, too. Those that JavaScript has read or written can be of another form.
fn is_readable(origin: &Origin) -> bool {
    let request = HeadScanner::default().parse(&origin.request, &parcel::HEADS);
    matches!(request, Ok(Some(_))) && read_accept(&origin.response).is_some()
}
