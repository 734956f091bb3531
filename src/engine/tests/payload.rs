//! The place of an event's bytes.

use super::*;

fn first(input: &mut [u8], pos: usize) -> Payload {
    next(&mut Engine::new(), input, pos)
}

fn next(engine: &mut Engine, input: &mut [u8], mut pos: usize) -> Payload {
    match engine.poll(&Config::default(), input, &mut pos) {
        Some(Event::Message { payload, .. } | Event::Ping(payload) | Event::Pong(payload)) => payload,
        Some(Event::Close { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

/// A frame that is whole in one input stays there.
#[test]
fn whole_frame_stays_in_the_input() {
    let input = &mut hex("8185 37fa213d 7f9f4d5158");
    assert_eq!(first(input, 0), Payload::Input(6..11));
    assert_eq!(&input[6..], b"Hello");
    let input = &mut hex("ffff 8982 00000000 6162");
    assert_eq!(first(input, 2), Payload::Input(8..10));
    let input = &mut hex("82fe 0001 00000000 61");
    assert_eq!(first(input, 0), Payload::Input(8..9));
    let input = &mut hex("8280 00000000");
    assert_eq!(first(input, 0), Payload::Input(6..6));
}

/// The reason of a close frame begins after its status code.
#[test]
fn reason_of_a_close_frame() {
    let input = &mut hex("8884 00000000 03e86279");
    assert_eq!(first(input, 0), Payload::Input(8..10));
    assert_eq!(first(&mut hex("8880 00000000"), 0), Payload::Input(6..6));
}

/// The range is one of this input, wherever the header was cut.
#[test]
fn header_of_an_earlier_input() {
    let stream = hex("8982 00000000 6162");
    for cut in 1..=6 {
        let mut engine = Engine::new();
        assert_eq!(feed(&mut engine, &Config::default(), &stream[..cut]), []);
        assert_eq!(engine.buffered(), 0, "a header is not counted");
        let payload = next(&mut engine, &mut stream[cut..].to_vec(), 0);
        assert_eq!(payload, Payload::Input(6 - cut..8 - cut), "cut at {cut}");
    }
}

/// A frame with a cut payload, and a message of several frames, are assembled.
#[test]
fn assembled() {
    for frames in ["8182 00000000 61 | 62", "8982 00000000 61 | 62", "8884 00000000 03 | e86162"] {
        let (before, after) = frames.split_once('|').unwrap();
        let mut engine = Engine::new();
        assert_eq!(feed(&mut engine, &Config::default(), &hex(before)), []);
        assert_eq!(next(&mut engine, &mut hex(after), 0), Payload::Owned(b"ab".into()), "{frames}");
        assert_eq!(engine.buffered(), 0, "the buffer went with the message");
    }
    let fragments = &mut hex("0181 00000000 61 8081 00000000 62");
    assert_eq!(first(fragments, 0), Payload::Owned(b"ab".into()));
}

/// A frame with a cut payload can wait for its rest where it is. Its bytes are untouched then.
#[test]
fn whole_frame_of_two_inputs() {
    let (config, mut engine) = (Config::default(), Engine::new());
    let stream = hex("ffff 8185 37fa213d 7f9f4d5158");
    let mut input = stream[..10].to_vec();
    let mut pos = 2;
    assert_eq!(engine.advance::<true>(&config, &mut input, &mut pos), Err(3));
    assert_eq!((pos, &input[..], engine.buffered()), (2, &stream[..10], 0));
    input.extend_from_slice(&stream[10..]);
    let payload = Payload::Input(8..13);
    let message = Event::Message { kind: MessageKind::Text, payload };
    assert_eq!(engine.advance::<true>(&config, &mut input, &mut pos), Ok(Some(message)));
    assert_eq!((pos, &input[8..]), (13, b"Hello".as_slice()));
}

/// The declared length is an answer like any other; a frame taken in part is assembled.
#[test]
fn whole_frame_that_is_too_long_to_wait_for() {
    let (config, mut engine) = (Config { max_payload: 0, ..Config::default() }, Engine::new());
    let mut input = hex("82ff 00000000ffffffff 00000000 61");
    let mut pos = 0;
    assert_eq!(engine.advance::<true>(&config, &mut input, &mut pos), Err(LONGEST_MESSAGE - 1));
    assert_eq!((engine.poll(&config, &mut input, &mut pos), pos), (None, 15));
    let mut pos = 0;
    assert_eq!(engine.advance::<true>(&config, &mut hex("6262"), &mut pos), Ok(None));
    assert_eq!((pos, engine.buffered() >= 3), (2, true));
}

/// A range outside of the input has no bytes.
#[test]
fn range_of_another_input() {
    let payload = Payload::Input(6..11);
    assert!(payload.bytes(&[0; 7]).is_empty());
}
