//! Upgrades that the consumer answers, and sockets with an upgrade that was answered elsewhere.

use crate::bridge::layout::Cause;
use crate::engine::deflate::Params;

use crate::reactor::conn::life::Life;
use crate::reactor::conn::origin::Origin;
use crate::reactor::read::ReadClass;
use crate::reactor::upgrade;
use crate::reactor::{Adoption, Conn, Consumer, Reactor};

impl<C: Consumer> Reactor<C> {
    pub(in crate::reactor) fn on_adopt(&mut self, adoption: Adoption) {
        let Adoption { stream, id: chosen, response, prefix, listener, config, deflate, asked } = adoption;
        let id = match chosen {
            Some(id) => self.connections.reserve(id),
            None => self.connections.next_id(),
        };
        self.shard.came();
        match id.and_then(|id| self.admit(id, stream, listener, config, Life::Open)) {
            Some(slot) => {
                let report = chosen.is_none();
                self.step_at(slot, |conn, consumer| {
                    if let Some(asked) = asked {
                        if conn.handovers.freezes(asked.port) {
                            conn.state.read.class = ReadClass::Frozen;
                        }
                        conn.handovers.begin(slot, Origin::new(&asked, &response));
                    }
                    conn.open_adopted(consumer, (deflate, report), &response, &prefix);
                });
            }
            None => {
                self.shard.left();
                if let Some(id) = chosen {
                    self.consumer.on_closed(id, Cause::Exhausted);
                }
            }
        }
    }
}

impl Conn<'_> {
    fn open_adopted<C: Consumer>(
        &mut self,
        consumer: &mut C,
        (deflate, report): (Option<Params>, bool),
        response: &[u8],
        prefix: &[u8],
    ) {
        upgrade::open(self, deflate);
        if !response.is_empty() {
            self.write(response);
        }
        if report {
            let info = self.handshake_info();
            consumer.on_open(self, &info);
        }
        self.state.read.received += prefix.len() as u64;
        consumer.on_received(self.id, self.state.read.received);
        self.feed(prefix);
    }
}
