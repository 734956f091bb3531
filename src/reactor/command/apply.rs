//! Applies the records of other threads.

use std::time::Duration;

use crate::bridge::chunk::OutRecord;
use crate::bridge::layout::{
    OUT_ACCEPT, OUT_ASK_END, OUT_BINARY, OUT_CLOSE, OUT_END, OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_FLAG_ON,
    OUT_FLAG_RESET, OUT_FLAG_WANT_SENT, OUT_GIVE, OUT_HEAD, OUT_KEEP_ALIVE, OUT_NO_DELAY, OUT_PAUSE,
    OUT_PING, OUT_PONG, OUT_RESPOND, OUT_RESUME, OUT_SUBSCRIBE, OUT_TERMINATE, OUT_TEXT, OUT_UNSUBSCRIBE,
    OUT_WITHHOLD, OUT_WRITE, TOPIC_SLOT,
};
use crate::engine::frame::wire_len;
use crate::engine::{CloseCode, FrameKind, MessageKind, Prepared};

use crate::reactor::command::records::Outbound;
use crate::reactor::command::records::{Next, Records, Rest, is_plain, message};
use crate::reactor::config::{IN_PLACE, SHORT_QUEUE};
use crate::reactor::open::upgrade;
use crate::reactor::write::half::Takes;
use crate::reactor::write::is_data;
use crate::reactor::write::{Head, Pending};
use crate::reactor::{ConnectionId, Consumer, Reactor, Session};

impl<C: Consumer> Reactor<C> {
    /// Applies records in order, within the turn's budget; `last` is the payload of a large record
    /// after those in `rest`. Returns what is left.
    pub(in crate::reactor) fn on_records(
        &mut self,
        bytes: &[u8],
        rest: Rest,
        last: Option<&[u8]>,
    ) -> Option<Rest> {
        let mut records = Records::new(bytes, rest, last);
        let mut position = records.records.position();
        if !self.go_on_publishing(records.records.peek_slot().is_some()) {
            return Some(records.into_rest());
        }
        // A panic in a record leaves the following ones where they are.
        while let Some(first) = records.next() {
            self.guarded(first.record.slot, |reactor| reactor.on_run(first, &mut records));
            let applied =
                records.records.position() - std::mem::replace(&mut position, records.records.position());
            self.writer.spend(applied);
            let more = records.records.peek_slot().is_some();
            if self.topics.is_publishing() && !self.go_on_publishing(more) {
                return Some(records.into_rest());
            }
            if more && !self.writer.may_apply() {
                return Some(records.into_rest());
            }
        }
        self.messages.forget_shared();
        None
    }

