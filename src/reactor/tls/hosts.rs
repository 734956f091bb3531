//! Names of hosts, as Node matches them.

/// `*.example.com`: a `*` stands for any letters but dots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Box<[u8]>);

impl Pattern {
    pub(super) fn new(host: &str) -> Self {
        Self(host.to_ascii_lowercase().into_bytes().into())
    }

    /// Steps back to the last `*` only, so the work is no more than the product of both lengths.
    pub(super) fn matches(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let (pattern, name) = (&self.0, name.as_bytes());
        let (mut at, mut seen) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while let Some(letter) = name.get(seen) {
            match (pattern.get(at), star) {
                (Some(b'*'), _) => {
                    star = Some((at, seen));
                    at += 1;
                }
                (Some(wanted), _) if wanted == letter => (at, seen) = (at + 1, seen + 1),
                (_, Some((before, reach))) if name.get(reach) != Some(&b'.') => {
                    star = Some((before, reach + 1));
                    (at, seen) = (before + 1, reach + 1);
                }
                _ => return false,
            }
        }
        pattern.get(at..).is_some_and(|rest| rest.iter().all(|&byte| byte == b'*'))
    }
}

#[cfg(test)]
mod tests;
