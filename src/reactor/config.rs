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

use super::listen::bind::INHERITS;
use super::tls::TlsServer;
use super::upgrade::routes::Routes;
use super::wait::spin::{Spin, processors};
use crate::reactor::TcpOptions;

/// For every connection of one listener, or for one adopted socket.
#[derive(Clone, PartialEq)]
pub struct ListenerConfig {
    pub engine: engine::Config,
    /// The path that is served, up to the `?`; `None`: every path. A mismatch is answered with 400.
    pub path: Option<Box<[u8]>>,
    /// The path of health checks: a GET is answered with 200 there, with 426 elsewhere. Default:
    /// `None`.
    pub health_check: Option<Box<[u8]>>,
    /// `None`, the default: requests without an upgrade are answered with 426.
    pub http: Option<Http>,
    /// `None`, the default: every client can connect.
    pub admission: Option<Arc<Admission>>,
    /// `None`, the default: no limit.
    pub rates: Option<Arc<Rates>>,
    /// Peers, such as proxies, that must begin with the address of the client they forward.
    /// Default: none.
    pub proxies: Box<[Network]>,
    /// `None`, the default: connections are not encrypted.
    pub tls: Option<Arc<TlsServer>>,
    /// Options of accepted sockets; `None`: they inherit the listener's. Default: `None` where they
    /// do.
    pub tcp: Option<TcpOptions>,
    pub head: HeadLimits,
    /// `None`, the default: the offers of clients are ignored.
    pub deflate: Option<DeflateConfig>,
    /// Open connections can move to another process, with those of this listener: it has the port. Default: `None`.
    pub movable: Option<u32>,
    /// Answer pings without asking the consumer. Default: true.
    pub auto_pong: bool,
    /// Automatic pongs that can wait for a peer that does not read; one more ends the connection.
    /// 0 = no limit. Default: 60.
    pub max_pending_auto_pongs: u32,
    /// Whether a handshake that needs no decision is answered before the consumer knows of it.
    /// Default: false.
    pub early_handshake: bool,
    /// From accept, or from the end of the handshake of TLS, to a complete upgrade request. Default:
    /// 10 s.
    pub handshake_timeout: Duration,
    /// From our close frame (or the peer's FIN) to a closed socket. Default: 30 s.
    pub close_timeout: Duration,
    /// Silence after which a ping is sent; a second such silence ends the connection. Zero = never.
    /// Default: zero.
    pub ping_interval: Duration,
    /// Silence after which the connection is ended. Zero = never. Default: zero.
    pub idle_timeout: Duration,
    /// `on_drain` is called when the queued bytes fall to half of this, having been above it.
    /// Default: 1 MiB.
    pub high_water_mark: usize,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            engine: engine::Config::default(),
            path: None,
            health_check: None,
            http: None,
            admission: None,
            rates: None,
            proxies: Box::default(),
            tls: None,
            tcp: if INHERITS { None } else { Some(TcpOptions::default()) },
            head: HeadLimits::default(),
            deflate: None,
            movable: None,
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

/// Connections go to the consumer, with all bytes that were read, unless their first request is an
/// upgrade for one of the routes.
#[derive(Clone, PartialEq)]
pub struct Http {
    pub routes: Arc<Routes>,
    /// The consumer takes sockets. Otherwise, and where the bytes of a socket are not those of the
    /// peer, the reactor relays.
    pub sockets: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeflateConfig {
    pub acceptance: Acceptance,
    /// `releasable` follows from `release_after`.
    pub settings: Settings,
    /// Time after which an unused compression context is freed, see [`crate::engine::deflate`].
    /// Zero, the default: never.
    pub release_after: Duration,
}

#[derive(Debug, Clone, Copy)]
pub struct ReactorConfig {
    /// How long to poll without blocking after traffic, before the thread sleeps.
    pub spin: Spin,
    /// Inbound bytes of one connection that the consumer has not taken; above it the socket is not
    /// read. Default: 1 MiB.
    pub connection_mark: usize,
    /// The same for all connections together, with the memory that holds the bytes. Above it, only
    /// connections below their share of half of it are read (at most [`SMALL_ALLOWANCE`]), so a
    /// quiet peer's ping is still answered; the others go on one by one once the sum is below it.
    /// Pings and pongs alone can also use a common reserve of a sixteenth of this, up to 64 KiB
    /// each. Default: 64 MiB.
    pub total_mark: usize,
    /// Records of all connections that the consumer has not taken. Above it a connection is read
    /// only while it has less than 2 KiB undrained: a message waits for the work on each record
    /// before it, however short. Default: 4096.
    pub records_mark: u64,
    /// Bytes that unfinished messages of all reactors of a group can take together. Above it
    /// messages are given up, see `unfinished.rs`. Default: 256 MiB.
    pub unfinished_budget: usize,
    /// Bytes that compression contexts can keep between messages, see
    /// [`crate::engine::deflate::Budget`]. `None`, the default: one budget for all reactors of the
    /// process.
    pub deflate_budget: Option<usize>,
    /// Bytes that the histories of all topics can take. Above it, the history without
    /// a message for the longest time loses its oldest ones. Default: 64 MiB.
    pub history_budget: usize,
    /// Bytes that can wait to be sent to all connections together. Above it, the connections with
    /// the most waiting bytes are ended. Default: no limit.
    pub send_budget: usize,
    /// Makes the allocator return free memory to the system, see `idling.rs`. Default: `None`.
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
    /// The settings of each of `count` reactors, which together can take as much memory as one with
    /// `self`. `Automatic` spins only if there is a CPU for each reactor and one for the consumer.
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

/// Undrained bytes of one connection, its unfinished message included, while all connections
/// together are above `total_mark`.
pub const SMALL_ALLOWANCE: usize = 16 << 10;

/// Undrained bytes of one connection while all together are above `records_mark`: some 300 of the
/// shortest messages.
pub(super) const BUSY_ALLOWANCE: usize = 2 << 10;
/// As `SMALL_ALLOWANCE`, while only pings and pongs wait: bytes beyond that allowance come out of a
/// reserve that all connections share.
pub(super) const CONTROL_ALLOWANCE: usize = 64 << 10;
/// The reserve is `total_mark` divided by this.
pub(super) const CONTROL_RESERVE: usize = 16;

/// Most bytes read from one connection before others get their turn.
pub(super) const READ_BUDGET: usize = 128 << 10;
/// A connection that wanted less than this of its last share is modest, and is read before greedy
/// ones.
pub(super) const MODEST: usize = 32 << 10;
/// Most bytes read from all connections before commands, timers and the consumer get their turn:
/// they stay in a core's L2 cache.
pub(super) const TURN_BUDGET: usize = crate::bridge::limits::TURN_BYTES;
/// Most bytes that one compressed byte becomes (RFC 1951: 258 bytes from two bits).
pub(super) const MOST_INFLATED: usize = 1032;
/// Most connections that waited for room and go on in one turn: a turn can read a little of each.
pub(super) const SERVED_AT_ONCE: usize = 64;
/// A smaller rest of an allowance is not read: a small read costs the same as a longer one.
pub(super) const SMALLEST_READ: usize = 1 << 10;
/// Nothing is accepted while the records of new connections, requests included, take more than this
/// part of `total_mark` (8 = one eighth): nothing else limits them.
pub(super) const PENDING_OPEN_PART: usize = 8;
pub(super) const PRESSED_ACCEPT: Duration = Duration::from_millis(10);
/// Bytes per second with which an unfinished message is as good as a new one; a slow line has as
/// much.
pub(super) const STEADY_RATE: u64 = 8 << 10;
/// Seconds without bytes after which an unfinished message is still as good as a new one: TCP needs
/// three after four losses in a row. With more, peers that begin messages again and again would
/// send less to harm longer uploads.
pub(super) const PAUSE: u64 = 4;
pub(super) const READ_SIZE: usize = 64 << 10;
/// The largest single read of a request, longer than most. Bytes after the request are kept while
/// the consumer decides, so they had better wait in the socket.
pub(super) const HEAD_READ: usize = 2 << 10;
/// The largest single read if messages can be compressed: one byte can become a thousand, and all
/// that was read is inflated before anything else gets its turn.
pub(super) const COMPRESSED_READ_SIZE: usize = 8 << 10;
/// The largest single read after one of mostly short messages: as many as a long read brings would
/// be a queue that all others wait for.
pub(super) const DENSE_READ_SIZE: usize = 4 << 10;
/// Most bytes compressed in one turn.
pub(super) const COMPRESS_BUDGET: usize = 256 << 10;
/// Most bytes of one message compressed before other connections get their turn.
pub(super) const COMPRESS_SLICE: usize = 64 << 10;
/// A message after a deferred one that is copied, not compressed, is charged one byte for each of
/// this many.
pub(super) const COPY_DISCOUNT: usize = 16;
/// Commands applied before others get their turn, in copied bytes. 4 MiB take about 1 ms.
pub(super) const COMMAND_BUDGET: usize = 4 << 20;
/// Bytes written before others get their turn. 4 MiB take about 1 ms.
pub(super) const FLUSH_BUDGET: usize = 4 << 20;
/// Most bytes written to one connection before others get their turn: with a peer that reads fast,
/// a long queue would occupy the turn.
pub(super) const WRITE_BUDGET: usize = 1 << 20;
/// The charge to `COMMAND_BUDGET` and `FLUSH_BUDGET` for each connection beside its bytes: a system
/// call takes the time of copying 16 KiB.
pub(super) const COST_OF_CALL: usize = 16 << 10;
/// The charge to `COMMAND_BUDGET` instead for each member that a topic's message is queued for
/// while more messages follow: with a call charged for each, no two of them would leave in one.
pub(super) const COST_OF_MEMBER: usize = 512;
/// The charge to `COMMAND_BUDGET` for each compressed byte of a message for many connections: no
/// more than [`COMPRESS_BUDGET`] in one turn.
pub(super) const COST_OF_COMPRESSED: usize = COMMAND_BUDGET / COMPRESS_BUDGET;
/// Bytes in the queue of a member, above its topic's limit, when it moves: the messages that it lacks are queued.
pub(super) const MOVED_BESIDES: usize = 1 << 20;
/// Most bytes, and keys, that wait for a member of a topic that keeps the latest message of each key.
pub(super) const LATEST_BYTES: usize = 16 << 20;
pub(super) const LATEST_KEYS: usize = if cfg!(test) { 100 } else { 10_000 };
/// Freed memory is charged one written byte for each of this many.
pub(super) const FREE_DISCOUNT: usize = 4;
/// A connection with a longer queue is written after all others.
pub(super) const SHORT_QUEUE: usize = 64 << 10;
/// Most bytes of the one write before a connection is destroyed: more than the kernel's buffer
/// holds.
pub(super) const LAST_WRITE: usize = 4 << 20;
/// Most bytes freed in one turn from the queues of connections that have ended. 64 MiB take about 1
/// ms.
pub(super) const FREE_BUDGET: usize = 64 << 20;
/// Most connections that one listener accepts in one turn.
pub(super) const ACCEPT_BUDGET: usize = 256;
/// Time for handshakes of transports in a turn, which an open connection's message waits for twice: before
/// it is read, and before its answer is written. A signature takes from 30 us (ECDSA) to 1 ms (RSA).
pub(super) const HANDSHAKE_BUDGET: Duration = Duration::from_millis(1);
/// A handshake that waits for its turn when its time is over gets this much more.
pub(super) const HANDSHAKE_GRACE: Duration = Duration::from_millis(100);
/// Most failed handshakes reported in a turn: a peer can cause any number.
pub(super) const FAILURES_REPORTED: u32 = 32;
/// Most deadlines acted on in one turn. Each can mean a ping or a closed socket, about 5 us.
pub(super) const TIMER_BUDGET: usize = 1024;
/// How long a refused connection can take to read the refusal and close.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Most refused connections that can take that time; the oldest is closed when there are more.
pub(super) const MOST_DRAINING: usize = 1024;
/// A paused connection is read once more for this long after its closing handshake timed out: until
/// the next turn.
pub(super) const LAST_READ: Duration = Duration::from_millis(1);
/// Most bytes of answers without an upgrade that can wait for the peer; the next answer is the
/// last.
pub(super) const UNREAD_ANSWERS: usize = 16 << 10;
/// A message of at least this size is sent from where it is, such as the receive buffer. Below it,
/// gathering many frames into one write is cheaper than a write each.
pub(super) const IN_PLACE: usize = 2 << 10;
