//! Ids of connections: a command for one connection never reaches another.

use crate::bridge::layout::{ADOPTED_SLOTS, OUT_CLOSE, OUT_TERMINATE, OUT_TEXT};
use crate::reactor::connections::{Connections, Share};
use crate::reactor::tests::bridge::forward;
use crate::reactor::tests::server::reactor;
use crate::reactor::tests::turns::until;
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, ReactorConfig};

#[test]
fn o09_a_slot_that_is_used_again_has_another_generation_and_stale_commands_hit_nobody() {
    let server = Server::echo();
    let first = Client::open(server.address);
    let old = server.opened();
    first.reset();
    assert_eq!(server.next_of(), (old, Seen::Closed));
    // One canary more, so that the slot's quarantine is over when the slot is needed.
    let (mut second, mut third) = (Client::open(server.address), Client::open(server.address));
    let ids = [server.opened(), server.opened()];
    assert!(ids.iter().any(|id| id.slot == old.slot && id.generation != old.generation), "{old:?} {ids:?}");
    server.send(old, OUT_TEXT, b"for the dead");
    server.send(old, OUT_TERMINATE, b"");
    server.send(old, OUT_CLOSE, b"");
    for (client, text) in [(&mut second, "81 81 00000000 'b'"), (&mut third, "81 81 00000000 'c'")] {
        client.send(text);
        assert_eq!(client.read(3)[..2], [0x81, 1]);
    }
}

/// Neither slots that never were nor an id of nothing but zeros names the first connection.
#[test]
fn o09_commands_for_nobody_are_ignored() {
    let server = Server::echo();
    let mut client = Client::open(server.address);
    let first = server.opened();
    assert_ne!(first.generation, 0);
    for slot in [first.slot, 5, 1 << 31, u32::MAX] {
        let nobody = ConnectionId { slot, generation: 0 };
        server.send(nobody, OUT_TEXT, b"y");
        server.send(nobody, OUT_TERMINATE, b"");
    }
    client.send("81 81 00000000 'x'");
    client.expect("81 01 'x'");
}

#[test]
fn no_slot_is_reserved_without_a_generation() {
    let mut connections = Connections::new(2, Share::ALL);
    assert!(connections.reserve(ConnectionId { slot: ADOPTED_SLOTS, generation: 0 }).is_none());
    assert!(connections.reserve(ConnectionId { slot: ADOPTED_SLOTS, generation: 1 }).is_some());
}

#[test]
fn o09_a_connection_that_comes_in_the_turn_in_which_another_goes_is_its_own() {
    let (mut reactor, address, seen) = reactor(Setup::default());
    let mut old: Vec<Client> = Vec::new();
    for _ in 0..20 {
        old.drain(..).for_each(Client::reset);
        let mut new: Vec<Client> = (0..5).map(|_| Client::connect(address)).collect();
        for (n, client) in (0_u8..).zip(&mut new) {
            client.write(UPGRADE.as_bytes());
            client.write(&frame(0x82, Some([0; 4]), &[n]));
        }
        let mut messages = 0;
        until(&mut reactor, |reactor| {
            messages += seen.try_iter().filter(|(_, seen)| matches!(seen, Seen::Binary(_))).count();
            messages == 5 && reactor.connections() == 5
        });
        for (n, client) in (0_u8..).zip(&mut new) {
            client.expect_text(client::SWITCHED);
            assert_eq!(client.read(3), [0x82, 1, n]);
        }
        old = new;
    }
}

#[test]
fn there_are_no_more_connections_than_slots() {
    let (mut reactor, address, seen) = reactor(Setup::default());
    reactor.connections = Connections::new(2, Share::ALL);
    let mut clients: Vec<Client> = (0..3).map(|_| Client::connect(address)).collect();
    clients.iter_mut().for_each(|client| client.write(UPGRADE.as_bytes()));
    let mut reports = Vec::new();
    until(&mut reactor, |_| {
        reports.extend(seen.try_iter().map(|(_, seen)| seen));
        reports.len() == 3
    });
    // Accepted in order: the third found no slot, and is counted.
    assert!(reports.contains(&Seen::Refused(1)), "{reports:?}");
    assert_eq!(clients.remove(2).read_to_end(), b"");
    clients.remove(0).reset();
    until(&mut reactor, |reactor| reactor.connections() == 1);
    let mut fourth = Client::asking(address);
    until(&mut reactor, |_| seen.try_iter().any(|(_, seen)| seen == Seen::Open("/".into())));
    fourth.expect_text(client::SWITCHED);
}

#[test]
fn o09_a_slot_is_not_used_again_before_its_end_was_delivered() {
    let (js, mut reactor) = forward(ReactorConfig::default());
    let mut slot_of_next = || {
        let client = Client::asking(js.address);
        until(&mut reactor, |reactor| reactor.connections() == 1);
        let slot = reactor.connections.slots()[0];
        until(&mut reactor, |reactor| reactor.connections.get_mut(slot).is_some_and(|it| it.is_open()));
        client.reset();
        until(&mut reactor, |reactor| reactor.connections() == 0);
        slot
    };
    let undelivered = [slot_of_next(), slot_of_next()];
    assert_ne!(undelivered[0], undelivered[1]);
    js.give_all_back();
    // Slots are freed at the end of a turn.
    let later = [slot_of_next(), slot_of_next()];
    assert!(later.iter().any(|slot| undelivered.contains(slot)), "{undelivered:?} {later:?}");
}
