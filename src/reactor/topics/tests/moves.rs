//! Members that do not read move: their missed messages are queued before.

use super::stage::{Inflow, Stage};
use crate::bridge::layout::*;
use crate::reactor::config::MOVED_BESIDES;
use crate::reactor::handover::tests::move_all;
use crate::reactor::tests::client::SWITCHED;
use crate::reactor::tests::*;
use crate::reactor::{Command, ConnectionId, DeflateConfig, ListenerConfig, Reactor, ReactorConfig};

const LIMIT: usize = 10_000;
/// Bytes of a message.
const LEN: usize = 20_000;

fn stage() -> Stage {
    let deflate = Some(DeflateConfig::default());
    let listening = ListenerConfig { movable: Some(0), deflate, ..ListenerConfig::default() };
    Stage::with(1, ReactorConfig::default(), listening, Some(4 << 10))
}

/// A topic with a member that does not read, and is behind.
struct Scene {
    old: Stage,
    new: Stage,
    client: Client,
    id: ConnectionId,
    /// Of the last message, which is its key, too.
    number: u32,
}

impl Scene {
    fn new(slow: Slow, history: u32, ttl: u32) -> Self {
        Self::with(slow, history, ttl, "\r\n\r\n")
    }

    /// `end`: of the request and the answer.
    fn with(slow: Slow, history: u32, ttl: u32, end: &str) -> Self {
        let mut old = stage();
        let [request, answer] = [UPGRADE, SWITCHED].map(|text| text.replace("\r\n\r\n", end));
        let narrow = |address| Client::connect_narrow(address, 4 << 10);
        let (client, id) = old.open_with(narrow, &request, &answer);
        old.topic(1, [slow as u32, LIMIT as u32, history, ttl, 0]);
        old.join(id, 1);
        let mut scene = Self { old, new: stage(), client, id, number: 0 };
        scene.new.settle();
        while scene.backlogs() == 0 {
            scene.publish(LEN, &[]);
            scene.old.settle();
        }
        scene
    }

    fn backlogs(&self) -> usize {
        let joined = &self.old.reactors[0].topics.joined;
        joined.values().filter(|joined| joined.backlogs.is_some()).count()
    }

    fn publish(&mut self, len: usize, except: &[ConnectionId]) {
        self.number += 1;
        let mut message = format!("{:08}", self.number).into_bytes();
        message.resize(len, b'.');
        self.old.target(1, except, &self.number.to_le_bytes());
        self.old.publish(1, &message);
    }

    fn queued(&mut self) -> usize {
        self.old.reactors[0].connections.get(self.id).unwrap().write.waiting()
    }

    /// Moves, or stays for this reason. Messages that were published and not settled come after the copies.
    fn ends(&mut self) -> Vec<(&'static str, usize)> {
        let chunk = std::mem::take(&mut self.old.chunk);
        let meanwhile = |reactor: &mut Reactor<_>| reactor.on_command(Command::Chunk(chunk));
        move_all(&mut self.old.reactors[0], &mut self.new.reactors[0], meanwhile).1
    }

    /// Numbers of the messages that the client gets in the end.
    fn received(&mut self) -> Vec<u32> {
        let begun = std::time::Instant::now();
        let (mut inflow, mut numbers) = (Inflow::default(), Vec::new());
        while numbers.last() != Some(&self.number) {
            assert!(begun.elapsed() < PATIENCE, "{numbers:?} of {}", self.number);
            self.new.turn();
            let frames = inflow.read(&mut self.client, usize::MAX);
            numbers.extend(
                frames
                    .iter()
                    .map(|(_, text)| -> u32 { std::str::from_utf8(&text[..8]).unwrap().parse().unwrap() }),
            );
        }
        numbers
    }
}

