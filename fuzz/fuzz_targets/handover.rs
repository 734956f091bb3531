//! Connections from another process: no panic, and the same bytes again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reactor_ws::engine::deflate::{Pool, Settings};
use reactor_ws::engine::portable::{Decoder, Portable};
use reactor_ws::engine::{Config, Engine};
use reactor_ws::reactor::Parcel;

fuzz_target!(|bytes: &[u8]| {
    if let Some(parcel) = Parcel::decode(bytes) {
        let mut again = Vec::new();
        parcel.encode(&mut again);
        assert_eq!(again, bytes);
    }
    let mut from = Decoder(bytes);
    let Some(state) = Portable::decode(&mut from) else { return };
    let pool = Pool::new(1 << 20).into();
    let config = Config::default();
    let settings = Settings { movable: true, ..Settings::default() };
    let Some(mut engine) = Engine::import(state, &config, &settings, &pool) else { return };
    let (mut input, mut pos) = (from.0.to_vec(), 0);
    while engine.poll(&config, &mut input, &mut pos).is_some() {}
    assert_eq!(pos, input.len());
});
