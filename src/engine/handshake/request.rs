//! The head of an HTTP/1.x request.

use std::mem::MaybeUninit;

use httparse::Header;

/// Most header fields of a request; one more is [`HttpError::HeaderTooLarge`].
pub const MAX_HEADERS: usize = 256;

/// Not HTTP, or none that this server reads. The connection must be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpError {
    /// Against the grammar of RFC 9112.
    BadRequest,
    /// Longer than [`MAX_HEAD`](super::MAX_HEAD), or more fields than [`MAX_HEADERS`].
    HeaderTooLarge,
}

impl HttpError {
    pub fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::HeaderTooLarge => 431,
        }
    }
}

/// A request head of valid grammar, in the bytes it was parsed from.
///
/// Values are bytes, which Node and RFC 9110 read as latin1; nothing here assumes UTF-8.
#[derive(Debug)]
pub struct Request<'a> {
    pub method: &'a str,
    /// As sent, usually a path with a query. ASCII without spaces.
    pub target: &'a [u8],
    /// 0 or 1.
    pub minor: u8,
    pub head_len: usize,
    pub headers: Vec<Header<'a>>,
    framing: Framing,
}

impl<'a> Request<'a> {
    pub(super) fn parse(head: &'a [u8], start: usize) -> Result<Self, HttpError> {
        let mut fields = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut parsed = httparse::Request::new(&mut []);
        let lines = head.get(start..).unwrap_or_default();
        match parsed.parse_with_uninit_headers(lines, &mut fields) {
            Ok(httparse::Status::Complete(length)) if start + length == head.len() => {}
            Err(httparse::Error::TooManyHeaders) => return Err(HttpError::HeaderTooLarge),
            Ok(_) | Err(_) => return Err(HttpError::BadRequest),
        }
        let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version) else {
            return Err(HttpError::BadRequest);
        };
        if !is_target(target.as_bytes()) {
            return Err(HttpError::BadRequest);
        }
        let headers = parsed.headers.to_vec();
        let framing = Framing::of(&headers).ok_or(HttpError::BadRequest)?;
        Ok(Self { method, target: target.as_bytes(), minor, headers, head_len: head.len(), framing })
    }

    /// Whether Node would emit 'upgrade': `Connection` has the token `upgrade`, and `Upgrade` a
    /// value.
    pub fn is_upgrade(&self) -> bool {
        self.framing.connection_upgrade && self.values("upgrade").any(|value| !value.is_empty())
    }

    /// RFC 9112 section 9.3.
    pub fn keep_alive(&self) -> bool {
        !self.framing.connection_close && (self.minor == 1 || self.framing.connection_keep_alive)
    }

    pub fn has_body(&self) -> bool {
        self.framing.transfer_encoding || self.framing.content_length.is_some_and(|length| length > 0)
    }

    /// Never together with `Transfer-Encoding`.
    pub fn content_length(&self) -> Option<u64> {
        self.framing.content_length
    }

    /// Without the white space around them.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers
            .iter()
            .filter(move |header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value)
    }

    /// The value of `name` if exactly one header has it.
    pub(super) fn only(&self, name: &str) -> Option<&'a [u8]> {
        let mut values = self.values(name);
        let first = values.next()?;
        values.next().is_none().then_some(first)
    }

    /// Appends `METHOD \0 target \0 minor \0 name \0 value \0 name \0 value ...`, latin1.
    ///
    /// No part of a valid head contains a NUL, so splitting at NUL gives the parts back.
    pub fn write_normal_form(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.method.as_bytes());
        out.push(0);
        out.extend_from_slice(self.target);
        out.extend_from_slice(&[0, b'0' + self.minor]);
        for header in &self.headers {
            out.push(0);
            out.extend_from_slice(header.name.as_bytes());
            out.push(0);
            out.extend_from_slice(header.value);
        }
    }
}

/// What decides where this request ends, and whether its connection goes on.
#[derive(Debug, Default)]
struct Framing {
    content_length: Option<u64>,
    transfer_encoding: bool,
    connection_upgrade: bool,
    connection_close: bool,
    connection_keep_alive: bool,
}

impl Framing {
    /// `None` if two servers could disagree about where the body ends (RFC 9112 section 6.3).
    fn of(headers: &[Header<'_>]) -> Option<Self> {
        let mut framing = Self::default();
        for header in headers {
            if header.name.eq_ignore_ascii_case("content-length") {
                if framing.content_length.replace(parse_decimal(header.value)?).is_some() {
                    return None;
                }
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                framing.transfer_encoding = true;
            } else if header.name.eq_ignore_ascii_case("connection") {
                header.value.split(|&byte| byte == b',').for_each(|token| framing.connection(token));
            }
        }
        let is_ambiguous = framing.transfer_encoding && framing.content_length.is_some();
        (!is_ambiguous).then_some(framing)
    }

    fn connection(&mut self, token: &[u8]) {
        let token = token.trim_ascii();
        self.connection_upgrade |= token.eq_ignore_ascii_case(b"upgrade");
        self.connection_close |= token.eq_ignore_ascii_case(b"close");
        self.connection_keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
    }
}

fn parse_decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &digit| {
        let value = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(value)
    })
}

/// Origin form, absolute form or `*` (RFC 9112 section 3.2), in ASCII, as Node's parser accepts
/// them.
fn is_target(target: &[u8]) -> bool {
    if !target.is_ascii() {
        return false;
    }
    match target.first() {
        Some(b'/' | b'*') => true,
        Some(_) => {
            let scheme = target.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            scheme > 0 && target.get(scheme..).is_some_and(|rest| rest.starts_with(b"://"))
        }
        None => false,
    }
}
