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
mod cases {
    use super::*;

    #[test]
    fn a_star_stands_for_letters_of_one_label() {
        for (pattern, name, is_match) in [
            ("example.com", "example.com", true),
            ("example.com", "EXAMPLE.com", true),
            ("example.com", "www.example.com", false),
            ("*.example.com", "www.example.com", true),
            ("*.Example.com", "a.b.example.com", false),
            ("*.example.com", "example.com", false),
            ("a*c*e.com", "abcde.com", true),
            ("a*c*e.com", "ace.com", true),
            ("a*c*e.com", "acf.com", false),
            ("*", "localhost", true),
            ("*", "example.com", false),
            ("a*.b*c", "ax.bcxc", true),
            ("a*.b*c", "a.x.bc", false),
            ("a**", "a", true),
            ("", "example.com", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), is_match, "{pattern} {name}");
        }
    }
}
