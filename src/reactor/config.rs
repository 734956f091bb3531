//! Settings of a listener and of the reactor, with their defaults.

use std::sync::Arc;
use std::time::Duration;

use crate::bridge::admission::Admission;
use crate::bridge::layout::HIGH_WATER_MARK;
use crate::bridge::rates::Rates;
use crate::engine;
use crate::engine::deflate::Settings;
use crate::engine::handshake::HeadLimits;
use crate::engine::handshake::extensions::Acceptance;
use crate::engine::proxy::Network;

use super::open::bind::INHERITS;
use super::wait::spin::{Spin, processors};
use crate::reactor::TcpOptions;

/// The settings of every connection of one listener, or of one adopted socket.
#[derive(Debug, Clone, PartialEq)]
pub struct ListenerConfig {
    pub engine: engine::Config,
    /// The path that is served, up to the `?`; `None`: every path. A mismatch is answered with 400.
    pub path: Option<Box<[u8]>>,
    /// The path on which a GET is answered with 200; `None`: all are answered with 426. Default:
    /// `None`.
    pub health_check: Option<Box<[u8]>>,
    /// The clients that may connect; `None`: all. Default: `None`.
    pub admission: Option<Arc<Admission>>,
    /// The rates at which a client may send; `None`: no limit. Default: `None`.
    pub rates: Option<Arc<Rates>>,
    /// Peers, such as proxies, that must begin with the address of the client whose connection they
    /// forward. Default: none.
    pub proxies: Box<[Network]>,
    /// The options of accepted sockets; `None`: those of their listener apply. Default: `None`
    /// where that is so.
    pub tcp: Option<TcpOptions>,
    pub head: HeadLimits,
    /// permessage-deflate; `None` ignores the offers of clients. Default: `None`.
    pub deflate: Option<DeflateConfig>,
    /// Answer pings without asking the handler. Default: true.
    pub auto_pong: bool,
    /// Automatic pongs that may wait for a peer that does not read; one more ends the connection.
    /// 0 = no limit. Default: 60.
    pub max_pending_auto_pongs: u32,
    /// Whether a handshake that needs no decision is answered before the consumer knows of it.
    /// Default: false.
    pub early_handshake: bool,
    /// From accept to a complete upgrade request. Default: 10 s.
    pub handshake_timeout: Duration,
    /// From our close frame (or the peer's FIN) to a closed socket. Default: 30 s.
    pub close_timeout: Duration,
    /// Silence after which a ping is sent; a second such silence ends the connection. Zero = never.
    /// Default: zero.
    pub ping_interval: Duration,
    /// Silence after which the connection is ended. Zero = never. Default: zero.
    pub idle_timeout: Duration,
    /// Queued outgoing bytes above which `on_drain` is called as soon as half of them are left.
    /// Default: 1 MiB.
    pub high_water_mark: usize,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            engine: engine::Config::default(),
            path: None,
            health_check: None,
            admission: None,
            rates: None,
            proxies: Box::default(),
            tcp: if INHERITS { None } else { Some(TcpOptions::default()) },
            head: HeadLimits::default(),
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

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeflateConfig {
    /// The offers that are accepted, and the answers to them.
    pub acceptance: Acceptance,
    /// The settings for outgoing messages. `releasable` follows from `release_after`.
    pub settings: Settings,
    /// Time after which an unused compression context is freed, see [`crate::engine::deflate`].
    /// Zero = never. Default: zero.
    pub release_after: Duration,
}

/// Settings of one reactor thread.
#[derive(Debug, Clone, Copy)]
pub struct ReactorConfig {
    /// The time to poll without blocking after recent traffic, before the thread sleeps.
    pub spin: Spin,
    /// Inbound bytes of one connection that its consumer has not taken yet; above it the socket is
    /// not read. Default: 1 MiB.
    pub connection_mark: usize,
    /// The same for all connections together, with the memory that carries it. Above it, only
    /// connections below their share of half of it are read, at most [`SMALL_ALLOWANCE`], so that a
    /// quiet peer's ping is still answered; the others go on in turn once the sum is below it. Of
    /// pings and pongs alone 64 KiB may wait, out of a sixteenth of this that all have in common.
    /// Default: 64 MiB.
    pub total_mark: usize,
    /// Records that the consumer has not taken, of all connections together. Above it a connection
    /// is read while it has less than 2 KiB undrained: a message waits for the work of the consumer
    /// on each record before it, however short. Default: 4096.
    pub records_mark: u64,
    /// Bytes that unfinished messages of all connections of all reactors of a group may take
    /// together. Above it, messages are given up, see `unfinished.rs`. Default: 256 MiB.
    pub unfinished_budget: usize,
    /// Bytes that the compression contexts of all connections may keep between messages, see
    /// [`crate::engine::deflate::Budget`]. `None`: one budget for all reactors of the process.
    /// Default: `None`.
    pub deflate_budget: Option<usize>,
    /// Bytes that the histories of all topics may take. Above it, the history whose last message is
    /// the oldest gives its oldest messages. Default: 64 MiB.
    pub history_budget: usize,
    /// Bytes that may wait to be sent to all connections together. Above it, the connections to
    /// which most bytes wait are ended. Default: no limit.
    pub send_budget: usize,
    /// Makes the allocator return free memory to the system. Called when closed connections have
    /// freed much memory and nothing has happened for a moment. Default: `None`.
    pub give_back: Option<fn()>,
}

impl Default for ReactorConfig {
    fn default() -> Self {
        Self {
            spin: Spin::Automatic,
            connection_mark: 1 << 20,
            total_mark: 64 << 20,
            records_mark: 4096,
            unfinished_budget: 256 << 20,
            deflate_budget: None,
            history_budget: 64 << 20,
            send_budget: usize::MAX,
            give_back: None,
        }
    }
}

impl ReactorConfig {
    /// The settings of each of `count` reactors, which together may take as much memory as one
    /// reactor with these settings. `Automatic` spins only where there is a CPU for each reactor
    /// and one for the consumer.
    #[must_use]
    pub fn shared_by(self, count: usize) -> Self {
        let count = count.max(1);
        let crowded = self.spin == Spin::Automatic && processors() <= count;
        Self {
            spin: if crowded { Spin::Never } else { self.spin },
            total_mark: self.total_mark / count,
            records_mark: self.records_mark / count as u64,
            deflate_budget: self.deflate_budget.map(|bytes| bytes / count),
            history_budget: self.history_budget / count,
            send_budget: match self.send_budget {
                usize::MAX => usize::MAX,
                bytes => (bytes / count).max(1),
            },
            ..self
        }
    }
}

/// Bytes that one connection may leave undrained, its unfinished message included, while all
/// connections together are above the total mark.
pub const SMALL_ALLOWANCE: usize = 16 << 10;

/// Bytes that one connection may leave undrained while all connections together are above the mark
/// of records: some 300 of the shortest messages when they are read. 2 KiB.
pub(super) const BUSY_ALLOWANCE: usize = 2 << 10;
/// As `SMALL_ALLOWANCE`, of a connection of which only pings and pongs wait to be taken:
/// bytes beyond that allowance come out of a reserve that all connections share. 64 KiB.
pub(super) const CONTROL_ALLOWANCE: usize = 64 << 10;
/// That reserve is this many times smaller than the total mark.
pub(super) const CONTROL_RESERVE: usize = 16;

/// Most bytes read from one connection before other connections get their turn. 128 KiB.
pub(super) const READ_BUDGET: usize = 128 << 10;
/// A connection that wanted less than this of its last share is modest, and is read before the
/// greedy ones. 32 KiB.
pub(super) const MODEST: usize = 32 << 10;
/// Most bytes read from all connections before commands, timers and the consumer get their turn: as
/// much as stays in a core's L2 cache.
pub(super) const TURN_BUDGET: usize = crate::bridge::limits::TURN_BYTES;
/// Most bytes that one compressed byte may become (RFC 1951: 258 bytes from two bits).
pub(super) const MOST_INFLATED: usize = 1032;
/// Most connections that waited for room and go on in one turn: about as many as one turn can read
/// a little of each.
pub(super) const SERVED_AT_ONCE: usize = 64;
/// The rest of an allowance is not read if it is smaller than this: a small read costs as much as a
/// longer one. 1 KiB.
pub(super) const SMALLEST_READ: usize = 1 << 10;
/// Nothing is accepted while the records of new connections, requests included, take more than this
/// part of the total mark: nothing else limits them. 8 = one eighth.
pub(super) const OPENINGS_PART: usize = 8;
pub(super) const PRESSED_ACCEPT: Duration = Duration::from_millis(10);
/// Bytes in a second with which an unfinished message is as good as a new one. 8 KiB, so that one over
/// a slow line is.
pub(super) const STEADY_RATE: u64 = 8 << 10;
/// The largest single read. 64 KiB.
pub(super) const READ_SIZE: usize = 64 << 10;
/// The largest single read of a request. 2 KiB is longer than most requests. The bytes behind the
/// request are kept while the consumer decides, so the rest had better wait in the socket.
pub(super) const HEAD_READ: usize = 2 << 10;
/// The largest single read of a connection whose messages may be compressed: one byte can become a
/// thousand, and all that was read is inflated before anything else gets its turn. 8 KiB.
pub(super) const COMPRESSED_READ_SIZE: usize = 8 << 10;
/// The largest single read of a connection whose last one was mostly short messages: as many as a
/// long read brings would be a queue of their own, which all others wait behind. 4 KiB.
pub(super) const DENSE_READ_SIZE: usize = 4 << 10;
/// Most bytes compressed in one turn. 256 KiB.
pub(super) const COMPRESS_BUDGET: usize = 256 << 10;
/// Most bytes of one message that are compressed before other connections get their turn. 64 KiB.
pub(super) const COMPRESS_SLICE: usize = 64 << 10;
/// A message behind a deferred one that is copied, not compressed, is charged one byte for each of
/// this many bytes.
pub(super) const COPY_DISCOUNT: usize = 16;
/// Commands applied before others get their turn, as bytes that are copied. 4 MiB take about 1 ms.
pub(super) const COMMAND_BUDGET: usize = 4 << 20;
/// Bytes written before others get their turn. 4 MiB take about 1 ms.
pub(super) const FLUSH_BUDGET: usize = 4 << 20;
/// Most bytes written to one connection before other connections get their turn: a peer that reads
/// fast would otherwise occupy the turn with a long queue. 1 MiB.
pub(super) const WRITE_BUDGET: usize = 1 << 20;
/// The charge to `COMMAND_BUDGET` and `FLUSH_BUDGET` for a connection beside its bytes: a system
/// call takes as long as copying 16 KiB.
pub(super) const COST_OF_CALL: usize = 16 << 10;
/// The charge to `COMMAND_BUDGET` instead for each member for which a message of a topic is queued
/// while others wait behind it: with a call charged for each, no two of them would leave in one.
pub(super) const COST_OF_MEMBER: usize = 512;
/// The charge to `COMMAND_BUDGET` for each byte of a message for many connections that is
/// compressed: no more than [`COMPRESS_BUDGET`] of them before others get their turn.
pub(super) const COST_OF_COMPRESSED: usize = COMMAND_BUDGET / COMPRESS_BUDGET;
/// Freed memory is charged one written byte for each of this many bytes.
pub(super) const FREE_DISCOUNT: usize = 4;
/// A connection with a longer queue is written behind all others. 64 KiB.
pub(super) const SHORT_QUEUE: usize = 64 << 10;
/// Most bytes of the one write before a connection is destroyed: more than the kernel's buffer
/// holds, so only a peer that reads meanwhile would get more. 4 MiB.
pub(super) const LAST_WRITE: usize = 4 << 20;
/// Most bytes freed in one turn of the queues of connections that are gone. 64 MiB take about 1 ms.
pub(super) const FREE_BUDGET: usize = 64 << 20;
/// Most connections that one listener accepts in one turn.
pub(super) const ACCEPT_BUDGET: usize = 256;
/// Most deadlines acted on in one turn. Each may mean a ping or a closed socket, about 5 us.
pub(super) const TIMER_BUDGET: usize = 1024;
/// The time that a refused connection may take to read the refusal and close.
pub(super) const LINGER_TIMEOUT: Duration = Duration::from_secs(2);
/// Most refused connections that may take that time; the oldest is closed when there are more.
pub(super) const MOST_LINGERING: usize = 1024;
/// The time for which a paused connection is read once more when its closing handshake has timed
/// out: until the next turn.
pub(super) const LAST_READ: Duration = Duration::from_millis(1);
/// Most bytes of answers to requests without an upgrade that may wait for the peer to read them;
/// the answer beyond them is the last. 16 KiB.
pub(super) const UNREAD_ANSWERS: usize = 16 << 10;
/// The time for which an HTTP connection may stay open after a 426 (Node's keepAliveTimeout).
pub(super) const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// A message of this size or longer that is sent back as it came leaves from the receive buffer
/// itself. Below it, gathering many frames into one write is cheaper than a write of its own. 2
/// KiB.
pub(super) const IN_PLACE: usize = 2 << 10;
