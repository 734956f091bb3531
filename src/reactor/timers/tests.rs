use super::*;

const ID: ConnectionId = ConnectionId { slot: 7, generation: 1 };

fn due(timers: &mut Wheel, deadline: &mut Deadline, now: Instant) -> usize {
    let mut out = VecDeque::new();
    timers.expire(now, &mut out);
    out.into_iter().filter(|&id| matches!(timers.fire(id, deadline), Fired::Due)).count()
}

/// P06.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
fn fires_once_never_early_and_sleeps_for_ever_afterwards() {
    let t0 = Instant::now();
    let mut timers = Wheel::new(t0);
    let mut deadline = Deadline::default();
    assert_eq!(timers.next(), None);
    timers.arm(ID, &mut deadline, t0, Duration::from_millis(100));
    let sleep = timers.next().unwrap() - t0;
    assert!(sleep >= Duration::from_millis(100) && sleep <= Duration::from_millis(140), "{sleep:?}");
    assert_eq!(due(&mut timers, &mut deadline, t0 + Duration::from_millis(99)), 0);
    assert_eq!(due(&mut timers, &mut deadline, t0 + Duration::from_millis(140)), 1);
    assert_eq!(timers.next(), None);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
fn a_deadline_moved_later_or_earlier_or_taken_back_is_kept() {
    let t0 = Instant::now();
    let ms = Duration::from_millis;
    let mut timers = Wheel::new(t0);
    let mut deadline = Deadline::default();
    timers.arm(ID, &mut deadline, t0, ms(100));
    timers.arm(ID, &mut deadline, t0 + ms(50), ms(40_000));
    assert_eq!(due(&mut timers, &mut deadline, t0 + ms(150)), 0);
    timers.arm(ID, &mut deadline, t0 + ms(200), ms(100));
    assert_eq!(due(&mut timers, &mut deadline, t0 + ms(340)), 1);
    timers.arm(ID, &mut deadline, t0 + ms(400), ms(100));
    deadline.clear();
    assert_eq!(due(&mut timers, &mut deadline, t0 + ms(90_000)), 0);
    assert_eq!(timers.next(), None);
}

/// P06.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
fn a_deadline_beyond_the_wheel_and_a_long_stop_of_the_process_are_survived() {
    let t0 = Instant::now();
    let mut timers = Wheel::new(t0);
    let mut deadline = Deadline::default();
    timers.arm(ID, &mut deadline, t0, Duration::from_secs(60));
    let mut fired = 0;
    for second in 1..=59 {
        fired += due(&mut timers, &mut deadline, t0 + Duration::from_secs(second));
    }
    assert_eq!(fired, 0);
    assert_eq!(due(&mut timers, &mut deadline, t0 + Duration::from_secs(3600)), 1);
}

/// R16: each of as many deadlines as there may be costs little, and fires once.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
fn a_hundred_thousand_deadlines_in_one_tick() {
    let t0 = Instant::now();
    let mut timers = Wheel::new(t0);
    let mut deadlines: Vec<_> = (0..100_000).map(|_| Deadline::default()).collect();
    for (slot, deadline) in (0..).zip(&mut deadlines) {
        timers.arm(ConnectionId { slot, generation: 1 }, deadline, t0, Duration::from_secs(1));
    }
    let mut out = VecDeque::new();
    timers.expire(t0 + Duration::from_secs(2), &mut out);
    for (slot, id) in (0..).zip(&out) {
        assert_eq!(id.slot, slot);
        assert!(matches!(timers.fire(*id, &mut deadlines[slot as usize]), Fired::Due));
    }
    assert_eq!((out.len(), timers.next()), (100_000, None));
}
