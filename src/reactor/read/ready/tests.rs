use super::*;

fn read(ready: &mut Ready, class: ReadClass, half: &mut ReadHalf) {
    let queue = if class == ReadClass::Greedy { &mut ready.greedy } else { &mut ready.modest };
    assert!(queue.pop(half, |half, _| Some(&mut half.queued)).is_some());
}

/// A peer that waits for its share of a turn is not silent; one that comes later holds nothing up.
#[test]
fn deadlines_are_judged_after_those_that_waited_have_had_their_shares() {
    let (mut ready, mut sweep) = (Ready::default(), Sweep::Polling(EVENTS + 2));
    let mut halves = [ReadClass::Modest, ReadClass::Greedy, ReadClass::Modest]
        .map(|class| ReadHalf { class, ..ReadHalf::default() });
    let [modest, greedy, late] = &mut halves;
    for (slot, half) in [(0, &mut *modest), (1, &mut *greedy)] {
        ready.push(ConnectionId { slot, generation: 1 }, half);
    }
    sweep.polled(EVENTS);
    assert!(!sweep.is_over(&ready), "not all are reported");
    sweep.polled(2);
    assert!(!sweep.is_over(&ready), "two wait");
    read(&mut ready, ReadClass::Modest, modest);
    ready.push(ConnectionId { slot: 2, generation: 1 }, late);
    assert!(!sweep.is_over(&ready), "one waits");
    read(&mut ready, ReadClass::Greedy, greedy);
    assert!(sweep.is_over(&ready));
}
