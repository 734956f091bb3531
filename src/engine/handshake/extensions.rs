//! The `Sec-WebSocket-Extensions` header (RFC 6455 section 9.1) and the offers of
//! permessage-deflate in it (RFC 7692 section 7).

use std::iter::once;

use super::list::{Fault, Scanner};
use crate::engine::deflate::Params;

pub const PERMESSAGE_DEFLATE: &str = "permessage-deflate";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acceptance {
    /// `Some(true)`: the answer always has `server_no_context_takeover`. `Some(false)`: an offer
    /// with it is declined.
    pub server_no_context_takeover: Option<bool>,
    /// `Some(true)`: the answer always has `client_no_context_takeover`. `Some(false)`: this end, a
    /// client, cannot do so.
    pub client_no_context_takeover: Option<bool>,
    pub server_max_window_bits: WindowBits,
    pub client_max_window_bits: WindowBits,
}

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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    pub params: Params,
    /// The value of the header of the response.
    pub answer: String,
}

/// The name of an extension, and its parameters in order, with or without values.
pub type Extension<'a> = (&'a [u8], Vec<(&'a [u8], Option<Vec<u8>>)>);

/// `values` are from all headers of that name, in order, and count as one list. Takes linear time.
///
/// # Errors
///
/// As in `ws`, if that is no list of extensions.
pub fn parse<'a>(values: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Extension<'a>>, Fault> {
    let mut extensions = Vec::new();
    for value in values {
        let mut scanner = Scanner::new(value);
        let mut next = Some(b',');
        while next.is_some() {
            let name = scanner.token()?;
            let mut params = Vec::new();
            next = scanner.separator(b",;")?;
            while next == Some(b';') {
                let param = scanner.token()?;
                let value = if scanner.skip(b'=') { Some(scanner.value()?) } else { None };
                params.push((param, value));
                next = scanner.separator(b",;")?;
            }
            extensions.push((name, params));
        }
    }
    Ok(extensions)
}

/// The answer to a client. As in `ws` the first acceptable offer wins, an invalid one spoils them
/// all, and other extensions are ignored. `None`: nothing was offered.
///
/// # Errors
///
/// As [`parse`], or if the offers of permessage-deflate are invalid or all declined.
pub fn negotiate<'a>(
    values: impl Iterator<Item = &'a [u8]>,
    acceptance: &Acceptance,
) -> Result<Option<Accepted>, Fault> {
    let offers = params_in(values, true)?;
    if offers.is_empty() {
        return Ok(None);
    }
    let accepted = offers.into_iter().find(|offer| acceptance.accepts(offer));
    let declined = || Fault::new("Error", "None of the extension offers can be accepted".to_owned());
    Ok(Some(acceptance.answer(accepted.ok_or_else(declined)?).accepted()))
}

/// Parameters of a client after its server's answer.
///
/// # Errors
///
/// As [`parse`], or if the answer does not match `offered`.
pub fn confirm<'a>(values: impl Iterator<Item = &'a [u8]>, offered: &Acceptance) -> Result<Accepted, Fault> {
    let mut answer = params_in(values, false)?.into_iter().next().unwrap_or_default();
    if offered.client_no_context_takeover == Some(false) && answer.get(CLIENT_TAKEOVER).is_some() {
        return Err(Fault::new("Error", format!("Unexpected parameter \"{CLIENT_TAKEOVER}\"")));
    }
    match (answer.get(CLIENT_WINDOW).flatten(), offered.client_max_window_bits) {
        (None, WindowBits::Exactly(bits)) => answer.put(CLIENT_WINDOW, Some(bits)),
        (None, _) | (Some(_), WindowBits::Any) => {}
        (Some(bits), WindowBits::Exactly(most)) if bits <= most => {}
        _ => {
            return Err(Fault::new("Error", format!("Unexpected or invalid parameter \"{CLIENT_WINDOW}\"")));
        }
    }
    Ok(answer.accepted())
}

const SERVER_TAKEOVER: &str = "server_no_context_takeover";
const CLIENT_TAKEOVER: &str = "client_no_context_takeover";
const SERVER_WINDOW: &str = "server_max_window_bits";
const CLIENT_WINDOW: &str = "client_max_window_bits";

