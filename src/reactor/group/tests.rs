use super::*;

#[test]
fn a_turn_that_began_a_second_before_others_gives_up_no_shorter_message() {
    let group: Arc<[Member]> = Arc::from([Member::default(), Member::default()]);
    let [early, late] = [0, 1].map(|number| Shard { group: group.clone(), number });
    let rank = |second: u64, brevity: u64| second << 32 | brevity;
    early.note_unfinished(10, rank(8, 7));
    late.note_unfinished(1000, rank(9, 3));
    assert_eq!(early.unfinished(8), (1010, false));
    // It is woken, and has a turn.
    assert_eq!(late.unfinished(9), (1010, false));
    early.note_unfinished(10, rank(9, 7));
    assert_eq!([early.unfinished(9), late.unfinished(9)], [(1010, false), (1010, true)]);
    // An old one is given up first, however short.
    early.note_unfinished(10, rank(7, 7));
    assert_eq!([early.unfinished(8), late.unfinished(9)], [(1010, true), (1010, false)]);
    early.note_unfinished(0, u64::MAX);
    assert_eq!([early.unfinished(8), late.unfinished(9)], [(1000, false), (1000, true)]);
}
