//! The extension on one connection, in both directions.

use std::fmt;
use std::sync::Arc;

use crate::engine::config::Role;
use crate::engine::error::ErrorKind;
use crate::engine::utf8::Validator;
use crate::one_shot::Manner;

use super::deflater::{Deflater, Recipe};
use super::inflater::{Inflater, Sink};
use super::pool::Pool;
use super::settings::{Params, Settings};

/// What one connection needs for compression. Contexts are there only while they are needed.
pub(in crate::engine) struct Extension {
    pool: Arc<Pool>,
    incoming: Incoming,
    outgoing: Outgoing,
}

struct Incoming {
    /// The context is kept between messages.
    takeover: bool,
    inflater: Option<Inflater>,
    /// Something of the message that is under way has been inflated.
    begun: bool,
    /// The end of what came in, for when the context is released.
    history: Option<Vec<u8>>,
    window: usize,
}

struct Outgoing {
    takeover: bool,
    recipe: Recipe,
    /// How messages without context are compressed in one go, if the settings allow it.
    manner: Option<Manner>,
    threshold: u64,
    /// What a kept context takes.
    bytes: usize,
    deflater: Option<Deflater>,
    /// The context counts as kept.
    kept: bool,
    /// The message that is under way is compressed.
    compressed: bool,
    /// Each frame of it by itself.
    whole: bool,
}

/// A fragment of so many bytes loses little when it is compressed without what came before it.
const WORTH_ITSELF: usize = 32 << 10;

/// What the frames of an incoming message have in common with those of the connection's limits.
pub(in crate::engine) struct Incomplete<'a> {
    /// What has been inflated of the message.
    pub(in crate::engine) message: &'a mut Vec<u8>,
    /// Most bytes of it.
    pub(in crate::engine) limit: usize,
    /// Its validator, if it is text.
    pub(in crate::engine) utf8: Option<&'a mut Validator>,
}

impl Extension {
    pub(in crate::engine) fn new(role: Role, params: Params, settings: &Settings, pool: Arc<Pool>) -> Self {
        let client = (params.client_no_context_takeover, params.client_max_window_bits);
        let server = (params.server_no_context_takeover, params.server_max_window_bits);
        let (ours, theirs) = if role == Role::Server { (server, client) } else { (client, server) };
        let incoming = Incoming {
            takeover: !theirs.0,
            inflater: None,
            begun: false,
            history: (!theirs.0 && settings.releasable).then(Vec::new),
            window: 1 << theirs.1.min(super::settings::MAX_WINDOW_BITS),
        };
        let outgoing = Outgoing {
            takeover: !ours.0,
            recipe: Recipe::new(settings, ours.1),
            manner: settings.fast_level().map(|level| Manner::new(level, ours.1)),
            threshold: settings.threshold,
            bytes: settings.deflater_bytes(ours.1),
            deflater: None,
            kept: false,
            compressed: false,
            whole: false,
        };
        if incoming.takeover {
            pool.budget().reserve();
        }
        Self { pool, incoming, outgoing }
    }

    /// Whether a context is there that could be released.
    pub(in crate::engine) fn holds_context(&self) -> bool {
        self.outgoing.deflater.is_some() || self.incoming.inflater.is_some()
    }

    /// Takes the next bytes of a compressed message: the last ones of their frame with `frame_end`, of the message with
    /// `fin` too.
    pub(in crate::engine) fn inflate(
        &mut self,
        bytes: &[u8],
        frame_end: bool,
        fin: bool,
        to: Incomplete<'_>,
    ) -> Result<(), ErrorKind> {
        let incoming = &mut self.incoming;
        incoming.begun |= !bytes.is_empty();
        // A message without a byte is not what RFC 7692, section 7.2.3.6, says, but everybody takes it for an empty one.
        if !incoming.begun {
            return Ok(());
        }
        let mut shared = self.pool.lock();
        let inflater = incoming.inflater.get_or_insert_with(|| {
            let mut inflater = shared.inflater();
            if let Some(history) = &incoming.history {
                inflater.remember(history);
            }
            inflater
        });
        let before = to.message.len();
        let Incomplete { message, limit, utf8 } = to;
        let mut sink = Sink { out: message, limit, utf8, scratch: &mut shared.scratch };
        let inflated = inflater.feed(bytes, &mut sink);
        let inflated =
            inflated.and_then(|()| if frame_end && fin { inflater.finish(&mut sink) } else { Ok(()) });
        shared.work += bytes.len() + message.len() - before;
        inflated?;
        if !frame_end {
            return Ok(());
        }
        let ended = inflater.has_ended();
        if ended {
            inflater.reset();
        }
        if fin {
            incoming.begun = false;
            incoming.remember(message, ended);
            if !incoming.takeover
                && let Some(inflater) = incoming.inflater.take()
            {
                shared.give_inflater(inflater);
            }
        }
        Ok(())
    }

