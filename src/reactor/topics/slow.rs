//! A message to a member that is slow, or has missed earlier ones.

use crate::bridge::layout::Cause;
use crate::engine::CloseCode;

use crate::reactor::Reactor;
use crate::reactor::config::WRITE_BUDGET;
use crate::reactor::connection::Following;
use crate::reactor::connection::id::ConnectionId;
use crate::reactor::connection::session::Session;
use crate::reactor::consume::consumer::Consumer;
use crate::reactor::topics::behind::{Behind, Behinds, Cursor, Latest};
use crate::reactor::topics::publishing::Publishing;
use crate::reactor::topics::receipt::Outcome;
use crate::reactor::topics::topic::Slow;

impl<C: Consumer> Reactor<C> {
    /// The treatment of a message to a member that may be slow. `None`: it is sent.
    #[cold]
    pub(in crate::reactor) fn on_slow(
        &mut self,
        id: ConnectionId,
        publishing: &mut Publishing,
    ) -> Option<Outcome> {
        let is_slow = self.has_much(id, publishing.patience.limit);
        let bytes = publishing.bytes();
        let topic = publishing.topic;
        let behind = match publishing.patience.slow {
            Slow::Queue => return None,
            Slow::Drop if is_slow => {
                self.topics.dropped.add(id, topic, 1);
                return Some(Outcome::Dropped);
            }
            Slow::Close if is_slow => {
                let connection = self.connections.get(id)?;
                let mut session = Session { id, connection, work: &mut self.work };
                session.close(Some(CloseCode::TRY_AGAIN_LATER), &[]);
                session.connection.life.blame(Cause::Slow);
                self.consumer.on_closing(id);
                return Some(Outcome::Dropped);
            }
            Slow::Drop | Slow::Close => return None,
            Slow::Latest | Slow::CatchUp => &mut self.topics.joined_mut(id)?.behind,
        };
        if !is_slow && !behind.as_ref().is_some_and(|behind| behind.contains_key(&topic)) {
            return None;
        }
        let behinds: &mut Behinds = behind.get_or_insert_default();
        let replaced = match publishing.offset {
            Some(offset) if publishing.patience.slow == Slow::CatchUp => {
                let cursor = Behind::CatchUp(Cursor { next: offset, again: 0 });
                behinds.entry(topic).or_insert(cursor);
                false
            }
            _ => match behinds.entry(topic).or_insert_with(|| Behind::Latest(Latest::default())) {
                Behind::Latest(latest) => latest.keep(&publishing.key, publishing.message.clone()),
                Behind::CatchUp(_) => false,
            },
        };
        self.topics.dropped.add(id, topic, replaced.into());
        if let Some(connection) = self.connections.get(id) {
            connection.following = Following::Behind;
        }
        Some(Outcome::Kept(bytes))
    }

    /// Whether more than `limit` bytes wait that the kernel does not take: many messages of one
    /// turn make no member slow.
    fn has_much(&mut self, id: ConnectionId, limit: usize) -> bool {
        let Some(connection) = self.connections.get(id) else { return true };
        if connection.write.waiting() > limit && !connection.write.state.waits() {
            // Any error of the socket will come again in the write at the end of the turn.
            let _wrong =
                connection.write.write_to(&mut connection.transport, &mut self.work.pool, WRITE_BUDGET);
            self.work.spend_on_commands(0);
        }
        connection.write.waiting() > limit
    }
}
