//! The limits of a server, counted for all its reactors and for JavaScript.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
// Not through `sync`: a lock held for one lookup leaves a model nothing to explore.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::layout::MAX_SHOWN;
use super::origins::Origins;
use crate::engine::numbered;

numbered! {
    /// Why a client must not connect. 0 stands for "admitted".
    Denial {
        Connections = 1,
        Address = 2,
        Rate = 3,
        Head = 4,
        Origin = 5,
    }
}

impl Denial {
    pub fn number(self) -> u8 {
        self as u8
    }

    pub fn status(self) -> u16 {
        match self {
            Self::Connections | Self::Rate => 503,
            Self::Address => 429,
            Self::Head => 431,
            Self::Origin => 403,
        }
    }

    /// In seconds; empty for none.
    pub fn retry_after(self) -> &'static str {
        match self {
            Self::Connections | Self::Address => "10",
            Self::Rate => "1",
            Self::Head | Self::Origin => "",
        }
    }
}

/// 0 is no limit.
#[derive(Debug, Default)]
pub struct Limits {
    pub connections: u32,
    /// The limit of one IPv4 address, or of one /64 of IPv6.
    pub connections_per_address: u32,
    /// Per second; the same number at once after a second without any.
    pub handshakes_per_second: u32,
    pub origins: Origins,
}

#[derive(Debug)]
pub struct Admission {
    limits: Limits,
    state: Mutex<State>,
    denied: [AtomicU64; Denial::ALL.len()],
}

#[derive(Debug, Default)]
struct State {
    connections: u32,
    /// Only networks that have connections, so it is bounded by their number.
    networks: HashMap<IpAddr, u32>,
    /// When the next handshake would be due if they were evenly spread.
    next_handshake: Option<Instant>,
    /// In warnings, which say how to allow them.
    shown_origins: u8,
}

/// What counts as one address: with IPv6 a /64, because a host has at least that many.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & u128::MAX << 64).into(),
        address => address,
    }
}

impl Admission {
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: Mutex::default(), denied: Default::default() }
    }

    pub fn counts(&self) -> bool {
        self.limits.connections > 0 || self.limits.connections_per_address > 0
    }

    /// If this admits the connection, the caller must call `leave` when it closes.
    ///
    /// # Errors
    /// The reason of the denial.
    pub fn enter(&self, address: Option<IpAddr>) -> Result<(), Denial> {
        if !self.counts() {
            return Ok(());
        }
        let Limits { connections, connections_per_address: per_address, .. } = self.limits;
        let mut state = self.lock();
        if connections > 0 && state.connections >= connections {
            return Err(self.deny(Denial::Connections));
        }
        let of_address = address.and_then(|address| state.networks.get(&network(address)));
        if per_address > 0 && of_address.is_some_and(|&count| count >= per_address) {
            return Err(self.deny(Denial::Address));
        }
        self.count(&mut state, address);
        Ok(())
    }

    fn count(&self, state: &mut State, address: Option<IpAddr>) {
        state.connections += 1;
        if self.limits.connections_per_address > 0
            && let Some(address) = address
        {
            *state.networks.entry(network(address)).or_default() += 1;
        }
    }

    pub fn leave(&self, address: Option<IpAddr>) {
        let mut state = self.lock();
        state.connections = state.connections.saturating_sub(1);
        let Some(network) = address.map(network) else { return };
        if let Some(count) = state.networks.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                state.networks.remove(&network);
            }
        }
    }

    /// As `enter`, until the result is dropped.
    ///
    /// # Errors
    /// The reason of the denial.
    pub fn admit(self: &Arc<Self>, address: Option<IpAddr>) -> Result<Ticket, Denial> {
        self.enter(address)?;
        Ok(Ticket { admission: self.clone(), address })
    }

    /// As `enter`, for a connection that no limit refuses.
    pub fn take_over(&self, address: Option<IpAddr>) {
        if self.counts() {
            self.count(&mut self.lock(), address);
        }
    }

    /// As `take_over`, until the result is dropped.
    pub fn adopt(self: &Arc<Self>, address: Option<IpAddr>) -> Ticket {
        self.take_over(address);
        Ticket { admission: self.clone(), address }
    }

    /// Counts an upgrade request.
    ///
    /// # Errors
    /// There have been too many.
    pub fn handshake(&self, now: Instant) -> Result<(), Denial> {
        let second = Duration::from_secs(1);
        let Some(interval) = second.checked_div(self.limits.handshakes_per_second) else { return Ok(()) };
        let mut state = self.lock();
        let due = state.next_handshake.map_or(now, |due| due.max(now));
        if due.saturating_duration_since(now) + interval > second {
            return Err(self.deny(Denial::Rate));
        }
        state.next_handshake = Some(due + interval);
        Ok(())
    }

    /// Only pages send an origin.
    pub fn allows(&self, origin: Option<&[u8]>) -> bool {
        origin.is_none_or(|origin| self.limits.origins.allow(origin))
    }

    /// Whether to warn of an origin that is not allowed: only the first few times.
    pub fn shows_origin(&self) -> bool {
        let mut state = self.lock();
        let shows = state.shown_origins < MAX_SHOWN;
        state.shown_origins += u8::from(shows);
        shows
    }

    pub fn deny(&self, denial: Denial) -> Denial {
        if let Some(count) = self.denied.get(usize::from(denial.number()) - 1) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        denial
    }

    /// As in [`Denial::ALL`].
    pub fn denied(&self) -> impl Iterator<Item = u64> {
        self.denied.iter().map(|count| count.load(Ordering::Relaxed))
    }

    /// A panic leaves no state half changed: every change is one number.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for Admission {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

#[derive(Debug)]
pub struct Ticket {
    admission: Arc<Admission>,
    address: Option<IpAddr>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.admission.leave(self.address);
    }
}
