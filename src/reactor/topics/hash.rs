//! Tables by numbers that no peer chooses.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by the number of a topic, or by a connection: both are counted up here and in
/// JavaScript, so that no peer can make them collide.
pub(in crate::reactor) type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// Spreads numbers that follow each other.
#[derive(Default)]
pub(in crate::reactor) struct Spread(u64);

/// 2^64 divided by the golden ratio: consecutive multiples of it are far from each other.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(32) ^ number).wrapping_mul(GOLDEN);
    }
}
