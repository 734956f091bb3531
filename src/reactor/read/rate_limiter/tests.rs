use super::*;

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
fn a_bucket_gives_as_many_in_a_second_as_it_holds_and_no_more() {
    for per_second in [1, 3, 7, 10, 999, 1000, 123_457, 1 << 40] {
        let start = Instant::now();
        let mut bucket = Bucket { per_second, full_at: start };
        assert_eq!(bucket.left(start), per_second);
        assert!(!bucket.take(per_second, start));
        assert!(bucket.left(start) <= 1, "{per_second}");
        assert!(bucket.take(per_second, start));
        let mut bucket = Bucket { per_second, full_at: start };
        bucket.take(per_second, start);
        let due = bucket.due(1);
        assert!(due <= start + SECOND && bucket.left(due) >= 1, "{per_second}");
        assert_eq!(bucket.left(bucket.due(per_second)), per_second);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
fn a_read_brings_no_more_messages_than_there_may_be() {
    let now = Instant::now();
    let rate = |messages, bytes| Rate {
        messages: Some(Bucket { per_second: messages, full_at: now }),
        bytes: Some(Bucket { per_second: bytes, full_at: now }),
        waits: false,
    };
    assert_eq!(rate(10, 1000).room(0, false, now), Ok(60));
    assert_eq!(rate(10, 1000).room(100, false, now), Ok(154));
    assert_eq!(rate(10, 50).room(100, false, now), Ok(50));
    let mut used = rate(10, 50);
    assert_eq!(used.take(10, 20, now), None);
    assert_eq!(used.room(0, false, now).unwrap_err().0, Counted::Messages);
    assert_eq!(used.room(0, true, now), Ok(6));
    assert_eq!(used.take(1, 7, now), Some(Counted::Messages));
}
