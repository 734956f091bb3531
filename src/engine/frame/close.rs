//! The body of a close frame (RFC 6455, section 5.5.1).

use crate::engine::close_code::CloseCode;
use crate::engine::error::{ErrorKind, ProtocolError};

pub(in crate::engine) const CODE_LEN: usize = 2;

/// `None` if the unmasked body is empty. A body of one byte never gets here: its header is refused.
pub(in crate::engine) fn decode_code(body: &[u8]) -> Result<Option<CloseCode>, ProtocolError> {
    let Some(code) = body.first_chunk::<CODE_LEN>() else { return Ok(None) };
    let number = u16::from_be_bytes(*code);
    match CloseCode::new(number) {
        None => Err(ProtocolError::with_detail(ErrorKind::InvalidCloseCode, number)),
        code => Ok(code),
    }
}