    fn on_run<'a>(&mut self, first: Next<'a>, records: &mut Records<'a>) {
        let mut next = Some(first);
        while let Some(first) = next {
            let Some(Next { record, mut payload, more }) = self.on_plain(first, records) else { return };
            let number = self.messages.number(&record, &mut payload);
            self.on_record(&record, payload, number, more);
            if self.ends.is_due() {
                return;
            }
            next = if more { records.next() } else { None };
        }
    }

    /// Queues messages as long as only plain ones come. Returns the first record of the run that
    /// needs more than a frame.
    #[inline]
    fn on_plain<'a>(&mut self, first: Next<'a>, records: &mut Records<'a>) -> Option<Next<'a>> {
        let Next { ref record, ref payload, more } = first;
        if !is_plain(record) {
            return Some(first);
        }
        let id = ConnectionId { slot: record.slot, generation: record.generation };
        let Some(mut session) = self.session_of(id) else { return Some(first) };
        let connection = &*session.connection;
        if connection.write.deferred.is_some()
            || connection.engine.has_deflate()
            || connection.is_client()
            || !connection.takes_frames()
        {
            return Some(first);
        }
        // A long message that stands alone may be written from where it is.
        let is_short = payload.len() < IN_PLACE || more;
        if !is_short {
            return Some(first);
        }
        let is_text = record.kind == OUT_TEXT;
        session.queue_messages(std::iter::once((is_text, &**payload)));
        let (mut count, mut texts) = (1, u64::from(is_text));
        let others = std::iter::from_fn(|| records.next_plain(id)).inspect(|&(is_text, _)| {
            count += 1;
            texts += u64::from(is_text);
        });
        session.queue_messages(others);
        session.metrics.tally.messages_sent += count;
        session.metrics.tally.texts_sent += texts;
        session.touch();
        if records.records.peek_slot() == Some(id.slot) { records.next() } else { None }
    }

    /// `number`: the message that is its payload, if the reactor keeps it.
    #[inline]
    fn on_record(&mut self, record: &OutRecord, mut payload: Outbound<'_>, number: Option<u32>, more: bool) {
        let id = ConnectionId { slot: record.slot, generation: record.generation };
        if let Some(number) = number
            && record.slot != TOPIC_SLOT
        {
            if message(record).is_some() {
                return self.on_kept(id, record, number, more);
            }
            let Some(kept) = self.messages.get_mut(number) else { return };
            payload = Outbound::Shared(kept.payload_frame());
        }
        let Some(mut session) = self.session_of(id) else { return self.on_unknown(record, payload, number) };
        count_send(&mut session, record.kind);
        match record.kind {
            OUT_ACCEPT => self.on_accept_upgrade(id, &payload),
            OUT_GIVE => self.on_give(id),
            OUT_SUBSCRIBE => self.on_subscribe(id, &payload),
            OUT_UNSUBSCRIBE => self.on_unsubscribe(id, &payload),
            kind => {
                let head = Head { kind, flags: record.flags, aux: record.aux };
                submit(&mut session, head, payload, more);
            }
        }
    }

    #[inline]
    fn on_kept(&mut self, id: ConnectionId, record: &OutRecord, number: u32, more: bool) {
        let longest = self.writer.compressed_at_once();
        let Some((mut session, kept)) = self.session_and_message(id, number) else { return };
        count_send(&mut session, record.kind);
        // A long one is written at the end of the turn, within its budget.
        let now = !more && kept.payload().len() < SHORT_QUEUE;
        send_prepared(&mut session, kept, record.flags, now, longest);
    }

    /// Goes on with deferred sends, one slice for each connection, within the turn's budget.
    pub(in crate::reactor) fn on_deferred(&mut self) {
        while let Some(id) = self.writer.next_deferred() {
            self.guarded(id.slot, |reactor| reactor.resume_sends(id));
        }
    }

    fn resume_sends(&mut self, id: ConnectionId) {
        let Some(mut session) = self.session_of(id) else { return };
        let Some(mut deferred) = session.connection.write.deferred.take() else { return };
        while let Some(pending) = deferred.sends.pop_front() {
            deferred.bytes -= pending.payload.len();
            if !is_data(pending.head.kind) {
                apply(&mut session, pending.head, Outbound::Lent(&pending.payload), true);
            } else if session.advance(&mut deferred, &pending) {
                mark(&mut session, pending.head.kind, pending.head.flags);
            } else {
                deferred.bytes += pending.payload.len();
                deferred.sends.push_front(pending);
                break;
            }
        }
        if !deferred.sends.is_empty() && !session.connection.life.is_gone() {
            session.connection.write.deferred = Some(deferred);
            session.writer.defer_again(id);
        }
    }
}

#[inline]
fn count_send(session: &mut Session<'_>, kind: u8) {
    session.metrics.tally.messages_sent += u64::from(matches!(kind, OUT_TEXT | OUT_BINARY));
    session.metrics.tally.texts_sent += u64::from(kind == OUT_TEXT);
}

/// Applies a record, unless it must wait for a message that is being compressed.
pub(in crate::reactor) fn submit(session: &mut Session<'_>, head: Head, payload: Outbound<'_>, more: bool) {
    let at_once = matches!(head.kind, OUT_TERMINATE | OUT_PAUSE | OUT_RESUME | OUT_WITHHOLD);
    if session.connection.write.deferred.is_none() && !session.connection.engine.has_deflate() {
        return apply(session, head, payload, more);
    }
    let len = payload.len();
    let data = is_data(head.kind) && session.connection.engine.has_deflate();
    let waits =
        if data { session.must_wait(head.flags, len) } else { session.connection.write.deferred.is_some() };
    if waits && !at_once {
        return session.defer(Pending { head, payload: payload.into_frame() });
    }
    if data && session.connection.engine.will_compress(head.flags & OUT_FLAG_COMPRESS != 0, len) {
        let (masking, payload) = payload.masking(head.flags, head.aux);
        let key = session.key(masking);
        session.account(wire_len(payload.len(), key.is_some()));
        session.compressed(head.kind, head.flags, &payload, key);
        return mark(session, head.kind, head.flags);
    }
    apply(session, head, payload, more);
}

