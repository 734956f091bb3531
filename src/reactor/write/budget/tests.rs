use super::*;

#[test]
fn a_connection_of_which_nothing_waits_any_more_does_not_count() {
    let [one, other] = [1, 2].map(|slot| ConnectionId { slot, generation: 1 });
    let mut budget = Budget::new(10);
    for id in [one, other, one] {
        budget.set(id, 10);
        assert_eq!(budget.worst(), None);
        budget.set(id, 0);
    }
    assert!(budget.bytes.is_empty() && budget.ranks.is_empty());
}
