//! Listeners, and the connections that they accept.

pub(super) mod bind;
pub(super) mod door;
mod listener;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::Token;

use crate::bridge::layout::Cause;
use crate::reactor::config;
use crate::reactor::conn::life::Life;
use crate::reactor::read::ReadClass;
use crate::reactor::upgrade;
use crate::reactor::upgrade::head::Head;
use crate::reactor::{
    BoundListener, Connection, ConnectionId, Consumer, LISTENERS, ListenerConfig, Reactor, Transport,
};
use listener::{Accepted, Listener};

#[derive(Default)]
pub(super) struct Listeners {
    by_id: HashMap<u32, Listener>,
}

impl Listeners {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn join(&mut self, id: u32, config: Arc<ListenerConfig>) {
        self.by_id.insert(id, Listener::elsewhere(config));
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = u32> + use<> {
        std::mem::take(&mut self.by_id).into_keys()
    }

    /// From now on the listener accepts.
    pub(super) fn start(&mut self, id: u32) {
        if let Some(listener) = self.by_id.get_mut(&id) {
            listener.accepting = true;
        }
    }

    /// Until `start`, connections wait.
    pub(super) fn stop(&mut self, id: u32) {
        if let Some(listener) = self.by_id.get_mut(&id) {
            listener.accepting = false;
        }
    }

    pub(super) fn config(&self, id: u32) -> Option<Arc<ListenerConfig>> {
        self.by_id.get(&id).map(|listener| listener.config.clone())
    }

    fn report_refused<C: Consumer>(&mut self, id: u32, now: Instant, consumer: &mut C) {
        let count = self.by_id.get_mut(&id).map_or(0, |listener| listener.take_refused(now));
        if count != 0 {
            consumer.on_refused(id, count);
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.by_id.values().filter_map(Listener::due).min()
    }
}

#[cfg(test)]
impl BoundListener {
    pub(super) fn duplicate(&self) -> socket2::Socket {
        self.socket.duplicate()
    }
}

impl<C: Consumer> Reactor<C> {
    pub(super) fn retry_listeners(&mut self) {
        let now = self.timers.now();
        let is_due = |listener: &Listener| listener.due().is_some_and(|at| at <= now);
        let due = self.listeners.by_id.iter().filter(|(_, listener)| is_due(listener));
        for id in due.map(|(&id, _)| id).collect::<Vec<_>>() {
            // Also for one that another reactor accepts for.
            self.listeners.report_refused(id, self.timers.now(), &mut self.consumer);
            self.accept(id);
        }
    }

    pub(super) fn on_listen(&mut self, id: u32, listener: BoundListener, config: Arc<ListenerConfig>) {
        let token = Token(LISTENERS + id as usize);
        if self.registry().and_then(|poll| listener.socket.watch(poll, token)).is_ok() {
            self.listeners.by_id.insert(id, Listener::new(listener.socket, config));
        } else {
            self.consumer.on_listener_closed(id);
        }
    }

    pub(super) fn on_close_listener(&mut self, id: u32) {
        // Before the report: its receiver can want the port.
        if self.listeners.by_id.remove(&id).is_none() {
            return;
        }
        for slot in self.connections.slots() {
            if let Some(connection) = self.connections.get_mut(slot)
                && connection.listener == id
                && let Life::Opening(head) = &mut connection.life
            {
                // No byte of a request arrived, or a request was answered: the peer does not wait
                // for a 503.
                if !head.close() {
                    self.destroy(slot, Cause::Handshake);
                }
            }
        }
        self.consumer.on_listener_closed(id);
    }

