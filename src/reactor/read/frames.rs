//! From the bytes of a read to the events in them.

use std::ops::Range;

use crate::bridge::layout::Cause;
use crate::engine::{Event, FrameKind, MessageKind, Payload};

use crate::reactor::config::READ_SIZE;
use crate::reactor::{Conn, Consumer};

/// The beginning of a frame that stays where it was read, for its rest to be read after it.
#[derive(Clone, Copy, Default)]
pub(in crate::reactor) struct Begun {
    pub(super) len: usize,
    /// Bytes that the frame lacks; 0 without such a frame.
    pub(super) missing: usize,
}

/// Hands over the events in `range` of the consumer's buffer. With `more` to come, the last frame
/// can stay there until it is whole. True: one of the messages might have begun before `range`.
pub(super) fn on_frames<C: Consumer>(
    consumer: &mut C,
    conn: &mut Conn<'_>,
    range: Range<usize>,
    more: bool,
) -> (Begun, bool) {
    let mut pos = range.start;
    let mut whole = false;
    while !conn.state.life.is_gone() {
        let event = match consumer.next_event(conn, range.end, &mut pos) {
            Ok(event) => event,
            Err(missing) => {
                let missing = usize::try_from(missing).unwrap_or(usize::MAX);
                if more && missing <= READ_SIZE && consumer.keep(pos..range.end, missing) {
                    return (Begun { len: range.end - pos, missing }, whole);
                }
                let connection = &mut *conn.state;
                let input = consumer.buffer(0..range.end);
                connection.engine.poll(&connection.config.engine, input, &mut pos)
            }
        };
        let Some(event) = event else { break };
        let mut may_be_last = false;
        match &event {
            Event::Message { kind, .. } => {
                whole = true;
                conn.metrics.tally.messages_received += 1;
                conn.metrics.tally.texts_received += u64::from(*kind == MessageKind::Text);
            }
            Event::Ping(payload) => {
                conn.metrics.tally.pings_received += 1;
                auto_pong(consumer, conn, payload);
                if conn.state.life.is_gone() {
                    break;
                }
            }
            Event::Pong(_) => {
                conn.metrics.tally.pongs_received += 1;
                conn.metrics.ponged(conn.id.slot);
            }
            Event::Close { .. } => may_be_last = conn.state.engine.close_sent(),
            Event::Error(_) => may_be_last = true,
        }
        consumer.on_event(conn, event);
        if may_be_last {
            finish_if_complete(conn);
        }
    }
    (Begun::default(), whole)
}

/// If our close frame is answered, our side ends at once.
pub(super) fn finish_if_complete(conn: &mut Conn<'_>) {
    if conn.state.close_complete() {
        conn.state.write.state.end_when_written();
        conn.touch();
    }
}

/// Answers a ping before it is reported; a peer that pings and does not read is cut off.
fn auto_pong<C: Consumer>(consumer: &mut C, conn: &mut Conn<'_>, payload: &Payload) {
    let config = &conn.state.config;
    if !config.auto_pong || conn.state.engine.close_sent() {
        return;
    }
    let most = config.max_pending_auto_pongs;
    if !conn.state.write.count_pong(most) {
        return conn.cut(Cause::TooManyPongs);
    }
    match payload {
        Payload::Input(range) => {
            let bytes = consumer.buffer(range.clone());
            conn.frame(FrameKind::Pong, true, bytes);
        }
        Payload::Owned(bytes) => conn.frame(FrameKind::Pong, true, bytes),
    }
}
