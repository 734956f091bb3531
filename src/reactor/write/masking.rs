//! The masking of outgoing frames (RFC 6455, section 5.3): a client masks each with a key that
//! no peer can foresee.

use std::hash::{BuildHasher, RandomState};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::reactor) enum Masking {
    /// A client masks, a server does not.
    #[default]
    Rule,
    /// The reverse: the sender wants it so.
    Against,
    /// With the sender's key.
    Key([u8; 4]),
}

#[derive(Default)]
pub(super) struct Keys {
    /// A pseudorandom function with a key from the system.
    random: RandomState,
    count: u64,
}

impl Keys {
    pub(super) fn next(&mut self) -> [u8; 4] {
        self.count += 1;
        let [a, b, c, d, ..] = self.random.hash_one(self.count).to_le_bytes();
        [a, b, c, d]
    }
}
