use super::*;

/// R07: after an error of one connection the next is accepted, after an error of the process
/// accepting waits; no error ends it.
#[test]
#[cfg(target_os = "linux")]
fn r07_errors_of_accept() {
    let transient = |code| is_transient(&io::Error::from_raw_os_error(code));
    let (eintr, econnaborted, econnreset) = (4, 103, 104);
    assert!([eintr, econnaborted, econnreset].into_iter().all(transient));
    let (eperm, enomem, enfile, emfile, enobufs) = (1, 12, 23, 24, 105);
    assert!(![eperm, enomem, enfile, emfile, enobufs].into_iter().any(transient));
    let exhaustion = |code| is_exhaustion(&io::Error::from_raw_os_error(code));
    assert!([enfile, emfile].into_iter().all(exhaustion));
    assert!(![eperm, enomem, enobufs, econnaborted].into_iter().any(exhaustion));
}

#[test]
fn refused_connections_are_reported_once_a_second_at_most_and_all_of_them() {
    let mut listener = Listener::elsewhere(Arc::new(ListenerConfig::default()));
    let begin = Instant::now();
    assert_eq!((listener.take_refused(begin), listener.due()), (0, None));
    listener.refused = 3;
    assert_eq!(listener.take_refused(begin), 3);
    assert_eq!(listener.due(), None);
    listener.refused = 2;
    assert_eq!(listener.take_refused(begin + REPORTS / 2), 0);
    assert_eq!(listener.due(), Some(begin + REPORTS));
    assert_eq!(listener.take_refused(begin + REPORTS), 2);
    assert_eq!((listener.take_refused(begin + REPORTS * 2), listener.due()), (0, None));
}
