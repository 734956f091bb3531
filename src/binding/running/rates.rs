//! The rates at which peers may send, and the breaches by streams, which JavaScript reads.

use std::sync::Arc;

use napi_derive::napi;

use crate::bridge::rates::{Counted, Rates};

/// In a second; 0 = no limit.
#[napi(object)]
pub struct RateLimits {
    /// Pings and pongs included.
    pub messages_per_second: u32,
    /// An integer.
    pub bytes_per_second: f64,
    /// Whether a connection that sends more is closed; else it is not read for a while.
    pub closes: bool,
}

#[napi(js_name = "Rates")]
pub struct JsRates {
    pub(in crate::binding) shared: Arc<Rates>,
}

#[napi]
impl JsRates {
    #[napi(constructor, catch_unwind)]
    pub fn new(limits: RateLimits) -> Self {
        let RateLimits { messages_per_second, bytes_per_second, closes } = limits;
        Self { shared: Arc::new(Rates::new(messages_per_second, bytes_per_second as u64, closes)) }
    }

    /// By a stream.
    #[napi(catch_unwind)]
    pub fn exceed(&self, bytes: bool) {
        self.shared.exceed(if bytes { Counted::Bytes } else { Counted::Messages });
    }

    /// By messages, and by bytes.
    #[napi(catch_unwind)]
    pub fn exceeded(&self) -> Vec<f64> {
        self.shared.exceeded().map(|count| count as f64).to_vec()
    }
}

pub(in crate::binding) fn shared(rates: Option<&JsRates>) -> Option<Arc<Rates>> {
    rates.map(|rates| rates.shared.clone())
}
