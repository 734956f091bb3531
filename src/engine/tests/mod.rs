use super::*;

#[test]
fn engine_is_small() {
    assert!(size_of::<Engine>() <= 128, "{}", size_of::<Engine>());
}

/// RFC 6455, section 5.7: the masked "Hello".
#[test]
fn masked_text() {
    let mut input = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    let (mut engine, mut pos) = (Engine::new(), 0);
    let event = engine.poll(&Config::default(), &mut input, &mut pos);
    let payload = Payload::Input { range: 6..11, headroom: 6 };
    assert_eq!(event, Some(Event::Message { kind: MessageKind::Text, payload }));
    assert_eq!(&input[6..], b"Hello");
    assert_eq!(engine.poll(&Config::default(), &mut input, &mut pos), None);
}
