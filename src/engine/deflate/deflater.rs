//! Compresses one message.

use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Method, Status};

use one_shot::TRAILER;

use super::settings::{MAX_WINDOW_BITS, Settings};

/// Compressors with equal recipes have the same output for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Recipe {
    config: DeflateConfig,
    /// As negotiated; `config` has the window that zlib can use.
    window_bits: u8,
}

impl Recipe {
    pub(super) fn new(settings: &Settings, window_bits: u8) -> Self {
        let config = DeflateConfig {
            level: i32::from(settings.level.clamp(-1, 9)),
            method: Method::Deflated,
            window_bits: -i32::from(deflate_window_bits(window_bits)),
            mem_level: i32::from(settings.mem_level.clamp(1, 9)),
            strategy: settings.strategy,
        };
        Self { config, window_bits }
    }

    pub(super) fn window_bits(&self) -> u8 {
        self.window_bits
    }
}

pub(super) struct Deflater {
    zlib: Box<Deflate>,
    recipe: Recipe,
}

impl Deflater {
    pub(super) fn new(recipe: Recipe) -> Self {
        Self { zlib: Box::new(Deflate::new_with_config(recipe.config)), recipe }
    }

    pub(super) fn recipe(&self) -> Recipe {
        self.recipe
    }

    pub(super) fn reset(&mut self) {
        self.zlib.reset();
    }

    /// Appends `bytes`, all compressed, to `out`; `fin`: they end a message.
    pub(super) fn compress(&mut self, bytes: &[u8], fin: bool, scratch: &mut [u8], out: &mut Vec<u8>) {
        // zlib has nothing to flush then (RFC 7692, section 7.2.3.6).
        if bytes.is_empty() {
            return if fin {
                out.push(0)
            };
        }
        let mut rest = bytes;
        loop {
            let (taken, made) = (self.zlib.total_in(), self.zlib.total_out());
            let status = self.zlib.compress(rest, scratch, DeflateFlush::SyncFlush);
            let taken = (self.zlib.total_in() - taken) as usize;
            let made = (self.zlib.total_out() - made) as usize;
            out.extend_from_slice(scratch.get(..made).unwrap_or_default());
            rest = rest.get(taken..).unwrap_or_default();
            // Output that does not fill the room is the end of the flush.
            if status != Ok(Status::Ok) || (rest.is_empty() && made < scratch.len()) {
                break;
            }
        }
        // RFC 7692, section 7.2.1.
        if fin && out.ends_with(&TRAILER) {
            out.truncate(out.len() - TRAILER.len());
        }
    }
}

impl Settings {
    /// Heap of one outgoing context: twice the window, a chain of as many positions, a hash table,
    /// pending output and the symbols of a block.
    pub fn deflater_bytes(&self, window_bits: u8) -> usize {
        let window = 1_usize << deflate_window_bits(window_bits);
        let symbols = 1_usize << (self.mem_level.clamp(1, 9) + 6);
        2 * window + 2 * window + HASH_BYTES + 7 * symbols + STATE_BYTES
    }
}

/// The window to compress with.
///
/// zlib cannot compress with a window of 256 bytes. With one of 512 it refers to the last 250 bytes
/// only, which a receiver with a window of 256 has.
fn deflate_window_bits(window_bits: u8) -> u8 {
    window_bits.clamp(9, MAX_WINDOW_BITS)
}

/// 65536 positions, whatever the memory level: the compressor hashes four bytes to 16 bits.
const HASH_BYTES: usize = 128 << 10;
/// Huffman trees and counters, alignment included.
const STATE_BYTES: usize = 3328;
