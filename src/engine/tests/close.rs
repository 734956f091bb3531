//! Close frames (RFC 6455, sections 5.5.1 and 7.4).

use super::*;

/// RFC 6455, section 5.5.1: the body may be missing; APIs call that 1005 (section 7.1.5).
#[test]
fn empty_close() {
    assert_eq!(server("8880 00000000"), [Seen::Close(None, vec![])]);
}

/// RFC 6455, section 5.5.1: a status code, and perhaps a reason.
#[test]
fn code_and_reason() {
    assert_eq!(server("8882 00000000 03e8"), [Seen::Close(Some(1000), vec![])]);
    assert_eq!(server("8884 00000000 03e86279"), [Seen::Close(Some(1000), b"by".into())]);
    let reason = "61".repeat(123);
    assert_eq!(client(&format!("887d 0fa0 {reason}")), [Seen::Close(Some(4000), vec![b'a'; 123])]);
}

/// F19: RFC 6455, section 7.4: which codes may be sent. All 65536 are tried.
#[test]
fn valid_codes() {
    let valid = |code| matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
    for code in 0..=u16::MAX {
        assert_eq!(CloseCode::new(code).map(CloseCode::get), valid(code).then_some(code));
    }
    for code in [1000, 1003, 1007, 1014, 3000, 4999] {
        assert_eq!(server(&format!("8882 00000000 {code:04x}")), [Seen::Close(Some(code), vec![])]);
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535] {
        let frame = format!("8882 00000000 {code:04x}");
        decides(&Config::default(), &frame, ErrorKind::InvalidCloseCode, code);
        assert_eq!(server(&frame), [Seen::Error(ErrorKind::InvalidCloseCode, code)]);
    }
}

/// F11: RFC 6455, section 5.5.1: the reason is UTF-8, and the code is looked at before it.
#[test]
fn reason_is_text() {
    decides(&Config::default(), "8884 00000000 03e8c328", ErrorKind::InvalidUtf8, 0);
    decides(&Config::default(), "8883 00000000 03e8c3", ErrorKind::InvalidUtf8, 0);
    decides(&Config::default(), "8883 00000000 0001ff", ErrorKind::InvalidCloseCode, 1);
    let config = Config { skip_utf8_validation: true, ..Config::default() };
    assert_eq!(with(&config, "8883 00000000 03e8ff"), [Seen::Close(Some(1000), vec![0xff])]);
}

/// F19: RFC 6455, section 5.5.1: after a close frame the peer sends nothing that matters.
#[test]
fn input_after_close() {
    assert_eq!(server("8880 00000000 8181 00000000 61 ffff"), [Seen::Close(None, vec![])]);
    let mut engine = Engine::new();
    feed(&mut engine, &Config::default(), &hex("8880 00000000"));
    assert_eq!(feed(&mut engine, &Config::default(), &hex("ffff 8880")), []);
    assert!(engine.close_received() && engine.failure().is_none() && !engine.close_sent());
}
