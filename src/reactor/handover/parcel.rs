//! A connection as bytes.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::{MOST_TOLD, SHORT_HEADS};
use crate::bridge::layout;
use crate::engine::handshake::{HeadLimits, HeadScanner, MAX_HEADERS, read_accept};
use crate::engine::portable::{Decoder, Encoder, Portable};

/// The longest parcel: an unfinished message and the queued output, within their limits.
pub(super) const LONGEST: usize = if cfg!(test) { 8 << 20 } else { 256 << 20 };

/// Of heads that the other process has accepted, whatever limits it has.
pub(super) const HEADS: HeadLimits = HeadLimits { bytes: 1 << 20, fields: MAX_HEADERS };

/// What came while the connections worked, by slot.
#[derive(Default)]
pub(super) struct Early {
    /// Copies of queued output.
    pub(super) copies: HashMap<u64, Vec<u8>>,
    pub(super) heads: HashMap<u64, (u32, Heads)>,
    /// How many came.
    pub(super) count: u32,
}

/// The part of an open connection that the next process gets ahead: it never changes.
#[derive(Debug, PartialEq, Eq)]
pub struct Heads {
    pub(super) slot: u64,
    pub(super) local: Option<SocketAddr>,
    /// The client's.
    pub(super) remote: Option<SocketAddr>,
    pub(super) request: Vec<u8>,
    pub(super) response: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Parcel {
    /// The client that a proxy has named.
    pub(super) client: Option<SocketAddr>,
    /// Bytes to read before the socket's.
    pub(super) unread: Vec<u8>,
    pub(super) state: State,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has received a part of its request, or none. `proxied`: a header of the PROXY protocol comes first. `kept`: how long it can wait
    /// for another request.
    Opening {
        proxied: bool,
        kept: Option<Duration>,
    },
    Open(Box<Opened>),
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::reactor) struct Opened {
    /// The slot of heads that came before: then the next two are empty. After [`Parcel::complete`] their number.
    pub(super) ahead: Option<u64>,
    pub(super) request: Vec<u8>,
    pub(super) response: Vec<u8>,
    pub(super) engine: Portable,
    pub(super) rest: Rest,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::reactor) struct Rest {
    pub(super) attachment: Vec<u8>,
    pub(super) paused: bool,
    pub(super) pinged: bool,
    /// Time until something is done about its silence.
    pub(super) silence: Option<Duration>,
    /// How much of its rates is used up: the time until they are whole again.
    pub(super) rates: [Duration; 2],
    pub(super) received: u64,
    /// The slot of a copy that came before, and its first bytes that have left by now: the others precede `queued`.
    pub(super) copied: Option<(u64, u64)>,
    /// Output that the kernel does not have.
    pub(super) queued: Vec<u8>,
}

impl Parcel {
    /// A connection that waits for another request.
    pub fn idle(client: Option<SocketAddr>, kept: Duration) -> Self {
        Self { client, unread: Vec::new(), state: State::Opening { proxied: false, kept: Some(kept) } }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        let put = &mut Encoder(out);
        put.option(self.client, put_address);
        put.bytes(&self.unread);
        match &self.state {
            State::Opening { proxied, kept } => {
                put.byte(0);
                put.flag(*proxied);
                put.option(*kept, put_time);
            }
            State::Open(opened) => {
                put.byte(1);
                put.option(opened.ahead, Encoder::number);
                if opened.ahead.is_none() {
                    put.bytes(&opened.request);
                    put.bytes(&opened.response);
                }
                opened.engine.encode(put.0);
                opened.rest.encode(put);
            }
        }
    }

    /// `None`: no connection is like that.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let from = &mut Decoder(bytes);
        let client = from.option(take_address)?;
        let unread = from.bytes()?.to_vec();
        let state = match from.byte()? {
            0 => State::Opening { proxied: from.flag()?, kept: from.option(take_time)? },
            1 => {
                let ahead = from.option(Decoder::number)?;
                let (request, response) = match ahead {
                    Some(_) => Default::default(),
                    None => (from.bytes()?.to_vec(), from.bytes()?.to_vec()),
                };
                let (engine, rest) = (Portable::decode(from)?, Rest::decode(from)?);
                State::Open(Box::new(Opened { ahead, request, response, engine, rest }))
            }
            _ => return None,
        };
        from.is_empty().then_some(Self { client, unread, state })
    }

