use super::{DEFAULTS, der, pair};
use crate::reactor::tls::{ContextOptions, PairOptions, SecureContext};

fn code(options: &ContextOptions<'_>) -> Option<&'static str> {
    SecureContext::new(options).err().map(|bad| bad.code)
}

#[test]
fn what_cannot_be_used_is_named() {
    // The program chooses contexts by host.
    assert_eq!(code(&DEFAULTS), None);
    for name in ["server", "server-rsa"] {
        assert_eq!(code(&ContextOptions { pairs: &[pair(name)], ..DEFAULTS }), None);
        let whole = pair(name);
        for len in 0..whole.key.len() {
            let cut = PairOptions { key: &whole.key[..len], ..whole };
            assert_eq!(code(&ContextOptions { pairs: &[cut], ..DEFAULTS }), Some("ERR_OSSL_UNSUPPORTED"));
        }
    }
    let clients = ContextOptions { pairs: &[pair("server")], request_cert: true, ..DEFAULTS };
    assert_eq!(code(&ContextOptions { ca: &[der("ca.pem"), der("other-ca.pem")], ..clients }), None);
    let lists = ContextOptions { ca: &[der("ca.pem")], crl: &[der("ca.crl")], ..clients };
    assert_eq!(code(&lists), None);
    for crl in [&b"x"[..], b"\x30\x00", der("ca.pem")] {
        assert_eq!(code(&ContextOptions { crl: &[crl], ..lists }), Some("ERR_CRYPTO_OPERATION_FAILED"));
    }
}

#[test]
fn versions_and_suites_must_leave_something() {
    let options = ContextOptions { pairs: &[pair("server")], ..DEFAULTS };
    for (versions, ciphers, expected) in [
        ((0x0303, 0x0304), &[0x1301, 0xc02f][..], None),
        ((0x0303, 0x0304), &[0xcca9], None),
        ((0x0304, 0x0304), &[0xcca9], Some("ERR_SSL_NO_PROTOCOLS_AVAILABLE")),
        ((0x0304, 0x0303), &[], Some("ERR_SSL_NO_PROTOCOLS_AVAILABLE")),
        ((0x0301, 0x0302), &[], Some("ERR_SSL_NO_PROTOCOLS_AVAILABLE")),
        ((0x0303, 0x0304), &[0x9e], Some("ERR_SSL_NO_PROTOCOLS_AVAILABLE")),
    ] {
        assert_eq!(
            code(&ContextOptions { versions, ciphers, ..options }),
            expected,
            "{versions:x?} {ciphers:?}"
        );
    }
}
