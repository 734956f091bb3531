use super::*;

fn spinner() -> Spinner {
    Spinner { window: Duration::from_micros(50), until: None, vain: 0, skipped: 0, little: false }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
fn spins_after_work_and_stops_in_time() {
    let t0 = Instant::now();
    let mut spinner = spinner();
    assert!(!spinner.spinning(t0));
    spinner.worked(t0, 1);
    assert!(spinner.yields());
    assert!(spinner.spinning(t0 + Duration::from_micros(49)));
    assert!(!spinner.spinning(t0 + Duration::from_micros(50)));
    assert!(!spinner.spinning(t0 + Duration::from_micros(51)));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs some start of time")]
fn spins_in_vain_become_rare() {
    let mut now = Instant::now();
    let mut spinner = spinner();
    let mut spins = 0;
    for _ in 0..1000 {
        spinner.worked(now, LITTLE + 1);
        assert!(!spinner.yields());
        spins += u32::from(spinner.spinning(now));
        now += Duration::from_millis(1);
        spinner.spinning(now);
    }
    assert!(spins < 8 + 1000 / 64 + 2, "{spins}");
}
