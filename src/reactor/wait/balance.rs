//! Who had better run a reactor: the event loop of its consumer, or a thread.
//!
//! On the loop a message needs no wake-up of another thread, which costs more than a short message
//! does. In a thread, the work for the network does not add to the consumer's. So the thread is worth
//! its wake-ups if the loop has no time to spare, and either the consumer itself takes that time, or
//! so much comes together that a wake-up is little beside it.
//!
//! The loop's turns can be short just because the loop fetches each message at once, so a loop that
//! stays busy lets the thread try. Wrong guesses are cheap: after each, the thread keeps the reactor for
//! longer, and tries less often.

#[cfg(test)]
mod tests;

use std::time::Duration;

/// In some stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub wall: Duration,
    /// The loop was busy, but not with the reactor.
    pub consumer: Duration,
    /// Turns of the reactor that found something, wherever it was, and requests of JavaScript.
    pub network: Duration,
    /// See [`TurnCount`].
    pub turns: u64,
}

/// Counts the reactor's turns on the loop. Requests of JavaScript, such as ten answers of 16 KiB, belong to
/// the reactor's turn in the same turn of the loop. Without one they are one together: a thread would be
/// woken for them.
#[derive(Debug, Default)]
pub struct TurnCount {
    /// Turn of the loop.
    counted_in: Option<u32>,
}

impl TurnCount {
    pub fn add(&mut self, is_request: bool, loop_turn: u32) -> u64 {
        let was_counted = self.counted_in.replace(loop_turn) == Some(loop_turn);
        u64::from(!(is_request && was_counted))
    }
}

/// How much work a turn brings, with the consumer's, from which on a wake-up is little beside it, and
/// up to which it is not.
const LONG_TURN: Duration = Duration::from_micros(180);
const SHORT_TURN: Duration = Duration::from_micros(100);
/// How long the thread drives at least, and at most after wrong guesses.
const SHORTEST_STAY: Duration = Duration::from_millis(20);
const LONGEST_STAY: Duration = Duration::from_secs(5);
/// A driver that has driven for so long is the right one.
const SETTLED: Duration = Duration::from_secs(1);
/// After so long with a busy loop the thread tries: at first, and at most after vain tries.
const FIRST_TRY: Duration = Duration::from_secs(1);
const LAST_TRY: Duration = Duration::from_secs(32);

pub struct Balance {
    /// The window before was for the thread.
    leaning: bool,
    /// Since when the loop has been busy in each window, and how long it is to be before a try.
    busy_since: Option<Duration>,
    patience: Duration,
    /// How long the thread drives at least, after a guess.
    stay: Duration,
    /// When the loop got the reactor back, when the thread took it, and until when that keeps it.
    given_back: Duration,
    taken: Duration,
    not_before: Duration,
}

impl Balance {
    pub fn new() -> Self {
        Self {
            leaning: false,
            busy_since: None,
            patience: FIRST_TRY,
            stay: SHORTEST_STAY,
            given_back: Duration::ZERO,
            taken: Duration::ZERO,
            not_before: Duration::ZERO,
        }
    }

    /// While the loop drives, after each window. True: the thread had better. `now`: since some beginning.
    pub fn leaves_loop(&mut self, window: &Usage, now: Duration) -> bool {
        let work = window.work();
        let is_busy = work * 2 > window.wall;
        let is_worth_it = window.consumer * 2 > work || work > window.turns(LONG_TURN);
        let leaned = std::mem::replace(&mut self.leaning, is_busy && is_worth_it);
        self.busy_since = is_busy.then(|| self.busy_since.unwrap_or(now));
        let tries = self.busy_since.is_some_and(|since| now.saturating_sub(since) >= self.patience);
        tries || (leaned && self.leaning)
    }

    /// The loop has had nothing to do for a while.
    pub fn rests(&mut self) {
        (self.leaning, self.busy_since) = (false, None);
    }

    /// The thread drives now: `guessed`, or the loop is stuck.
    pub fn taken(&mut self, guessed: bool, now: Duration) {
        let settled = now.saturating_sub(self.given_back) >= SETTLED;
        if settled {
            self.stay = SHORTEST_STAY;
        } else if guessed {
            self.stay = (self.stay * 2).min(LONGEST_STAY);
        }
        self.not_before = now + if guessed { self.stay } else { SHORTEST_STAY };
        self.taken = now;
        self.rests();
    }

    /// While the thread drives, after each window. True: the loop had better.
    pub fn leaves_thread(&mut self, window: &Usage, now: Duration) -> bool {
        let work = window.work();
        let is_light = work * 5 < window.wall * 2;
        let is_cheaper = window.consumer * 5 < work * 2 && work < window.turns(SHORT_TURN);
        let leaves = now >= self.not_before && (is_light || is_cheaper);
        if leaves {
            let was_vain = now.saturating_sub(self.taken) < SETTLED;
            self.patience = if was_vain { (self.patience * 2).min(LAST_TRY) } else { FIRST_TRY };
            self.given_back = now;
        }
        leaves
    }
}

impl Usage {
    fn work(&self) -> Duration {
        self.consumer + self.network
    }

    /// If each turn took this long.
    fn turns(&self, each: Duration) -> Duration {
        each.saturating_mul(u32::try_from(self.turns).unwrap_or(u32::MAX))
    }
}
