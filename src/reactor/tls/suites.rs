//! Cipher suites by the names of OpenSSL.

use rustls::crypto::aws_lc_rs::cipher_suite as suite;
use rustls::{SupportedCipherSuite, SupportedProtocolVersion};

use super::failure::BadOption;

const NAMES: [(&str, SupportedCipherSuite); 9] = [
    ("TLS_AES_256_GCM_SHA384", suite::TLS13_AES_256_GCM_SHA384),
    ("TLS_CHACHA20_POLY1305_SHA256", suite::TLS13_CHACHA20_POLY1305_SHA256),
    ("TLS_AES_128_GCM_SHA256", suite::TLS13_AES_128_GCM_SHA256),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-RSA-AES256-GCM-SHA384", suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-RSA-AES128-GCM-SHA256", suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("ECDHE-RSA-CHACHA20-POLY1305", suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

/// The suites that a list with colons names, in its order.
///
/// # Errors
/// A name is not one of ours.
pub(super) fn named(list: &str) -> Result<Vec<SupportedCipherSuite>, BadOption> {
    let mut suites = Vec::new();
    for name in list.split(':').filter(|name| !name.is_empty()) {
        let Some(&(_, suite)) = NAMES.iter().find(|(known, _)| *known == name) else {
            let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
            let message = format!("ciphers: no cipher suite {name} here; there are {}", names.join(", "));
            return Err(BadOption::new("ERR_SSL_NO_CIPHER_MATCH", message));
        };
        if !suites.contains(&suite) {
            suites.push(suite);
        }
    }
    Ok(suites)
}

/// Of the versions from `min` to `max`, as on the wire, those that a suite is for.
///
/// # Errors
/// There is none.
pub(super) fn versions(
    (min, max): (u16, u16),
    suites: &[SupportedCipherSuite],
) -> Result<Vec<&'static SupportedProtocolVersion>, BadOption> {
    let all = [&rustls::version::TLS13, &rustls::version::TLS12];
    let versions: Vec<_> = all
        .into_iter()
        .filter(|version| (min..=max).contains(&u16::from(version.version)))
        .filter(|version| suites.iter().any(|suite| suite.version().version == version.version))
        .collect();
    if versions.is_empty() {
        let message =
            "minVersion, maxVersion, ciphers: no version of TLS is left; there are TLSv1.2 and TLSv1.3";
        return Err(BadOption::new("ERR_SSL_NO_PROTOCOLS_AVAILABLE", message));
    }
    Ok(versions)
}
