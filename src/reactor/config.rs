//! Settings of a listener and of the reactor, with their defaults.

use std::time::Duration;

use crate::bridge::layout::HIGH_WATER_MARK;
use crate::engine;
use crate::engine::deflate::Settings;
use crate::engine::handshake::extensions::Acceptance;

use super::wait::spin::{Spin, processors};

/// What every connection of one listener (or one adopted socket) is served with.
#[derive(Debug, Clone, PartialEq)]
pub struct ListenerConfig {
    /// Limits and switches of the protocol engine.
    pub engine: engine::Config,
    /// Only this path is served, up to the `?`; `None` serves every path. A mismatch is answered with 400.
    pub path: Option<Box<[u8]>>,
    /// permessage-deflate; `None` does not look at what clients offer. Default: `None`.
    pub deflate: Option<DeflateConfig>,
    /// Answer pings without asking the handler. Default: true.
    pub auto_pong: bool,
    /// Automatic pongs that may wait for a peer that does not read; one more ends the connection. 0 = no limit. Default: 60.
    pub max_pending_auto_pongs: u32,
    /// A handshake that needs no decision is answered at once, not when the consumer has heard of it. Default: false.
    pub early_handshake: bool,
    /// From accept to a complete upgrade request. Default: 10 s.
    pub handshake_timeout: Duration,
    /// From our close frame (or the peer's FIN) to a closed socket. Default: 30 s.
    pub close_timeout: Duration,
    /// Silence after which a ping is sent; a second such silence ends the connection. Zero = never. Default: zero.
    pub ping_interval: Duration,
    /// Silence after which the connection is ended. Zero = never. Default: zero.
    pub idle_timeout: Duration,
    /// Queued outgoing bytes above which `on_drain` will be called once they fell to half of it. Default: 1 MiB.
    pub high_water_mark: usize,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            engine: engine::Config::default(),
            path: None,
            deflate: None,
            auto_pong: true,
            max_pending_auto_pongs: 60,
            early_handshake: false,
            handshake_timeout: Duration::from_secs(10),
            close_timeout: Duration::from_secs(30),
            ping_interval: Duration::ZERO,
            idle_timeout: Duration::ZERO,
            high_water_mark: HIGH_WATER_MARK,
        }
    }
}

/// How permessage-deflate is negotiated and used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeflateConfig {
    /// Which offers are accepted, and how they are answered.
    pub acceptance: Acceptance,
    /// How messages are compressed. `releasable` follows from `release_after`.
    pub settings: Settings,
    /// Compression contexts that were not used for so long are freed, see [`crate::engine::deflate`]. Zero = never.
    /// Default: zero.
    pub release_after: Duration,
}

/// Settings of one reactor thread.
#[derive(Debug, Clone, Copy)]
pub struct ReactorConfig {
    /// How long to poll without blocking after recent traffic, before the thread sleeps.
    pub spin: Spin,
    /// Inbound bytes of one connection that its consumer has not taken yet; above it the socket is not read. Default: 1 MiB.
    pub connection_mark: usize,
    /// The same for all connections together, with the memory that carries it. Above it only connections below their
    /// share of half of it are read, at most [`SMALL_ALLOWANCE`], so that a quiet peer's ping is still answered; others
    /// go on in turn when it has fallen below. Of pings and pongs alone 64 KiB may wait, out of a sixteenth of this that
    /// all have in common. Default: 64 MiB.
    pub total_mark: usize,
    /// Bytes that unfinished messages of all connections may take together; above it those who keep [`SMALL_ALLOWANCE`] of
    /// one wait for each other, see `unfinished.rs`. Default: 256 MiB.
    pub unfinished_mark: usize,
    /// How long a peer may leave its message lying above that mark, or bring little in its turn, while others wait.
    /// Default: 2 s.
    pub unfinished_patience: Duration,
    /// Bytes that compression contexts may take that are kept between messages, all connections together, see
    /// [`crate::engine::deflate::Budget`]; `None`: together with those of all reactors of the process. Default: `None`.
    pub deflate_budget: Option<usize>,
    /// Has the allocator give back to the system what is free. It is called when connections have left much behind and nothing has
    /// happened for a moment. Default: `None`.
    pub give_back: Option<fn()>,
}

impl Default for ReactorConfig {
    fn default() -> Self {
        Self {
            spin: Spin::Automatic,
            connection_mark: 1 << 20,
            total_mark: 64 << 20,
            unfinished_mark: 256 << 20,
            unfinished_patience: Duration::from_secs(2),
            deflate_budget: None,
            give_back: None,
        }
    }
}

impl ReactorConfig {
    /// What each of `count` reactors gets that may take no more memory together than one with this. `Automatic` spins only
    /// where there is a CPU for each of them and one for their consumer.
    #[must_use]
    pub fn shared_by(self, count: usize) -> Self {
        let count = count.max(1);
        let crowded = self.spin == Spin::Automatic && processors() <= count;
        Self {
            spin: if crowded { Spin::Never } else { self.spin },
            total_mark: self.total_mark / count,
            unfinished_mark: self.unfinished_mark / count,
            deflate_budget: self.deflate_budget.map(|bytes| bytes / count),
            ..self
        }
    }
}

