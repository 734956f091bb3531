//! Listeners of a reactor: they accept until no connection waits.

#[cfg(test)]
mod tests;

#[cfg(unix)]
use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::door::Door;
use crate::reactor::transport::Marks;
use crate::reactor::{ListenerConfig, Transport};

/// First and longest wait after descriptors or the kernel's memory have run out.
const FIRST_BACKOFF: Duration = Duration::from_millis(10);
const LONGEST_BACKOFF: Duration = Duration::from_secs(1);

/// A table of so many takes 128 KiB of the kernel's memory.
#[cfg(target_os = "linux")]
const DESCRIPTORS: i32 = 16 << 10;

/// Least time between two reports of refused connections: a peer can cause any number.
const REPORTS: Duration = Duration::from_secs(1);

pub(super) struct Listener {
    /// `None`: another reactor of the group has it.
    pub(super) socket: Option<Door>,
    pub(super) config: Arc<ListenerConfig>,
    pub(super) accepting: bool,
    /// Until then it does not accept: descriptors have run out.
    pub(super) retry_at: Option<Instant>,
    backoff: Duration,
    reserve: Reserve,
    refused: u32,
    reported_at: Option<Instant>,
}

pub(super) enum Accepted {
    /// With the peer's address, if it has one.
    Connection(Transport, Option<SocketAddr>),
    /// The queue is empty; an event will come.
    Empty,
    /// Out of descriptors, and no event will come; see [`Listener::refuse`].
    Exhausted,
}

impl Listener {
    pub(super) fn new(socket: Door, config: Arc<ListenerConfig>) -> Self {
        lengthen_table();
        let mut listener = Self { socket: Some(socket), ..Self::elsewhere(config) };
        listener.reserve.fill();
        listener
    }

    pub(super) fn elsewhere(config: Arc<ListenerConfig>) -> Self {
        Self {
            socket: None,
            config,
            accepting: false,
            retry_at: None,
            backoff: FIRST_BACKOFF,
            reserve: Reserve::default(),
            refused: 0,
            reported_at: None,
        }
    }

    pub(super) fn accept(&mut self, now: Instant) -> Accepted {
        // More connections can come meanwhile, each with an event, but none brings a descriptor.
        if self.retry_at.is_some_and(|at| at > now) {
            return Accepted::Empty;
        }
        let Some(socket) = &self.socket else { return Accepted::Empty };
        loop {
            match socket.accept() {
                Ok((stream, peer)) => {
                    self.await_event();
                    return Accepted::Connection(Transport::Tcp(stream, Marks::default()), peer);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.await_event();
                    self.reserve.fill();
                    return Accepted::Empty;
                }
                // A connection that died while it waited, or a signal: the next one can be fine.
                Err(error) if is_transient(&error) => {}
                Err(error) if is_exhaustion(&error) => return Accepted::Exhausted,
                // The connection waits; accept is tried again later.
                Err(_) => {
                    self.back_off(now);
                    return Accepted::Empty;
                }
            }
        }
    }

    /// Closes the next waiting connection, with the descriptor in reserve. `false`: none was
    /// closed; an event comes with the next one, or accept is tried again later.
    pub(super) fn refuse(&mut self, now: Instant) -> bool {
        let Some(socket) = &self.socket else { return false };
        match self.reserve.spend(|| socket.accept().map(drop)) {
            Some(Ok(())) => {
                self.note_refused();
                true
            }
            // Linux looks for a descriptor first, and reports that there is none even if the queue
            // is empty.
            Some(Err(error)) if error.kind() == ErrorKind::WouldBlock => {
                self.await_event();
                false
            }
            Some(Err(error)) if is_transient(&error) => true,
            _ => {
                self.back_off(now);
                false
            }
        }
    }

    pub(super) fn note_refused(&mut self) {
        self.refused = self.refused.saturating_add(1);
    }

    fn back_off(&mut self, now: Instant) {
        self.retry_at = Some(now + self.backoff);
        self.backoff = (self.backoff * 2).min(LONGEST_BACKOFF);
    }

    fn await_event(&mut self) {
        self.backoff = FIRST_BACKOFF;
        self.retry_at = None;
    }

    /// Connections refused since the last report; 0 if that was not long ago.
    pub(super) fn take_refused(&mut self, now: Instant) -> u32 {
        if self.report_at().is_some_and(|at| now < at) || self.refused == 0 {
            return 0;
        }
        self.reported_at = Some(now);
        std::mem::take(&mut self.refused)
    }

    fn report_at(&self) -> Option<Instant> {
        self.reported_at.filter(|_| self.refused != 0).map(|at| at + REPORTS)
    }

    /// When to accept again, event or not.
    pub(super) fn due(&self) -> Option<Instant> {
        [self.retry_at, self.report_at()].into_iter().flatten().min()
    }
}

/// Lets the kernel make the process's table of descriptors long enough for many connections. Each time it makes
/// the table longer, the thread that wants a descriptor sleeps for 10 to 40 ms: here a thread that has nothing
/// else to do.
fn lengthen_table() {
    #[cfg(target_os = "linux")]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            let thread = std::thread::Builder::new().name("descriptors".to_owned());
            let _can_fail = thread.spawn(|| {
                // Numbers above the limit of open files are refused, and no descriptor is taken then.
                let mut lengths = [DESCRIPTORS, DESCRIPTORS / 4, DESCRIPTORS / 16].into_iter();
                lengths.any(|length| rustix::io::fcntl_dupfd_cloexec(io::stderr(), length - 1).is_ok())
            });
        });
    }
}

/// A spare descriptor. Without it, a process that has used up its descriptors cannot even refuse a
/// connection, and the peer waits until some other connection ends.
#[derive(Default)]
pub(super) struct Reserve {
    #[cfg(unix)]
    held: Option<File>,
}

impl Reserve {
    /// Takes a descriptor, unless it has one or none is left.
    pub(super) fn fill(&mut self) {
        #[cfg(unix)]
        if self.held.is_none() {
            self.held = File::open("/dev/null").ok();
        }
    }

    /// Runs `act` with one descriptor free, which it must not keep. `None`: there is none.
    pub(super) fn spend<T>(&mut self, act: impl FnOnce() -> T) -> Option<T> {
        #[cfg(unix)]
        if self.held.take().is_some() {
            let done = act();
            self.fill();
            return Some(done);
        }
        // Elsewhere sockets are not descriptors.
        let _unused = act;
        None
    }
}

/// EMFILE and ENFILE: the numbers are the same on every POSIX system.
fn is_exhaustion(error: &io::Error) -> bool {
    cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24))
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted)
}