    /// Decides about the next data frame of ours, of `len` bytes before compression, `first` of its message.
    pub(in crate::engine) fn wants(&mut self, compress: bool, first: bool, len: usize) -> bool {
        let outgoing = &mut self.outgoing;
        if first {
            outgoing.compressed = compress && (outgoing.takeover || len as u64 >= outgoing.threshold);
        }
        outgoing.compressed
    }

    /// Whether our message that is under way is compressed.
    pub(in crate::engine) fn compresses(&self) -> bool {
        self.outgoing.compressed
    }

    /// Our message that was under way is complete.
    pub(in crate::engine) fn end_message(&mut self) {
        self.outgoing.compressed = false;
    }

    /// How messages are compressed at the moment, if each is compressed by itself.
    pub(in crate::engine) fn recipe_without_context(&mut self) -> Option<Recipe> {
        self.keep_context();
        (!self.outgoing.kept).then_some(self.outgoing.recipe)
    }

    /// Before the first frame of a message: keeps a context from now on, if that was negotiated and the budget allows it.
    fn keep_context(&mut self) {
        let outgoing = &mut self.outgoing;
        if outgoing.takeover && !outgoing.kept {
            outgoing.kept = self.pool.budget().keep(outgoing.bytes);
        }
    }

    /// Appends the compressed payload of a frame of ours to `out`.
    pub(in crate::engine) fn deflate(&mut self, payload: &[u8], first: bool, fin: bool, out: &mut Vec<u8>) {
        if first {
            self.keep_context();
        }
        let mut shared = self.pool.lock();
        let outgoing = &mut self.outgoing;
        let Outgoing { recipe, kept, .. } = *outgoing;
        let alone = first && fin && !kept;
        if alone && let Some(compressed) = shared.compressed(recipe, payload) {
            return out.extend_from_slice(compressed);
        }
        if first {
            outgoing.whole = !kept && (fin || payload.len() >= WORTH_ITSELF);
        }
        let start = out.len();
        if let Some(manner) = outgoing.manner.filter(|_| outgoing.whole) {
            shared.one_shot().compress(payload, manner, fin, out);
        } else {
            let mut deflater = outgoing.deflater.take().unwrap_or_else(|| shared.deflater(recipe));
            deflater.compress(payload, fin, &mut shared.scratch, out);
            // Not kept is never wrong: a message need not refer to earlier ones.
            if fin && !kept {
                shared.give_deflater(deflater);
            } else {
                outgoing.deflater = Some(deflater);
            }
        }
        if alone {
            shared.remember(recipe, payload, out.get(start..).unwrap_or_default());
        }
    }

    /// Gives the contexts back that no message under way needs.
    pub(in crate::engine) fn release(&mut self, sending: bool) {
        let mut shared = self.pool.lock();
        if !sending {
            if let Some(deflater) = self.outgoing.deflater.take() {
                shared.give_deflater(deflater);
            }
            if std::mem::take(&mut self.outgoing.kept) {
                self.pool.budget().unkeep(self.outgoing.bytes);
            }
        }
        if !self.incoming.begun
            && self.incoming.history.is_some()
            && let Some(inflater) = self.incoming.inflater.take()
        {
            shared.give_inflater(inflater);
        }
    }

    /// Nothing more comes in.
    pub(in crate::engine) fn end_incoming(&mut self) {
        self.incoming.begun = false;
        self.incoming.history = None;
        if let Some(inflater) = self.incoming.inflater.take() {
            self.pool.lock().give_inflater(inflater);
        }
    }

    /// Bytes of the context that the message which comes in has for itself: one that is kept counts in the [`Budget`](super::Budget).
    pub(in crate::engine) fn lent(&self) -> usize {
        let Incoming { takeover, inflater, .. } = &self.incoming;
        if *takeover || inflater.is_none() { 0 } else { super::INFLATER_BYTES }
    }

    /// Bytes of heap.
    pub(in crate::engine) fn buffered(&self) -> usize {
        let deflater = if self.outgoing.deflater.is_some() { self.outgoing.bytes } else { 0 };
        let inflater = if self.incoming.inflater.is_some() { super::INFLATER_BYTES } else { 0 };
        size_of::<Self>() + deflater + inflater + self.incoming.history.as_ref().map_or(0, Vec::capacity)
    }
}

impl Incoming {
    /// Keeps the end of what came in so far, if it may be needed.
    fn remember(&mut self, message: &[u8], ended: bool) {
        let Some(history) = &mut self.history else { return };
        if ended {
            *history = Vec::new();
            return;
        }
        let newest = message.get(message.len().saturating_sub(self.window)..).unwrap_or_default();
        let excess = (history.len() + newest.len()).saturating_sub(self.window);
        history.drain(..excess.min(history.len()));
        history.reserve_exact(newest.len());
        history.extend_from_slice(newest);
    }
}

impl Drop for Extension {
    fn drop(&mut self) {
        if self.incoming.takeover {
            self.pool.budget().unreserve();
        }
        if self.outgoing.kept {
            self.pool.budget().unkeep(self.outgoing.bytes);
        }
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension").field("holds_context", &self.holds_context()).finish_non_exhaustive()
    }
}
