//! When the consumer's sends are in the kernel.

use crate::reactor::connection::Connection;

/// A mark that is not reached.
pub(in crate::reactor) const LOST: u64 = u64::MAX;

/// Values of `outgoing.pushed()` at which it is reported to the consumer that all up to it is in
/// the kernel. Invariant: in order, with `LOST` for sends that will never be there, and for those
/// behind them.
#[derive(Default)]
pub(in crate::reactor) struct Marks(pub(in crate::reactor) Vec<u64>);

impl Connection {
    /// How many send marks have been reached; they are taken off the list.
    pub(in crate::reactor) fn take_sent(&mut self) -> u32 {
        let Some(Marks(marks)) = self.marks.as_deref_mut() else { return 0 };
        let written = self.write.outgoing.written();
        let reached = marks.partition_point(|&mark| mark <= written);
        marks.drain(..reached);
        if marks.is_empty() {
            self.marks = None;
        }
        reached as u32
    }
}
