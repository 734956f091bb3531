//! The limits of a server, for upgrades that JavaScript decides and for what peers send.

use std::net::IpAddr;
use std::sync::Arc;

use napi_derive::napi;

use crate::bridge::admission::{Admission, Denial, Limits};
use crate::bridge::origins::Origins;
use crate::bridge::rates::Rates;

#[napi(js_name = "Admission")]
pub struct JsAdmission {
    pub(super) shared: Arc<Admission>,
}

#[napi]
impl JsAdmission {
    /// 0: no limit. `origins`: patterns; undefined: every origin.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        connections: u32,
        connections_per_address: u32,
        handshakes_per_second: u32,
        origins: Option<Vec<String>>,
    ) -> Self {
        let origins = origins.map(Origins::matching).unwrap_or_default();
        let limits = Limits { connections, connections_per_address, handshakes_per_second, origins };
        Self { shared: Arc::new(Admission::new(limits)) }
    }

    /// Counts an upgrade request and its connection. Returns 0, and `leave` must be called when the
    /// connection closes; or the number of the denial. `address`: an IP literal; anything else
    /// means none.
    #[napi(catch_unwind)]
    pub fn enter(&self, address: String) -> u32 {
        #[expect(clippy::disallowed_methods, reason = "when a request comes that a server of Node has read")]
        let now = std::time::Instant::now();
        let entered = self.shared.handshake(now).and_then(|()| self.shared.enter(ip(&address)));
        entered.err().map_or(0, |denial| denial.number().into())
    }

    /// Counts a connection of another process, which no limit refuses. As after `enter`, `leave` must follow.
    #[napi(catch_unwind)]
    pub fn take_over(&self, address: String) {
        self.shared.take_over(ip(&address));
    }

    #[napi(catch_unwind)]
    pub fn leave(&self, address: String) {
        self.shared.leave(ip(&address));
    }

    #[napi(catch_unwind)]
    pub fn allows(&self, origin: String) -> bool {
        // JavaScript sees header bytes as latin1; other bytes than ASCII match no pattern.
        self.shared.allows(Some(origin.as_bytes()))
    }

    #[napi(catch_unwind)]
    pub fn deny(&self, number: u32) {
        if let Some(&denial) = Denial::ALL.iter().find(|denial| u32::from(denial.number()) == number) {
            self.shared.deny(denial);
        }
    }

    /// By kind.
    #[napi(catch_unwind)]
    pub fn denied(&self) -> Vec<f64> {
        self.shared.denied().map(|count| count as f64).collect()
    }
}

/// Node adds the interface to a link-local literal: `fe80::1%eth0`.
fn ip(address: &str) -> Option<IpAddr> {
    address.split('%').next()?.parse().ok()
}

#[napi(js_name = "Rates")]
pub struct JsRates {
    pub(super) shared: Arc<Rates>,
}

#[napi]
impl JsRates {
    /// As in [`Rates`]. `bytes` is an integer.
    #[napi(constructor, catch_unwind)]
    pub fn new(messages: u32, bytes: f64, closes: bool) -> Self {
        Self { shared: Arc::new(Rates::new(messages, bytes as u64, closes)) }
    }

    /// By messages, and by bytes.
    #[napi(catch_unwind)]
    pub fn exceeded(&self) -> Vec<f64> {
        self.shared.exceeded().map(|count| count as f64).to_vec()
    }
}
