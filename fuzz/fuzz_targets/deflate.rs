//! permessage-deflate: any bytes inflate to the same events however they are cut, within the limit;
//! compressed data inflates to the original.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use reactor_ws::engine::deflate::{INFLATER_BYTES, Params, Pool, Settings, Strategy};
use reactor_ws::engine::{Config, Engine, Event, FrameKind, Role};

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    no_takeover: bool,
    is_text: bool,
    window_bits: u8,
    level: u8,
    mem_level: u8,
    strategy: u8,
    max_payload: u8,
    /// Lengths of the inputs, repeated over the stream; 0 stands for 256.
    lengths: [u8; 4],
    messages: Vec<&'a [u8]>,
}

/// A message, or the status code of the error that ended the connection: zlib-rs does not always
/// find the same error text for a broken stream.
type Seen = Result<Vec<u8>, u16>;

fuzz_target!(|input: Input<'_>| {
    let bits = 8 + input.window_bits % 8;
    let params = Params {
        server_no_context_takeover: input.no_takeover,
        client_no_context_takeover: input.no_takeover,
        server_max_window_bits: bits,
        client_max_window_bits: bits,
    };
    inflate(&input, params);
    compress(&input, params);
});

/// The input is the compressed messages of a peer.
fn inflate(input: &Input<'_>, params: Params) {
    let limit = u64::from(input.max_payload) * 256 + 1;
    let config = Config { max_payload: limit, ..Config::default() };
    let first = if input.is_text { 0xc1 } else { 0xc2 };
    let stream: Vec<u8> = input.messages.iter().flat_map(|message| frame(first, message)).collect();
    let whole = receive(&config, params, &stream, &[stream.len().max(1)]);
    let lengths = input.lengths.map(|length| if length == 0 { 256 } else { usize::from(length) });
    assert_eq!(receive(&config, params, &stream, &lengths), whole);
    for message in whole.iter().flatten() {
        assert!(message.len() as u64 <= limit);
        assert!(!input.is_text || std::str::from_utf8(message).is_ok());
    }
}

/// The input is plain messages of our own.
fn compress(input: &Input<'_>, params: Params) {
    let settings = Settings {
        level: (input.level % 11) as i8 - 1,
        mem_level: input.mem_level,
        strategy: Strategy::try_from(i32::from(input.strategy % 5)).unwrap_or_default(),
        threshold: 0,
        releasable: false,
        movable: false,
    };
    let mut sender = Engine::new();
    sender.enable_deflate(Role::Client, params, &settings, &Arc::new(Pool::new(1 << 30)));
    let mut stream = Vec::new();
    for message in &input.messages {
        assert!(sender.will_compress(true, message.len()));
        let mut body = Vec::new();
        sender.compress(message, true, &mut body);
        stream.extend_from_slice(&sender.encode(FrameKind::Binary, true, body.len(), Some([0; 4])));
        stream.extend_from_slice(&body);
    }
    let received = receive(&Config::default(), params, &stream, &[stream.len().max(1)]);
    let sent: Vec<Seen> = input.messages.iter().map(|message| Ok(message.to_vec())).collect();
    assert_eq!(received, sent);
}

fn receive(config: &Config, params: Params, stream: &[u8], lengths: &[usize]) -> Vec<Seen> {
    let mut engine = Engine::new();
    engine.enable_deflate(Role::Server, params, &Settings::default(), &Arc::new(Pool::new(0)));
    let mut seen = Vec::new();
    let mut rest = stream.to_vec();
    for &length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let behind = rest.split_off(length.min(rest.len()));
        let mut pos = 0;
        while let Some(event) = engine.poll(config, &mut rest, &mut pos) {
            match event {
                Event::Message { payload, .. } => seen.push(Ok(payload.bytes(&rest).to_vec())),
                Event::Error(error) => seen.push(Err(error.kind.row().close_code.get())),
                other => unreachable!("{other:?}"),
            }
        }
        assert!(engine.buffered() as u64 <= 2 * config.max_payload + (INFLATER_BYTES as u64) + 512);
        rest = behind;
    }
    seen
}

/// A client's frame; its key of zeros masks nothing.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Engine::new().encode(FrameKind::Binary, true, payload.len(), Some([0; 4])).to_vec();
    if let Some(byte) = bytes.first_mut() {
        *byte = first;
    }
    bytes.extend_from_slice(payload);
    bytes
}
