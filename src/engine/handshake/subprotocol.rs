//! The `Sec-WebSocket-Protocol` header (RFC 6455 section 11.3.4).

use std::collections::HashSet;

use super::is_token_char;

/// The first of the subprotocols that a client offers.
///
/// `values` are from all headers of that name, in order; several are one list. `None`: nothing is
/// offered. An element that is empty, no token, or offered twice makes the list invalid, as in
/// `ws`. Takes linear time.
///
/// # Errors
///
/// [`InvalidList`] if any element breaks these rules.
pub fn parse<'a>(values: impl Iterator<Item = &'a [u8]>) -> Result<Option<&'a [u8]>, InvalidList> {
    let mut first = None;
    let mut others = HashSet::new();
    for name in values.flat_map(|value| value.split(|&byte| byte == b',')) {
        let name = name.trim_ascii();
        if name.is_empty() || !name.iter().all(|&byte| is_token_char(byte)) {
            return Err(InvalidList);
        }
        match first {
            None => first = Some(name),
            Some(first) if first == name || !others.insert(name) => return Err(InvalidList),
            Some(_) => {}
        }
    }
    Ok(first)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidList;
