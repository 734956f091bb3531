//! Header fields that are lists of tokens, read piece by piece (RFC 9110 section 5.6.1).

/// A fault of a header, in the words of `ws`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The class of the error in JavaScript.
    pub class: &'static str,
    pub message: String,
}

impl Fault {
    pub(super) fn new(class: &'static str, message: String) -> Self {
        Self { class, message }
    }
}

/// One header field. Spaces at its ends are errors, as in `ws`; an HTTP parser leaves none there.
pub(super) struct Scanner<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self { rest, at: 0 }
    }

    pub(super) fn token(&mut self) -> Result<&'a [u8], Fault> {
        let len = self.rest.iter().take_while(|&&byte| is_token_char(byte)).count();
        let token = self.advance(len);
        if token.is_empty() { Err(self.unexpected()) } else { Ok(token) }
    }

    /// A token, or a quoted string that contains one; without its quotes and backslashes.
    pub(super) fn value(&mut self) -> Result<Vec<u8>, Fault> {
        if !self.skip(b'"') {
            return self.token().map(<[u8]>::to_vec);
        }
        let mut value = Vec::new();
        while value.is_empty() || !self.skip(b'"') {
            self.skip(b'\\');
            match self.rest.first() {
                Some(&byte) if is_token_char(byte) => value.extend_from_slice(self.advance(1)),
                _ => return Err(self.unexpected()),
            }
        }
        Ok(value)
    }

    pub(super) fn skip(&mut self, byte: u8) -> bool {
        let is_next = self.rest.first() == Some(&byte);
        self.advance(usize::from(is_next));
        is_next
    }

    /// Skips one of `separators`, and the space around it. `None` at the end of the field.
    pub(super) fn separator(&mut self, separators: &[u8]) -> Result<Option<u8>, Fault> {
        let skipped = self.skip_spaces();
        match self.rest.first() {
            None if skipped == 0 => Ok(None),
            Some(&found) if separators.contains(&found) => {
                self.advance(1);
                self.skip_spaces();
                Ok(Some(found))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn skip_spaces(&mut self) -> usize {
        let len = self.rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        self.advance(len).len()
    }

    fn advance(&mut self, len: usize) -> &'a [u8] {
        let (passed, rest) = self.rest.split_at(len);
        self.rest = rest;
        self.at += len;
        passed
    }

    fn unexpected(&self) -> Fault {
        let message = match self.rest {
            [] => "Unexpected end of input".to_owned(),
            _ => format!("Unexpected character at index {}", self.at),
        };
        Fault::new("SyntaxError", message)
    }
}

/// `tchar` of RFC 9110 section 5.6.2.
fn is_token_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
