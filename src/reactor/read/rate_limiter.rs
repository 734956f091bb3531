//! How much of a connection can be read, where its server limits a peer's rate.
//!
//! A frame takes at least six bytes. So a read of six bytes for each message that a connection can
//! still send brings no more than those, and a message too many stays in the socket. Fragments
//! beyond one for each KiB count as messages, so a peer cannot cause many reads with few messages.
//!
//! ```text
//! limit -> Rate::room: this many bytes, or a moment until which it waits
//! on_bytes -> charge: counts the bytes and messages
//! the moment -> resume_limited: it is read again
//! ```

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::bridge::limits::SHORTEST_MASKED_FRAME;
use crate::bridge::rates::{Counted, Rates};

use crate::bridge::layout::Cause;
use crate::engine::{CloseCode, ErrorKind, Event};

use super::PeerSide;
use super::frames::finish_if_complete;
use crate::reactor::config::READ_SIZE;
use crate::reactor::queue::Alarms;
use crate::reactor::{Conn, ConnectionId, Consumer, Reactor};

const SECOND: Duration = Duration::from_secs(1);
const NANOS: u128 = 1_000_000_000;
/// A connection that has used up its bytes is read again when it can send a tenth of a second's.
const PART: u64 = 10;
/// Most of a rate that another process can have used up.
const LONGEST_USED: Duration = Duration::from_secs(60);

/// Connections with limits, by slot, and when the waiting ones are read again.
#[derive(Default)]
pub(super) struct RateLimiter {
    rates: HashMap<u32, Rate>,
    waiting: Alarms,
    /// Connections after their peers left, and until when they are read.
    gone: Alarms,
}

impl RateLimiter {
    fn open(&mut self, slot: u32, rates: &Rates, now: Instant) {
        let bucket = |per_second| (per_second > 0).then_some(Bucket { per_second, full_at: now });
        let rate = Rate { messages: bucket(rates.messages.into()), bytes: bucket(rates.bytes), waits: false };
        self.rates.insert(slot, rate);
    }

    pub(super) fn export(&self, slot: u32, now: Instant) -> [Duration; 2] {
        let used = |bucket: &Option<Bucket>| {
            bucket.as_ref().map_or(Duration::ZERO, |bucket| bucket.full_at.saturating_duration_since(now))
        };
        self.rates.get(&slot).map_or_else(Default::default, |rate| [&rate.messages, &rate.bytes].map(used))
    }

    pub(super) fn import(&mut self, slot: u32, used: [Duration; 2], now: Instant) {
        let Some(rate) = self.rates.get_mut(&slot) else { return };
        for (bucket, used) in [&mut rate.messages, &mut rate.bytes].into_iter().flatten().zip(used) {
            bucket.full_at = now.checked_add(used.min(LONGEST_USED)).unwrap_or(now);
        }
    }

    /// The connection has ended, or is not limited any more.
    pub(super) fn forget(&mut self, slot: u32) {
        if !self.rates.is_empty() {
            self.rates.remove(&slot);
        }
    }

    /// Bytes that can be read of a connection with a frame that lacks `missing`. `None`: none before
    /// `resume_limited`.
    pub(super) fn room(
        &mut self,
        id: ConnectionId,
        rates: &Rates,
        missing: u64,
        now: Instant,
    ) -> Option<usize> {
        let Some(rate) = self.rates.get_mut(&id.slot) else { return Some(usize::MAX) };
        match rate.room(missing, rates.closes, now) {
            // As many bytes as one read brings, after those kept before.
            Ok(room) if room >= 2 * READ_SIZE => Some(usize::MAX),
            Ok(room) => Some(room),
            Err((counted, until)) => {
                if !std::mem::replace(&mut rate.waits, true) {
                    rates.exceed(counted);
                    self.waiting.push(until, id);
                }
                None
            }
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.waiting.next(), self.gone.next()].into_iter().flatten().min()
    }

    /// The peer has left. A connection with limits is read until then.
    fn hung_up(&mut self, id: ConnectionId, until: Option<Instant>) {
        if let Some(until) = until.filter(|_| self.rates.contains_key(&id.slot)) {
            self.gone.push(until, id);
        }
    }

    pub(super) fn waits(&self, slot: u32) -> bool {
        self.rates.get(&slot).is_some_and(|rate| rate.waits)
    }

    fn pop(&mut self, now: Instant) -> Option<ConnectionId> {
        let id = self.waiting.pop(now)?;
        if let Some(rate) = self.rates.get_mut(&id.slot) {
            rate.waits = false;
        }
        Some(id)
    }
}

struct Rate {
    messages: Option<Bucket>,
    bytes: Option<Bucket>,
    /// In the queue of connections that are read later.
    waits: bool,
}

impl Rate {
    fn room(&self, missing: u64, closes: bool, now: Instant) -> Result<usize, (Counted, Instant)> {
        let mut room = u64::MAX;
        if let Some(bucket) = &self.messages {
            // If one message too many ends the connection, that message is looked for.
            let left = bucket.left(now) + u64::from(closes);
            let Some(others) = left.checked_sub(1) else {
                return Err((Counted::Messages, bucket.due(1)));
            };
            let shortest = SHORTEST_MASKED_FRAME as u64;
            let begun = if missing == 0 { shortest } else { missing };
            room = begun.saturating_add(others.saturating_mul(shortest));
        }
        if let Some(bucket) = &self.bytes {
            let left = bucket.left(now) + u64::from(closes);
            if left == 0 {
                return Err((Counted::Bytes, bucket.due((bucket.per_second / PART).max(1))));
            }
            room = room.min(left);
        }
        Ok(usize::try_from(room).unwrap_or(usize::MAX))
    }

