//! The extension on one connection, in both directions.

use std::sync::Arc;

use crate::engine::config::Role;
use crate::engine::error::ErrorKind;
use one_shot::Manner;

use super::deflater::{Deflater, Recipe};
use super::incoming::{Held, Incoming, Incomplete};
use super::pool::Pool;
use super::settings::{Params, Settings};

/// Contexts exist only while they are needed.
pub(in crate::engine) struct Extension {
    pool: Arc<Pool>,
    pub(in crate::engine) incoming: Incoming,
    /// Outgoing messages can refer to earlier ones.
    takeover: bool,
    recipe: Recipe,
    /// For messages without context that are compressed in one go, if allowed.
    manner: Option<Manner>,
    threshold: u64,
    /// Bytes of a kept context.
    bytes: usize,
    deflater: Option<Deflater>,
    /// The context counts in the budget.
    kept: bool,
    /// The outgoing message under way is compressed.
    pub(in crate::engine) compresses: bool,
    /// Each frame of that message by itself.
    whole: bool,
}

/// The extension for another process. Our own context begins anew, which is always legal: each frame ends at a byte.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) struct Portable {
    pub(in crate::engine) params: Params,
    /// The end of the input so far, to which the peer can refer.
    pub(in crate::engine) window: Vec<u8>,
    /// The incoming message under way.
    pub(in crate::engine) current: Option<Held>,
    /// The outgoing message under way is compressed.
    pub(in crate::engine) compresses: bool,
}

/// A fragment this long loses little when it is compressed by itself.
const MIN_SEPARATE_BYTES: usize = 32 << 10;

impl Extension {
    pub(in crate::engine) fn new(role: Role, params: Params, settings: &Settings, pool: Arc<Pool>) -> Self {
        let client = (params.client_no_context_takeover, params.client_max_window_bits);
        let server = (params.server_no_context_takeover, params.server_max_window_bits);
        let (ours, theirs) = if role == Role::Server { (server, client) } else { (client, server) };
        let window = 1 << theirs.1.min(super::settings::MAX_WINDOW_BITS);
        Self {
            incoming: Incoming::new(!theirs.0, window, settings, pool.budget()),
            pool,
            takeover: !ours.0,
            recipe: Recipe::new(settings, ours.1),
            manner: settings.fast_level().map(|level| Manner::new(level, ours.1)),
            threshold: settings.threshold,
            bytes: settings.deflater_bytes(ours.1),
            deflater: None,
            kept: false,
            compresses: false,
            whole: false,
        }
    }

    /// `None`: a context is in use that cannot move.
    pub(in crate::engine) fn export(&self, role: Role) -> Option<Portable> {
        let (window, current) = self.incoming.export()?;
        let ours = (!self.takeover, self.recipe.window_bits());
        let theirs = (!self.incoming.keeps_context(), self.incoming.window().trailing_zeros() as u8);
        let (server, client) = if role == Role::Server { (ours, theirs) } else { (theirs, ours) };
        let params = Params {
            server_no_context_takeover: server.0,
            client_no_context_takeover: client.0,
            server_max_window_bits: server.1,
            client_max_window_bits: client.1,
        };
        Some(Portable {
            params,
            window: window.to_vec(),
            current: current.cloned(),
            compresses: self.compresses,
        })
    }

    pub(in crate::engine) fn import(
        role: Role,
        state: Portable,
        settings: &Settings,
        pool: Arc<Pool>,
    ) -> Self {
        let Portable { params, window, current, compresses } = state;
        let mut extension = Self::new(role, params, settings, pool);
        extension.compresses = compresses;
        extension.incoming.import(window, current);
        extension
    }

    pub(in crate::engine) fn holds_context(&self) -> bool {
        self.deflater.is_some() || self.incoming.holds_context()
    }

    /// `ends`: whether the bytes end their frame, and whether the frame ends the message.
    pub(in crate::engine) fn inflate(
        &mut self,
        bytes: &[u8],
        ends: (bool, bool),
        to: Incomplete<'_>,
    ) -> Result<(), ErrorKind> {
        self.incoming.inflate(&self.pool, bytes, ends, to)
    }

    pub(in crate::engine) fn wants(&mut self, compress: bool, first: bool, len: usize) -> bool {
        if first {
            self.compresses = compress && (self.takeover || len as u64 >= self.threshold);
        }
        self.compresses
    }

    /// `None`: messages refer to earlier ones.
    pub(in crate::engine) fn recipe_without_context(&mut self) -> Option<Recipe> {
        self.keep_context();
        (!self.kept).then_some(self.recipe)
    }

    /// Before the first frame of a message: keeps a context from now on, if negotiated and within
    /// the budget.
    fn keep_context(&mut self) {
        if self.takeover && !self.kept {
            self.kept = self.pool.budget().keep(self.bytes);
        }
    }

    pub(in crate::engine) fn deflate(&mut self, payload: &[u8], first: bool, fin: bool, out: &mut Vec<u8>) {
        if first {
            self.keep_context();
        }
        let mut shared = self.pool.lock();
        let Self { recipe, kept, .. } = *self;
        let alone = first && fin && !kept;
        if alone && let Some(compressed) = shared.compressed(recipe, payload) {
            return out.extend_from_slice(compressed);
        }
        if first {
            self.whole = !kept && (fin || payload.len() >= MIN_SEPARATE_BYTES);
        }
        let start = out.len();
        if let Some(manner) = self.manner.filter(|_| self.whole) {
            shared.one_shot().compress(payload, manner, fin, out);
        } else {
            let mut deflater = self.deflater.take().unwrap_or_else(|| shared.deflater(recipe));
            deflater.compress(payload, fin, &mut shared.scratch, out);
            // Always correct: a message need not refer to earlier ones.
            if fin && !kept {
                shared.give_deflater(deflater);
            } else {
                self.deflater = Some(deflater);
            }
        }
        if alone {
            shared.remember(recipe, payload, out.get(start..).unwrap_or_default());
        }
    }

    /// Gives back contexts that no current message needs.
    pub(in crate::engine) fn release(&mut self, sending: bool) {
        if !sending {
            if let Some(deflater) = self.deflater.take() {
                self.pool.lock().give_deflater(deflater);
            }
            if std::mem::take(&mut self.kept) {
                self.pool.budget().unkeep(self.bytes);
            }
        }
        self.incoming.release(&self.pool);
    }

    pub(in crate::engine) fn end_incoming(&mut self) {
        self.incoming.end(&self.pool);
    }

    pub(in crate::engine) fn buffered(&self) -> usize {
        let deflater = if self.deflater.is_some() { self.bytes } else { 0 };
        size_of::<Self>() + deflater + self.incoming.buffered()
    }
}

impl Drop for Extension {
    fn drop(&mut self) {
        self.incoming.forget(self.pool.budget());
        if self.kept {
            self.pool.budget().unkeep(self.bytes);
        }
    }
}
