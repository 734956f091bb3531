//! The pages that may connect: `Origin` (RFC 6454) against patterns.

/// Origins longer than this match no pattern but `*`. 512 bytes.
const MOST_BYTES: usize = 512;

/// Patterns of origins; none of them: every origin.
///
/// A `*` stands for one or more letters, digits, `-`, `.` and `_`: it can match neither another
/// scheme nor a path. A pattern that is nothing but `*` is every origin. Case does not matter.
#[derive(Debug, Default)]
pub struct Origins(Option<Vec<Box<[u8]>>>);

impl Origins {
    /// The origins that one of `patterns` matches.
    pub fn matching(patterns: impl IntoIterator<Item = String>) -> Self {
        let bytes = |pattern: String| pattern.to_ascii_lowercase().into_bytes().into_boxed_slice();
        Self(Some(patterns.into_iter().map(bytes).collect()))
    }

    /// Whether `origin` is one of them.
    pub fn allow(&self, origin: &[u8]) -> bool {
        let Some(patterns) = &self.0 else { return true };
        let origin = origin.to_ascii_lowercase();
        let matches =
            |pattern: &[u8]| pattern == b"*" || (origin.len() <= MOST_BYTES && matches(pattern, &origin));
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
                Some((behind, reach)) if text.get(reach).is_some_and(|&byte| stands_for(byte)) => {
                    star = Some((behind, reach + 1));
                    (at, seen) = (behind + 1, reach + 1);
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