    /// Counts input. Returns the unit of which there was too much.
    fn take(&mut self, messages: u64, bytes: u64, now: Instant) -> Option<Counted> {
        let over = |bucket: &mut Option<Bucket>, count| {
            bucket.as_mut().is_some_and(|bucket| bucket.take(count, now))
        };
        let (messages, bytes) = (over(&mut self.messages, messages), over(&mut self.bytes, bytes));
        match (messages, bytes) {
            (true, _) => Some(Counted::Messages),
            (false, true) => Some(Counted::Bytes),
            (false, false) => None,
        }
    }
}

/// The tokens of a second, which are also the most at once.
struct Bucket {
    per_second: u64,
    /// When the bucket is full again, if nothing is taken.
    full_at: Instant,
}

impl Bucket {
    fn left(&self, now: Instant) -> u64 {
        let free = SECOND.saturating_sub(self.full_at.saturating_duration_since(now));
        (free.as_nanos() * u128::from(self.per_second) / NANOS) as u64
    }

    /// True: there were fewer.
    fn take(&mut self, count: u64, now: Instant) -> bool {
        let over = count > self.left(now);
        let nanos = u128::from(count) * NANOS / u128::from(self.per_second);
        let time = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let full_at = self.full_at.max(now);
        // At most 584 years; a clock that cannot hold them keeps the old time.
        self.full_at = full_at.checked_add(time).unwrap_or(full_at);
        over
    }

    /// When there are `count` tokens, at most a second's.
    fn due(&self, count: u64) -> Instant {
        let nanos = (u128::from(count) * NANOS).div_ceil(u128::from(self.per_second));
        let time = Duration::from_nanos(nanos as u64).min(SECOND);
        self.full_at.checked_sub(SECOND - time).unwrap_or(self.full_at)
    }
}

impl<C: Consumer> Reactor<C> {
    /// Schedules the connections that have waited for long enough.
    pub(in crate::reactor) fn resume_limited(&mut self) {
        // Ends connections some time after their peers left.
        while let Some(id) = self.reader.rate_limiter.gone.pop(self.timers.now()) {
            self.step(id, |conn, _| conn.on_gone());
        }
        while let Some(id) = self.reader.rate_limiter.pop(self.timers.now()) {
            if let Some((mut conn, ..)) = self.conn_of(id) {
                conn.want_read();
            }
        }
    }
}

pub(super) fn charge<C: Consumer>(consumer: &mut C, conn: &mut Conn<'_>, messages: u64, len: usize) {
    let now = conn.timers.now();
    let Some(counted) = conn
        .reader
        .rate_limiter
        .rates
        .get_mut(&conn.id.slot)
        .and_then(|rate| rate.take(messages, len as u64, now))
    else {
        return;
    };
    let config = conn.state.config.clone();
    let Some(rates) = config.rates.as_ref().filter(|rates| rates.closes) else { return };
    let engine = &conn.state.engine;
    if conn.state.life.is_gone() || engine.failure().is_some() || engine.close_received() {
        return;
    }
    rates.exceed(counted);
    conn.reader.rate_limiter.forget(conn.id.slot);
    let kind = match counted {
        Counted::Messages => ErrorKind::TooManyMessages,
        Counted::Bytes => ErrorKind::TooManyBytes,
    };
    let error = conn.state.engine.refuse(kind);
    // Reported at once, not when the consumer has time: it can be busy with this peer's messages.
    conn.close(Some(CloseCode::POLICY_VIOLATION), kind.row().sentence.as_bytes());
    consumer.on_event(conn, Event::Error(error));
    finish_if_complete(conn);
}

impl Conn<'_> {
    /// From here on the connection's rates count.
    pub(in crate::reactor) fn limit_rate(&mut self) {
        let Some(rates) = &self.state.config.rates else { return };
        self.reader.rate_limiter.open(self.id.slot, rates, self.timers.now());
        // The request, all messages and the end can arrive at once.
        if self.state.read.peer >= PeerSide::HungUp {
            self.bound();
        }
    }

    pub(in crate::reactor) fn on_hang_up(&mut self) {
        if self.state.read.peer < PeerSide::HungUp {
            self.bound();
        }
    }

    /// The peer might have left. Bytes sent before are read at its rate, but not for ever.
    fn bound(&mut self) {
        let until = self.timers.now().checked_add(self.state.config.close_timeout);
        self.reader.rate_limiter.hung_up(self.id, until);
    }

    /// The time for bytes of a peer that has left is over.
    fn on_gone(&mut self) {
        if self.state.read.paused || !self.reader.rate_limiter.waits(self.id.slot) {
            // The limit does not hold this connection back.
            return self.reader.rate_limiter.hung_up(self.id, self.timers.now().checked_add(SECOND));
        }
        self.cut(Cause::Fin);
    }
}