/// Sends a message that others get too: the same bytes, unless this connection needs its own.
/// `now`: nothing follows it here; `longest`: most bytes to compress for it at once.
pub(in crate::reactor) fn send_prepared(
    session: &mut Session<'_>,
    prepared: &mut Prepared,
    flags: u8,
    now: bool,
    longest: usize,
) {
    let connection = &mut *session.connection;
    let frame = if connection.write.deferred.is_none() && connection.takes_frames() && !connection.is_client()
    {
        connection.engine.prepared_frame(prepared, longest)
    } else {
        None
    };
    if let Some(frame) = frame {
        session.account(wire_len(prepared.payload().len(), false));
        session.shared(frame, now);
        return mark(session, OUT_TEXT, flags);
    }
    let kind = if prepared.kind == MessageKind::Text { OUT_TEXT } else { OUT_BINARY };
    let compress = if prepared.compress { OUT_FLAG_COMPRESS } else { 0 };
    let head = Head { kind, flags: flags & OUT_FLAG_WANT_SENT | OUT_FLAG_FIN | compress, aux: 0 };
    submit(session, head, Outbound::Shared(prepared.payload_frame()), true);
}

/// Marks an applied record whose sender wants a report. A send that came too late for the
/// connection to take has not left; it ends when the connection does.
fn mark(session: &mut Session<'_>, kind: u8, flags: u8) {
    if flags & OUT_FLAG_WANT_SENT == 0 {
        return;
    }
    let has_left = match kind {
        OUT_TEXT | OUT_BINARY | OUT_PING | OUT_PONG => session.connection.takes_frames(),
        OUT_WRITE => !session.connection.write.state.is_ended(),
        _ => true,
    };
    if has_left { session.mark() } else { session.connection.write.mark(true) }
}

/// `more`: the next record is for the same connection.
fn apply(session: &mut Session<'_>, head: Head, payload: Outbound<'_>, more: bool) {
    if let Some(kind) = frame_kind(head.kind) {
        let fin = head.flags & OUT_FLAG_FIN != 0 || !is_data(head.kind);
        let (masking, payload) = payload.masking(head.flags, head.aux);
        session.send_payload(kind, fin, masking, payload, more);
        return mark(session, head.kind, head.flags);
    }
    match head.kind {
        // Senders do not count a close frame: no send follows it.
        OUT_CLOSE => {
            let (masking, reason) = payload.masking(head.flags, 0);
            session.close_with(CloseCode::new(head.aux), &reason, masking);
        }
        OUT_TERMINATE if head.flags & OUT_FLAG_RESET != 0 => session.reset(),
        OUT_TERMINATE => {
            session.decide(false);
            session.go_on(Takes::AfterDelivery);
            session.go_on(Takes::AfterEnds);
            session.terminate();
        }
        OUT_PAUSE if head.aux == 0 => session.pause(),
        OUT_PAUSE => {
            session.pause();
            session.connection.hold(Takes::AfterDecision);
        }
        OUT_RESUME => {
            session.decide(true);
            session.resume();
        }
        OUT_RESPOND => refuse(session, &payload),
        OUT_WRITE => {
            session.decide(false);
            session.account(payload.len());
            session.write_payload(payload);
        }
        OUT_END => {
            session.decide(false);
            session.end();
        }
        OUT_ASK_END => session.ask_end(),
        OUT_WITHHOLD if head.flags & OUT_FLAG_ON != 0 => session.connection.hold(Takes::AfterEnds),
        OUT_WITHHOLD => drop(session.go_on(Takes::AfterEnds)),
        OUT_NO_DELAY => session.set_no_delay(head.aux != 0),
        OUT_HEAD => upgrade::keep(session, &payload),
        OUT_KEEP_ALIVE => {
            let silence = Duration::from_secs(head.aux.into());
            session.set_keep_alive(head.flags & OUT_FLAG_ON != 0, silence);
        }
        _ => {}
    }
    mark(session, head.kind, head.flags);
}

fn frame_kind(kind: u8) -> Option<FrameKind> {
    Some(match kind {
        OUT_TEXT => FrameKind::Text,
        OUT_BINARY => FrameKind::Binary,
        OUT_PING => FrameKind::Ping,
        OUT_PONG => FrameKind::Pong,
        _ => return None,
    })
}

/// If the reactor opened the connection before the consumer could refuse it, the peer gets the
/// refusal instead of the 101, unless that has left.
fn refuse(session: &mut Session<'_>, response: &[u8]) {
    if session.connection.life.is_asked() || session.decide(false) {
        session.connection.read.paused = false;
        session.respond(response);
    } else if session.is_open() {
        session.terminate();
    }
}
