//! Frames are written as visible bytes; most have the key
//! `00000000`, which masks nothing.

mod deflate;
mod error;
mod frames;
mod hostile;
mod memory;
mod payload;
mod portable;
mod prepared;
mod send;
mod splits;
mod text;

use super::*;

/// An event with its bytes, from wherever they were stored.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, Vec<u8>),
    Error(ErrorKind, u16),
}

fn see(event: Event, input: &[u8]) -> Seen {
    match event {
        Event::Message { kind: MessageKind::Text, payload } => Seen::Text(payload.bytes(input).to_vec()),
        Event::Message { kind: MessageKind::Binary, payload } => Seen::Binary(payload.bytes(input).to_vec()),
        Event::Ping(payload) => Seen::Ping(payload.bytes(input).to_vec()),
        Event::Pong(payload) => Seen::Pong(payload.bytes(input).to_vec()),
        Event::Close { code, reason } => Seen::Close(code.map(CloseCode::get), reason.bytes(input).to_vec()),
        Event::Error(error) => Seen::Error(error.kind, error.detail),
    }
}

/// All events of one more input.
fn feed(engine: &mut Engine, config: &Config, input: &[u8]) -> Vec<Seen> {
    let (mut input, mut pos) = (input.to_vec(), 0);
    let mut seen = Vec::new();
    while let Some(event) = engine.poll(config, &mut input, &mut pos) {
        seen.push(see(event, &input));
    }
    assert_eq!(pos, input.len(), "None means that the input is used up");
    seen
}

/// All events of a stream that comes in pieces.
fn receive<'a>(config: &Config, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Seen> {
    let mut engine = Engine::new();
    pieces.into_iter().flat_map(|piece| feed(&mut engine, config, piece)).collect()
}

/// All events of a stream that comes in pieces, each of which is read after the present part of a
/// frame that lacks no more than `most` bytes.
fn receive_whole<'a>(config: &Config, most: u64, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Seen> {
    let (mut engine, mut seen) = (Engine::new(), Vec::new());
    let mut input = Vec::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        let (mut pos, mut end) = (0, input.len());
        loop {
            let begin = pos;
            match engine.advance::<true>(config, &mut input, &mut pos) {
                Ok(Some(event)) => seen.push(see(event, &input)),
                Ok(None) => break,
                Err(missing) => {
                    assert!(pos >= begin && missing > 0);
                    if missing <= most {
                        end = pos;
                        break;
                    }
                    assert_eq!(engine.poll(config, &mut input, &mut pos), None);
                    break;
                }
            }
        }
        assert!(end == pos || pos == input.len(), "what is not kept is used up");
        input.drain(..end);
    }
    seen.extend(feed(&mut engine, config, &input));
    seen
}

/// All events of a stream: the same in one input, byte by byte, and cut once anywhere.
fn with(config: &Config, frames: &str) -> Vec<Seen> {
    let stream = hex(frames);
    let seen = receive(config, [&stream[..]]);
    assert_eq!(receive(config, stream.chunks(1)), seen, "byte by byte");
    assert_eq!(receive_whole(config, u64::MAX, stream.chunks(1)), seen, "byte by byte, in place");
    assert_eq!(receive_whole(config, 2, stream.chunks(1)), seen, "byte by byte, the last two in place");
    for cut in 0..stream.len() {
        assert_eq!(receive(config, [&stream[..cut], &stream[cut..]]), seen, "cut at {cut}");
        let pieces = [&stream[..cut], &stream[cut..]];
        assert_eq!(receive_whole(config, u64::MAX, pieces), seen, "cut at {cut}, in place");
    }
    seen
}

/// The events of a server with the default settings for a stream.
fn server(frames: &str) -> Vec<Seen> {
    with(&Config::default(), frames)
}

/// The events of a client with the default settings for a stream.
fn client(frames: &str) -> Vec<Seen> {
    with(&Config { role: Role::Client, ..Config::default() }, frames)
}

/// The last byte of `frames` decides: before it there is no event, with it the error.
fn decides(config: &Config, frames: &str, kind: ErrorKind, detail: u16) {
    let stream = hex(frames);
    let (last, before) = stream.split_last().unwrap();
    let mut engine = Engine::new();
    assert_eq!(feed(&mut engine, config, before), []);
    assert_eq!(feed(&mut engine, config, &[*last]), [Seen::Error(kind, detail)]);
    assert!(engine.failure().is_some());
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    let (pairs, odd) = digits.as_chunks::<2>();
    assert!(odd.is_empty(), "half a byte: {text}");
    pairs.iter().map(|[high, low]| high << 4 | low).collect()
}

/// The same events over and over.
fn times(count: usize, events: &[Seen]) -> Vec<Seen> {
    std::iter::repeat_n(events, count).flatten().cloned().collect()
}

fn text(text: &str) -> Seen {
    Seen::Text(text.into())
}