    /// Puts what came before where it belongs. `None`: it did not come.
    pub(super) fn complete(mut self, early: &mut Early) -> Option<Self> {
        let State::Open(opened) = &mut self.state else { return Some(self) };
        if let Some((slot, left)) = opened.rest.copied.take() {
            let mut queued = early.copies.remove(&slot)?;
            drop(queued.drain(..usize::try_from(left).ok().filter(|&left| left <= queued.len())?));
            queued.append(&mut opened.rest.queued);
            opened.rest.queued = queued;
        }
        if let Some(slot) = &mut opened.ahead {
            let (number, heads) = early.heads.remove(slot)?;
            *slot = number.into();
            (opened.request, opened.response) = (heads.request, heads.response);
        }
        Some(self)
    }
}

impl Early {
    /// Keeps the heads in a message. Returns them as the program knows them. `None`: they are none, or no server of ours tells
    /// as much.
    pub(super) fn note(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let from = &mut Decoder(message);
        let mut records = Vec::new();
        while !from.is_empty() {
            let heads = Heads::decode(from)?;
            let is_short = heads.request.len() + heads.response.len() <= SHORT_HEADS;
            (is_short && (self.count as usize) < MOST_TOLD).then_some(())?;
            let request = HeadScanner::default().parse(&heads.request, &HEADS).ok()??;
            let (protocol, extensions) = read_accept(&heads.response)?;
            let mut normal = Vec::new();
            request.write_normal_form(&mut normal);
            layout::Opened {
                generation: 0,
                listener: 0,
                local: heads.local,
                remote: heads.remote,
                request: &normal,
                protocol: protocol.unwrap_or_default(),
                tail: extensions.unwrap_or_default().as_bytes(),
                tls: &[],
            }
            .encode(&mut records);
            self.heads.insert(heads.slot, (self.count, heads));
            self.count += 1;
        }
        Some(records)
    }
}

impl Heads {
    pub fn encode(&self, put: &mut Encoder<'_>) {
        put.number(self.slot);
        put.option(self.local, put_address);
        put.option(self.remote, put_address);
        put.bytes(&self.request);
        put.bytes(&self.response);
    }

    pub fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            slot: from.number()?,
            local: from.option(take_address)?,
            remote: from.option(take_address)?,
            request: from.bytes()?.to_vec(),
            response: from.bytes()?.to_vec(),
        })
    }
}

impl Rest {
    fn encode(&self, put: &mut Encoder<'_>) {
        put.bytes(&self.attachment);
        put.flag(self.paused);
        put.flag(self.pinged);
        put.option(self.silence, put_time);
        for rate in self.rates {
            put.number(nanos(rate));
        }
        put.number(self.received);
        put.option(self.copied, |put, (slot, left)| {
            put.number(slot);
            put.number(left);
        });
        put.bytes(&self.queued);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            attachment: from.bytes()?.to_vec(),
            paused: from.flag()?,
            pinged: from.flag()?,
            silence: from.option(take_time)?,
            rates: [Duration::from_nanos(from.number()?), Duration::from_nanos(from.number()?)],
            received: from.number()?,
            copied: from.option(|from| Some((from.number()?, from.number()?)))?,
            queued: from.bytes()?.to_vec(),
        })
    }
}

fn put_time(put: &mut Encoder<'_>, time: Duration) {
    put.number(nanos(time));
}

fn take_time(from: &mut Decoder<'_>) -> Option<Duration> {
    from.number().map(Duration::from_nanos)
}

fn put_address(put: &mut Encoder<'_>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => put.bytes(&ip.octets()),
        IpAddr::V6(ip) => put.bytes(&ip.octets()),
    }
    put.number(address.port().into());
}

fn take_address(from: &mut Decoder<'_>) -> Option<SocketAddr> {
    let ip = from.bytes()?;
    let ip = match (ip.first_chunk::<4>(), ip.first_chunk::<16>(), ip.len()) {
        (Some(&ip), _, 4) => IpAddr::from(ip),
        (_, Some(&ip), 16) => IpAddr::from(ip),
        _ => return None,
    };
    Some(SocketAddr::new(ip, from.number()?.try_into().ok()?))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
