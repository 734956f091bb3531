//! Messages to the members of a topic: the recipients, the order, and the reports.

use super::stage::{PLAIN, Stage, frames, words};
use crate::bridge::large::Large;
use crate::bridge::layout::*;
use crate::engine::{MessageKind, Prepared};
use crate::reactor::tests::*;
use crate::reactor::{Command, ConnectionId, ReactorConfig};

const NUMBERS: [usize; 2] = [1, 3];

/// A stage with a topic and its members, on this many reactors.
fn stage(reactors: usize, members: usize) -> (Stage, Vec<(Client, ConnectionId)>) {
    let mut stage = Stage::new(reactors, ReactorConfig::default());
    let clients: Vec<_> = std::iter::repeat_with(|| stage.open()).take(members).collect();
    stage.topic(1, PLAIN);
    clients.iter().for_each(|(_, id)| stage.join(*id, 1));
    (stage, clients)
}

/// The texts that a client reads.
#[track_caller]
fn texts(stage: &mut Stage, client: &mut Client, count: usize) -> Vec<String> {
    let text = |(first, bytes): (u8, Vec<u8>)| {
        assert_eq!(first, 0x81);
        String::from_utf8(bytes).unwrap()
    };
    frames(stage, client, count).into_iter().map(text).collect()
}

/// If each member were charged a call, the messages would leave one by one, each in a write of its
/// own.
#[test]
fn what_is_published_to_many_together_is_queued_in_one_turn() {
    const MESSAGES: usize = 200;
    let (mut stage, mut clients) = stage(1, 10);
    stage.settle();
    let queued = |stage: &mut Stage, id: ConnectionId| {
        stage.reactors[0].connections.get(id).expect("open").write.pushed()
    };
    let before: Vec<_> = clients.iter().map(|(_, id)| queued(&mut stage, *id)).collect();
    (0..MESSAGES).for_each(|n| stage.publish(1, format!("{n:06}").as_bytes()));
    stage.submit();
    stage.turn();
    for ((_, id), before) in clients.iter().zip(before) {
        assert_eq!(queued(&mut stage, *id) - before, 8 * MESSAGES as u64);
    }
    let expected: Vec<_> = (0..MESSAGES).map(|n| format!("{n:06}")).collect();
    for (client, _) in &mut clients {
        assert_eq!(texts(&mut stage, client, MESSAGES), expected);
    }
}

#[test]
fn joining_twice_leaving_twice_and_topics_that_are_not_there_are_harmless() {
    let (mut stage, mut clients) = stage(1, 2);
    let (_, id) = clients[0];
    stage.join(id, 1);
    stage.join(id, 7);
    stage.publish(7, b"nobody");
    stage.leave(id, 7);
    stage.publish(1, b"once");
    stage.leave(id, 1);
    stage.leave(id, 1);
    stage.publish(1, b"not to the first");
    stage.about(OUT_TOPIC_END, 7, 0, 0, b"");
    stage.send(id, b"end");
    stage.settle();
    assert_eq!(texts(&mut stage, &mut clients[0].0, 2), ["once", "end"]);
    assert_eq!(texts(&mut stage, &mut clients[1].0, 2), ["once", "not to the first"]);
}

/// Every payload is cut off at every place, and has no effect then.
#[test]
fn records_that_are_cut_off_are_ignored() {
    let (mut stage, mut clients) = stage(1, 1);
    let (_, id) = clients[0];
    let whole: [(u8, Vec<u32>); 4] = [
        (OUT_TOPIC, vec![0; TOPIC_WORDS]),
        (OUT_TARGET, vec![0, 2, 8, 1, 2, 3, 4, 5, 6]),
        (OUT_HISTORY, vec![0; SUBSCRIBE_WORDS]),
        (OUT_HISTORY_BUDGET, vec![0; 2]),
    ];
    for (kind, all) in whole {
        let payload = words(&all);
        (0..payload.len()).for_each(|len| stage.about(kind, 9, 0, 0, &payload[..len]));
    }
    for (kind, all) in [(OUT_SUBSCRIBE, vec![2, 0, 0, 0, 0]), (OUT_UNSUBSCRIBE, vec![1])] {
        let payload = words(&all);
        (0..payload.len()).for_each(|len| stage.record(id, kind, 0, 0, &payload[..len]));
    }
    for kind in 0..=u8::MAX {
        if !(OUT_TOPIC..=OUT_HISTORY_BUDGET).contains(&kind) {
            stage.about(kind, 1, OUT_FLAG_FIN, 0, b"nothing");
        }
    }
    stage.publish(1, b"still there");
    stage.settle();
    assert_eq!(texts(&mut stage, &mut clients[0].0, 1), ["still there"]);
}

#[test]
fn a_connection_that_closes_leaves_all_its_topics() {
    for reactors in NUMBERS {
        let (mut stage, mut clients) = stage(reactors, 6);
        for topic in 2..100 {
            stage.topic(topic, PLAIN);
            clients.iter().for_each(|(_, id)| stage.join(*id, topic));
        }
        stage.settle();
        for n in 0..3 {
            clients.remove(n).0.reset();
            let closed = |stage: &Stage| stage.reported.iter().filter(|it| it.kind == IN_CLOSED).count();
            while closed(&stage) <= n {
                stage.turn();
            }
        }
        stage.target(1, 8, &[], b"");
        stage.publish(1, b"to those that stay");
        (2..100).for_each(|topic| stage.publish(topic, b"too"));
        stage.settle();
        assert_eq!(stage.receipt(8), [3, 3, 0, 0, 3 * 20]);
        for (client, _) in &mut clients {
            assert_eq!(texts(&mut stage, client, 99).len(), 99);
        }
        (1..100).for_each(|topic| stage.about(OUT_TOPIC_END, topic, 0, 0, b""));
        stage.settle();
        stage.expect_nothing_left();
    }
}

