//! The marks at which the kernel has the consumer's sends.

use crate::reactor::connection::Connection;

/// A mark that is not reached.
pub(in crate::reactor) const LOST: u64 = u64::MAX;

/// Values of `outgoing.pushed()` at which it is reported to the consumer that the kernel has all
/// bytes up to there. Invariant: in order, with `LOST` for sends that will never be there, and for
/// those behind them.
#[derive(Default)]
pub(in crate::reactor) struct Marks(pub(in crate::reactor) Vec<u64>);

impl Connection {
    /// The number of send marks that have been reached; they are taken off the list.
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
