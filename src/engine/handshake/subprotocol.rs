//! The `Sec-WebSocket-Protocol` header (RFC 6455 section 11.3.4).

use std::collections::HashSet;

use super::list::{Fault, Scanner};

/// The subprotocols that a client offers. `values` are from all headers of that name, in order, and
/// count as one list. Takes linear time.
///
/// # Errors
///
/// For an element that is empty, no token, or offered twice, as in `ws`.
pub fn parse<'a>(values: impl Iterator<Item = &'a [u8]>) -> Result<Vec<&'a [u8]>, Fault> {
    let mut names = Vec::new();
    let mut seen = HashSet::new();
    for value in values {
        let mut scanner = Scanner::new(value);
        loop {
            let name = scanner.token()?;
            let next = scanner.separator(b",")?;
            if !seen.insert(name) {
                let name = String::from_utf8_lossy(name);
                return Err(Fault::new("SyntaxError", format!("The \"{name}\" subprotocol is duplicated")));
            }
            names.push(name);
            if next.is_none() {
                break;
            }
        }
    }
    Ok(names)
}
