//! The cost of topics, to be looked at: no test here can fail because the machine is slow.
//!
//! ```text
//! cargo test --release --no-default-features --features reactor --lib topics::cost -- \
//!     --ignored --nocapture --test-threads 1
//! ```
#![expect(clippy::print_stdout, reason = "what it is for")]

use std::time::{Duration, Instant};

use super::stage::{Inflow, PLAIN, Stage};
use crate::bridge::layout::*;
use crate::reactor::tests::*;
use crate::reactor::{ConnectionId, ReactorConfig};

const ROUNDS: u32 = 30;

fn open(count: usize) -> (Stage, Vec<(Client, ConnectionId)>) {
    let mut stage = Stage::new(1, ReactorConfig::default());
    let clients = std::iter::repeat_with(|| stage.open()).take(count).collect();
    (stage, clients)
}

/// Time of `ROUNDS` rounds by delivery, without the clients' time for reading.
fn measure(
    stage: &mut Stage,
    clients: &mut [(Client, ConnectionId)],
    ask: impl Fn(&mut Stage, &[(Client, ConnectionId)]),
) -> Duration {
    let mut spent = Duration::ZERO;
    for round in 0..=ROUNDS {
        let begun = Instant::now();
        ask(stage, clients);
        stage.settle();
        // The first one warms up.
        spent += if round == 0 { Duration::ZERO } else { begun.elapsed() };
        for (client, _) in clients.iter_mut() {
            Inflow::default().read(client, usize::MAX);
        }
    }
    spent / ROUNDS / clients.len() as u32
}

#[test]
#[ignore = "measures"]
fn a_message_to_many_beside_a_record_for_each() {
    for count in [100, 1000, 9000] {
        let (mut stage, mut clients) = open(count);
        stage.topic(1, PLAIN);
        stage.topic(2, [SLOW_DROP, 1 << 20, 0, 0, 0]);
        for (_, id) in &clients {
            stage.join(*id, 1);
            stage.join(*id, 2);
        }
        stage.settle();
        for len in [100, 4096] {
            let payload = vec![b'x'; len];
            let each = measure(&mut stage, &mut clients, |stage, clients| {
                let start = stage.chunk.bytes.len() + 16;
                for (n, (_, id)) in clients.iter().enumerate() {
                    match n {
                        0 => stage.record(*id, OUT_TEXT, OUT_FLAG_FIN, 0, &payload),
                        _ => {
                            stage.chunk.push_same((id.slot, id.generation), OUT_TEXT, OUT_FLAG_FIN, 0, start)
                        }
                    }
                }
            });
            let [queue, drop] = [1, 2]
                .map(|topic| measure(&mut stage, &mut clients, |stage, _| stage.publish(topic, &payload)));
            println!(
                "{count} x {len} B: a record for each {each:?}, queue {queue:?}, drop {drop:?} a delivery"
            );
        }
    }
}

/// The number of turns until all have gone, and the longest of them; the same for the turns behind
/// the last closing.
fn close_all(stage: &mut Stage) -> [(u32, Duration); 2] {
    let mut turns = [(0, Duration::ZERO); 2];
    while stage.reactors[0].connections() > 0 || !stage.reactors[0].topics.leaving.is_empty() {
        let (count, longest) = &mut turns[usize::from(stage.reactors[0].connections() == 0)];
        let begun = Instant::now();
        stage.turn();
        *longest = begun.elapsed().max(*longest);
        *count += 1;
    }
    turns
}

fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
#[ignore = "measures"]
fn a_million_topics_and_a_million_memberships() {
    const CONNECTIONS: usize = 9000;
    {
        let (mut stage, clients) = open(CONNECTIONS);
        clients.into_iter().for_each(|(client, _)| client.reset());
        println!("others close: {:?}", close_all(&mut stage)[0]);
    }
    const EACH: u32 = 111;
    let (mut stage, clients) = open(CONNECTIONS);
    stage.settle();
    let before = resident();
    let begun = Instant::now();
    for topic in 0..1_000_000 {
        stage.topic(topic, PLAIN);
        if topic % 10_000 == 0 {
            stage.settle();
        }
    }
    stage.settle();
    let topics = resident();
    println!(
        "a million topics: {} B and {:?} each",
        (topics - before) / 1_000_000,
        begun.elapsed() / 1_000_000
    );
    let begun = Instant::now();
    for (n, (_, id)) in clients.iter().enumerate() {
        // With few topics of many members.
        (0..EACH).for_each(|topic| stage.join(*id, topic * 10 + n as u32 % 10));
        if n % 100 == 0 {
            stage.settle();
        }
    }
    stage.settle();
    let count = CONNECTIONS as u64 * u64::from(EACH);
    let joined = resident();
    println!(
        "{count} memberships: {} B and {:?} each",
        (joined - topics) / count,
        begun.elapsed() / count as u32
    );
    clients.into_iter().for_each(|(client, _)| client.reset());
    println!("members close: {:?}", close_all(&mut stage));
    (0..1_000_000).for_each(|topic| stage.about(OUT_TOPIC_END, topic, 0, 0, b""));
    stage.settle();
    stage.expect_nothing_left();
}
