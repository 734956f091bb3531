#![expect(clippy::disallowed_methods, reason = "a test needs some start of time")]

use super::*;
use crate::engine::MessageKind;

fn kept(len: usize, at: Instant) -> Kept {
    Kept::new(Prepared::new(MessageKind::Binary, &vec![0; len], false), at, None)
}

#[test]
fn offsets_have_no_holes_and_outlive_the_messages() {
    let now = Instant::now();
    let mut ring = Ring::new(3, 1000, 100);
    assert_eq!((ring.oldest(), ring.top()), (1, 0));
    assert_eq!(ring.first_since(SINCE_OFFSET, 0), Some(1), "nothing is missing");
    assert_eq!(ring.first_since(SINCE_OFFSET, 1), None, "it has never been");
    for (len, oldest) in [(10, 1), (10, 1), (10, 1), (10, 2), (80, 3), (101, 7)] {
        ring.push(kept(len, now));
        assert_eq!(ring.oldest(), oldest);
    }
    assert_eq!((ring.top(), ring.memory()), (6, 0));
    assert_eq!(ring.first_since(SINCE_OFFSET, 6), Some(7), "nothing is missing");
    assert_eq!(ring.first_since(SINCE_OFFSET, 5), None);
    assert_eq!(ring.first_since(SINCE_OFFSET, u64::MAX), None);
    ring.push(kept(1, now));
    ring.push(kept(1, now + Duration::from_millis(500)));
    ring.expire(now + Duration::from_millis(999));
    assert_eq!(ring.first_since(SINCE_OFFSET, 6), Some(7));
    assert_eq!(ring.expires_at(), Some(now + Duration::from_secs(1)));
    ring.expire(now + Duration::from_secs(1));
    assert_eq!((ring.first_since(SINCE_OLDEST, 0), ring.first_since(SINCE_OFFSET, 6)), (Some(8), None));
    assert!(ring.get_mut(7).is_none() && ring.get_mut(8).is_some() && ring.get_mut(9).is_none());
    ring.expire(now + Duration::from_secs(2));
    assert_eq!((ring.top(), ring.memory(), ring.expires_at()), (8, 0, None));
}
