//! Certificates, keys, versions and trust of one host of a server.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, SignatureAlgorithm};

use super::failure::BadOption;
use super::suites;
use super::trust::Trust;

/// As the options of Node's `tls.createSecureContext`.
#[derive(Clone, Copy)]
pub struct ContextOptions<'a> {
    /// At least one. A handshake uses the one that the client supports.
    pub pairs: &'a [PairOptions<'a>],
    /// In DER, as `crl`.
    pub ca: &'a [&'a [u8]],
    pub crl: &'a [&'a [u8]],
    pub request_cert: bool,
    /// With `request_cert`: clients without a good certificate are refused.
    pub reject_unauthorized: bool,
    /// As on the wire: 0x0303 is TLS 1.2, 0x0304 is 1.3.
    pub versions: (u16, u16),
    /// Numbers of suites, in order; empty: all, as the client prefers.
    pub ciphers: &'a [u16],
}

/// In DER. Whether they belong together is not looked at.
#[derive(Clone, Copy)]
pub struct PairOptions<'a> {
    /// The server's own certificate first.
    pub chain: &'a [&'a [u8]],
    /// PKCS #8.
    pub key: &'a [u8],
}

/// Immutable, and shared by all reactors.
pub struct SecureContext {
    /// Without tickets and ALPN, which are the server's.
    pub(super) config: ServerConfig,
    pub(super) trust: Arc<Trust>,
}

impl SecureContext {
    /// # Errors
    /// An option that is wrong or not supported.
    pub fn new(options: &ContextOptions<'_>) -> Result<Self, BadOption> {
        let mut provider = aws_lc_rs::default_provider();
        if !options.ciphers.is_empty() {
            provider.cipher_suites = suites::numbered(options.ciphers, &provider.cipher_suites);
        }
        let versions = suites::versions(options.versions, &provider.cipher_suites)?;
        let pairs = Pairs::new(options.pairs, &provider)?;
        let provider = Arc::new(provider);
        let asking = (options.request_cert, options.reject_unauthorized);
        let trust = Arc::new(Trust::new((options.ca, options.crl), asking, provider.clone())?);
        let builder = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|_what| BadOption::new("ERR_SSL_NO_CIPHER_MATCH", "ciphers: none is left"))?;
        let builder = if options.request_cert {
            builder.with_client_cert_verifier(trust.clone())
        } else {
            builder.with_no_client_auth()
        };
        let mut config = builder.with_cert_resolver(Arc::new(pairs));
        config.session_storage = Arc::new(NoServerSessionStorage {});
        // A list is an order; without one a client knows best what its processor does fast.
        config.ignore_client_order = !options.ciphers.is_empty();
        Ok(Self { config, trust })
    }
}

/// Certificates with their keys, those first that cost least to sign with. Without any, a handshake fails: the
/// program chooses contexts by host.
#[derive(Debug)]
struct Pairs(Vec<Arc<CertifiedKey>>);

impl Pairs {
    fn new(options: &[PairOptions<'_>], provider: &CryptoProvider) -> Result<Self, BadOption> {
        let mut pairs =
            options.iter().map(|options| pair(options, provider)).collect::<Result<Vec<_>, _>>()?;
        pairs.sort_by_key(|pair| pair.key.algorithm() == SignatureAlgorithm::RSA);
        Ok(Self(pairs))
    }
}

fn pair(options: &PairOptions<'_>, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, BadOption> {
    let key = PrivatePkcs8KeyDer::from(options.key.to_vec()).into();
    let key = provider.key_provider.load_private_key(key).map_err(|_what| {
        BadOption::new(
            "ERR_OSSL_UNSUPPORTED",
            "key: it has a form that only OpenSSL reads, such as the explicit parameters of a curve",
        )
    })?;
    let chain = options.chain.iter().map(|&der| CertificateDer::from(der.to_vec())).collect();
    Ok(Arc::new(CertifiedKey::new(chain, key)))
}

impl ResolvesServerCert for Pairs {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let fits = |pair: &&Arc<CertifiedKey>| pair.key.choose_scheme(hello.signature_schemes()).is_some();
        // With another one the handshake fails for the right reason.
        self.0.iter().find(fits).or_else(|| self.0.first()).cloned()
    }
}
