//! Certificates, which are good for a hundred years, and what is made of them. `files` has those of
//! two authorities, `ca` and `other-ca`.

mod contexts;
mod trusting;

use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivatePkcs8KeyDer};

use crate::reactor::tests::PATIENCE;
use crate::reactor::tls::{ContextOptions, PairOptions, SecureContext, TlsOptions, TlsServer};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// A file of the folder `files`.
        pub(in crate::reactor) fn file(name: &str) -> &'static [u8] {
            match name {
                $($name => include_bytes!(concat!("files/", $name)),)*
                _ => unreachable!("{name}"),
            }
        }
    };
}

files! {
    "ca.crl", "ca.pem", "other-ca.pem",
    "client.key", "client.pem", "expired.key", "expired.pem", "revoked.key", "revoked.pem", "self.key",
    "self.pem", "stranger.key", "stranger.pem", "host.key", "host.pem",
    "server.key", "server.pem", "server-rsa.key", "server-rsa.pem",
}

/// The first section of a file.
pub(in crate::reactor) fn der(name: &str) -> &'static [u8] {
    let der = match name.rsplit('.').next() {
        Some("key") => {
            PrivatePkcs8KeyDer::from_pem_slice(file(name)).expect("a key").secret_pkcs8_der().to_vec()
        }
        Some("crl") => CertificateRevocationListDer::from_pem_slice(file(name)).expect("a list").to_vec(),
        _ => CertificateDer::from_pem_slice(file(name)).expect("a certificate").to_vec(),
    };
    der.leak()
}

pub(in crate::reactor) fn pair(name: &str) -> PairOptions<'static> {
    let chain = vec![der(&format!("{name}.pem"))].leak();
    PairOptions { chain, key: der(&format!("{name}.key")) }
}

pub(in crate::reactor) const DEFAULTS: ContextOptions<'_> = ContextOptions {
    pairs: &[],
    ca: &[],
    crl: &[],
    request_cert: false,
    reject_unauthorized: true,
    versions: (0x0303, 0x0304),
    ciphers: &[],
};

pub(in crate::reactor) fn context(options: &ContextOptions<'_>) -> Arc<SecureContext> {
    Arc::new(SecureContext::new(options).expect("good options"))
}

pub(in crate::reactor) fn server_context() -> Arc<SecureContext> {
    context(&ContextOptions { pairs: &[pair("server")], ..DEFAULTS })
}

pub(in crate::reactor) fn server_of(context: Arc<SecureContext>, alpn: &[&str]) -> Arc<TlsServer> {
    let alpn = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let options = TlsOptions {
        context,
        alpn,
        handshake_timeout: PATIENCE,
        session_timeout: PATIENCE,
        ticket_keys: None,
        ask: 0,
    };
    Arc::new(TlsServer::new(options).expect("random numbers"))
}

pub(in crate::reactor) fn server() -> Arc<TlsServer> {
    server_of(server_context(), &[])
}
