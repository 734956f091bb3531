//! Applies what other threads ask for.

use crate::bridge::chunk::{Chunk, OutRecord};
use crate::bridge::layout::{
    OUT_ACCEPT, OUT_BINARY, OUT_CLOSE, OUT_END, OUT_FLAG_FIN, OUT_FLAG_WANT_SENT, OUT_PAUSE, OUT_PING,
    OUT_PONG, OUT_RESPOND, OUT_RESUME, OUT_TERMINATE, OUT_TEXT, OUT_WRITE,
};
use crate::engine::frame::wire_len;
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
        let mut records = chunk.records().peekable();
        while let Some(record) = records.next() {
            // Taken even when the connection is gone, or the next record would get this one's payload.
            let owned = if record.is_large() { Some(large.next().unwrap_or_default()) } else { None };
            let bytes = chunk.bytes.get(record.range.clone()).unwrap_or_default();
            let more = records.peek().is_some_and(|next| next.slot == record.slot);
            let payload = Outbound { bytes, owned, more };
            self.guarded(record.slot, |reactor| reactor.on_record(&record, payload));
        }
        drop(records);
        self.shared.outbox.recycle(chunk.bytes);
    }

    fn on_record(&mut self, record: &OutRecord, payload: Outbound<'_>) {
        let id = ConnectionId { slot: record.slot, generation: record.generation };
        let Some(connection) = self.connections.get(id) else { return };
        let mut session = Session { id, connection, work: &mut self.work };
        if record.kind == OUT_ACCEPT {
            return self.on_accept_record(id, payload.bytes);
        }
        apply(&mut session, record, payload);
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

/// What a record brings along.
struct Outbound<'a> {
    /// The payload in the chunk.
    bytes: &'a [u8],
    /// The payload if it is a large one.
    owned: Option<Vec<u8>>,
    /// The next record is for the same connection.
    more: bool,
}

fn apply(session: &mut Session<'_>, record: &OutRecord, payload: Outbound<'_>) {
    let fin = record.flags & OUT_FLAG_FIN != 0;
    let bytes = payload.bytes;
    match record.kind {
        OUT_TEXT => send(session, FrameKind::Text, fin, payload),
        OUT_BINARY => send(session, FrameKind::Binary, fin, payload),
        OUT_PING => send(session, FrameKind::Ping, true, payload),
        OUT_PONG => send(session, FrameKind::Pong, true, payload),
        OUT_CLOSE => {
            let code = CloseCode::new(record.aux);
            session.account(wire_len(if code.is_some() { bytes.len() + 2 } else { 0 }, false));
            session.close(code, bytes);
        }
        OUT_TERMINATE => session.terminate(),
        OUT_PAUSE => session.pause(),
        OUT_RESUME => session.resume(),
        OUT_RESPOND if matches!(session.connection.phase, Phase::Asked(_)) => session.respond(bytes),
        OUT_WRITE => {
            session.account(bytes.len());
            session.write(bytes);
        }
        OUT_END => session.end(),
        _ => {}
    }
    if record.flags & OUT_FLAG_WANT_SENT != 0 {
        session.mark();
    }
}

fn send(session: &mut Session<'_>, kind: FrameKind, fin: bool, payload: Outbound<'_>) {
    let Outbound { bytes, owned, more } = payload;
    if let Some(owned) = owned {
        session.account(wire_len(owned.len().saturating_sub(HEADROOM), false));
        session.connection.queue_owned(kind, fin, owned);
        session.touch();
        return;
    }
    session.account(wire_len(bytes.len(), false));
    // Frames that follow each other leave together; a long one that stands alone is spared a copy.
    if more || !session.frame_now(kind, fin, bytes) {
        session.frame(kind, fin, bytes);
    }
}