#[test]
fn a_member_that_lacks_little_moves() {
    for slow in [Slow::CatchUp, Slow::Latest] {
        for above in [-LEN.cast_signed(), -1, 0, 1, LEN.cast_signed()] {
            let mut scene = Scene::new(slow, 100, 0);
            let missed = LEN + 4;
            let most = LIMIT + MOVED_BESIDES - scene.queued() - missed;
            // The last one is of another length, with a header of the same.
            let (whole, rest) = (most / missed - 1, most % missed + missed);
            (0..whole).for_each(|_| scene.publish(LEN, &[]));
            scene.publish((rest - 4).checked_add_signed(above).unwrap(), &[]);
            let before = scene.queued();
            scene.old.settle();
            assert_eq!(scene.queued(), before, "the kernel takes no more");
            let expected = if above > 0 { vec![("behind", 1)] } else { vec![] };
            assert_eq!(scene.ends(), expected, "{slow:?}, {above} bytes above");
            if above <= 0 {
                assert_eq!(scene.received(), (1..=scene.number).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn what_is_not_for_a_member_is_not_queued() {
    let mut scene = Scene::new(Slow::CatchUp, 100, 0);
    let first = scene.number;
    scene.publish(LEN, &[scene.id]);
    scene.publish(LEN, &[]);
    scene.publish(LEN, &[scene.id]);
    scene.publish(LEN, &[]);
    scene.old.settle();
    assert!(scene.ends().is_empty());
    assert_eq!(scene.received(), (1..=first).chain([first + 2, first + 4]).collect::<Vec<_>>());
}

/// While the program still hears of it, a gap does not matter.
#[test]
fn a_member_moves_after_a_gap_and_stays_if_one_comes_too_late() {
    const KEPT: u32 = 5;
    for late in [KEPT, KEPT + 1] {
        let mut scene = Scene::new(Slow::CatchUp, KEPT, 0);
        let first = scene.number;
        (0..KEPT + 2).for_each(|_| scene.publish(1000, &[]));
        scene.old.settle();
        assert!(scene.old.take(IN_GAP).is_empty());
        (0..late).for_each(|_| scene.publish(1000, &[]));
        let stays = scene.ends();
        scene.old.settle();
        let gap = [1, first, 0, first + 2, 0];
        assert_eq!(scene.old.take(IN_GAP)[0].1, gap, "at least one message was missed before");
        assert_eq!(stays, if late > KEPT { vec![("behind", 1)] } else { vec![] });
        if stays.is_empty() {
            assert_eq!(scene.received(), (1..first).chain(first + 3..=scene.number).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_message_that_expires_too_late_is_a_gap() {
    const TTL: u32 = 100;
    let mut scene = Scene::new(Slow::CatchUp, 100, TTL);
    scene.publish(1000, &[]);
    let chunk = std::mem::take(&mut scene.old.chunk);
    let (_, stays) = move_all(&mut scene.old.reactors[0], &mut scene.new.reactors[0], |reactor| {
        reactor.on_command(Command::Chunk(chunk));
        std::thread::sleep(Duration::from_millis(u64::from(TTL) + 1));
        reactor.run_once(Some(Duration::ZERO)).unwrap();
    });
    assert_eq!(stays, [("behind", 1)]);
}

/// Messages that a turn has no time to compress are compressed before the move.
#[test]
fn long_messages_that_are_compressed_move() {
    let end = "\r\nSec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n\r\n";
    let mut scene = Scene::with(Slow::CatchUp, 100, 0, end);
    (0..3).for_each(|_| scene.publish(300_000, &[]));
    assert_eq!(scene.ends(), []);
}

/// Some move as copies are made, and as many in the pause.
#[test]
fn what_is_queued_for_all_members_has_a_bound() {
    let mut scene = Scene::new(Slow::CatchUp, 100, 0);
    let others: Vec<_> = (0..7).map(|_| scene.old.open_narrow()).collect();
    others.iter().for_each(|(_, id)| scene.old.join(*id, 1));
    (0..51).for_each(|_| scene.publish(LEN, &[]));
    scene.old.settle();
    assert_eq!(scene.backlogs(), 8);
    assert_eq!(scene.ends(), [("behind", 2)]);
}
