//! What a consumer says it wants of a connection, see [`Wishes`](crate::reactor::connection::wishes::Wishes).

use crate::reactor::connection::session::Session;
use crate::reactor::connection::wishes::LOST;

impl Session<'_> {
    /// Reports, through `on_sent`, when all that was queued so far is in the kernel.
    pub fn mark(&mut self) {
        let pushed = self.connection.write.outgoing.pushed();
        let marks = &mut self.connection.wishes.get_or_insert_default().marks;
        // One callback after the other: what follows a lost one is told with it.
        marks.push(marks.last().map_or(pushed, |&last| last.max(pushed)));
        self.touch();
    }

    /// Notes a send that was dropped: the consumer hears of it when the connection is gone.
    pub(in crate::reactor) fn mark_lost(&mut self) {
        self.connection.wishes.get_or_insert_default().marks.push(LOST);
    }

    /// Whether the consumer gets a copy of all bytes that are read from now on, before what they say. Default: false.
    pub fn watch(&mut self, on: bool) {
        if on || self.connection.wishes.is_some() {
            self.connection.wishes.get_or_insert_default().watched = on;
        }
    }

    /// Has `bytes` from `start` on read before those of the socket; `ends`: the peer's end comes behind them.
    pub(in crate::reactor) fn feed(&mut self, bytes: Vec<u8>, start: usize, ends: bool) {
        let wishes = self.connection.wishes.get_or_insert_default();
        if wishes.ends {
            return;
        }
        wishes.ends = ends;
        if wishes.fed.is_empty() {
            wishes.pos = start;
            wishes.fed.push_back(bytes);
        } else {
            wishes.fed.push_back(bytes.get(start..).unwrap_or_default().to_vec());
        }
        self.want_read();
    }
}
