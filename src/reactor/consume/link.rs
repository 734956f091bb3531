//! State that the reactor's thread and the consumer's thread share.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::bridge::doorbell::Bell;
use crate::bridge::gauges::Gauges;
use crate::bridge::inbox::Inbox;
use crate::bridge::tally::{Meters, Totals};
use crate::reactor::Descriptor;

pub struct Link {
    pub inbox: Inbox,
    pub gauges: Arc<Gauges>,
    pub totals: Totals,
    pub meters: Arc<Meters>,
    asks: Mutex<HashMap<u32, u32>>,
    /// Sockets on their way to the consumer, which takes one when it gets the record about it. Those
    /// that it never takes are closed with the link. By slot, oldest first.
    sockets: Mutex<HashMap<u32, VecDeque<Descriptor>>>,
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
            sockets: Mutex::new(HashMap::new()),
        }
    }

    /// Sets which handshakes of a listener need the consumer's decision: the bits `ASK_`.
    pub fn set_ask(&self, listener: u32, ask: u32) {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner).insert(listener, ask);
    }

    pub fn forget(&self, listener: u32) {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner).remove(&listener);
    }

    pub(super) fn bring(&self, slot: u32, socket: Descriptor) {
        self.sockets().entry(slot).or_default().push_back(socket);
    }

    /// The socket of a given connection; `slot`: from its record.
    pub fn take_socket(&self, slot: u32) -> Option<Descriptor> {
        let mut sockets = self.sockets();
        let waiting = sockets.get_mut(&slot)?;
        let socket = waiting.pop_front();
        if waiting.is_empty() {
            sockets.remove(&slot);
        }
        socket
    }

    fn sockets(&self) -> MutexGuard<'_, HashMap<u32, VecDeque<Descriptor>>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn ask(&self, listener: u32) -> u32 {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner).get(&listener).copied().unwrap_or(0)
    }
}
