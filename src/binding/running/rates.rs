//! Limits of the rates at which peers may send, and the counts of streams, which JavaScript reads.

use std::sync::Arc;

use napi_derive::napi;

use crate::bridge::rates::{Counted, Rates};

/// The amounts that each connection of a server may send in a second; 0 = no limit.
#[napi(object)]
pub struct RateLimits {
    /// Messages, pings and pongs.
    pub messages_per_second: u32,
    /// Bytes of the socket, an integer.
    pub bytes_per_second: f64,
    /// Whether a connection that sends more is closed; else it is not read for a while.
    pub closes: bool,
}

/// The limits, and the numbers of breaches.
#[napi(js_name = "Rates")]
pub struct JsRates {
    pub(in crate::binding) shared: Arc<Rates>,
}

#[napi]
impl JsRates {
    /// Nobody has sent anything yet.
    #[napi(constructor, catch_unwind)]
    pub fn new(limits: RateLimits) -> Self {
        let RateLimits { messages_per_second, bytes_per_second, closes } = limits;
        Self { shared: Arc::new(Rates::new(messages_per_second, bytes_per_second as u64, closes)) }
    }

    /// Counts a stream that has sent too much: bytes, or messages.
    #[napi(catch_unwind)]
    pub fn exceed(&self, bytes: bool) {
        self.shared.exceed(if bytes { Counted::Bytes } else { Counted::Messages });
    }

    /// The numbers of breaches: by messages, and by bytes.
    #[napi(catch_unwind)]
    pub fn exceeded(&self) -> Vec<f64> {
        self.shared.exceeded().map(|count| count as f64).to_vec()
    }
}

/// The limits for the options of a connection.
pub(in crate::binding) fn shared(rates: Option<&JsRates>) -> Option<Arc<Rates>> {
    rates.map(|rates| rates.shared.clone())
}
