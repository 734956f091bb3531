//! Applies what other threads ask for.

use crate::bridge::chunk::{Chunk, OutRecord};
use crate::bridge::layout::{
    OUT_ACCEPT, OUT_BINARY, OUT_CLOSE, OUT_END, OUT_FLAG_FIN, OUT_FLAG_WANT_SENT, OUT_PAUSE, OUT_PING,
    OUT_PONG, OUT_RESPOND, OUT_RESUME, OUT_TERMINATE, OUT_TEXT, OUT_WRITE,
};
use crate::engine::{CloseCode, FrameKind};

use super::connection::{HEADROOM, Phase};
use super::connections::ConnectionId;
use super::consumer::Consumer;
use super::session::Session;
use super::{Reactor, upgrade};

impl<C: Consumer> Reactor<C> {
    /// Applies the records of a chunk in order and gives its buffer back.
    pub(super) fn on_chunk(&mut self, mut chunk: Chunk) {
        let mut large = std::mem::take(&mut chunk.large).into_iter();
        for record in chunk.records() {
            // Taken even when the connection is gone, or the next record would get this one's payload.
            let owned = if record.is_large() { Some(large.next().unwrap_or_default()) } else { None };
            let id = ConnectionId { slot: record.slot, generation: record.generation };
            let payload = chunk.bytes.get(record.range.clone()).unwrap_or_default();
            self.guarded(record.slot, |reactor| reactor.on_record(id, &record, payload, owned));
        }
        self.shared.outbox.recycle(chunk.bytes);
    }

    fn on_record(&mut self, id: ConnectionId, record: &OutRecord, payload: &[u8], owned: Option<Vec<u8>>) {
        let Some(connection) = self.connections.get(id) else { return };
        let mut session = Session { id, connection, work: &mut self.work };
        if record.kind == OUT_ACCEPT {
            return self.on_accept_record(id, payload);
        }
        apply(&mut session, record, payload, owned);
        if session.connection.starved && !session.connection.paused {
            session.want_read();
        }
    }

    fn on_accept_record(&mut self, id: ConnectionId, response: &[u8]) {
        let Some(connection) = self.connections.get(id) else { return };
        let mut session = Session { id, connection, work: &mut self.work };
        if let Some(rest) = upgrade::accept(&mut session, response) {
            session.want_read();
            self.feed(id.slot, &rest);
        }
    }
}

fn apply(session: &mut Session<'_>, record: &OutRecord, payload: &[u8], owned: Option<Vec<u8>>) {
    let fin = record.flags & OUT_FLAG_FIN != 0;
    match record.kind {
        OUT_TEXT => send(session, FrameKind::Text, fin, payload, owned),
        OUT_BINARY => send(session, FrameKind::Binary, fin, payload, owned),
        OUT_PING => send(session, FrameKind::Ping, true, payload, owned),
        OUT_PONG => send(session, FrameKind::Pong, true, payload, owned),
        OUT_CLOSE => {
            let code = CloseCode::new(record.aux);
            session.account(wire_len(if code.is_some() { payload.len() + 2 } else { 0 }));
            session.close(code, payload);
        }
        OUT_TERMINATE => session.terminate(),
        OUT_PAUSE => session.pause(),
        OUT_RESUME => session.resume(),
        OUT_RESPOND if matches!(session.connection.phase, Phase::Asked(_)) => session.respond(payload),
        OUT_WRITE => {
            session.account(payload.len());
            session.write(payload);
        }
        OUT_END => session.end(),
        _ => {}
    }
    if record.flags & OUT_FLAG_WANT_SENT != 0 {
        session.mark();
    }
}

fn send(session: &mut Session<'_>, kind: FrameKind, fin: bool, payload: &[u8], owned: Option<Vec<u8>>) {
    match owned {
        Some(bytes) => {
            session.account(wire_len(bytes.len().saturating_sub(HEADROOM)));
            session.connection.queue_owned(kind, fin, bytes);
            session.touch();
        }
        None => {
            session.account(wire_len(payload.len()));
            session.frame(kind, fin, payload);
        }
    }
}

/// Bytes of a server's frame on the wire (RFC 6455 section 5.2).
fn wire_len(payload: usize) -> usize {
    payload
        + match payload {
            0..=125 => 2,
            126..=0xffff => 4,
            _ => 10,
        }
}
