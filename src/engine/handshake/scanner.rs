//! Finds the end of a request head in bytes that arrive in any number of pieces.

use super::request::{HttpError, MAX_HEADERS, Request};

/// The longest head by default, in bytes, the empty line included: the limit of Node.
pub const MAX_HEAD: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLimits {
    /// Bytes, the empty line included. Default: [`MAX_HEAD`].
    pub bytes: usize,
    /// At most [`MAX_HEADERS`], which is the default.
    pub fields: usize,
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self { bytes: MAX_HEAD, fields: MAX_HEADERS }
    }
}

/// Resumes where it stopped: every byte is looked at once, however small the reads, and the head is
/// parsed once. Bytes that no head can contain are refused at once, so a TLS client need not wait
/// for a timeout.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeadScanner {
    /// Where the request line starts, after empty lines (RFC 9112 section 2.2 wants them ignored).
    start: u32,
    /// Where the current line starts; `start <= line <= scanned`.
    line: u32,
    scanned: u32,
}

impl HeadScanner {
    /// `None`: more bytes are needed. `buf` must hold all bytes since the scanner was made, and
    /// `limits` must stay the same. Bytes after the head are not looked at, and the answer does not
    /// depend on how the bytes arrived.
    ///
    /// # Errors
    /// The bytes cannot become a request.
    pub fn parse<'a>(
        &mut self,
        buf: &'a [u8],
        limits: &HeadLimits,
    ) -> Result<Option<Request<'a>>, HttpError> {
        let Some(end) = self.find_end(buf, limits.bytes)? else { return Ok(None) };
        let request = Request::parse(buf.get(..end).unwrap_or_default(), self.start as usize)?;
        if request.headers.len() > limits.fields { Err(HttpError::HeaderTooLarge) } else { Ok(Some(request)) }
    }

    fn find_end(&mut self, buf: &[u8], most: usize) -> Result<Option<usize>, HttpError> {
        let first = self.scanned as usize;
        let mut previous = first.checked_sub(1).and_then(|i| buf.get(i)).copied().unwrap_or(0);
        for (&byte, at) in buf.iter().take(most).skip(first).zip(self.scanned..) {
            self.scanned = at + 1;
            if (byte == b'\n') != (previous == b'\r') || is_forbidden(byte) {
                return Err(HttpError::BadRequest);
            }
            previous = byte;
            if byte == b'\n' {
                let is_empty = at - self.line == 1;
                if is_empty && self.line > self.start {
                    return Ok(Some(self.scanned as usize));
                }
                self.line = self.scanned;
                if is_empty {
                    self.start = self.scanned;
                }
            }
        }
        if self.scanned as usize >= most { Err(HttpError::HeaderTooLarge) } else { Ok(None) }
    }
}

/// Control characters other than tab, carriage return and line feed.
fn is_forbidden(byte: u8) -> bool {
    byte == 0x7f || (byte < 0x20 && !matches!(byte, b'\t' | b'\r' | b'\n'))
}
