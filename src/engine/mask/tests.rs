use proptest::prelude::*;

use super::*;

type Implementation = fn([u8; 4], &mut [u8]);

/// Every implementation, including those that `unmask` would not choose.
const IMPLEMENTATIONS: [(&str, Implementation); 3] = [("words", words), ("lines", lines), ("long", long)];

/// Unmasks `bytes[offset..offset + len]` with all implementations; the oracle compares.
fn check(key: [u8; 4], phase: usize, bytes: &[u8], offset: usize, len: usize) {
    let mut expected = bytes.to_vec();
    scalar(key, phase, &mut expected[offset..offset + len]);
    let mut actual = bytes.to_vec();
    unmask(key, phase, &mut actual[offset..offset + len]);
    assert_eq!(actual, expected, "unmask: phase {phase}, offset {offset}, length {len}");

    let mut rotated = key;
    rotated.rotate_left(phase % 4);
    for (name, implementation) in IMPLEMENTATIONS {
        let mut actual = bytes.to_vec();
        implementation(rotated, &mut actual[offset..offset + len]);
        assert_eq!(actual, expected, "{name}: phase {phase}, offset {offset}, length {len}");
    }
}

/// F05: RFC 6455, section 5.3: the key goes on where an earlier piece of the payload ended.
#[test]
fn phase_goes_on() {
    let mut bytes = [0x7f, 0x9f, 0x4d, 0x51, 0x58];
    let (first, second) = bytes.split_at_mut(3);
    unmask([0x37, 0xfa, 0x21, 0x3d], 0, first);
    unmask([0x37, 0xfa, 0x21, 0x3d], 3, second);
    assert_eq!(&bytes, b"Hello");
    unmask([0x37, 0xfa, 0x21, 0x3d], usize::MAX, &mut bytes[..1]);
    assert_eq!(bytes[0], b'H' ^ 0x3d);
}

/// F05: all lengths around the vector widths, at all alignments; bytes on either side stay.
#[test]
fn lengths_and_offsets() {
    let bytes: Vec<u8> = (0..700_u32).map(|i| (i * 7) as u8).collect();
    let (offset_step, length_step) = if cfg!(miri) { (13, 37) } else { (1, 1) };
    for offset in (0..64).step_by(offset_step) {
        for len in (0..=300).step_by(length_step) {
            check([0x37, 0xfa, 0x21, 0x3d], offset + len, &bytes, offset, len);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 512 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// F05.
    #[test]
    fn equals_the_scalar_loop(
        key: [u8; 4],
        phase: usize,
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        from: prop::sample::Index,
        to: prop::sample::Index,
    ) {
        let (from, to) = (from.index(bytes.len() + 1), to.index(bytes.len() + 1));
        check(key, phase, &bytes, from.min(to), from.abs_diff(to));
    }
}
