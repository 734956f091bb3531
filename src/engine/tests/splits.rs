//! Every way to cut a stream gives the same events, and no stream does harm.

use proptest::prelude::*;

use super::*;

/// A frame, mostly valid, with its key and payload.
pub(super) fn frame() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![
        8 => prop::sample::select(vec![0x81_u8, 0x82, 0x01, 0x02, 0x00, 0x00, 0x80, 0x80, 0x89, 0x8a]),
        1 => Just(0x88),
        1 => any::<u8>(),
    ];
    let payload = prop_oneof![
        4 => "[a-c\u{e4}\u{20ac}\u{1f642}]{0,30}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..10),
        1 => prop::collection::vec(Just(b'a'), 120..300),
        1 => Just(vec![0xe2, 0x82]),
        1 => Just(vec![0x03, 0xe8, b'b', b'y']),
    ];
    let masked = prop::bool::weighted(0.97);
    // The form of the length, of three, if it can hold the length.
    (first, payload, any::<[u8; 4]>(), masked, 0..8_u8).prop_map(|(first, mut payload, key, masked, form)| {
        let mut frame = vec![first];
        let mask = if masked { 0x80 } else { 0 };
        match (payload.len(), form) {
            (len, 7) => {
                frame.push(mask | 127);
                frame.extend((len as u64).to_be_bytes());
            }
            (len @ 0..=125, 0..=5) => frame.push(mask | len as u8),
            (len, _) => {
                frame.push(mask | 126);
                frame.extend((len as u16).to_be_bytes());
            }
        }
        if masked {
            frame.extend(key);
            mask::scalar(key, 0, &mut payload);
        }
        frame.extend(payload);
        frame
    })
}

pub(super) fn config() -> impl Strategy<Value = Config> {
    let max_payload = prop::sample::select(vec![0, 1, 30, 100, 300, 1 << 20]);
    let role = prop_oneof![8 => Just(Role::Server), 1 => Just(Role::Client)];
    (role, max_payload, 0..5_u32, prop::bool::weighted(0.2)).prop_map(
        |(role, max_payload, max_fragments, skip_utf8_validation)| Config {
            role,
            max_payload,
            max_fragments,
            skip_utf8_validation,
        },
    )
}

/// Cuts `stream` into pieces of the given sizes, over and over.
pub(super) fn pieces<'a>(stream: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = stream;
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*size).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Sizes of inputs: tiny ones cut headers, long ones hold many frames.
pub(super) fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![1..4_usize, 1..20_usize, 1..400_usize], 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 2048 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// F01.
    #[test]
    fn cuts_do_not_matter(
        frames in prop::collection::vec(frame(), 0..12),
        config in config(),
        sizes in sizes(),
        cut_short in 0..3_usize,
    ) {
        let mut stream = frames.concat();
        stream.truncate(stream.len().saturating_sub(cut_short));
        let whole = receive(&config, [&stream[..]]);
        prop_assert_eq!(receive(&config, pieces(&stream, &sizes)), whole);
    }

    /// An event comes with the byte that completes it, whatever the cuts.
    #[test]
    fn events_of_a_prefix_are_a_prefix_of_the_events(
        frames in prop::collection::vec(frame(), 0..12),
        config in config(),
        at in any::<prop::sample::Index>(),
    ) {
        let stream = frames.concat();
        let at = at.index(stream.len() + 1);
        let mut engine = Engine::new();
        let mut seen = feed(&mut engine, &config, &stream[..at]);
        prop_assert_eq!(&seen, &receive(&config, stream[..at].chunks(1)));
        seen.extend(feed(&mut engine, &config, &stream[at..]));
        prop_assert_eq!(seen, receive(&config, [&stream[..]]));
    }

    /// F01.
    #[test]
    fn any_bytes(stream in prop::collection::vec(any::<u8>(), 0..600), config in config(), sizes in sizes()) {
        let whole = receive(&config, [&stream[..]]);
        prop_assert_eq!(receive(&config, pieces(&stream, &sizes)), whole);
    }
}
