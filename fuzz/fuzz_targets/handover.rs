//! Connections from another process: no panic, the same bytes again, and no more memory than bytes. And engines that move
//! while they read: the events do not depend on it.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use reactor_ws::engine::deflate::{Params, Pool, Settings};
use reactor_ws::engine::portable::{Decoder, Encoder, Portable};
use reactor_ws::engine::{Config, Engine, Event, MessageKind, Role};
use reactor_ws::reactor::{Heads, Parcel};

fuzz_target!(|bytes: &[u8]| {
    decode(bytes);
    moves(bytes);
});

fn settings() -> Settings {
    Settings { movable: true, ..Settings::default() }
}

fn pool() -> Arc<Pool> {
    Pool::new(1 << 20).into()
}

fn decode(bytes: &[u8]) {
    if let Some(parcel) = Parcel::decode(bytes) {
        let mut again = Vec::new();
        parcel.encode(&mut again);
        assert_eq!(again, bytes);
    }
    let from = &mut Decoder(bytes);
    if let Some(heads) = Heads::decode(from) {
        let mut again = Vec::new();
        heads.encode(&mut Encoder(&mut again));
        assert_eq!(again, bytes[..bytes.len() - from.0.len()]);
    }
    let mut from = Decoder(bytes);
    let Some(state) = Portable::decode(&mut from) else { return };
    let config = Config::default();
    let Some(mut engine) = Engine::import(state, &config, &settings(), &pool()) else { return };
    assert!(engine.buffered() <= bytes.len());
    let mut input = from.0.to_vec();
    read(&mut engine, &config, &mut input);
}

/// An event, with its bytes or the code of its error.
type Seen = (&'static str, Vec<u8>, Option<u16>);

/// All events of the input.
fn read(engine: &mut Engine, config: &Config, input: &mut [u8]) -> Vec<Seen> {
    let (mut seen, mut pos) = (Vec::new(), 0);
    while let Some(event) = engine.poll(config, input, &mut pos) {
        seen.push(match event {
            Event::Message { kind: MessageKind::Text, payload } => {
                ("text", payload.bytes(input).to_vec(), None)
            }
            Event::Message { payload, .. } => ("binary", payload.bytes(input).to_vec(), None),
            Event::Ping(payload) => ("ping", payload.bytes(input).to_vec(), None),
            Event::Pong(payload) => ("pong", payload.bytes(input).to_vec(), None),
            Event::Close { code, reason } => {
                ("close", reason.bytes(input).to_vec(), code.map(|code| code.get()))
            }
            // zlib-rs does not always find the same error text for a broken stream.
            Event::Error(error) => ("error", Vec::new(), Some(error.kind.row().close_code.get())),
        });
    }
    assert_eq!(pos, input.len());
    seen
}

/// The first bytes choose the settings and the place, the others are the stream.
fn moves(bytes: &[u8]) {
    let [flags, cut, stream @ ..] = bytes else { return };
    let is = |flag: u8| flags & flag != 0;
    let (config, pool) =
        (Config { max_payload: 1 << 16, skip_utf8_validation: is(1), ..Config::default() }, pool());
    let window = 8 + (flags >> 4) % 8;
    let begin = || {
        let mut engine = Engine::new();
        if is(2) {
            let params = Params {
                server_no_context_takeover: is(4),
                client_no_context_takeover: is(8),
                server_max_window_bits: 15,
                client_max_window_bits: window,
            };
            engine.enable_deflate(Role::Server, params, &settings(), &pool);
        }
        engine
    };
    let whole = read(&mut begin(), &config, &mut stream.to_vec());
    let (first, second) = stream.split_at(usize::from(*cut) * stream.len() / 256);
    let mut engine = begin();
    let mut seen = read(&mut engine, &config, &mut first.to_vec());
    let Some(state) = engine.export(Role::Server) else { return };
    let mut encoded = Vec::new();
    state.encode(&mut encoded);
    let mut from = Decoder(&encoded);
    let again = Portable::decode(&mut from).expect("an engine has this state");
    assert!(from.is_empty() && again == state);
    let mut engine = Engine::import(again, &config, &settings(), &pool).expect("with the same settings");
    seen.extend(read(&mut engine, &config, &mut second.to_vec()));
    // A context has a window of 32 KiB, whatever was agreed on; the state has the agreed one. So a peer that breaks the
    // agreement, and refers to earlier bytes, can fail after a move only.
    if is(2) && window < 15 && seen.last() == Some(&("error", Vec::new(), Some(1007))) {
        seen.pop();
        assert!(whole.starts_with(&seen));
    } else {
        assert_eq!(seen, whole);
    }
}
