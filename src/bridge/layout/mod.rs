//! The layout that Rust and JavaScript both read and write. A test generates `lib/base/layout.js`
//! from it, with everything else that JavaScript has to agree on.
//!
//! An inbound record (reactor to JavaScript) is four `u32`, and `offset..offset + length` its
//! payload in the batch:
//!
//! ```text
//! [slot, kind | flags << 8 | aux << 16, offset, length]
//! ```
//!
//! Instead of a slot some kinds have the number of a listener, instead of an offset large payloads have
//! their index, and instead of a length some kinds have a count.
//!
//! An outbound record is four `u32` in the byte order of the machine (JavaScript writes a
//! `Uint32Array`), then the payload, padded to a multiple of 16:
//!
//! ```text
//! [slot, generation, kind | flags << 8 | aux << 16, length] payload padding
//! ```
//!
//! A slot is the number of a connection while it lives; the generation tells apart the connections
//! that have it one after another.

use std::net::{IpAddr, SocketAddr};

use crate::engine::CloseCode;
use crate::engine::frame::{MAX_CONTROL_LEN, MAX_HEADER_LEN};
use crate::engine::handshake;

pub use cause::Cause;
pub use topics::*;

macro_rules! layout {
    ($($(#[doc = $doc:literal])* $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[doc = $doc])* pub const $name: $type = $value;)*

        #[cfg(all(test, not(loom)))]
        pub(super) fn constants() -> Vec<(&'static str, u32)> {
            vec![$((stringify!($name), $name as u32)),*]
        }
    };
}

mod cause;
mod topics;

/// Index of the first word after the records.
const AFTER_RECORDS: usize = MAX_RECORDS * RECORD_WORDS;

layout! {
    /// In `u32`.
    RECORD_WORDS: usize = 4;
    /// Places of the words of an inbound record, after the slot.
    INBOUND_TAG: usize = 1;
    INBOUND_OFFSET: usize = 2;
    INBOUND_LENGTH: usize = 3;
    /// The second word of an outbound record, after the slot.
    OUTBOUND_GENERATION: usize = 1;
    OUTBOUND_TAG: usize = 2;
    OUTBOUND_LENGTH: usize = 3;
    /// In an inbound batch.
    MAX_RECORDS: usize = 16_384;

    /// Words after the records. Payload bytes of the drained batch.
    DRAINED_BYTES: usize = AFTER_RECORDS;
    /// 1 + the number of the lent memory that has them; 0: they are in the reactor's own.
    DRAINED_LENT: usize = AFTER_RECORDS + 1;
    /// [`HANDED`] when that memory is handed over, and other memory should be lent; 0 when payloads must
    /// be copied before the next drain, which gives the memory back.
    DRAINED_HANDED: usize = AFTER_RECORDS + 2;
    HANDED: u32 = 1;
    /// The same, with payloads in it that no peer has sent.
    HANDED_REPORTS: u32 = 2;
    /// By JavaScript: bytes of the arena to be flushed.
    FLUSHED_BYTES: usize = AFTER_RECORDS + 3;
    /// 1 + the number of the next arena to fill; 0: the same one again.
    FLUSHED_NEXT: usize = AFTER_RECORDS + 4;
    /// By JavaScript: slot of the connection that a call is about.
    CALL_SLOT: usize = AFTER_RECORDS + 5;
    /// Its generation.
    CALL_GENERATION: usize = AFTER_RECORDS + 6;
    /// By JavaScript: number of the memory that it lends.
    LENT_ID: usize = AFTER_RECORDS + 7;
    /// By JavaScript: records of the drained batch that it is done with.
    DELIVERED_RECORDS: usize = AFTER_RECORDS + 8;
    /// The turn of the event loop in which the batch was drained, 30 bits.
    DRAINED_TURN: usize = AFTER_RECORDS + 9;
    /// By JavaScript: 1 when only records of streams are to be drained.
    DRAINED_STREAMS: usize = AFTER_RECORDS + 10;
    /// By JavaScript: 1 when some record of the arena is not for a socket.
    FLUSHED_MIXED: usize = AFTER_RECORDS + 11;
    /// By JavaScript: 1 when the memory for what streams write is free.
    OPS_FREE: usize = AFTER_RECORDS + 12;
    /// The number of [`OPS`], and [`OPS_WANT_MEMORY`].
    OPS_WAIT: usize = AFTER_RECORDS + 13;
    /// By JavaScript: 1 when a chunk of a stream can be read where it is. Then by the reactor: 1 + the
    /// number of records, which are in the array, if it was; else 0.
    PUMPED: usize = AFTER_RECORDS + 14;
    /// Bit 0: records of streams wait. Bit 1: their reactor waits until earlier ones have been
    /// dealt with.
    STREAMS_WAIT: usize = AFTER_RECORDS + 15;
    /// 1 while JavaScript's thread has the sockets: a large payload is best written where it is.
    IN_PLACE: usize = AFTER_RECORDS + 16;
    /// What streams are to do, [`OP_WORDS`] words each: slot, kind with the number of sends above
    /// it, offset and number of the bytes to write.
    OPS: usize = AFTER_RECORDS + 17;
    OP_WORDS: usize = 4;
    MOST_OPS: usize = 256;
    /// Bit of [`OPS_WAIT`]: other memory is needed.
    OPS_WANT_MEMORY: u32 = 1 << 31;
    /// The stream takes no more bytes for now.
    STREAM_FULL: u32 = 0;
    STREAM_DRAINED: u32 = 1;
    /// The peer has ended its side; bytes before that end can still come.
    STREAM_HUNG_UP: u32 = 2;
    /// By the peer, and nothing more comes.
    STREAM_ENDED: u32 = 3;
    STREAM_CLOSED: u32 = 4;
    /// Write bytes to the stream, in lent memory.
    OP_WRITE: u32 = 0;
    OP_END: u32 = 1;
    OP_DESTROY: u32 = 2;
    /// Destroy it with a reset.
    OP_RESET: u32 = 3;
    OP_RESUME: u32 = 4;
    /// Position of the number of sends within the word that has the kind.
    OP_SENT_SHIFT: u32 = 8;
    DRAINED_WORDS: usize = OPS + OP_WORDS * MOST_OPS;
    /// Fewest bytes of memory that can be lent.
    LENT_BYTES: usize = super::limits::BATCH_BYTES;

    /// From here on: adopted sockets, numbered by JavaScript. Lower slots are the reactor's.
    ADOPTED_SLOTS: u32 = 1 << 30;
    /// From here on: streams of the program, numbered by JavaScript too.
    PIPE_SLOTS: u32 = 1 << 31;

    KIND_MASK: u32 = 0xff;
    FLAGS_SHIFT: u32 = 8;
    AUX_SHIFT: u32 = 16;

    /// Payload: [`Opened`].
    IN_OPEN: u8 = 1;
    IN_TEXT: u8 = 2;
    IN_BINARY: u8 = 3;
    IN_PING: u8 = 4;
    IN_PONG: u8 = 5;
    /// aux: status code, 1005 for an empty frame. Payload: the reason.
    IN_CLOSE: u8 = 6;
    /// flags: number of the error kind, aux: its detail.
    IN_ERROR: u8 = 7;
    /// Last record of a connection. flags: number of the [`Cause`].
    IN_CLOSED: u8 = 8;
    /// The kernel has the bytes of the `length` oldest sends that asked for this record.
    IN_SENT: u8 = 9;
    /// There is room again, see [`LOW_WATER_MARK`].
    IN_DRAIN: u8 = 10;
    /// JavaScript answers this handshake. Payload: [`Opened`].
    IN_REQUEST: u8 = 11;
    /// slot: listener id.
    IN_LISTENER_CLOSED: u8 = 12;
    /// The reactor died. slot: PIPE_SLOTS if it has streams, else 0. Payload: why.
    IN_FAILURE: u8 = 13;
    /// The peer ended its side without a close frame; JavaScript answers with [`OUT_END`]. Flags: a
    /// [`Cause`], should nothing else end the connection. Length:
    /// 1 while JavaScript decides about the handshake, else 0. If it accepts, the end comes once
    /// more, after everything before it.
    IN_END: u8 = 14;
    /// Bytes of a relayed connection. Empty: all bytes read before [`OUT_ACCEPT`] were sent.
    IN_DATA: u8 = 15;
    /// Descriptors have run out. slot: listener id, length: connections closed as they came.
    IN_REFUSED: u8 = 21;
    /// The reactor has sent a close frame by itself: the topic's member was slow.
    IN_CLOSING: u8 = 22;

    /// The connection is the program's HTTP server's. Payload: [`Opened`], without a request and with
    /// all bytes that were read. [`IN_FLAG_SOCKET`]: the reactor knows it no more. Else it is relayed:
    /// [`IN_DATA`] and [`IN_END`] follow, and [`OUT_WRITE`] and [`OUT_END`] answer.
    IN_HANDOFF: u8 = 23;
    /// JavaScript chooses for a TLS handshake. Payload: [`Opened`] with the server name in the place
    /// of the subprotocol and the ALPN names in that of the tail, each after its length in a byte.
    IN_HELLO: u8 = 25;
    /// A TLS handshake is done. Payload: [`Opened`] without a request.
    IN_SECURE: u8 = 26;
    /// A TLS handshake failed. slot: listener id. Payload: [`Opened`] with a code of Node's in the place
    /// of the subprotocol and the reason in that of the tail. A peer can cause any number: not all are
    /// reported.
    IN_TLS_ERROR: u8 = 27;

    /// Connections of a listener are not read any more. slot: listener id.
    IN_FROZEN: u8 = 28;
    /// Last record of a connection that another process has.
    IN_MOVED: u8 = 29;
    /// The other connections of a listener are read again. slot: listener id, length: 1 if it accepts again.
    IN_THAWED: u8 = 30;

    /// On [`IN_OPEN`] and [`IN_REQUEST`]: the connection comes from another process. The tail is as of [`IN_OPEN`], and
    /// [`Moved`] is in the place of the TLS section. It opens with an [`OUT_ACCEPT`] without a response; any other answer
    /// closes it with 1012.
    IN_FLAG_RESUMED: u8 = 0x01;

    /// On [`IN_HANDOFF`]: JavaScript takes the socket itself.
    IN_FLAG_SOCKET: u8 = 0x01;

    /// The payload is a large one, `offset` its index.
    IN_FLAG_OWNED: u8 = 0x80;

    /// Byte offsets; the first nine are of `u32`, little-endian.
    OPENED_GENERATION: usize = 0;
    OPENED_LISTENER: usize = 4;
    /// 0 when unknown.
    OPENED_LOCAL_PORT: usize = 8;
    OPENED_REMOTE_PORT: usize = 12;
    /// 4, 6, or 0 when no address is known.
    OPENED_FAMILY: usize = 16;
    OPENED_REQUEST_LENGTH: usize = 20;
    OPENED_PROTOCOL_LENGTH: usize = 24;
    OPENED_TAIL_LENGTH: usize = 28;
    /// 0 without TLS.
    OPENED_TLS_LENGTH: usize = 32;
    /// IPv4 in the first 4 of 16 bytes.
    OPENED_LOCAL_ADDRESS: usize = 36;
    OPENED_REMOTE_ADDRESS: usize = 52;
    /// Latin1; subprotocol, tail and TLS section follow.
    OPENED_REQUEST: usize = 68;

    /// Byte offsets in [`Moved`]: bytes that wait to be sent, a `u32`, little-endian, and another one: 1 + the number of the
    /// heads that came before, 0 for none. Then the rest of the record is empty. The payload of [`OUT_ATTACH`] follows.
    MOVED_QUEUED: usize = 0;
    MOVED_AHEAD: usize = 4;
    MOVED_ATTACHMENT: usize = 8;

    /// Byte offsets in the TLS section, all of `u16`, little-endian. The version as on the wire:
    /// 0x0303 for TLS 1.2, 0x0304 for 1.3.
    TLS_VERSION: usize = 0;
    /// As on the wire, like the group.
    TLS_SUITE: usize = 2;
    /// The group of the key exchange; 0 for none.
    TLS_GROUP: usize = 4;
    TLS_FLAGS: usize = 6;
    TLS_ERROR_LENGTH: usize = 8;
    TLS_SERVERNAME_LENGTH: usize = 10;
    TLS_ALPN_LENGTH: usize = 12;
    /// The number of the peer's certificates, its own first.
    TLS_CERTIFICATES: usize = 14;
    /// Latin1: why the peer is not authorized, as OpenSSL names it; server name and ALPN name follow,
    /// then each certificate in DER after its length, a `u32`.
    TLS_TEXTS: usize = 16;

    /// Bits of [`TLS_FLAGS`]. The session is an earlier one's.
    TLS_REUSED: u32 = 1;
    /// The peer's certificate was asked for and is good.
    TLS_AUTHORIZED: u32 = 2;

    /// JavaScript chooses the context of handshakes with a server name.
    TLS_ASK_SNI: u32 = 1;
    /// JavaScript chooses the protocol of handshakes with ALPN names.
    TLS_ASK_ALPN: u32 = 2;
    /// [`IN_TLS_ERROR`] is wanted.
    TLS_ASK_ERRORS: u32 = 4;
    /// [`IN_SECURE`] is wanted.
    TLS_ASK_SECURE: u32 = 8;

    OUT_HEADER_BYTES: usize = 16;
    /// Records begin at multiples of this.
    OUT_ALIGN: usize = 16;

    OUT_TEXT: u8 = 1;
    OUT_BINARY: u8 = 2;
    OUT_PING: u8 = 3;
    OUT_PONG: u8 = 4;
    /// aux: status code, 0 for an empty frame. Payload: the reason.
    OUT_CLOSE: u8 = 5;
    /// Destroy the socket. [`OUT_FLAG_RESET`]: with a reset, and without the bytes that wait.
    OUT_TERMINATE: u8 = 6;
    /// Stop reading. aux 1: a 101 that has not left waits for [`OUT_RESUME`], or for a record that
    /// ends or writes.
    OUT_PAUSE: u8 = 7;
    OUT_RESUME: u8 = 8;
    /// Answer the handshake with the 101 response in the payload; the connection is open.
    OUT_ACCEPT: u8 = 9;
    /// Refuse the handshake: write the payload, then end; destroy the socket if its 101 has left.
    OUT_RESPOND: u8 = 10;
    OUT_WRITE: u8 = 11;
    /// Shut down our side after everything written.
    OUT_END: u8 = 12;
    /// TCP_NODELAY: aux 1 on, 0 off.
    OUT_NO_DELAY: u8 = 13;
    /// aux: seconds of silence before the first probe, 0 = the system's default.
    OUT_KEEP_ALIVE: u8 = 14;

    /// The bytes that [`IN_REQUEST`] brought after the request. After [`OUT_ACCEPT`] they are read
    /// before the socket's. For a relayed connection that becomes a WebSocket: the bytes after its
    /// request, then those of each [`IN_DATA`] after [`OUT_ACCEPT`], up to the empty one.
    OUT_HEAD: u8 = 16;
    /// Report the peer's end once more, after [`IN_SENT`] for the bytes that the kernel takes now.
    OUT_ASK_END: u8 = 26;
    /// With [`OUT_FLAG_ON`]: an answer to a handshake that has not left waits for this record
    /// without the flag.
    OUT_DEFER: u8 = 27;

    /// The payload goes with the connection if that moves to another process. [`OUT_FLAG_ON`]: it must not move.
    OUT_ATTACH: u8 = 29;

    OUT_FLAG_FIN: u8 = 0x01;
    /// A flag of [`OUT_TERMINATE`].
    OUT_FLAG_RESET: u8 = OUT_FLAG_FIN;
    /// A flag of [`OUT_ATTACH`], [`OUT_DEFER`] and [`OUT_KEEP_ALIVE`].
    OUT_FLAG_ON: u8 = OUT_FLAG_FIN;
    /// Count this in [`IN_SENT`].
    OUT_FLAG_WANT_SENT: u8 = 0x02;
    /// The payload is the next of the chunk's large ones.
    OUT_FLAG_LARGE: u8 = 0x04;
    /// If the extension was negotiated.
    OUT_FLAG_COMPRESS: u8 = 0x08;
    /// The payload is a message that the reactor has. Its number is in the place of the length.
    OUT_FLAG_SAME: u8 = 0x10;
    /// Later records of the chunk have the same payload. Its number is [`SHARED_TEXT`] if the kind is
    /// [`OUT_TEXT`], else [`SHARED_OTHER`], until another record with this flag takes it.
    OUT_FLAG_SHARED: u8 = 0x20;
    SHARED_TEXT: u32 = 0;
    SHARED_OTHER: u32 = 1;
    /// The payload begins with the masking key.
    OUT_FLAG_KEY: u8 = 0x40;
    /// Aux of a message, ping or pong: masked by a server, not by a client.
    MASK_AGAINST: u16 = 1;

    /// JavaScript decides about handshakes that pass the native checks: a hook is set.
    ASK_ACCEPTED: u32 = 1;
    /// JavaScript decides about handshakes that they refuse: `wsClientError` has a listener.
    ASK_REFUSED: u32 = 2;
    /// A health check is answered with 503.
    ASK_DRAINED: u32 = 4;

    /// Most header fields of a request, and by default most bytes of its head.
    MAX_HEADERS: usize = handshake::MAX_HEADERS;
    MAX_HEAD: usize = handshake::MAX_HEAD;
    /// Most refused origins that a server warns of.
    MAX_SHOWN: u8 = 10;
    /// Connections that can wait to be accepted, up to the system's limit (Linux: `somaxconn`, 4096).
    /// After a restart, a crowd of clients fills Node's queue of 511, and the rest retries after 1 s or
    /// more.
    BACKLOG: i32 = 4096;

    /// A connection with this many unsent bytes has no room: `send()` returns false.
    HIGH_WATER_MARK: usize = 1024 * 1024;
    /// Unsent bytes at which it has room again.
    LOW_WATER_MARK: usize = low_water_mark(HIGH_WATER_MARK);

    /// For the header of a payload that is framed where it is.
    HEADROOM: usize = MAX_HEADER_LEN;
    /// Most in a control frame (RFC 6455, section 5.5).
    CONTROL_BYTES: usize = MAX_CONTROL_LEN;
    REASON_BYTES: usize = CONTROL_BYTES - 2;
    NO_STATUS: u16 = CloseCode::NO_STATUS_RECEIVED;
    ABNORMAL: u16 = CloseCode::ABNORMAL_CLOSURE;
    UNSUPPORTED_DATA: u16 = CloseCode::UNSUPPORTED_DATA.get();
    INVALID_PAYLOAD: u16 = CloseCode::INVALID_PAYLOAD_DATA.get();
    POLICY_VIOLATION: u16 = CloseCode::POLICY_VIOLATION.get();
    MESSAGE_TOO_BIG: u16 = CloseCode::MESSAGE_TOO_BIG.get();
    SERVICE_RESTART: u16 = CloseCode::SERVICE_RESTART.get();
}

#[cfg(all(test, not(loom)))]
pub(super) fn all_constants() -> Vec<(&'static str, u32)> {
    [constants(), topics::constants()].concat()
}

/// Bytes at which there is room again, if there was none from `high` on.
pub const fn low_water_mark(high: usize) -> usize {
    high / 2
}

/// Kinds with a payload from a peer: if it is lost, the connection ends.
pub const fn is_payload(kind: u8) -> bool {
    matches!(kind, IN_TEXT..=IN_CLOSE | IN_DATA)
}

pub const fn is_topic(kind: u8) -> bool {
    matches!(kind, IN_SUBSCRIBED..=IN_HISTORY)
}

/// Kinds with a payload from the reactor, which must not be lost.
pub const fn is_report(kind: u8) -> bool {
    is_topic(kind)
        || matches!(
            kind,
            IN_OPEN | IN_REQUEST | IN_FAILURE | IN_HANDOFF | IN_HELLO | IN_SECURE | IN_TLS_ERROR
        )
}

pub const fn pack(kind: u8, flags: u8, aux: u16) -> u32 {
    kind as u32 | (flags as u32) << FLAGS_SHIFT | (aux as u32) << AUX_SHIFT
}

pub const fn unpack(word: u32) -> (u8, u8, u16) {
    ((word & KIND_MASK) as u8, (word >> FLAGS_SHIFT) as u8, (word >> AUX_SHIFT) as u16)
}

/// The payload of [`IN_OPEN`], [`IN_REQUEST`], [`IN_HANDOFF`], [`IN_HELLO`], [`IN_SECURE`] and
/// [`IN_TLS_ERROR`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// Every outbound record names it.
    pub generation: u32,
    pub listener: u32,
    /// `None` if it has no IP address, or that is unknown.
    pub local: Option<SocketAddr>,
    pub remote: Option<SocketAddr>,
    /// `METHOD \0 url \0 minor version \0 name \0 value ...`, latin1.
    pub request: &'a [u8],
    /// Empty for none, latin1.
    pub protocol: &'a [u8],
    /// [`IN_OPEN`]: the value of `Sec-WebSocket-Extensions` in the answer, empty for none, latin1.
    /// [`IN_REQUEST`]: the bytes read after the request. [`IN_HANDOFF`]: all bytes read.
    pub tail: &'a [u8],
    /// See [`TLS_VERSION`] and what follows it; empty without TLS.
    pub tls: &'a [u8],
}

impl Opened<'_> {
    pub const fn encoded_len(&self) -> usize {
        OPENED_REQUEST + self.request.len() + self.protocol.len() + self.tail.len() + self.tls.len()
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        let (family, local, remote) = address_parts(self.local, self.remote);
        let words = [
            self.generation,
            self.listener,
            self.local.map_or(0, |address| u32::from(address.port())),
            self.remote.map_or(0, |address| u32::from(address.port())),
            family,
            // Heads are limited to some KiB long before.
            self.request.len() as u32,
            self.protocol.len() as u32,
            self.tail.len() as u32,
            self.tls.len() as u32,
        ];
        out.reserve(self.encoded_len());
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        out.extend_from_slice(&local);
        out.extend_from_slice(&remote);
        out.extend_from_slice(self.request);
        out.extend_from_slice(self.protocol);
        out.extend_from_slice(self.tail);
        out.extend_from_slice(self.tls);
    }
}

