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
        (OUT_TARGET, vec![2, 8, 0, 1, 2, 3, 4, 5, 6]),
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