#[test]
fn those_that_are_excepted_do_not_get_it_and_only_this_message_has_a_target() {
    for reactors in NUMBERS {
        let (mut stage, mut clients) = stage(reactors, 6);
        let except: Vec<_> = clients[1..4].iter().rev().map(|(_, id)| *id).collect();
        stage.target(1, 5, &except, b"");
        stage.publish(1, b"not to all");
        stage.publish(1, b"to all");
        stage.settle();
        assert_eq!(stage.receipt(5), [3, 3, 0, 0, 3 * 12]);
        for (n, (client, _)) in clients.iter_mut().enumerate() {
            match (1..4).contains(&n) {
                true => assert_eq!(texts(&mut stage, client, 1), ["to all"]),
                false => assert_eq!(texts(&mut stage, client, 2), ["not to all", "to all"]),
            }
        }
        stage.target(77, 6, &except, b"");
        stage.publish(77, b"no such topic");
        stage.settle();
        assert_eq!(stage.receipt(6), [0; 5]);
    }
}

/// Every way in which a payload comes, of every length around the ones that matter.
#[test]
fn every_payload_arrives() {
    for reactors in NUMBERS {
        let (mut stage, mut clients) = stage(reactors, 4);
        let mut expected = Vec::new();
        for len in [0, 1, 125, 126, 2047, 2048, 65_535, 65_536, 200_000] {
            let payload = vec![b'a' + (len % 26) as u8; len];
            let flags = OUT_FLAG_FIN | OUT_FLAG_COMPRESS;
            stage.publish(1, &payload);
            expected.push((0x81, payload.clone()));
            stage.chunk.push_record((TOPIC_SLOT, 1), OUT_PUBLISH, flags | OUT_FLAG_SHARED, 0, &payload);
            expected.push((0x82, payload.clone()));
            for _ in 0..4 {
                stage.chunk.push_same((TOPIC_SLOT, 1), OUT_PUBLISH, flags, 0, SHARED_OTHER);
                expected.push((0x82, payload.clone()));
            }
            stage.chunk.push_large((TOPIC_SLOT, 1), OUT_PUBLISH, flags, 0, Large::copy(&payload));
            expected.push((0x82, payload.clone()));
            let shared = flags | OUT_FLAG_SHARED;
            stage.chunk.push_large((TOPIC_SLOT, 1), OUT_PUBLISH, shared, PUBLISH_TEXT, Large::copy(&payload));
            expected.push((0x81, payload.clone()));
            for _ in 0..2 {
                stage.chunk.push_same((TOPIC_SLOT, 1), OUT_PUBLISH, flags, PUBLISH_TEXT, SHARED_OTHER);
                expected.push((0x81, payload.clone()));
            }
            stage.submit();
            for reactor in &stage.reactors {
                let message = Prepared::new(MessageKind::Binary, &payload, true);
                reactor.handle().submit(Command::Prepare(3, Box::new(message))).unwrap();
            }
            for _ in 0..2 {
                stage.chunk.push_same((TOPIC_SLOT, 1), OUT_PUBLISH, flags, 0, 3);
                expected.push((0x82, payload.clone()));
            }
            stage.chunk.push_same((TOPIC_SLOT, 1), OUT_PUBLISH, flags, 0, 4);
        }
        stage.settle();
        for (client, _) in &mut clients {
            assert!(frames(&mut stage, client, expected.len()) == expected);
        }
    }
}

/// A message to more members than a turn serves goes on in the next, and what was asked for behind
/// it waits. Members that go meanwhile, before and behind the place where it has come to, change
/// nothing for the others.
#[test]
fn a_message_to_many_takes_several_turns() {
    let (mut stage, mut clients) = stage(1, 900);
    stage.settle();
    let long = vec![b'x'; 3000];
    stage.target(1, 1, &[], b"");
    stage.publish(1, &long);
    stage.send(clients[0].1, b"behind it");
    stage.publish(1, b"last");
    stage.submit();
    stage.turn();
    let reached = stage.reactors[0].topics.publishing.as_ref().expect("it takes longer").next;
    assert!((1..900).contains(&reached), "{reached}");
    // Of the members that had the message, at the boundary, and of those that had not; some of the
    // former have read it.
    let gone = [0, 1, reached - 1, reached, reached + 1, 899];
    for &n in gone.iter().rev() {
        let (client, id) = clients.remove(n);
        drop(client);
        let handle = stage.reactors[0].handle();
        // The socket ends without a command, which would wait.
        drop((id, handle));
    }
    while stage.reported.iter().filter(|it| it.kind == IN_END || it.kind == IN_CLOSED).count() < gone.len() {
        stage.turn();
    }
    stage.settle();
    for (n, (client, _)) in clients.iter_mut().enumerate() {
        let got = texts(&mut stage, client, 2);
        assert!(got[0].len() == 3000 && got[1] == "last", "{n}");
    }
    let [matched, sent, ..] = stage.receipt(1);
    assert!(matched >= 894 && sent >= 894, "{matched} {sent}");
}
