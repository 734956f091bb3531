use super::*;

impl Unfinished {
    pub(in crate::reactor) fn is_nothing(&self) -> bool {
        self.bytes == 0 && self.messages.is_empty() && self.ranks.is_empty()
    }

    /// As if all messages had been left lying for so much longer.
    pub(in crate::reactor) fn age(&mut self, longer: Duration) {
        self.begun -= longer;
        self.messages.values_mut().for_each(|message| message.since -= longer);
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);

fn id(slot: u32) -> ConnectionId {
    ConnectionId { slot, generation: 1 }
}

/// The slots in the order in which their messages are given up.
fn order(unfinished: &Unfinished) -> Vec<u32> {
    unfinished.ranks.iter().map(|rank| rank.2).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
fn messages_grow_old_unless_they_go_on() {
    let begun = Instant::now();
    let mut unfinished = Unfinished::new(1, begun);
    let rate = STEADY_RATE as usize;
    for slot in 0..4 {
        unfinished.set(id(slot), 1000, (1000, false), begun);
    }
    for second in 1..=10 {
        let now = begun + second * 1000 * MILLISECOND;
        unfinished.set(id(1), 2000, (1, false), now);
        unfinished.set(id(2), 2000, (rate / 2, false), now);
        unfinished.set(id(3), 3000, (rate, false), now);
    }
    let now = begun + 10_500 * MILLISECOND;
    unfinished.set(id(4), 1000, (1000, false), now);
    // What was left lying and what trickles, the longer one first; what is slow; the longer of
    // two that are as good as new.
    assert_eq!(order(&unfinished), [1, 0, 2, 3, 4]);
    // A burst is no merit for later.
    unfinished.set(id(1), 2000, (1000 * rate, false), now);
    unfinished.set(id(0), 1000, (10, true), now);
    assert_eq!(order(&unfinished), [2, 3, 1, 0, 4]);
    unfinished.set(id(2), 0, (10, true), now);
    unfinished.forget(0);
    unfinished.forget(1);
    assert_eq!((order(&unfinished), unfinished.bytes), (vec![3, 4], 4000));
    (3..5).for_each(|slot| unfinished.set(id(slot), 0, (1, true), now));
    assert!(unfinished.is_nothing());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
fn of_messages_that_paused_the_longest_is_furthest_behind() {
    let begun = Instant::now();
    let mut unfinished = Unfinished::new(1, begun);
    for (slot, bytes, at) in [(1, 1000, 1900), (2, 2000, 2100), (3, 3000, 3000), (4, 2500, 5900)] {
        unfinished.set(id(slot), bytes, (bytes, false), begun + at * MILLISECOND);
    }
    let rank = |second: u64, bytes: u32| second << 32 | u64::from(u32::MAX - bytes);
    let behind = |unfinished: &Unfinished, at| unfinished.slowest(begun + at * MILLISECOND);
    assert_eq!(behind(&unfinished, 5999), Some((rank(1, 3000), 3)));
    assert_eq!(behind(&unfinished, 6000), Some((rank(1, 1000), 1)));
    unfinished.forget(1);
    assert_eq!(behind(&unfinished, 6999), Some((rank(2, 3000), 3)));
    unfinished.forget(3);
    assert_eq!(behind(&unfinished, 6999), Some((rank(2, 2500), 4)));
    unfinished.set(id(5), 2600, (2600, false), begun + 6900 * MILLISECOND);
    assert_eq!(behind(&unfinished, 6999), Some((rank(2, 2600), 5)));
    assert_eq!(behind(&unfinished, 7000), Some((rank(2, 2000), 2)));
    assert!(rank(1, 1) < rank(2, 2) && rank(2, 2) < rank(2, 1));
}
