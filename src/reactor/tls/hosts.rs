//! Names of hosts, as Node matches them.

/// `*.example.com`: a `*` stands for any letters but dots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Box<[u8]>);

impl Pattern {
    pub(super) fn new(host: &str) -> Self {
        Self(host.to_ascii_lowercase().into_bytes().into())
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let (mut patterns, mut labels) = (self.0.split(is_dot), name.as_bytes().split(is_dot));
        loop {
            match (patterns.next(), labels.next()) {
                (None, None) => return true,
                (Some(pattern), Some(label)) if matches(pattern, label) => {}
                _ => return false,
            }
        }
    }
}

fn is_dot(byte: &u8) -> bool {
    *byte == b'.'
}

/// Steps back to the last `*` only, so the work is no more than the product of both lengths.
fn matches(pattern: &[u8], label: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < label.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(wanted) if Some(wanted) == label.get(seen) => (at, seen) = (at + 1, seen + 1),
            _ => match star {
                Some((before, reach)) => {
                    star = Some((before, reach + 1));
                    (at, seen) = (before + 1, reach + 1);
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|&byte| byte == b'*'))
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
            ("", "example.com", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), is_match, "{pattern} {name}");
        }
    }
}
