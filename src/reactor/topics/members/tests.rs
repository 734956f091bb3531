use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::bridge::layout::Slow;
use crate::bridge::layout::TOPIC_WORDS;
use crate::engine::{MessageKind, Prepared};
use crate::reactor::topics::publish::Publishing;
use crate::reactor::topics::topic::Patience;

fn id(slot: u32) -> ConnectionId {
    ConnectionId { slot, generation: 1 }
}

/// A message of which the first `next` members have had it.
fn publishing(topic: u32, next: usize) -> Box<Publishing> {
    Box::new(Publishing {
        topic,
        patience: Patience { slow: Slow::Queue, limit: 0 },
        message: Prepared::new(MessageKind::Text, b"", false),
        copied: None,
        offset: None,
        next,
        except: Box::default(),
        key: Arc::from([]),
        age: Duration::ZERO,
        postponed: Vec::new(),
    })
}

fn members(topics: &Topics, number: u32) -> Vec<u32> {
    topics.topics.get(&number).map_or(vec![], |topic| topic.members.iter().map(|it| it.slot).collect())
}

/// Each connection knows its place among the members.
fn check(topics: &Topics) {
    for (&number, topic) in &topics.topics {
        for (place, member) in topic.members.iter().enumerate() {
            assert_eq!(topics.joined[member].places[&number] as usize, place);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..<_>::default() })]

    /// Members go while a message is under way: others get it once, and none misses it.
    #[test]
    fn members_that_go_change_nothing_for_the_others(
        steps in prop::collection::vec((0..5_u8, 0..40_u32, 1..45_u32), 1..400),
    ) {
        let mut topics = Topics::new(0);
        let mut model = HashSet::new();
        let (mut had, mut gone) = (HashSet::new(), 0);
        (1..45).for_each(|number| topics.create(number, &[0; TOPIC_WORDS]));
        for (what, slot, number) in steps {
            let slot = if what == 4 { slot } else { slot + 100 * gone };
            match what {
                0 | 1 => {
                    topics.join(number, id(slot));
                    model.insert((number, slot));
                }
                2 => {
                    topics.leave(number, id(slot));
                    model.remove(&(number, slot));
                }
                3 => {
                    topics.on_gone(id(slot));
                    topics.take_back();
                    model.retain(|&(_, other)| other != slot);
                }
                _ => {
                    let all = members(&topics, number);
                    let next = all.len() / 2;
                    had = all[..next].iter().copied().collect();
                    topics.publishing = Some(publishing(number, next));
                    gone += u32::from(slot == 0);
                }
            }
            check(&topics);
            if let Some(publishing) = &topics.publishing {
                let all = members(&topics, publishing.topic);
                let visited: HashSet<_> = all[..publishing.next].iter().copied().collect();
                let there: HashSet<_> = all.iter().copied().collect();
                let expected: HashSet<_> = had.intersection(&there).copied().collect();
                // A member that has left and joined again is a new one, which does not get it.
                let again = |slot| all[publishing.next..].contains(slot);
                prop_assert!(visited.is_subset(&expected) && expected.difference(&visited).all(again));
                had = visited;
            }
        }
        for number in 1..45 {
            let mut found = members(&topics, number);
            found.sort_unstable();
            let mut expected: Vec<_> = model.iter().filter(|it| it.0 == number).map(|it| it.1).collect();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
        (1..45).for_each(|number| drop(topics.end(number)));
        prop_assert!(topics.joined.is_empty());
    }
}
