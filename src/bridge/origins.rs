//! The pages that can connect: `Origin` (RFC 6454) against patterns.

/// Longer origins match no pattern but `*`, nor do others than of ASCII.
const MOST_BYTES: usize = 512;

/// Patterns of origins; without any, every origin can connect.
///
/// A `*` stands for one or more letters, digits, `-`, `.` and `_`, so it matches no other scheme
/// and no path. `*` alone is every origin. Case does not matter.
#[derive(Debug, Default)]
pub struct Origins(Option<Vec<Box<[u8]>>>);

impl Origins {
    pub fn matching(patterns: impl IntoIterator<Item = String>) -> Self {
        let bytes = |pattern: String| pattern.to_ascii_lowercase().into_bytes().into_boxed_slice();
        Self(Some(patterns.into_iter().map(bytes).collect()))
    }

    pub fn allow(&self, origin: &[u8]) -> bool {
        let Some(patterns) = &self.0 else { return true };
        let origin = origin.to_ascii_lowercase();
        let can_match = origin.is_ascii() && origin.len() <= MOST_BYTES;
        let matches = |pattern: &[u8]| pattern == b"*" || (can_match && matches(pattern, &origin));
        patterns.iter().any(|pattern| matches(pattern))
    }
}

/// Steps back to the last `*` only, so the work is no more than the product of both lengths.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    // The position of the last `*`, and the end of its match.
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match (pattern.get(at), text.get(seen)) {
            (Some(b'*'), Some(&byte)) if stands_for(byte) => {
                star = Some((at, seen + 1));
                (at, seen) = (at + 1, seen + 1);
            }
            (Some(&wanted), Some(&byte)) if wanted == byte && wanted != b'*' => {
                (at, seen) = (at + 1, seen + 1)
            }
            _ => match star {
                Some((before, reach)) if text.get(reach).is_some_and(|&byte| stands_for(byte)) => {
                    star = Some((before, reach + 1));
                    (at, seen) = (before + 1, reach + 1);
                }
                _ => return false,
            },
        }
    }
    at == pattern.len()
}

fn stands_for(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._".contains(&byte)
}
