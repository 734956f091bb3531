//! R17: whoever floods gets a share, not the reactor.

use std::io::{ErrorKind, Write};

use socket2::SockRef;

use super::server::reactor;
use super::turns::until;
use super::*;
use crate::reactor::config::{READ_BUDGET, TURN_BUDGET};

/// A peer that always has more to say than one turn reads.
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
    Script::on_message(|session, message| {
        if message.payload.as_slice().len() < 1000 {
            session.send_back(message);
        }
    })
}

/// R12, R17: who says little is served in the next turn or the one after, and does not wait for a share of everybody else.
#[test]
fn r17_a_canary_is_served_however_many_flood() {
    for floods in [1, TURN_BUDGET / READ_BUDGET, 2 * TURN_BUDGET / READ_BUDGET, 40] {
        let (mut reactor, address, seen) = reactor(Setup { script: quiet(), ..Setup::default() });
        let mut floods: Vec<Flood> = (0..floods)
            .map(|_| {
                let mut client = Client::connect(address);
                client.write(UPGRADE.as_bytes());
                SockRef::from(&client.0).set_send_buffer_size(4 << 20).unwrap();
                let stream = frame(0x82, Some([1, 2, 3, 4]), &[7; 60_000]);
                Flood { client, stream, at: 0 }
            })
            .collect();
        let mut canary = Client::connect(address);
        canary.write(UPGRADE.as_bytes());
        let mut open = 0;
        until(&mut reactor, |_| {
            open += seen.try_iter().count();
            open == floods.len() + 1
        });
        floods.iter_mut().for_each(|flood| {
            flood.client.expect_text(client::SWITCHED);
            flood.client.0.set_nonblocking(true).unwrap();
        });
        canary.expect_text(client::SWITCHED);
        for _ in 0..5 {
            for _ in 0..3 {
                floods.iter_mut().for_each(Flood::top_up);
                reactor.run_once(Some(PATIENCE)).unwrap();
            }
            canary.send("81 81 00000000 'c'");
            let mut turns = 0;
            let canary_told = Seen::Text(b"c".to_vec());
            while !seen.try_iter().any(|(_, seen)| seen == canary_told) {
                floods.iter_mut().for_each(Flood::top_up);
                reactor.run_once(Some(PATIENCE)).unwrap();
                turns += 1;
                assert!(turns <= 2, "the canary waits for ever behind {} floods", floods.len());
            }
            canary.expect("81 01 'c'");
        }
    }
}

#[test]
fn r17_commands_and_other_sockets_have_their_turn_between_the_reads_of_one() {
    let (mut reactor, address, seen) = reactor(Setup { script: quiet(), ..Setup::default() });
    let mut client = Client::connect(address);
    SockRef::from(&client.0).set_send_buffer_size(4 << 20).unwrap();
    client.write(UPGRADE.as_bytes());
    until(&mut reactor, |_| seen.try_recv().is_ok());
    client.expect_text(client::SWITCHED);
    client.0.set_nonblocking(true).unwrap();
    let mut flood = Flood { client, stream: frame(0x82, Some([0; 4]), &[7; 60_000]), at: 0 };
    for _ in 0..10 {
        flood.top_up();
        reactor.run_once(Some(PATIENCE)).unwrap();
        assert!(TURN_BUDGET - reactor.turn_budget <= READ_BUDGET, "one socket, one share");
    }
}