/// What one connection may leave undrained, its unfinished message included, while all connections together are above the
/// total mark.
pub const SMALL_ALLOWANCE: usize = 16 << 10;

/// As `SMALL_ALLOWANCE`, of a connection of which nothing but pings and pongs waits to be taken: what goes beyond that
/// allowance comes out of a reserve that all of them have in common. 64 KiB.
pub(super) const CONTROL_ALLOWANCE: usize = 64 << 10;
/// That reserve is so many times smaller than the total mark.
pub(super) const CONTROL_RESERVE: usize = 16;

/// Bytes read from one connection before the others get their turn.
pub(super) const READ_BUDGET: usize = 128 << 10;
/// Who has wanted less of a share than this is read before those who wanted more. 32 KiB.
pub(super) const MODEST: usize = 32 << 10;
/// Bytes read from all connections before commands, timers and the consumer get theirs: what stays in a core's L2 cache.
pub(super) const TURN_BUDGET: usize = crate::bridge::limits::TURN_BYTES;
/// A compressed byte may become so many (RFC 1951: 258 bytes from two bits).
pub(super) const MOST_INFLATED: usize = 1032;
/// So many of those who waited for room go on in a turn: about as many as a turn reads a little of.
pub(super) const SERVED_AT_ONCE: usize = 64;
/// What is left of an allowance is not read when it is less than this: a read that brings little costs as much. 1 KiB.
pub(super) const SMALLEST_READ: usize = 1 << 10;
/// Nothing is accepted while more than such a part of the total mark waits to be taken about connections that opened: their
/// requests, which nothing else limits.
pub(super) const OPENINGS_PART: usize = 8;
/// How long accepting pauses then.
pub(super) const PRESSED_ACCEPT: Duration = Duration::from_millis(10);
/// What prolongs the turn of an unfinished message above the mark by a second: 64 KiB.
pub(super) const TURN_RATE: u64 = 64 << 10;
/// How long it is at most while others wait.
pub(super) const TURN_LIMIT: Duration = Duration::from_secs(10);
/// The largest single read.
pub(super) const READ_SIZE: usize = 64 << 10;
/// The largest single read of a request. It is longer than most, and what comes behind them is kept while the consumer decides: the
/// rest waits in the socket. 2 KiB.
pub(super) const HEAD_READ: usize = 2 << 10;
/// The largest single read of a connection whose messages may be compressed: a byte can become a thousand, and what has
/// been read is inflated before anything else gets its turn.
pub(super) const COMPRESSED_READ_SIZE: usize = 8 << 10;
/// Bytes compressed per turn, and of one message before other connections get theirs.
pub(super) const COMPRESS_BUDGET: usize = 256 << 10;
pub(super) const COMPRESS_SLICE: usize = 64 << 10;
/// What is sent behind such a message and not compressed is copied: a byte of it is charged as such a part of one.
pub(super) const COPY_DISCOUNT: usize = 16;
/// What of the commands is done at once before others get their turn, as bytes that are copied. 4 MiB, some 1 ms.
pub(super) const COMMAND_BUDGET: usize = 4 << 20;
/// Bytes that are written at once before others get their turn. 4 MiB, some 1 ms.
pub(super) const FLUSH_BUDGET: usize = 4 << 20;
/// Bytes written to one connection before the others get their turn: a fast reader of a long queue would hold it.
pub(super) const WRITE_BUDGET: usize = 1 << 20;
/// What both of these budgets are charged for a connection beside its bytes: a system call takes as long as to copy so many.
pub(super) const COST_OF_CALL: usize = 16 << 10;
/// A byte whose memory is freed is charged as such a part of one that is written.
pub(super) const FREE_DISCOUNT: usize = 4;
/// Whose queue is longer is written behind all others.
pub(super) const SHORT_QUEUE: usize = 64 << 10;
/// Bytes that the one attempt may write that a connection has before it is destroyed: more than the kernel's buffer holds, so
/// that only a peer that reads meanwhile would get more. 4 MiB.
pub(super) const LAST_WRITE: usize = 4 << 20;
/// Bytes that are freed per turn of what was on its way to connections that are gone. 64 MiB, some 1 ms.
pub(super) const FREE_BUDGET: usize = 64 << 20;
/// Connections accepted by one listener per turn.
pub(super) const ACCEPT_BUDGET: usize = 256;
/// Deadlines that are acted on in a turn. Each may mean a ping or a closed socket, some 5 us.
pub(super) const TIMER_BUDGET: usize = 1024;
/// How long a refused connection may take to read the refusal and close.
pub(super) const LINGER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a paused connection whose closing handshake takes too long is read once more: the next turn has it.
pub(super) const LAST_READ: Duration = Duration::from_millis(1);
/// Bytes of answers to requests that are no upgrades that may wait to be read; the one beyond them is the last.
pub(super) const UNREAD_ANSWERS: usize = 16 << 10;
/// How long an HTTP connection may stay open after a 426 (Node's keepAliveTimeout).
pub(super) const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// From this payload size on a message that is sent back as it came leaves from the receive buffer itself; below it,
/// gathering many frames into one write is cheaper than the copy it costs.
pub(in crate::reactor) const IN_PLACE: usize = 2 << 10;
