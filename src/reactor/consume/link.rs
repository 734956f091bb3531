//! What the reactor's thread and the consumer's thread share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::bridge::doorbell::Bell;
use crate::bridge::gauges::Gauges;
use crate::bridge::inbox::Inbox;
use crate::bridge::tally::{Meters, Totals};

pub struct Link {
    pub inbox: Inbox,
    pub gauges: Arc<Gauges>,
    pub totals: Totals,
    pub meters: Arc<Meters>,
    asks: Mutex<HashMap<u32, u32>>,
}

impl Link {
    pub fn new() -> Self {
        Self::with(Arc::new(Bell::default()), Arc::new(Gauges::new()))
    }

    /// The links of a group of reactors: they share the bell, and the gauges also with `other`.
    pub fn group(count: usize, other: &Self) -> Vec<Arc<Self>> {
        let (bell, gauges) = (Arc::new(Bell::default()), other.gauges.clone());
        (0..count).map(|_| Arc::new(Self::with(bell.clone(), gauges.clone()))).collect()
    }

    fn with(bell: Arc<Bell>, gauges: Arc<Gauges>) -> Self {
        Self {
            inbox: Inbox::new(bell),
            gauges,
            totals: Totals::default(),
            meters: Arc::default(),
            asks: Mutex::new(HashMap::new()),
        }
    }

    /// Sets which handshakes of a listener need the consumer's decision: the bits `ASK_`.
    pub fn set_ask(&self, listener: u32, ask: u32) {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner).insert(listener, ask);
    }

    pub fn forget(&self, listener: u32) {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner).remove(&listener);
    }

    pub(super) fn ask(&self, listener: u32) -> u32 {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner).get(&listener).copied().unwrap_or(0)
    }
}