    pub(super) fn accept(&mut self, id: u32) {
        // Messages of connections are held back elsewhere; their beginnings and ends are not.
        let pending = self.consumer.pending_open_bytes();
        let (budget, pause) = match pending > self.config.total_mark / config::PENDING_OPEN_PART {
            true => (0, config::PRESSED_ACCEPT),
            false => (config::ACCEPT_BUDGET, Duration::ZERO),
        };
        for _ in 0..budget {
            let Some(listener) = self.listeners.by_id.get_mut(&id).filter(|listener| listener.accepting)
            else {
                return;
            };
            match listener.accept(self.timers.now()) {
                Accepted::Connection(stream, peer) => {
                    // Another reactor of the group might have fewer.
                    if let Some(stream) = self.shard.place(id, stream) {
                        self.on_take(id, stream, peer);
                    }
                }
                Accepted::Empty => {
                    self.listeners.report_refused(id, self.timers.now(), &mut self.consumer);
                    return;
                }
                Accepted::Exhausted => {
                    // A new connection is worth more than a socket held for the sake of order.
                    if self.barrier.close_now() {
                        continue;
                    }
                    if !listener.refuse(self.timers.now()) {
                        self.listeners.report_refused(id, self.timers.now(), &mut self.consumer);
                        return;
                    }
                }
            }
        }
        self.listeners.report_refused(id, self.timers.now(), &mut self.consumer);
        // The edge is used up, the queue is not.
        if let Some(listener) = self.listeners.by_id.get_mut(&id) {
            listener.retry_at = Some(self.timers.now() + pause);
        }
    }

    /// Takes a connection that was accepted for this reactor and is already counted. `peer`: its
    /// address, if that is known.
    pub(super) fn on_take(&mut self, listener: u32, stream: Transport, peer: Option<SocketAddr>) {
        // The socket is closed if there is no slot for it, or its listener has closed meanwhile.
        let config = self.listeners.by_id.get(&listener).map(|listener| listener.config.clone());
        let admission = config.as_ref().and_then(|config| config.admission.clone()).filter(|it| it.counts());
        let mut proxied = false;
        let taken = config.and_then(|config| {
            let id = self.connections.next_id()?;
            if !config.proxies.is_empty() {
                // A peer without an address is in no network.
                let peer = peer.or_else(|| stream.remote_address());
                let is_in =
                    |peer: SocketAddr| config.proxies.iter().any(|network| network.contains(peer.ip()));
                proxied = peer.is_some_and(is_in);
            }
            let since = Some(self.timers.now());
            let life = Life::Opening(Box::new(Head::new(peer, proxied, since)));
            let stream = match &config.tls {
                Some(server) => stream.secure(server, proxied),
                None => stream,
            };
            self.admit(id, stream, listener, config, life)
        });
        match (taken, admission) {
            (None, _) => {
                self.shard.left();
                if let Some(listener) = self.listeners.by_id.get_mut(&listener) {
                    listener.note_refused();
                }
                self.listeners.report_refused(listener, self.timers.now(), &mut self.consumer);
            }
            (Some(_), None) => self.metrics.tally.accepted += 1,
            (Some(slot), Some(admission)) => {
                self.metrics.tally.accepted += 1;
                let Some((mut conn, ..)) = self.conn_at(slot) else { return };
                // The client of a proxy's connection is not known yet.
                let peer = if proxied { None } else { peer.or_else(|| conn.remote_address()) };
                upgrade::let_in(&mut conn, &admission, peer.map(|peer| peer.ip()));
            }
        }
    }

    /// `None`: there are too many, or the poll is full; the socket is closed.
    pub(super) fn admit(
        &mut self,
        id: ConnectionId,
        mut stream: Transport,
        listener: u32,
        config: Arc<ListenerConfig>,
        life: Life,
    ) -> Option<u32> {
        if let Some(tcp) = config.tcp {
            stream.set_options(tcp);
        }
        stream.register(self.registry(), Token(id.slot as usize)).ok()?;
        let mut connection = Connection::new(stream, listener, config, life);
        if self.handovers.freezes(listener) {
            connection.read.class = ReadClass::Frozen;
        }
        if !connection.is_open() {
            let Connection { config, transport, read, deadline, .. } = &mut connection;
            let mut after = config.handshake_timeout;
            if let (Some(tls), Some(server)) = (transport.as_tls(), &config.tls) {
                // That of the request begins when the handshake is done.
                after = server.handshake_timeout;
                if tls.is_handshaking() {
                    read.class = ReadClass::Handshaking;
                }
            }
            self.timers.arm(id, deadline, after);
        }
        self.connections.insert(id, connection);
        Some(id.slot)
    }
}
