//! The layout that Rust and JavaScript both read and write: the only place where these numbers
//! exist.
//!
//! JavaScript gets them, and everything else in the lower layers that it has to agree with, in
//! `lib/reactor/layout.js`, which a test generates. An inbound record (reactor to JavaScript) is
//! four `u32`,
//!
//! ```text
//! [slot, kind | flags << 8 | aux << 16, offset, length]
//! ```
//!
//! and `offset..offset + length` is its payload in the batch. An outbound record is four `u32` in
//! the byte order of the machine (JavaScript writes them through a `Uint32Array`), then the
//! payload, then padding to a multiple of 16,
//!
//! ```text
//! [slot, generation, kind | flags << 8 | aux << 16, length] payload padding
//! ```
//!
//! A record with [`OUT_FLAG_SAME`] has the payload of an earlier record in the same chunk: a
//! payload for many connections is there once.
//!
//! A slot is the number of a connection while it lives; a generation distinguishes the connections
//! that have it one after the other.

use std::net::{IpAddr, SocketAddr};

use crate::engine::CloseCode;
use crate::engine::frame::{MAX_CONTROL_LEN, MAX_HEADER_LEN};

pub use cause::Cause;
pub use topics::*;

/// Declares the constants, and `constants` from the same list, so that JavaScript gets every one.
macro_rules! layout {
    ($($(#[doc = $doc:literal])* $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[doc = $doc])* pub const $name: $type = $value;)*

        /// Every constant of this module: its name, its number, and the lines of its comment.
        #[cfg(all(test, not(loom)))]
        pub(super) fn constants() -> Vec<(&'static str, u32, Vec<&'static str>)> {
            vec![$((stringify!($name), $name as u32, vec![$($doc.trim()),*])),*]
        }
    };
}

mod cause;
mod topics;

layout! {
    /// `u32` words of a record, inbound or outbound.
    RECORD_WORDS: usize = 4;
    /// Most records in one inbound batch; JavaScript allocates its array of records once, for this
    /// many.
    MAX_RECORDS: usize = 16_384;

    /// Word of the array of records, behind the last record: payload bytes of the drained batch.
    DRAINED_BYTES: usize = MAX_RECORDS * RECORD_WORDS;
    /// Word behind it: 1 + the number of the lent memory that these bytes are in; 0 when they are
    /// in the reactor's own, and more should be lent.
    DRAINED_LENT: usize = MAX_RECORDS * RECORD_WORDS + 1;
    /// Word behind it: 1 when that memory is handed over, and other memory should be lent in its
    /// place; 0 when it goes back with the next drain, and payloads that are kept must be copied.
    DRAINED_HANDED: usize = MAX_RECORDS * RECORD_WORDS + 2;
    /// Word behind it, written by JavaScript: bytes of the arena to be flushed.
    FLUSHED_BYTES: usize = MAX_RECORDS * RECORD_WORDS + 3;
    /// Word behind it, written by the flush and the drain: 1 + the number of the arena to be filled
    /// next; 0 for the same one again, after a flush because the reactor has all others.
    FLUSHED_NEXT: usize = MAX_RECORDS * RECORD_WORDS + 4;
    /// Word behind it, written by JavaScript: the slot of the connection whose sent bytes
    /// JavaScript asks for.
    ASKED_SLOT: usize = MAX_RECORDS * RECORD_WORDS + 5;
    /// Word behind it: its generation.
    ASKED_GENERATION: usize = MAX_RECORDS * RECORD_WORDS + 6;
    /// Word behind it, written by JavaScript: the number of the memory to be lent.
    LENT_ID: usize = MAX_RECORDS * RECORD_WORDS + 7;
    /// Word behind it, written by JavaScript: the number of records of the drained batch that it
    /// has dealt with.
    DELIVERED_RECORDS: usize = MAX_RECORDS * RECORD_WORDS + 8;
    /// Word behind it: number of the turn of the event loop in which the batch was drained, of 30
    /// bits. It changes after the loop has read sockets and before it calls the callbacks of
    /// `setImmediate`.
    DRAINED_TURN: usize = MAX_RECORDS * RECORD_WORDS + 9;
    /// Length of the array of records in words.
    DRAINED_WORDS: usize = MAX_RECORDS * RECORD_WORDS + 10;
    /// Most records of one call for a stream.
    STREAM_RECORDS: usize = 256;
    /// Word of the array of a stream's records, behind the last record: the bytes of a frame's
    /// header, in their order.
    STREAM_HEADER: usize = STREAM_RECORDS * RECORD_WORDS;
    /// Word behind it: in, the bytes that a call for a stream may inflate before others are served;
    /// out, the bytes that it has worked on.
    STREAM_ROOM: usize = STREAM_HEADER + 4;
    /// Length of that array in words.
    STREAM_WORDS: usize = STREAM_ROOM + 1;
    /// Least bytes of memory to be lent.
    LENT_BYTES: usize = super::limits::BATCH_BYTES;

    /// The slots from here on are numbered by JavaScript: adopted sockets. Lower ones are the
    /// reactor's.
    ADOPTED_SLOTS: u32 = 1 << 30;

    /// Mask of the kind within the word that carries kind, flags and aux.
    KIND_MASK: u32 = 0xff;
    /// Position of the flags (8 bits) within that word.
    FLAGS_SHIFT: u32 = 8;
    /// Position of the aux (16 bits) within that word.
    AUX_SHIFT: u32 = 16;

    /// Inbound word: the connection's slot, or the listener's id.
    IN_WORD_SLOT: usize = 0;
    /// Inbound word: kind, flags and aux.
    IN_WORD_KIND: usize = 1;
    /// Inbound word: offset of the payload in the batch, or its index among the large payloads.
    IN_WORD_OFFSET: usize = 2;
    /// Inbound word: payload length in bytes, or a count.
    IN_WORD_LENGTH: usize = 3;

    /// A connection is open. Payload: [`Opened`].
    IN_OPEN: u8 = 1;
    /// A text message.
    IN_TEXT: u8 = 2;
    /// A binary message.
    IN_BINARY: u8 = 3;
    /// A ping frame.
    IN_PING: u8 = 4;
    /// A pong frame.
    IN_PONG: u8 = 5;
    /// The peer's close frame. aux: status code, 1005 when the frame was empty. Payload: the
    /// reason.
    IN_CLOSE: u8 = 6;
    /// The peer broke the protocol. flags: number of the error kind, aux: detail number.
    IN_ERROR: u8 = 7;
    /// The socket is gone. Last record of a connection. flags: number of the [`Cause`].
    IN_CLOSED: u8 = 8;
    /// The kernel has the bytes of the `length` oldest sends that asked for this record.
    IN_SENT: u8 = 9;
    /// Outgoing bytes fell below the low-water mark after having been above the high one.
    IN_DRAIN: u8 = 10;
    /// A handshake that JavaScript checks and answers. Payload: [`Opened`].
    IN_REQUEST: u8 = 11;
    /// A listener is closed. slot: listener id.
    IN_LISTENER_CLOSED: u8 = 12;
    /// The reactor died. Payload: the reason, in UTF-8.
    IN_FAILURE: u8 = 13;
    /// The peer ended its side of the socket without a close frame; JavaScript answers with
    /// [`OUT_END`]. Length: 1 while JavaScript decides about the handshake; if it accepts, the end
    /// is reported again after everything that came before it. Else 0.
    IN_END: u8 = 14;
    /// Streams only. Bytes of a message that is not all in one chunk; more follow.
    IN_PART: u8 = 15;
    /// Descriptors have run out. slot: listener id, length: connections that were closed as they
    /// came. The kinds between are about topics.
    IN_REFUSED: u8 = 21;
    /// The reactor has sent a close frame by itself: the topic's member was slow.
    IN_CLOSING: u8 = 22;

    /// Inbound flag: the payload is one of the batch's large payloads and `offset` its index.
    IN_FLAG_OWNED: u8 = 0x80;
    /// Flag of a message of a stream: these are its last bytes, the others came with [`IN_PART`].
    IN_FLAG_LAST_PART: u8 = 0x40;

    /// [`Opened`], byte offset, `u32` little-endian: generation of the connection.
    OPENED_GENERATION: usize = 0;
    /// [`Opened`], byte offset, `u32` little-endian: id of the listener.
    OPENED_LISTENER: usize = 4;
    /// [`Opened`], byte offset, `u32` little-endian: local port, 0 when unknown.
    OPENED_LOCAL_PORT: usize = 8;
    /// [`Opened`], byte offset, `u32` little-endian: remote port, 0 when unknown.
    OPENED_REMOTE_PORT: usize = 12;
    /// [`Opened`], byte offset, `u32` little-endian: 4, 6, or 0 when neither address is known.
    OPENED_FAMILY: usize = 16;
    /// [`Opened`], byte offset, `u32` little-endian: length of the request in bytes.
    OPENED_REQUEST_LENGTH: usize = 20;
    /// [`Opened`], byte offset, `u32` little-endian: length of the subprotocol in bytes.
    OPENED_PROTOCOL_LENGTH: usize = 24;
    /// [`Opened`], byte offset, `u32` little-endian: length of the tail in bytes.
    OPENED_TAIL_LENGTH: usize = 28;
    /// [`Opened`], byte offset, 16 bytes: local address, IPv4 in the first 4.
    OPENED_LOCAL_ADDRESS: usize = 32;
    /// [`Opened`], byte offset, 16 bytes: remote address, IPv4 in the first 4.
    OPENED_REMOTE_ADDRESS: usize = 48;
    /// [`Opened`], byte offset: the request in normal form, latin1; the subprotocol and the tail
    /// follow it.
    OPENED_REQUEST: usize = 64;

    /// Bytes of an outbound record before its payload.
    OUT_HEADER_BYTES: usize = 16;
    /// Outbound records begin at multiples of this many bytes.
    OUT_ALIGN: usize = 16;

    /// Outbound word: the connection's slot.
    OUT_WORD_SLOT: usize = 0;
    /// Outbound word: the connection's generation.
    OUT_WORD_GENERATION: usize = 1;
    /// Outbound word: kind, flags and aux.
    OUT_WORD_KIND: usize = 2;
    /// Outbound word: payload length in bytes; with [`OUT_FLAG_SAME`] offset of the payload in
    /// the chunk.
    OUT_WORD_LENGTH: usize = 3;

    /// Send a text message or a fragment of one.
    OUT_TEXT: u8 = 1;
    /// Send a binary message or a fragment of one.
    OUT_BINARY: u8 = 2;
    /// Send a ping.
    OUT_PING: u8 = 3;
    /// Send a pong.
    OUT_PONG: u8 = 4;
    /// Send a close frame. aux: status code, 0 for an empty frame. Payload: the reason.
    OUT_CLOSE: u8 = 5;
    /// Destroy the socket. [`OUT_FLAG_FIN`]: the peer gets a reset, and none of the bytes that
    /// wait.
    OUT_TERMINATE: u8 = 6;
    /// Stop reading. aux 1: a 101 that has not left waits for [`OUT_RESUME`], in whose place a
    /// record that ends or writes may come.
    OUT_PAUSE: u8 = 7;
    /// Read again.
    OUT_RESUME: u8 = 8;
    /// Answer the handshake; the connection is open from here. Payload: the whole 101 response.
    OUT_ACCEPT: u8 = 9;
    /// Write the payload as it is, then end: a refused handshake. If its 101 has left, the socket
    /// is destroyed.
    OUT_RESPOND: u8 = 10;
    /// Write the payload as it is.
    OUT_WRITE: u8 = 11;
    /// Shut down the sending side after everything that was written.
    OUT_END: u8 = 12;
    /// Set the socket option TCP_NODELAY: aux 1 on, 0 off.
    OUT_NO_DELAY: u8 = 13;
    /// Set the socket option SO_KEEPALIVE: [`OUT_FLAG_FIN`] on, else off; aux = seconds of silence
    /// before the first probe, 0 = the system's default.
    OUT_KEEP_ALIVE: u8 = 14;

    /// Send a prepared message. Payload: its number, `u32` in the byte order of the machine.
    OUT_PREPARED: u8 = 15;
    /// The bytes that [`IN_REQUEST`] has brought behind the request. They are read when
    /// [`OUT_ACCEPT`] follows, before those of the socket.
    OUT_HEAD: u8 = 16;
    /// Report the peer's end, which has been reported, once more, after [`IN_SENT`] for the bytes
    /// that the kernel takes now. The kinds between are about topics.
    OUT_ASK_END: u8 = 26;

    /// Outbound flag: last fragment of its message.
    OUT_FLAG_FIN: u8 = 0x01;
    /// Outbound flag: count this in [`IN_SENT`] when its bytes are in the kernel.
    OUT_FLAG_WANT_SENT: u8 = 0x02;
    /// Outbound flag: no payload follows in the arena; it is the next of the chunk's large
    /// payloads.
    OUT_FLAG_LARGE: u8 = 0x04;
    /// Outbound flag: compress, if the extension was negotiated.
    OUT_FLAG_COMPRESS: u8 = 0x08;
    /// Outbound flag: no payload follows; it is that of an earlier record, and the length word has
    /// the offset of that payload in the chunk. With [`OUT_FLAG_LARGE`]: it is the last large
    /// payload that came with [`OUT_FLAG_SHARED`], and this is a message like that one.
    OUT_FLAG_SAME: u8 = 0x10;
    /// Outbound flag of a whole message with [`OUT_FLAG_LARGE`]: records behind it have the same
    /// payload.
    OUT_FLAG_SHARED: u8 = 0x20;
    /// Outbound flag of a frame: the payload begins with the masking key.
    OUT_FLAG_KEY: u8 = 0x40;
    /// Aux of a message, ping or pong: it is masked by a server and not by a client.
    MASK_AGAINST: u16 = 1;

    /// JavaScript decides about the handshakes of a listener that pass the native checks: a hook is
    /// set.
    ASK_ACCEPTED: u32 = 1;
    /// JavaScript decides about the handshakes of a listener that the native checks refuse:
    /// `wsClientError` has a listener.
    ASK_REFUSED: u32 = 2;
    /// The server is drained: its health check is answered with 503.
    ASK_DRAINED: u32 = 4;

    /// With this many unsent bytes or more a connection has no room: `send()` returns false.
    HIGH_WATER_MARK: usize = 1024 * 1024;
    /// Unsent bytes down to which a connection without room must come before its room is reported.
    LOW_WATER_MARK: usize = low_water_mark(HIGH_WATER_MARK);

    /// Bytes that the header of a frame may take, and that are left free before a payload which is
    /// framed where it is.
    HEADROOM: usize = MAX_HEADER_LEN;
    /// Most bytes in the payload of a control frame (RFC 6455, section 5.5).
    CONTROL_BYTES: usize = MAX_CONTROL_LEN;
    /// Most bytes in the reason of a close frame, behind its status code.
    REASON_BYTES: usize = CONTROL_BYTES - 2;
    /// Close code of a close frame without one (RFC 6455, section 7.4.1).
    NO_STATUS: u16 = CloseCode::NO_STATUS_RECEIVED;
    /// Close code of a connection that ended without a close frame.
    ABNORMAL: u16 = CloseCode::ABNORMAL_CLOSURE;
}

/// Every constant that JavaScript gets.
#[cfg(all(test, not(loom)))]
pub(super) fn all_constants() -> Vec<(&'static str, u32, Vec<&'static str>)> {
    [constants(), topics::constants()].concat()
}

/// Unsent bytes down to which a connection must come before it has room again, for one that has had
/// no room from `high` on.
pub const fn low_water_mark(high: usize) -> usize {
    high / 2
}

/// The word that carries kind, flags and aux.
pub const fn pack(kind: u8, flags: u8, aux: u16) -> u32 {
    kind as u32 | (flags as u32) << FLAGS_SHIFT | (aux as u32) << AUX_SHIFT
}

/// Kind, flags and aux of a word made by [`pack`].
pub const fn unpack(word: u32) -> (u8, u8, u16) {
    ((word & KIND_MASK) as u8, (word >> FLAGS_SHIFT) as u8, (word >> AUX_SHIFT) as u16)
}

/// A new connection, as JavaScript gets it: the payload of [`IN_OPEN`] and [`IN_REQUEST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// Generation of the connection's slot; every outbound record names it.
    pub generation: u32,
    /// Id of the listener that accepted it.
    pub listener: u32,
    /// This end, or `None` when it has no IP address or it could not be asked for.
    pub local: Option<SocketAddr>,
    /// The other end, or `None` likewise.
    pub remote: Option<SocketAddr>,
    /// The request in normal form:
    /// `METHOD \0 url \0 minor version \0 name \0 value \0 name \0 value ...`, latin1.
    pub request: &'a [u8],
    /// The chosen subprotocol, empty for none, latin1.
    pub protocol: &'a [u8],
    /// [`IN_OPEN`]: the value of `Sec-WebSocket-Extensions` in the answer, empty for none, latin1.
    /// [`IN_REQUEST`]: the bytes that were read behind the request.
    pub tail: &'a [u8],
}

impl Opened<'_> {
    /// Bytes that [`encode`](Self::encode) appends.
    pub const fn encoded_len(&self) -> usize {
        OPENED_REQUEST + self.request.len() + self.protocol.len() + self.tail.len()
    }

    /// Appends the layout of the `OPENED_` constants to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (family, local, remote) = address_parts(self.local, self.remote);
        let words = [
            self.generation,
            self.listener,
            self.local.map_or(0, |address| u32::from(address.port())),
            self.remote.map_or(0, |address| u32::from(address.port())),
            family,
            // Heads are limited to some KiB long before they come here.
            self.request.len() as u32,
            self.protocol.len() as u32,
            self.tail.len() as u32,
        ];
        out.reserve(self.encoded_len());
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        out.extend_from_slice(&local);
        out.extend_from_slice(&remote);
        out.extend_from_slice(self.request);
        out.extend_from_slice(self.protocol);
        out.extend_from_slice(self.tail);
    }
}

/// One family for both ends, as a socket has one: should they differ, both are written as IPv6.
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