/// Parameters of permessage-deflate in order, each at most once, with the bits of windows.
/// `client_max_window_bits` without bits: the client understands the parameter.
#[derive(Default)]
struct Offer(Vec<(&'static str, Option<u8>)>);

fn params_in<'a>(values: impl Iterator<Item = &'a [u8]>, are_offers: bool) -> Result<Vec<Offer>, Fault> {
    let mut offers = parse(values)?;
    offers.retain(|(name, _)| *name == PERMESSAGE_DEFLATE.as_bytes());
    offers.iter().map(|(_, params)| Offer::new(params, are_offers)).collect()
}

impl Offer {
    fn new(params: &[(&[u8], Option<Vec<u8>>)], is_offer: bool) -> Result<Self, Fault> {
        let mut offer = Self::default();
        for (name, value) in params {
            let text = String::from_utf8_lossy(name);
            if params.iter().filter(|(other, _)| other == name).count() > 1 {
                let message = format!("Parameter \"{text}\" must have only a single value");
                return Err(Fault::new("Error", message));
            }
            let known = [SERVER_TAKEOVER, CLIENT_TAKEOVER, SERVER_WINDOW, CLIENT_WINDOW];
            let Some(name) = known.into_iter().find(|known| *known == text) else {
                return Err(Fault::new("Error", format!("Unknown parameter \"{text}\"")));
            };
            let bits = match (name, value) {
                (SERVER_TAKEOVER | CLIENT_TAKEOVER, None) => Some(None),
                // Only an offer can leave the client's window open.
                (CLIENT_WINDOW, None) if is_offer => Some(None),
                (SERVER_WINDOW | CLIENT_WINDOW, Some(value)) => window_bits(value).map(Some),
                _ => None,
            };
            offer.0.push((name, bits.ok_or_else(|| invalid(name, value.as_deref()))?));
        }
        Ok(offer)
    }

    fn get(&self, name: &str) -> Option<Option<u8>> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, bits)| *bits)
    }

    fn put(&mut self, name: &'static str, bits: Option<u8>) {
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some(param) => param.1 = bits,
            None => self.0.push((name, bits)),
        }
    }

    fn accepted(self) -> Accepted {
        let window = |name| self.get(name).flatten().unwrap_or(15);
        let params = Params {
            server_no_context_takeover: self.get(SERVER_TAKEOVER).is_some(),
            client_no_context_takeover: self.get(CLIENT_TAKEOVER).is_some(),
            server_max_window_bits: window(SERVER_WINDOW),
            client_max_window_bits: window(CLIENT_WINDOW),
        };
        let params_text = self.0.iter().map(|(name, bits)| match bits {
            Some(bits) => format!("; {name}={bits}"),
            None => format!("; {name}"),
        });
        Accepted { params, answer: once(PERMESSAGE_DEFLATE.to_owned()).chain(params_text).collect() }
    }
}

fn invalid(name: &str, value: Option<&[u8]>) -> Fault {
    let value = String::from_utf8_lossy(value.unwrap_or(b"true"));
    Fault::new("TypeError", format!("Invalid value for parameter \"{name}\": {value}"))
}

impl Acceptance {
    fn accepts(&self, offer: &Offer) -> bool {
        if self.server_no_context_takeover == Some(false) && offer.get(SERVER_TAKEOVER).is_some() {
            return false;
        }
        let server = match (self.server_max_window_bits, offer.get(SERVER_WINDOW).flatten()) {
            (WindowBits::Refused, Some(_)) => false,
            (WindowBits::Exactly(bits), Some(most)) => bits <= most,
            _ => true,
        };
        let client = match (self.client_max_window_bits, offer.get(CLIENT_WINDOW)) {
            (WindowBits::Exactly(bits), Some(most)) => most.is_none_or(|most| bits <= most),
            (WindowBits::Exactly(_), None) => false,
            _ => true,
        };
        server && client
    }

    fn answer(&self, mut answer: Offer) -> Offer {
        if self.server_no_context_takeover == Some(true) {
            answer.put(SERVER_TAKEOVER, None);
        }
        if self.client_no_context_takeover == Some(true) {
            answer.put(CLIENT_TAKEOVER, None);
        }
        if let WindowBits::Exactly(bits) = self.server_max_window_bits {
            answer.put(SERVER_WINDOW, Some(bits));
        }
        match self.client_max_window_bits {
            WindowBits::Exactly(bits) => answer.put(CLIENT_WINDOW, Some(bits)),
            WindowBits::Refused => answer.0.retain(|(name, _)| *name != CLIENT_WINDOW),
            WindowBits::Any => answer.0.retain(|param| *param != (CLIENT_WINDOW, None)),
        }
        answer
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
    // `from_str_radix` would accept a sign.
    digits.chars().try_fold(0.0, |number, digit| {
        digit.to_digit(radix).map(|digit| number * f64::from(radix) + f64::from(digit))
    })
}
