//! Messages to the members of a topic: the recipients, the order, and the reports.

use super::stage::{PLAIN, Stage, frames, words};
use crate::bridge::layout::*;
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, ReactorConfig};

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

/// If each member cost a call, messages would leave one by one, each in its own write.
#[test]
fn what_is_published_to_many_together_is_queued_in_one_turn() {
    const MESSAGES: usize = 200;
    let (mut stage, mut clients) = stage(1, 10);
    stage.settle();
    let queued = |stage: &mut Stage, id: ConnectionId| {
        stage.reactors[0].connections.get(id).expect("open").write.sizes().0
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

/// Every payload is cut off at every place, and has no effect then.
#[test]
fn records_that_are_cut_off_are_ignored() {
    let (mut stage, mut clients) = stage(1, 1);
    let (_, id) = clients[0];
    let whole: [(u8, Vec<u32>); 4] = [
        (OUT_TOPIC, vec![0; TOPIC_WORDS]),
        (OUT_TARGET, vec![2, 8, 1, 2, 3, 4, 5, 6]),
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

/// More topics than are left in a turn.
#[test]
fn a_connection_that_closes_leaves_all_its_topics() {
    const TOPICS: u32 = 1500;
    let (mut stage, mut clients) = stage(1, 3);
    for topic in 2..TOPICS {
        stage.topic(topic, PLAIN);
        clients.iter().for_each(|(_, id)| stage.join(*id, topic));
    }
    stage.settle();
    clients.remove(1).0.reset();
    while !stage.reported.iter().any(|it| it.kind == IN_CLOSED) {
        stage.turn();
    }
    while !stage.reactors[0].topics.leaving.is_empty() {
        stage.turn();
    }
    assert!(stage.reactors[0].topics.topics.values().all(|topic| topic.members.len() == 2));
    (1..TOPICS)
        .for_each(|topic| stage.about(OUT_PUBLISH, topic, OUT_FLAG_FIN, PUBLISH_TEXT, b"to those that stay"));
    stage.settle();
    for (client, _) in &mut clients {
        assert_eq!(texts(&mut stage, client, TOPICS as usize - 1).len(), TOPICS as usize - 1);
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
    stage.publish(1, &long);
    stage.send(clients[0].1, b"behind it");
    stage.publish(1, b"last");
    stage.submit();
    stage.turn();
    let reached = stage.reactors[0].topics.publishing.as_ref().expect("it takes longer").next;
    assert!((1..900).contains(&reached), "{reached}");
    // Members that had the message, at the boundary, and that had not; some have read it.
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
}
