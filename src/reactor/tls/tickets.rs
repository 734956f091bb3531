//! Session tickets (RFC 8446, section 4.6.1; RFC 5077), which all reactors of a server open.
//!
//! ```text
//! name | nonce | AES-256-GCM-SIV of (when it was made, state)
//! ```
//!
//! The name of the key and the trust of the context are authenticated too: a ticket of a client that
//! another context has let in is of no use.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::rand;
use rustls::pki_types::UnixTime;
use rustls::server::ProducesTickets;
use zeroize::Zeroizing;

/// As in Node: 16 name the key, the others are the key.
pub const TICKET_KEY_BYTES: usize = 48;
const NAME: usize = 16;
const TIME: usize = 8;
const TAG: usize = 16;
/// A ticket has the client's certificates, which a handshake limits to 64 KiB.
const MOST_BYTES: usize = 80 << 10;
/// The most by which the clocks of two processes with one key can differ.
const SKEW: u64 = 60;

pub(super) struct Tickets {
    keys: Mutex<Keys>,
    /// In seconds; 0: there are no tickets.
    lifetime: u32,
}

struct Keys {
    current: Key,
    /// Opens tickets until they are too old.
    previous: Option<Key>,
    /// When the next key is made, in seconds since 1970; `None`: the program chooses.
    next_at: Option<u64>,
}

struct Key {
    bytes: Zeroizing<[u8; TICKET_KEY_BYTES]>,
    aead: LessSafeKey,
}

impl Tickets {
    /// `bytes`: the program's key; `None`: one of ours, and another each `lifetime`. Zero: no tickets.
    pub(super) fn new(lifetime: Duration, bytes: Option<&[u8; TICKET_KEY_BYTES]>) -> Option<Self> {
        let lifetime = u32::try_from(lifetime.as_secs()).unwrap_or(u32::MAX).min(MOST_SECONDS);
        let current = match bytes {
            Some(bytes) => Key::new(*bytes)?,
            None => Key::random()?,
        };
        let next_at = bytes.is_none().then(|| now() + u64::from(lifetime));
        Some(Self { keys: Mutex::new(Keys { current, previous: None, next_at }), lifetime })
    }

    /// The key that seals tickets now. The caller shares it with others, so it is not replaced any
    /// more.
    pub(super) fn bytes(&self) -> [u8; TICKET_KEY_BYTES] {
        let mut keys = self.lock();
        keys.rotate(self.lifetime);
        keys.next_at = None;
        *keys.current.bytes
    }

    /// Tickets of other keys are of no use from now on.
    pub(super) fn set_bytes(&self, bytes: &[u8; TICKET_KEY_BYTES]) {
        if let Some(current) = Key::new(*bytes) {
            *self.lock() = Keys { current, previous: None, next_at: None };
        }
    }

    fn seal(&self, context: &[u8; 32], state: &[u8]) -> Option<Vec<u8>> {
        let mut keys = self.lock();
        keys.rotate(self.lifetime);
        let key = &keys.current;
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).ok()?;
        let mut ticket = Vec::with_capacity(NAME + NONCE_LEN + TIME + state.len() + TAG);
        ticket.extend_from_slice(key.name());
        ticket.extend_from_slice(&nonce);
        let mut sealed = Vec::with_capacity(TIME + state.len() + TAG);
        sealed.extend_from_slice(&now().to_le_bytes());
        sealed.extend_from_slice(state);
        let aad = key.aad(context);
        key.aead
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(aad), &mut sealed)
            .ok()?;
        ticket.append(&mut sealed);
        (ticket.len() <= MOST_BYTES).then_some(ticket)
    }

    fn open(&self, context: &[u8; 32], ticket: &[u8]) -> Option<Vec<u8>> {
        if ticket.len() > MOST_BYTES {
            return None;
        }
        let (name, rest) = ticket.split_first_chunk::<NAME>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        let mut keys = self.lock();
        keys.rotate(self.lifetime);
        let all = std::iter::once(&keys.current).chain(&keys.previous);
        let key = all.into_iter().find(|key| key.name() == name)?;
        let mut state = sealed.to_vec();
        let aad = key.aad(context);
        let opened =
            key.aead.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(aad), &mut state).ok()?;
        let (made, state) = opened.split_first_chunk::<TIME>()?;
        let (made, now) = (u64::from_le_bytes(*made), now());
        let is_fresh = made <= now + SKEW && now < made.saturating_add(self.lifetime.into());
        is_fresh.then(|| state.to_vec())
    }

    /// A panic leaves the keys whole: each change is one store.
    fn lock(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// RFC 8446 allows a week at most.
const MOST_SECONDS: u32 = 7 * 24 * 60 * 60;

fn now() -> u64 {
    UnixTime::now().as_secs()
}

impl Keys {
    fn rotate(&mut self, lifetime: u32) {
        let now = now();
        if self.next_at.is_none_or(|at| now < at) || lifetime == 0 {
            return;
        }
        // Without random numbers the old key goes on.
        let Some(key) = Key::random() else { return };
        self.previous = Some(std::mem::replace(&mut self.current, key));
        self.next_at = Some(now + u64::from(lifetime));
    }
}

impl Key {
    fn random() -> Option<Self> {
        let mut bytes = [0; TICKET_KEY_BYTES];
        rand::fill(&mut bytes).ok()?;
        Self::new(bytes)
    }

    fn new(bytes: [u8; TICKET_KEY_BYTES]) -> Option<Self> {
        let bytes = Zeroizing::new(bytes);
        let (_, key) = bytes.split_first_chunk::<NAME>()?;
        let aead = LessSafeKey::new(UnboundKey::new(&AES_256_GCM_SIV, key).ok()?);
        Some(Self { bytes, aead })
    }

    fn name(&self) -> &[u8; NAME] {
        self.bytes.first_chunk().unwrap_or(&[0; NAME])
    }

    fn aad(&self, context: &[u8; 32]) -> [u8; NAME + 32] {
        let mut aad = [0; NAME + 32];
        for (to, from) in aad.iter_mut().zip(self.name().iter().chain(context)) {
            *to = *from;
        }
        aad
    }
}

/// The tickets of one context.
pub(super) struct ContextTickets {
    pub(super) tickets: Arc<Tickets>,
    /// See [`Trust::digest`](super::trust::Trust::digest).
    pub(super) context: [u8; 32],
}

impl fmt::Debug for ContextTickets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ContextTickets")
    }
}

impl ProducesTickets for ContextTickets {
    fn enabled(&self) -> bool {
        self.tickets.lifetime > 0
    }

    fn lifetime(&self) -> u32 {
        self.tickets.lifetime
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.tickets.seal(&self.context, plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.tickets.open(&self.context, cipher)
    }
}

#[cfg(test)]
mod tests;
