//! After a short delivery JavaScript's thread looks for more, as the reactor does.
//!
//! A peer that has its answer often asks again at once, and waking a thread on an idle CPU costs
//! more than the rest of such a message.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::reactor::{Link, Spin, Spinner};

use super::uv::EventLoop;
use super::wake::Wake;

/// Deliveries in a row before others on the loop get their turn.
const MOST_DELIVERIES: u32 = 16;
/// Records of a delivery up to which a look is worth it; after more, the next come anyway.
const LITTLE: usize = 4;
/// Microseconds, even where the reactor can look longer: the loop's other work waits meanwhile.
const LONGEST_LOOK: u32 = 50;

#[derive(Default)]
pub(super) struct Delivered {
    pub(super) records: Cell<usize>,
    /// The last look found nothing more.
    pub(super) all: Cell<bool>,
}

pub(super) struct PollSpin {
    /// The threads' bell: they share one.
    links: Vec<Arc<Link>>,
    delivered: Rc<Delivered>,
    spinner: RefCell<Spinner>,
    /// Nanoseconds that have been spent on looks.
    looking: Arc<AtomicU64>,
}

impl PollSpin {
    pub(super) fn new(
        links: Vec<Arc<Link>>,
        delivered: Rc<Delivered>,
        spin: Spin,
        looking: Arc<AtomicU64>,
    ) -> Self {
        let spin = match spin {
            Spin::Micros(micros) => Spin::Micros(micros.min(LONGEST_LOOK)),
            spin => spin,
        };
        Self { links, delivered, spinner: RefCell::new(Spinner::new(spin)), looking }
    }

    /// Calls JavaScript, which takes all batches; then again for batches that come soon after,
    /// unless the loop has other work.
    pub(super) fn deliver(&self, wake: &Wake, event_loop: EventLoop) {
        for deliveries in 1.. {
            self.delivered.records.set(0);
            wake.call();
            let little = self.delivered.all.get() && (1..=LITTLE).contains(&self.delivered.records.get());
            if !little || deliveries == MOST_DELIVERIES || event_loop.is_busy() || !self.comes_soon() {
                return;
            }
        }
    }

    /// Looks until a batch comes, which does not ring, or until it takes too long.
    fn comes_soon(&self) -> bool {
        let Some(bell) = self.links.first().map(|link| link.inbox.bell()) else { return false };
        let looked = Cell::new(false);
        let begin = || {
            // If the bell rang since the last look, the loop is about to call anyway.
            looked.set(bell.ring());
            looked.get()
        };
        let spent =
            self.spinner.borrow_mut().look_for(self.delivered.records.get(), begin, || self.is_waiting());
        self.looking.fetch_add(spent.as_nanos() as u64, Ordering::Relaxed);
        if !looked.get() {
            return false;
        }
        bell.answer();
        // After the answer: a batch that comes from now on rings.
        self.is_waiting()
    }

    fn is_waiting(&self) -> bool {
        self.links.iter().any(|link| link.inbox.is_waiting())
    }
}
