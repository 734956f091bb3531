//! The `Sec-WebSocket-Extensions` header (RFC 6455 section 9.1) and the offers of
//! permessage-deflate in it (RFC 7692 section 7).

use super::is_token_char;
use crate::engine::deflate::Params;

pub const PERMESSAGE_DEFLATE: &str = "permessage-deflate";

/// What a server accepts, and how it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acceptance {
    /// `Some(true)`: the answer always has `server_no_context_takeover`. `Some(false)`: an offer
    /// with it is declined.
    pub server_no_context_takeover: Option<bool>,
    /// The answer always has `client_no_context_takeover`.
    pub client_no_context_takeover: bool,
    pub server_max_window_bits: WindowBits,
    pub client_max_window_bits: WindowBits,
}

/// The window that a server wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowBits {
    /// As the client offers.
    #[default]
    Any,
    /// The answer is without the parameter. For the server's window: an offer that asks for one is
    /// declined.
    Refused,
    /// 8 to 15. An offer that allows less, or says nothing about the client's window, is declined.
    Exactly(u8),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub params: Params,
    /// The value of the header of the response.
    pub answer: String,
}

/// No list of extensions, or the offers of permessage-deflate are invalid or all declined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unacceptable;

/// As `ws`: the first acceptable offer wins, an invalid one spoils them all, other extensions are
/// ignored. `values` are from all headers of that name, in order; several are one list. `None`:
/// nothing was offered. Takes linear time.
///
/// # Errors
///
/// [`Unacceptable`]
pub fn negotiate<'a>(
    mut values: impl Iterator<Item = &'a [u8]>,
    acceptance: &Acceptance,
) -> Result<Option<Accepted>, Unacceptable> {
    let Some(first) = values.next() else { return Ok(None) };
    let mut header = first.to_vec();
    for value in values {
        header.extend_from_slice(b", ");
        header.extend_from_slice(value);
    }
    let offers = Scanner { rest: &header }.offers()?;
    if offers.is_empty() {
        return Ok(None);
    }
    let offer = offers.into_iter().find(|offer| acceptance.accepts(offer)).ok_or(Unacceptable)?;
    Ok(Some(acceptance.answer(offer)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Param {
    ServerNoContextTakeover,
    ClientNoContextTakeover,
    ServerMaxWindowBits(u8),
    /// Without a value: the client understands one.
    ClientMaxWindowBits(Option<u8>),
}

/// In their order, each at most once.
type Offer = Vec<Param>;

impl Acceptance {
    fn accepts(&self, offer: &[Param]) -> bool {
        let server = offer.iter().all(|param| match (param, self.server_max_window_bits) {
            (Param::ServerNoContextTakeover, _) => self.server_no_context_takeover != Some(false),
            (Param::ServerMaxWindowBits(_), WindowBits::Refused) => false,
            (Param::ServerMaxWindowBits(most), WindowBits::Exactly(bits)) => bits <= *most,
            _ => true,
        });
        let WindowBits::Exactly(bits) = self.client_max_window_bits else { return server };
        let client = offer.iter().find_map(|param| match param {
            Param::ClientMaxWindowBits(most) => Some(most.is_none_or(|most| bits <= most)),
            _ => None,
        });
        server && client == Some(true)
    }

    fn answer(&self, mut answer: Offer) -> Accepted {
        if self.server_no_context_takeover == Some(true) {
            put(&mut answer, Param::ServerNoContextTakeover);
        }
        if self.client_no_context_takeover {
            put(&mut answer, Param::ClientNoContextTakeover);
        }
        if let WindowBits::Exactly(bits) = self.server_max_window_bits {
            put(&mut answer, Param::ServerMaxWindowBits(bits));
        }
        match self.client_max_window_bits {
            WindowBits::Exactly(bits) => put(&mut answer, Param::ClientMaxWindowBits(Some(bits))),
            WindowBits::Refused => answer.retain(|param| !matches!(param, Param::ClientMaxWindowBits(_))),
            WindowBits::Any => answer.retain(|param| *param != Param::ClientMaxWindowBits(None)),
        }
        let mut params = Params::default();
        let mut header = PERMESSAGE_DEFLATE.to_owned();
        for param in answer {
            header.push_str("; ");
            header.push_str(param.name());
            match param {
                Param::ServerNoContextTakeover => params.server_no_context_takeover = true,
                Param::ClientNoContextTakeover => params.client_no_context_takeover = true,
                Param::ServerMaxWindowBits(bits) => params.server_max_window_bits = bits,
                Param::ClientMaxWindowBits(bits) => {
                    params.client_max_window_bits = bits.unwrap_or(params.client_max_window_bits);
                }
            }
            if let Some(bits) = param.bits() {
                header.push('=');
                header.push_str(&bits.to_string());
            }
        }
        Accepted { params, answer: header }
    }
}

/// Replaces the parameter of that name, or adds it at the end.
fn put(offer: &mut Offer, param: Param) {
    match offer.iter_mut().find(|other| other.name() == param.name()) {
        Some(other) => *other = param,
        None => offer.push(param),
    }
}

impl Param {
    fn new(name: &[u8], value: Option<&[u8]>) -> Option<Self> {
        match (name, value) {
            (b"server_no_context_takeover", None) => Some(Self::ServerNoContextTakeover),
            (b"client_no_context_takeover", None) => Some(Self::ClientNoContextTakeover),
            (b"server_max_window_bits", Some(value)) => window_bits(value).map(Self::ServerMaxWindowBits),
            (b"client_max_window_bits", None) => Some(Self::ClientMaxWindowBits(None)),
            (b"client_max_window_bits", Some(value)) => {
                window_bits(value).map(|bits| Self::ClientMaxWindowBits(Some(bits)))
            }
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::ServerNoContextTakeover => "server_no_context_takeover",
            Self::ClientNoContextTakeover => "client_no_context_takeover",
            Self::ServerMaxWindowBits(_) => "server_max_window_bits",
            Self::ClientMaxWindowBits(_) => "client_max_window_bits",
        }
    }

    fn bits(self) -> Option<u8> {
        match self {
            Self::ServerMaxWindowBits(bits) => Some(bits),
            Self::ClientMaxWindowBits(bits) => bits,
            _ => None,
        }
    }
}

/// 8 to 15, in any spelling that JavaScript reads as that number, as `ws` does: `10`, `1e1`, `0xa`.
fn window_bits(value: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(value).ok()?;
    let number = match value {
        [b'0', b'x' | b'X', ..] => radix(text, 16)?,
        [b'0', b'o' | b'O', ..] => radix(text, 8)?,
        [b'0', b'b' | b'B', ..] => radix(text, 2)?,
        _ => text.parse::<f64>().ok()?,
    };
    (8_u8..=15).find(|&bits| f64::from(bits) == number)
}

fn radix(text: &str, radix: u32) -> Option<f64> {
    let digits = text.get(2..).filter(|digits| !digits.is_empty())?;
    // A sign is no digit, though `from_str_radix` takes one.
    digits.chars().try_fold(0.0, |number, digit| {
        digit.to_digit(radix).map(|digit| number * f64::from(radix) + f64::from(digit))
    })
}

struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    /// Everything around the offers of permessage-deflate must be well-formed too.
    fn offers(mut self) -> Result<Vec<Offer>, Unacceptable> {
        let mut offers = Vec::new();
        loop {
            let is_deflate = self.token()? == PERMESSAGE_DEFLATE.as_bytes();
            let offer = self.params(is_deflate)?;
            if is_deflate {
                offers.push(offer);
            }
            match self.next() {
                None => return Ok(offers),
                Some(b',') => self.skip_spaces(),
                Some(_) => return Err(Unacceptable),
            }
        }
    }

    fn params(&mut self, is_deflate: bool) -> Result<Offer, Unacceptable> {
        let mut offer = Offer::new();
        self.skip_spaces_but_last()?;
        while self.rest.first() == Some(&b';') {
            self.next();
            self.skip_spaces();
            let name = self.token()?;
            let mut unescaped = Vec::new();
            let value = if self.rest.first() == Some(&b'=') {
                self.next();
                Some(self.value(&mut unescaped)?)
            } else {
                None
            };
            self.skip_spaces_but_last()?;
            if !is_deflate {
                continue;
            }
            let param = Param::new(name, value).ok_or(Unacceptable)?;
            if offer.iter().any(|other| other.name() == param.name()) {
                return Err(Unacceptable);
            }
            offer.push(param);
        }
        Ok(offer)
    }

    /// A token, quoted or not; a quoted one goes to `unescaped` without its backslashes.
    fn value<'b>(&mut self, unescaped: &'b mut Vec<u8>) -> Result<&'b [u8], Unacceptable>
    where
        'a: 'b,
    {
        if self.rest.first() != Some(&b'"') {
            return self.token();
        }
        self.next();
        loop {
            match self.next() {
                Some(b'"') if !unescaped.is_empty() => return Ok(unescaped),
                Some(b'\\') => match self.next() {
                    Some(byte) if is_token_char(byte) => unescaped.push(byte),
                    _ => return Err(Unacceptable),
                },
                Some(byte) if is_token_char(byte) => unescaped.push(byte),
                _ => return Err(Unacceptable),
            }
        }
    }

    fn token(&mut self) -> Result<&'a [u8], Unacceptable> {
        let len = self.rest.iter().take_while(|&&byte| is_token_char(byte)).count();
        let (token, rest) = self.rest.split_at(len);
        self.rest = rest;
        if token.is_empty() { Err(Unacceptable) } else { Ok(token) }
    }

    fn skip_spaces(&mut self) {
        let len = self.rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        self.rest = self.rest.get(len..).unwrap_or_default();
    }

    /// Spaces at the very end are an error, as in ws; an HTTP parser leaves none there.
    fn skip_spaces_but_last(&mut self) -> Result<(), Unacceptable> {
        let before = self.rest.len();
        self.skip_spaces();
        if self.rest.is_empty() && before > 0 { Err(Unacceptable) } else { Ok(()) }
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }
}
