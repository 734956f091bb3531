//! Sends that are reported to the consumer when they have left.

use crate::reactor::connection::marks::LOST;
use crate::reactor::connection::session::Session;

impl Session<'_> {
    /// Reports, through `on_sent`, when the kernel has all bytes queued so far.
    pub fn mark(&mut self) {
        let pushed = self.connection.write.outgoing.pushed();
        let marks = &mut self.connection.marks.get_or_insert_default().0;
        // Callbacks are called in order: sends behind a lost one are reported with it.
        marks.push(marks.last().map_or(pushed, |&last| last.max(pushed)));
        self.touch();
    }

    /// Notes a send that was dropped, which is reported to the consumer when the connection is
    /// gone.
    pub(in crate::reactor) fn mark_lost(&mut self) {
        self.connection.marks.get_or_insert_default().0.push(LOST);
    }
}
