use super::*;

const ID: ConnectionId = ConnectionId { slot: 7, generation: 1 };

impl Timers {
    /// That much time goes by.
    pub(in crate::reactor) fn go_by(&mut self, time: Duration) {
        self.start -= time;
    }

    fn at(&mut self, millis: u64) -> &mut Self {
        self.now = self.start + Duration::from_millis(millis);
        self
    }
}

#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
fn timers() -> Timers {
    Timers::new(Instant::now())
}

/// How often the deadline was reached by then.
fn due(timers: &mut Timers, deadline: &mut Deadline, millis: u64) -> usize {
    assert!(timers.at(millis).expire());
    let mut count = 0;
    while let Some(id) = timers.pop() {
        count += usize::from(timers.is_due(id, deadline));
    }
    count
}

/// P06.
#[test]
fn fires_once_never_early_and_sleeps_for_ever_afterwards() {
    let mut timers = timers();
    let mut deadline = Deadline::default();
    assert_eq!(timers.next(), None);
    timers.arm(ID, &mut deadline, Duration::from_millis(100));
    let sleep = timers.next().unwrap() - timers.start;
    assert!(sleep >= Duration::from_millis(100) && sleep <= Duration::from_millis(140), "{sleep:?}");
    assert_eq!(due(&mut timers, &mut deadline, 99), 0);
    assert_eq!(due(&mut timers, &mut deadline, 140), 1);
    assert_eq!(timers.next(), None);
}

#[test]
fn a_deadline_moved_later_or_earlier_or_taken_back_is_kept() {
    let ms = Duration::from_millis;
    let mut timers = timers();
    let mut deadline = Deadline::default();
    timers.arm(ID, &mut deadline, ms(100));
    timers.at(50).arm(ID, &mut deadline, ms(40_000));
    assert_eq!(due(&mut timers, &mut deadline, 150), 0);
    timers.at(200).arm(ID, &mut deadline, ms(100));
    assert_eq!(due(&mut timers, &mut deadline, 340), 1);
    timers.at(400).arm(ID, &mut deadline, ms(100));
    deadline.clear();
    assert_eq!(due(&mut timers, &mut deadline, 90_000), 0);
    assert_eq!(timers.next(), None);
}

/// P06.
#[test]
fn a_deadline_beyond_the_longest_entry_and_a_long_stop_of_the_process_are_survived() {
    let mut timers = timers();
    let mut deadline = Deadline::default();
    timers.arm(ID, &mut deadline, Duration::from_secs(60));
    let mut fired = 0;
    for second in 1..=59 {
        fired += due(&mut timers, &mut deadline, second * 1000);
    }
    assert_eq!(fired, 0);
    assert_eq!(due(&mut timers, &mut deadline, 3_600_000), 1);
}

/// R16: each of as many deadlines as there can be costs little, and fires once.
#[test]
fn a_hundred_thousand_deadlines_in_one_tick() {
    let mut timers = timers();
    let mut deadlines: Vec<_> = (0..100_000).map(|_| Deadline::default()).collect();
    for (slot, deadline) in (0..).zip(&mut deadlines) {
        timers.arm(ConnectionId { slot, generation: 1 }, deadline, Duration::from_secs(1));
    }
    assert!(timers.at(2000).expire());
    let mut count = 0;
    while let Some(id) = timers.pop() {
        assert_eq!(id.slot, count);
        assert!(timers.is_due(id, &mut deadlines[count as usize]));
        count += 1;
    }
    assert_eq!((count, timers.next()), (100_000, None));
}
