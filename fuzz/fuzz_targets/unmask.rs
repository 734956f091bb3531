//! Unmasking with vectors against the definition, at every alignment and phase.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reactor_ws::engine::mask::{scalar, unmask};

fuzz_target!(|input: ([u8; 4], u8, u8, &[u8])| {
    let (key, phase, skipped, bytes) = input;
    let (skipped, phase) = (usize::from(skipped % 64).min(bytes.len()), usize::from(phase));

    let mut expected = bytes.to_vec();
    scalar(key, phase, &mut expected[skipped..]);
    let mut unmasked = bytes.to_vec();
    unmask(key, phase, &mut unmasked[skipped..]);
    assert_eq!(unmasked, expected);

    // In two parts, as when a frame comes in two reads.
    let middle = skipped + (bytes.len() - skipped) / 3;
    unmask(key, phase, &mut unmasked[skipped..middle]);
    unmask(key, phase + middle - skipped, &mut unmasked[middle..]);
    assert_eq!(unmasked, bytes);
});
