//! Cipher suites and versions.

use rustls::{SupportedCipherSuite, SupportedProtocolVersion};

use super::failure::BadOption;

/// Those with these numbers, in this order.
pub(super) fn numbered(numbers: &[u16], all: &[SupportedCipherSuite]) -> Vec<SupportedCipherSuite> {
    let suite = |number| all.iter().find(|suite| u16::from(suite.suite()) == number).copied();
    numbers.iter().filter_map(|&number| suite(number)).collect()
}

/// The versions of a suite from `min` to `max`, as on the wire.
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
