//! The rows of the handshake's fault list, byte for byte.

use super::*;

#[test]
fn accept_is_that_of_rfc_6455_section_1_3() {
    assert_eq!(&accept_for(b"dGhlIHNhbXBsZSBub25jZQ=="), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}
