//! Certificates, keys, versions and trust: what one host of a server is.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys, ServerConfig, SignatureAlgorithm};

use super::failure::BadOption;
use super::trust::{Trust, Verifier, read_all};
use super::{der, key, suites};

/// As the options of Node's `tls.createSecureContext`.
#[derive(Clone, Copy)]
pub struct ContextOptions<'a> {
    /// At least one. Of several, the one is used that the client supports.
    pub pairs: &'a [PairOptions<'a>],
    pub ca: &'a [&'a [u8]],
    pub crl: &'a [&'a [u8]],
    pub request_cert: bool,
    /// With `request_cert`: clients without a good certificate are refused.
    pub reject_unauthorized: bool,
    /// As on the wire: 0x0303 is TLS 1.2, 0x0304 is 1.3.
    pub versions: (u16, u16),
    /// OpenSSL's names, with colons between them; `None`: all, as the client prefers.
    pub ciphers: Option<&'a str>,
}

/// PEM or DER.
#[derive(Clone, Copy)]
pub struct PairOptions<'a> {
    pub cert: &'a [u8],
    pub key: &'a [u8],
    pub passphrase: Option<&'a str>,
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
        if let Some(list) = options.ciphers {
            provider.cipher_suites = suites::named(list)?;
        }
        let versions = suites::versions(options.versions, &provider.cipher_suites)?;
        let pairs = Pairs::new(options.pairs, &provider)?;
        let provider = Arc::new(provider);
        let trust = Arc::new(if options.request_cert {
            Trust::new((options.ca, options.crl), options.reject_unauthorized, provider.clone())?
        } else {
            Trust::nobody(provider.clone())
        });
        let builder = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|error| BadOption::new("ERR_SSL_NO_CIPHER_MATCH", format!("ciphers: {error}")))?;
        let builder = if options.request_cert {
            builder.with_client_cert_verifier(Arc::new(Verifier(trust.clone())))
        } else {
            builder.with_no_client_auth()
        };
        let mut config = builder.with_cert_resolver(Arc::new(pairs));
        config.session_storage = Arc::new(NoServerSessionStorage {});
        // A list is an order; without one a client knows best what its processor does fast.
        config.ignore_client_order = options.ciphers.is_some();
        Ok(Self { config, trust })
    }
}

impl fmt::Debug for SecureContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecureContext")
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
    let chain = read_all(&[options.cert], "CERTIFICATE", "cert", "ERR_OSSL_PEM_NO_START_LINE")?;
    if let Some(own) = chain.first() {
        check_dates(own)?;
    }
    let key = key::read(options.key, options.passphrase)?;
    let key = provider.key_provider.load_private_key(key).map_err(|error| {
        BadOption::new("ERR_OSSL_UNSUPPORTED", format!("key: {error}; RSA, ECDSA and Ed25519 are supported"))
    })?;
    let pair = CertifiedKey::new(chain.into_iter().map(CertificateDer::from).collect(), key);
    match pair.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(Arc::new(pair)),
        Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            let message = "key, cert: key values mismatch: the key is not that of the certificate";
            Err(BadOption::new("ERR_OSSL_X509_KEY_VALUES_MISMATCH", message))
        }
        Err(error) => {
            Err(BadOption::new("ERR_OSSL_ASN1_PARSE_ERROR", format!("cert: it cannot be read: {error}")))
        }
    }
}

/// Node takes an expired certificate, which no client does.
fn check_dates(certificate: &[u8]) -> Result<(), BadOption> {
    let now = UnixTime::now().as_secs().cast_signed();
    match der::Certificate::parse(certificate) {
        None => Err(BadOption::new("ERR_OSSL_ASN1_PARSE_ERROR", "cert: there is no certificate in it")),
        Some(certificate) if certificate.not_after < now => {
            Err(BadOption::new("CERT_HAS_EXPIRED", "cert: the certificate has expired"))
        }
        Some(_) => Ok(()),
    }
}

impl ResolvesServerCert for Pairs {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let fits = |pair: &&Arc<CertifiedKey>| pair.key.choose_scheme(hello.signature_schemes()).is_some();
        // With another one the handshake fails for the right reason.
        self.0.iter().find(fits).or_else(|| self.0.first()).cloned()
    }
}
