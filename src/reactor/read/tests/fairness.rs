//! R17: a peer that floods gets a share, not the reactor.

use std::io::{ErrorKind, Write};
use std::time::Instant;

use socket2::SockRef;

use crate::reactor::config::{MODEST, READ_BUDGET, READ_SIZE, TURN_BUDGET};
use crate::reactor::read::ReadClass;
use crate::reactor::tests::server::reactor;
use crate::reactor::tests::turns::{Reports, Turned};
use crate::reactor::tests::*;
use crate::reactor::{Consumer, Reactor};

/// A peer that always has more to send than one turn reads.
struct Flood {
    client: Client,
    stream: Vec<u8>,
    at: usize,
}

impl Flood {
    fn top_up(&mut self) {
        loop {
            match self.client.0.write(&self.stream[self.at..]) {
                Ok(len) => self.at = (self.at + len) % self.stream.len(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn quiet() -> Script {
    Script::on_message(|conn, message| {
        if message.payload.len() < 1000 {
            conn.send(message.kind, true, message.payload);
        }
    })
}

/// A number of open floods and a canary, on a reactor that the test turns.
fn flooded(floods: usize) -> (Turned, Reports, Vec<Flood>, Client) {
    let (mut reactor, address, seen) = reactor(Setup { script: quiet(), ..Setup::default() });
    let mut connect = |send_buffer| {
        let (client, _) = turns::open(&mut reactor, address, &seen);
        SockRef::from(&client.0).set_send_buffer_size(send_buffer).unwrap();
        client
    };
    let floods = (0..floods)
        .map(|_| {
            let client = connect(4 << 20);
            client.0.set_nonblocking(true).unwrap();
            Flood { client, stream: frame(0x82, Some([1, 2, 3, 4]), &[7; 60_000]), at: 0 }
        })
        .collect();
    let canary = connect(64 << 10);
    (reactor, seen, floods, canary)
}

/// One turn, before which every flood writes what it can.
fn turn(reactor: &mut Turned, floods: &mut [Flood]) {
    floods.iter_mut().for_each(Flood::top_up);
    reactor.run_once(Some(PATIENCE)).unwrap();
}

/// R12, R17: a peer that sends little does not wait until all heavy senders have had their shares.
#[test]
fn r17_a_canary_is_served_in_the_turn_it_sings_or_the_next_however_many_flood() {
    for floods in [1, TURN_BUDGET / READ_BUDGET, 2 * TURN_BUDGET / READ_BUDGET, 40] {
        let (mut reactor, seen, mut floods, mut canary) = flooded(floods);
        // A flood is recognized by its first share.
        for _ in 0..2 * floods.len() {
            turn(&mut reactor, &mut floods);
        }
        for _ in 0..5 {
            turn(&mut reactor, &mut floods);
            canary.send("81 81 00000000 'c'");
            let mut turns = 0;
            let canary_told = Seen::Text(b"c".to_vec());
            while !seen.try_iter().any(|(_, seen)| seen == canary_told) {
                turn(&mut reactor, &mut floods);
                turns += 1;
                assert!(turns <= 2, "the canary waits behind {} floods", floods.len());
            }
            canary.expect("81 01 'c'");
        }
    }
}

/// Each sends too little to count as greedy, all together more than a turn reads.
#[test]
fn r17_a_flood_has_its_share_however_many_say_little() {
    const LITTLE: usize = 20_000;
    let many = 3 * TURN_BUDGET / LITTLE;
    let (mut reactor, seen, mut all, _canary) = flooded(many + 1);
    let (flood, modest) = all.split_first_mut().expect("there are some");
    let slot = reactor.connections.slots()[0];
    let message = frame(0x82, Some([0; 4]), &[1; LITTLE]);
    for _ in 0..10 {
        // One share was not enough for the flood, so it gets another in the next turn.
        while !waits_greedily(&mut reactor, slot) {
            turn(&mut reactor, std::slice::from_mut(flood));
        }
        modest.iter_mut().for_each(|peer| peer.client.write(&message));
        let before = received(&mut reactor, slot);
        turn(&mut reactor, std::slice::from_mut(flood));
        let share = received(&mut reactor, slot) - before;
        // Unless that was the last byte.
        let is_drained = !waits_greedily(&mut reactor, slot);
        assert!(share >= MODEST as u64 || is_drained, "it had {share} bytes");
        let mut messages = 0;
        let deadline = Instant::now() + PATIENCE;
        while messages < many {
            assert!(Instant::now() < deadline, "{messages} messages of {many}");
            turn(&mut reactor, std::slice::from_mut(flood));
            messages += seen.try_iter().filter(|(_, seen)| *seen == Seen::Binary(vec![1; LITTLE])).count();
        }
    }
}

fn waits_greedily<C: Consumer>(reactor: &mut Reactor<C>, slot: u32) -> bool {
    reactor.connections.get_mut(slot).is_some_and(|connection| {
        connection.read.queued.is_set() && connection.read.class == ReadClass::Greedy
    })
}

fn received<C: Consumer>(reactor: &mut Reactor<C>, slot: u32) -> u64 {
    reactor.connections.get_mut(slot).expect("open").read.received
}

#[test]
fn r17_commands_and_other_sockets_have_their_turn_between_the_reads_of_one() {
    let (mut reactor, _seen, mut flood, _canary) = flooded(1);
    for _ in 0..10 {
        turn(&mut reactor, &mut flood);
        // And the rest of a frame that has begun, if one read brings it.
        assert!(TURN_BUDGET - reactor.reader.turn_budget <= READ_BUDGET + READ_SIZE, "one socket, one share");
    }
}
