//! A connection as bytes.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::engine::handshake::{HeadLimits, MAX_HEADERS};
use crate::engine::portable::{Decoder, Encoder, Portable};

/// The longest parcel: an unfinished message and the queued output, within their limits.
pub(super) const LONGEST: usize = 256 << 20;

/// Of heads that the other process has accepted, whatever limits it has.
pub(super) const HEADS: HeadLimits = HeadLimits { bytes: 1 << 20, fields: MAX_HEADERS };

/// Copies of queued output by slot, made while the connections worked.
pub(super) type Copies = HashMap<u64, Vec<u8>>;

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
    /// A part of its request has come. `proxied`: a header of the PROXY protocol comes first.
    Opening {
        proxied: bool,
    },
    Open(Box<Opened>),
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::reactor) struct Opened {
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
    pub fn encode(&self, out: &mut Vec<u8>) {
        let put = &mut Encoder(out);
        put.option(self.client, |put, client| {
            match client.ip() {
                IpAddr::V4(ip) => put.bytes(&ip.octets()),
                IpAddr::V6(ip) => put.bytes(&ip.octets()),
            }
            put.number(client.port().into());
        });
        put.bytes(&self.unread);
        match &self.state {
            State::Opening { proxied } => {
                put.byte(0);
                put.flag(*proxied);
            }
            State::Open(opened) => {
                put.byte(1);
                put.bytes(&opened.request);
                put.bytes(&opened.response);
                opened.engine.encode(put.0);
                opened.rest.encode(put);
            }
        }
    }

    /// `None`: no connection is like that.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let from = &mut Decoder(bytes);
        let client = from.option(|from| {
            let ip = from.bytes()?;
            let ip = match (ip.first_chunk::<4>(), ip.first_chunk::<16>(), ip.len()) {
                (Some(&ip), _, 4) => IpAddr::from(ip),
                (_, Some(&ip), 16) => IpAddr::from(ip),
                _ => return None,
            };
            Some(SocketAddr::new(ip, from.number()?.try_into().ok()?))
        })?;
        let unread = from.bytes()?.to_vec();
        let state = match from.byte()? {
            0 => State::Opening { proxied: from.flag()? },
            1 => State::Open(Box::new(Opened {
                request: from.bytes()?.to_vec(),
                response: from.bytes()?.to_vec(),
                engine: Portable::decode(from)?,
                rest: Rest::decode(from)?,
            })),
            _ => return None,
        };
        from.is_empty().then_some(Self { client, unread, state })
    }

    /// Puts the output of a copy where it belongs. `None`: there is no such copy.
    pub(super) fn complete(mut self, copies: &mut Copies) -> Option<Self> {
        if let State::Open(opened) = &mut self.state
            && let Some((slot, left)) = opened.rest.copied.take()
        {
            let mut queued = copies.remove(&slot)?;
            drop(queued.drain(..usize::try_from(left).ok().filter(|&left| left <= queued.len())?));
            queued.append(&mut opened.rest.queued);
            opened.rest.queued = queued;
        }
        Some(self)
    }
}

impl Rest {
    fn encode(&self, put: &mut Encoder<'_>) {
        put.bytes(&self.attachment);
        put.flag(self.paused);
        put.flag(self.pinged);
        put.option(self.silence, |put, silence| put.number(nanos(silence)));
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
            silence: from.option(|from| from.number().map(Duration::from_nanos))?,
            rates: [Duration::from_nanos(from.number()?), Duration::from_nanos(from.number()?)],
            received: from.number()?,
            copied: from.option(|from| Some((from.number()?, from.number()?)))?,
            queued: from.bytes()?.to_vec(),
        })
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
