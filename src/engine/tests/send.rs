//! Headers to send.

use super::*;

fn header(kind: FrameKind, fin: bool, len: usize, mask: Option<[u8; 4]>) -> Vec<u8> {
    Engine::new().encode(kind, fin, len, mask).to_vec()
}

/// RFC 6455, section 5.2: the opcodes.
#[test]
fn opcodes() {
    let kinds = [FrameKind::Text, FrameKind::Binary, FrameKind::Close, FrameKind::Ping, FrameKind::Pong];
    let headers = kinds.map(|kind| header(kind, true, 5, None));
    assert_eq!(headers, ["8105", "8205", "8805", "8905", "8a05"].map(hex));
}

/// RFC 6455, section 5.2: the length takes as few bytes as possible.
#[test]
fn lengths() {
    for (len, expected) in [
        (0, "8200"),
        (125, "827d"),
        (126, "827e007e"),
        (0xffff, "827effff"),
        (0x10000, "827f0000000000010000"),
        (0x1234_5678, "827f0000000012345678"),
    ] {
        assert_eq!(header(FrameKind::Binary, true, len, None), hex(expected));
    }
}

/// RFC 6455, section 5.3: a client's key is the end of the header.
#[test]
fn masked() {
    let key = Some([0x37, 0xfa, 0x21, 0x3d]);
    assert_eq!(header(FrameKind::Text, true, 5, key), hex("8185 37fa213d"));
    assert_eq!(header(FrameKind::Text, true, 256, key), hex("81fe 0100 37fa213d"));
    assert_eq!(header(FrameKind::Text, true, 0x10000, key), hex("81ff 0000000000010000 37fa213d"));
}

/// RFC 6455, section 5.4: after a frame without FIN comes a continuation, whatever is named.
#[test]
fn fragments() {
    let mut engine = Engine::new();
    let mut next = |kind, fin| engine.encode(kind, fin, 1, None).to_vec();
    assert_eq!(next(FrameKind::Text, false), hex("0101"));
    assert_eq!(next(FrameKind::Ping, true), hex("8901"));
    assert_eq!(next(FrameKind::Binary, false), hex("0001"));
    assert_eq!(next(FrameKind::Text, true), hex("8001"));
    assert_eq!(next(FrameKind::Binary, true), hex("8201"));
}

/// RFC 6455, section 5.5: control frames have FIN.
#[test]
fn control_frames_have_fin() {
    assert_eq!(header(FrameKind::Ping, false, 0, None), hex("8900"));
}

/// The engine remembers that it closed.
#[test]
fn close_sent() {
    let mut engine = Engine::new();
    engine.encode(FrameKind::Text, true, 0, None);
    assert!(!engine.close_sent());
    engine.encode(FrameKind::Close, true, 2, None);
    assert!(engine.close_sent() && !engine.close_received());
}
