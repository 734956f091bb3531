//! What is read before deadlines are judged: all that had arrived when they were found to be over.
//!
//! A process that was stopped, or whose JavaScript was busy, finds deadlines that are over and
//! sockets that are full. The peers have not been silent: their bytes come first.
//!
//! ```text
//! a turn: deadlines are over -> Polling -- every socket has been reported that was ready --> Reading
//! later turns: those that waited have had a share each -> deadlines that were not moved are judged
//! ```

use crate::reactor::EVENTS;
use crate::reactor::read::ready::{Ready, Waited};

pub(in crate::reactor) enum Sweep {
    /// At most this many sockets that were ready have not been reported. The kernel reports those
    /// first that have been ready longest, so that each comes once before another comes again.
    Polling(usize),
    /// All have been reported, and read unless they wait for their share of a turn.
    Reading(Waited),
}

impl Sweep {
    /// The poll has reported that many sockets, which are read in this turn, or queued.
    pub(in crate::reactor) fn polled(&mut self, events: usize) {
        if let Self::Polling(rest) = self {
            *rest = if events < EVENTS { 0 } else { rest.saturating_sub(events) };
        }
    }

    /// Whether all is read; asked at the end of a turn.
    pub(in crate::reactor) fn is_over(&mut self, ready: &Ready) -> bool {
        if let Self::Polling(0) = self {
            *self = Self::Reading(ready.waited());
        }
        matches!(self, Self::Reading(waited) if ready.has_served(*waited))
    }
}
