//! Options of permessage-deflate. Numbers out of range count as the nearest in range.

use std::time::Duration;

use napi_derive::napi;

use crate::engine::deflate::{Params, Settings, Strategy};
use crate::engine::handshake::extensions::{Acceptance, WindowBits};
use crate::reactor::DeflateConfig;

#[napi(object)]
pub struct DeflateOptions {
    pub settings: DeflateSettings,
    pub acceptance: AcceptanceOptions,
}

#[napi(object)]
pub struct AcceptanceOptions {
    /// true: always, false: an offer with it is declined, undefined: as the client offers.
    pub server_no_context_takeover: Option<bool>,
    /// true: always in the answer, false: a client declines an answer with it.
    pub client_no_context_takeover: Option<bool>,
    /// 8 to 15; 0 = as the client offers; -1 = an offer that asks for a window is declined.
    pub server_max_window_bits: i32,
    /// 8 to 15; 0 = as the client offers; -1 = never in the answer.
    pub client_max_window_bits: i32,
}

#[napi(object)]
pub struct DeflateSettings {
    /// -1 to 9.
    pub level: i32,
    /// 1 to 9.
    pub mem_level: i32,
    /// 0 to 4, as zlib's.
    pub strategy: i32,
    /// Bytes; shorter messages are not compressed where this end has no context takeover.
    pub threshold: f64,
    /// Milliseconds after which unused contexts are freed, 0 = never.
    pub release_after: f64,
}

#[napi(object)]
pub struct NegotiatedDeflate {
    pub settings: DeflateSettings,
    pub server_no_context_takeover: bool,
    pub client_no_context_takeover: bool,
    /// 8 to 15.
    pub server_max_window_bits: i32,
    /// 8 to 15.
    pub client_max_window_bits: i32,
}

impl DeflateOptions {
    pub(super) fn config(&self) -> DeflateConfig {
        DeflateConfig { acceptance: self.acceptance.acceptance(), ..self.settings.config() }
    }
}

impl AcceptanceOptions {
    pub(super) fn acceptance(&self) -> Acceptance {
        Acceptance {
            server_no_context_takeover: self.server_no_context_takeover,
            client_no_context_takeover: self.client_no_context_takeover,
            server_max_window_bits: wanted_window(self.server_max_window_bits),
            client_max_window_bits: wanted_window(self.client_max_window_bits),
        }
    }
}

impl DeflateSettings {
    pub(super) fn config(&self) -> DeflateConfig {
        let release_after = millis(self.release_after);
        DeflateConfig {
            settings: Settings {
                level: self.level.clamp(-1, 9) as i8,
                mem_level: self.mem_level.clamp(1, 9) as u8,
                strategy: Strategy::try_from(self.strategy).unwrap_or_default(),
                // NaN and negative numbers are 0.
                threshold: self.threshold as u64,
                releasable: !release_after.is_zero(),
                movable: false,
            },
            release_after,
            ..DeflateConfig::default()
        }
    }
}

impl NegotiatedDeflate {
    pub(super) fn params(&self) -> Params {
        Params {
            server_no_context_takeover: self.server_no_context_takeover,
            client_no_context_takeover: self.client_no_context_takeover,
            server_max_window_bits: window_bits(self.server_max_window_bits),
            client_max_window_bits: window_bits(self.client_max_window_bits),
        }
    }
}

fn wanted_window(bits: i32) -> WindowBits {
    match bits {
        ..0 => WindowBits::Refused,
        0 => WindowBits::Any,
        bits => WindowBits::Exactly(window_bits(bits)),
    }
}

fn window_bits(bits: i32) -> u8 {
    bits.clamp(8, 15) as u8
}

pub(super) fn millis(millis: f64) -> Duration {
    /// The longest of Node's timers, about 24 days.
    const LONGEST: f64 = 2_147_483_647.0;
    Duration::from_secs_f64(millis.clamp(0.0, LONGEST) / 1000.0)
}
