//! Frames: no panic, the limits hold, and the events do not depend on how the stream is cut.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use reactor_ws::engine::{Config, Engine, Event, FrameKind, MessageKind, Payload, ProtocolError, Role};

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    is_client: bool,
    skip_utf8_validation: bool,
    max_payload: u8,
    max_fragments: u8,
    /// Lengths of the inputs, repeated over the stream; 0 stands for 256.
    lengths: [u8; 4],
    stream: &'a [u8],
}

/// An event with its bytes, from wherever they were stored.
#[derive(Debug, PartialEq)]
enum Seen {
    Message(MessageKind, Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, Vec<u8>),
    Error(ProtocolError),
}

fuzz_target!(|input: Input<'_>| {
    let config = Config {
        role: if input.is_client { Role::Client } else { Role::Server },
        max_payload: u64::from(input.max_payload) * 16,
        max_fragments: u32::from(input.max_fragments),
        skip_utf8_validation: input.skip_utf8_validation,
    };
    let whole = feed(&config, input.stream, &[input.stream.len()]);
    let lengths = input.lengths.map(|length| if length == 0 { 256 } else { usize::from(length) });
    assert_eq!(feed(&config, input.stream, &lengths), whole);
    assert_eq!(feed(&config, input.stream, &[1]), whole);
    for seen in &whole {
        hold_to_limits(&config, seen);
        come_back(seen);
    }
});

fn feed(config: &Config, stream: &[u8], lengths: &[usize]) -> Vec<Seen> {
    let mut engine = Engine::new();
    let mut events = Vec::new();
    let (mut rest, mut received) = (stream.to_vec(), 0);
    for &length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let behind = rest.split_off(length.clamp(1, rest.len()));
        poll_all(&mut engine, config, &mut rest, &mut events);
        received += rest.len();
        // A declared length takes no memory; only received bytes do.
        assert!(engine.buffered() <= 2 * received + 256, "{} bytes held of {received}", engine.buffered());
        rest = behind;
    }
    events
}

fn poll_all(engine: &mut Engine, config: &Config, input: &mut [u8], events: &mut Vec<Seen>) {
    let mut pos = 0;
    loop {
        let before = pos;
        let event = engine.poll(config, input, &mut pos);
        assert!(before <= pos && pos <= input.len());
        let Some(event) = event else { break };
        assert!(pos > before, "every event takes input");
        assert!(!matches!(events.last(), Some(Seen::Close(..) | Seen::Error(_))), "nothing follows the end");
        events.push(seen(&event, input));
    }
    assert_eq!(pos, input.len());
    assert_eq!(engine.failure().is_some(), matches!(events.last(), Some(Seen::Error(_))));
    assert_eq!(engine.close_received(), matches!(events.last(), Some(Seen::Close(..))));
}

fn seen(event: &Event, input: &[u8]) -> Seen {
    let bytes = |payload: &Payload| {
        if let Payload::Input(range) = payload {
            assert!(range.end <= input.len());
        }
        payload.bytes(input).to_vec()
    };
    match event {
        Event::Message { kind, payload } => Seen::Message(*kind, bytes(payload)),
        Event::Ping(payload) => Seen::Ping(bytes(payload)),
        Event::Pong(payload) => Seen::Pong(bytes(payload)),
        Event::Close { code, reason } => Seen::Close(code.map(|code| code.get()), bytes(reason)),
        Event::Error(error) => Seen::Error(*error),
    }
}

fn hold_to_limits(config: &Config, seen: &Seen) {
    let is_text = |bytes| config.skip_utf8_validation || std::str::from_utf8(bytes).is_ok();
    match seen {
        Seen::Message(kind, bytes) => {
            assert!(config.max_payload == 0 || bytes.len() as u64 <= config.max_payload);
            assert!(*kind == MessageKind::Binary || is_text(bytes));
        }
        Seen::Ping(bytes) | Seen::Pong(bytes) => assert!(bytes.len() <= 125),
        Seen::Close(code, reason) => assert!(reason.len() <= 123 && is_text(reason) && code != &Some(1005)),
        Seen::Error(_) => {}
    }
}

/// A message, sent on by a server, is the same message to its client.
fn come_back(message: &Seen) {
    let Seen::Message(kind, bytes) = message else { return };
    let frame_kind = match kind {
        MessageKind::Text => FrameKind::Text,
        MessageKind::Binary => FrameKind::Binary,
    };
    let header = Engine::new().encode(frame_kind, true, bytes.len(), None);
    let mut frame = [header.as_bytes(), bytes].concat();
    let config = Config { role: Role::Client, skip_utf8_validation: true, ..Config::default() };
    let mut events = Vec::new();
    poll_all(&mut Engine::new(), &config, &mut frame, &mut events);
    assert_eq!(events.as_slice(), [Seen::Message(*kind, bytes.clone())]);
}
