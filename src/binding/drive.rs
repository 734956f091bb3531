use napi::Result;

use crate::bridge::chunk::Arena;
use crate::bridge::room::Lent;
use crate::reactor::Command;

use super::wake::Wake;

/// The way to the reactors: each in a thread of its own, or one on the JavaScript thread.
pub(super) trait Drive {
    fn count(&self) -> usize;

    /// The number of the reactor that a slot belongs to.
    fn number(&self, slot: u32) -> usize {
        slot as usize & (self.count().next_power_of_two() - 1)
    }

    fn submit(&self, number: usize, command: Command) -> Result<()>;

    /// Without a thread `last` may be the payload of the last record.
    fn flush(&self, arena: Arena, last: Option<&[u8]>) -> Flushed;

    /// The arena to be filled next instead of one that is empty.
    fn exchange(&self, arena: Box<dyn Lent>) -> Box<dyn Lent> {
        arena
    }

    /// Lends memory for arenas, for a way that needs more than the one that is filled.
    fn lend_arena(&self, _memory: Box<dyn Lent>) {}

    /// Reports that credit was given back for which a reactor waits.
    fn give_credit(&self, number: usize) -> Result<()>;

    /// JavaScript's end of the way back; `None` where there is no libuv.
    fn wake(&self) -> Option<&Wake>;

    /// Ends the reactors after an attempt to write the queued bytes.
    fn stop(&self);

    /// Lets the reactors end, sooner or later, with all that they have.
    fn retire(&self);
}

/// Whether the flush succeeds or not.
pub(super) struct Flushed {
    /// The arena to be filled next, from its beginning on.
    pub(super) next: Box<dyn Lent>,
    /// More arenas are needed: the records had to be copied.
    pub(super) wanting: bool,
    pub(super) outcome: Result<()>,
}