/// What JavaScript must know of a connection that comes from another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved<'a> {
    /// Bytes that wait to be sent.
    pub queued: usize,
    /// The number of its heads, if they came before.
    pub ahead: Option<u64>,
    /// The payload of [`OUT_ATTACH`].
    pub attachment: &'a [u8],
}

impl Moved<'_> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let queued = u32::try_from(self.queued).unwrap_or(u32::MAX);
        let ahead = self.ahead.map_or(0, |number| number as u32 + 1);
        out.extend([queued, ahead].iter().flat_map(|word| word.to_le_bytes()));
        out.extend_from_slice(self.attachment);
    }
}

/// A socket has one family for both ends: if they differ, both are written as IPv6.
fn address_parts(local: Option<SocketAddr>, remote: Option<SocketAddr>) -> (u32, [u8; 16], [u8; 16]) {
    let (local, remote) = (local.map(|address| address.ip()), remote.map(|address| address.ip()));
    let known = || [local, remote].into_iter().flatten();
    let family = match (known().next().is_some(), known().all(|address| address.is_ipv4())) {
        (false, _) => 0,
        (true, true) => 4,
        (true, false) => 6,
    };
    let bytes = |address: Option<IpAddr>| match address {
        None => [0; 16],
        Some(IpAddr::V6(address)) => address.octets(),
        Some(IpAddr::V4(address)) if family == 6 => address.to_ipv6_mapped().octets(),
        Some(IpAddr::V4(address)) => {
            let [a, b, c, d] = address.octets();
            [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        }
    };
    (family, bytes(local), bytes(remote))
}
