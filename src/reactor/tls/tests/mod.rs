//! Certificates, which are good for a hundred years, and what is made of them. `files` has those of
//! two authorities, `ca` and `other-ca`.

mod contexts;
mod trusting;

use std::sync::Arc;

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
    "server-encrypted.der", "server-encrypted.key", "server-old.key", "server-scrypt.key", "server-sec1.key",
}

pub(in crate::reactor) fn pair<'a>(name: &str) -> PairOptions<'a> {
    PairOptions { cert: file(&format!("{name}.pem")), key: file(&format!("{name}.key")), passphrase: None }
}

pub(in crate::reactor) const DEFAULTS: ContextOptions<'_> = ContextOptions {
    pairs: &[],
    ca: &[],
    crl: &[],
    request_cert: false,
    reject_unauthorized: true,
    versions: (0x0303, 0x0304),
    ciphers: None,
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
