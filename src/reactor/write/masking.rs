//! The masking of outgoing frames (RFC 6455, section 5.3): those of a client, each with a key that
//! nobody can foresee.

use std::hash::{BuildHasher, RandomState};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::reactor) enum Masking {
    /// By a client and not by a server.
    #[default]
    Rule,
    /// By a server and not by a client: its sender wants it so.
    Against,
    /// With a key that its sender has chosen.
    Key([u8; 4]),
}

#[derive(Default)]
pub(super) struct Keys {
    /// A pseudorandom function whose key comes from the system.
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
