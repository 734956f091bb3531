use super::{DEFAULTS, file, pair};
use crate::reactor::tls::{ContextOptions, PairOptions, SecureContext};

fn code(options: &ContextOptions<'_>) -> Option<&'static str> {
    SecureContext::new(options).err().map(|bad| bad.code)
}

fn code_of_pair(cert: &str, key: &[u8], passphrase: Option<&str>) -> Option<&'static str> {
    code(&ContextOptions { pairs: &[PairOptions { cert: file(cert), key, passphrase }], ..DEFAULTS })
}

#[test]
fn keys_are_read_in_every_form_that_openssl_writes() {
    for key in ["server.key", "server-sec1.key"] {
        assert_eq!(code_of_pair("server.pem", file(key), None), None, "{key}");
    }
    assert_eq!(code_of_pair("server-rsa.pem", file("server-rsa.key"), None), None);
    for key in ["server-encrypted.key", "server-encrypted.der"] {
        assert_eq!(code_of_pair("server.pem", file(key), Some("secret")), None, "{key}");
        for wrong in [None, Some(""), Some("Secret")] {
            assert_eq!(code_of_pair("server.pem", file(key), wrong), Some("ERR_OSSL_BAD_DECRYPT"), "{key}");
        }
    }
    for key in ["server-old.key", "server-scrypt.key", "server.pem"] {
        assert_eq!(
            code_of_pair("server.pem", file(key), Some("secret")),
            Some("ERR_OSSL_UNSUPPORTED"),
            "{key}"
        );
    }
    // Text around the key, and another section before it.
    let with_chain = [b"some text\n", file("ca.pem"), file("server.key"), b"more"].concat();
    assert_eq!(code_of_pair("server.pem", &with_chain, None), None);
}

#[test]
fn a_key_that_is_cut_off_is_an_error_and_no_panic() {
    for name in ["server.key", "server-encrypted.key", "server-encrypted.der", "server-rsa.key"] {
        let whole = file(name);
        for len in 0..whole.len() - 30 {
            assert!(code_of_pair("server.pem", &whole[..len], Some("secret")).is_some(), "{name} {len}");
        }
    }
}

#[test]
fn certificates_that_cannot_be_used_are_named() {
    assert_eq!(
        code_of_pair("server.pem", file("client.key"), None),
        Some("ERR_OSSL_X509_KEY_VALUES_MISMATCH")
    );
    assert_eq!(code_of_pair("server.key", file("server.key"), None), Some("ERR_OSSL_PEM_NO_START_LINE"));
    assert_eq!(code_of_pair("expired.pem", file("expired.key"), None), Some("CERT_HAS_EXPIRED"));
    // The program chooses contexts by host.
    assert_eq!(code(&DEFAULTS), None);
    let whole = file("server.pem");
    for len in 0..whole.len() - 2 {
        let cert = PairOptions { cert: &whole[..len], key: file("server.key"), passphrase: None };
        assert!(code(&ContextOptions { pairs: &[cert], ..DEFAULTS }).is_some(), "{len}");
    }
    let clients = ContextOptions { pairs: &[pair("server")], request_cert: true, ..DEFAULTS };
    assert_eq!(code(&ContextOptions { ca: &[file("ca.pem"), file("other-ca.pem")], ..clients }), None);
    assert_eq!(code(&ContextOptions { ca: &[b"x"], ..clients }), Some("ERR_OSSL_PEM_NO_START_LINE"));
    let lists = ContextOptions { ca: &[file("ca.pem")], crl: &[file("ca.crl")], ..clients };
    assert_eq!(code(&lists), None);
    for crl in [&b"x"[..], b"\x30\x00", file("ca.pem")] {
        assert_eq!(code(&ContextOptions { crl: &[crl], ..lists }), Some("ERR_CRYPTO_OPERATION_FAILED"));
    }
}

#[test]
fn versions_and_suites_must_leave_something() {
    let options = ContextOptions { pairs: &[pair("server")], ..DEFAULTS };
    for (versions, ciphers, expected) in [
        ((0x0303, 0x0304), Some("TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256"), None),
        ((0x0303, 0x0304), Some("ECDHE-ECDSA-CHACHA20-POLY1305"), None),
        ((0x0304, 0x0304), Some("ECDHE-ECDSA-CHACHA20-POLY1305"), Some("ERR_SSL_NO_PROTOCOLS_AVAILABLE")),
        ((0x0304, 0x0303), None, Some("ERR_SSL_NO_PROTOCOLS_AVAILABLE")),
        ((0x0301, 0x0302), None, Some("ERR_SSL_NO_PROTOCOLS_AVAILABLE")),
        ((0x0303, 0x0304), Some("DHE-RSA-AES128-GCM-SHA256"), Some("ERR_SSL_NO_CIPHER_MATCH")),
        ((0x0303, 0x0304), Some(""), Some("ERR_SSL_NO_PROTOCOLS_AVAILABLE")),
    ] {
        assert_eq!(
            code(&ContextOptions { versions, ciphers, ..options }),
            expected,
            "{versions:x?} {ciphers:?}"
        );
    }
}
