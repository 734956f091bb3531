use super::*;

fn usage(consumer: u64, network: u64, turns: u64) -> Usage {
    let [wall, consumer, network] = [1000, consumer, network].map(Duration::from_micros);
    Usage { wall, consumer, network, turns }
}

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn the_loop_keeps_what_costs_it_little() {
    let mut balance = Balance::new();
    // Nothing, short handlers, some seldom long ones, and many short turns with short handlers.
    for window in [usage(0, 0, 0), usage(20, 100, 10), usage(450, 20, 1), usage(200, 790, 20)] {
        assert!(!balance.leaves_loop(&window, at(0)) && !balance.leaves_loop(&window, at(999)), "{window:?}");
    }
}

#[test]
fn the_thread_takes_what_handlers_wait_for_in_the_second_window() {
    // Long handlers, and long turns.
    for window in [usage(700, 200, 50), usage(100, 880, 2)] {
        let mut balance = Balance::new();
        assert!(!balance.leaves_loop(&window, at(0)));
        assert!(!balance.leaves_loop(&usage(0, 0, 0), at(1)), "once is not enough");
        assert!(!balance.leaves_loop(&window, at(2)));
        assert!(balance.leaves_loop(&window, at(3)), "{window:?}");
    }
}

#[test]
fn after_a_rest_it_begins_anew() {
    let (mut balance, long, short) = (Balance::new(), usage(700, 200, 50), usage(100, 880, 50));
    assert!(!balance.leaves_loop(&long, at(0)));
    balance.rests();
    assert!(!balance.leaves_loop(&long, at(5000)) && !balance.leaves_loop(&short, at(4999)));
    assert!(balance.leaves_loop(&short, at(6000)));
}

#[test]
fn requests_count_once_in_a_turn_of_the_loop_unless_the_reactor_had_one_in_it() {
    let mut turns = TurnCount::default();
    let mut add = |parts: &[(bool, u32)]| {
        parts.iter().map(|&(is_request, turn)| turns.add(is_request, turn)).sum::<u64>()
    };
    assert_eq!(add(&[(false, 0), (true, 0), (true, 0)]), 1, "answers");
    assert_eq!(add(&[(true, 1), (true, 1)]), 1, "in a turn without one of the reactor");
    assert_eq!(add(&[(false, 2), (false, 2), (true, 2), (true, 3)]), 3, "the reactor looked twice");
}

#[test]
fn the_thread_stays_longer_after_each_wrong_guess() {
    let (mut balance, idle) = (Balance::new(), usage(0, 0, 0));
    balance.taken(true, at(5000));
    assert!(!balance.leaves_thread(&usage(700, 200, 50), at(6000)), "handlers take the loop's time");
    assert!(!balance.leaves_thread(&idle, at(5019)));
    assert!(balance.leaves_thread(&idle, at(5020)));
    balance.taken(true, at(5030));
    assert!(!balance.leaves_thread(&idle, at(5069)));
    assert!(balance.leaves_thread(&usage(200, 790, 20), at(5070)), "the loop is cheaper");
    for _ in 0..20 {
        balance.taken(true, at(5080));
    }
    assert!(!balance.leaves_thread(&idle, at(10_000)));
    assert!(balance.leaves_thread(&idle, at(10_080)));
    balance.taken(false, at(10_100));
    assert!(balance.leaves_thread(&idle, at(10_120)), "a loop that is stuck is no guess");
    balance.taken(true, at(12_000));
    assert!(balance.leaves_thread(&idle, at(12_020)), "it had settled");
}

#[test]
fn the_thread_tries_after_a_second_with_a_busy_loop_and_after_vain_tries_less_often() {
    let (mut balance, busy, idle) = (Balance::new(), usage(100, 880, 50), usage(0, 0, 0));
    let tries = |balance: &mut Balance, since: u64, after: u64| {
        assert!(!balance.leaves_loop(&busy, at(since)) && !balance.leaves_loop(&busy, at(since + after - 1)));
        assert!(balance.leaves_loop(&busy, at(since + after)));
        balance.taken(true, at(since + after));
    };
    tries(&mut balance, 0, 1000);
    assert!(balance.leaves_thread(&busy, at(1100)));
    tries(&mut balance, 2000, 2000);
    assert!(balance.leaves_thread(&busy, at(4900)));
    assert!(
        !balance.leaves_loop(&busy, at(5000)) && !balance.leaves_loop(&idle, at(6000)),
        "not busy all the time"
    );
    tries(&mut balance, 6010, 4000);
    assert!(balance.leaves_thread(&busy, at(11_010)), "it was right");
    tries(&mut balance, 20_000, 1000);
    for round in 0..20 {
        balance.taken(true, at(30_000 + 2000 * round));
        assert!(balance.leaves_thread(&busy, at(30_999 + 2000 * round)));
    }
    tries(&mut balance, 80_000, 32_000);
}
