//! TLS of servers: contexts, and the data that the reactors of a server share.

use std::sync::Arc;

use napi::bindgen_prelude::{Buffer, Uint8Array};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;

use super::deflate::millis;
use crate::reactor::tls::{
    BadOption, ContextOptions, PairOptions, SecureContext, TICKET_KEY_BYTES, TlsOptions, TlsServer,
};

/// As the options of Node's `tls.createSecureContext`.
#[napi(object)]
pub struct SecureContextOptions {
    /// A handshake uses one that the client supports.
    pub pairs: Vec<Pair>,
    /// In DER, as `crl`.
    pub ca: Vec<Uint8Array>,
    pub crl: Vec<Uint8Array>,
    pub request_cert: bool,
    /// false: a fault of a client's certificate is reported with its connection.
    pub reject_unauthorized: bool,
    /// As on the wire: 0x0303 is TLS 1.2, 0x0304 is 1.3.
    pub min_version: u32,
    pub max_version: u32,
    /// Numbers of suites, in order; empty: all.
    pub ciphers: Vec<u32>,
}

/// In DER.
#[napi(object)]
pub struct Pair {
    /// The server's own certificate first.
    pub chain: Vec<Uint8Array>,
    /// PKCS #8.
    pub key: Uint8Array,
}

/// Immutable.
#[napi(js_name = "SecureContext")]
pub struct JsSecureContext {
    pub(super) shared: Arc<SecureContext>,
}

#[napi]
impl JsSecureContext {
    /// Throws an Error with a code of Node's and the name of the option.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, options: SecureContextOptions) -> Result<Self> {
        let chains: Vec<_> = options.pairs.iter().map(|pair| slices(&pair.chain)).collect();
        let pairs = options.pairs.iter().zip(&chains);
        let pairs: Vec<_> = pairs.map(|(pair, chain)| PairOptions { chain, key: &pair.key }).collect();
        let number = |wide: u32| u16::try_from(wide).unwrap_or(u16::MAX);
        let context = SecureContext::new(&ContextOptions {
            pairs: &pairs,
            ca: &slices(&options.ca),
            crl: &slices(&options.crl),
            request_cert: options.request_cert,
            reject_unauthorized: options.reject_unauthorized,
            versions: (number(options.min_version), number(options.max_version)),
            ciphers: &options.ciphers.iter().map(|&suite| number(suite)).collect::<Vec<_>>(),
        });
        context.map(|context| Self { shared: Arc::new(context) }).map_err(|bad| thrown(&env, &bad))
    }
}

fn slices(files: &[Uint8Array]) -> Vec<&[u8]> {
    files.iter().map(|file| &**file).collect()
}

fn thrown(env: &Env, bad: &BadOption) -> Error {
    match env.throw_error(&bad.message, Some(bad.code)) {
        Ok(()) => Error::new(Status::PendingException, bad.code.to_owned()),
        Err(other) => other,
    }
}

/// Shared by the reactors of a server: the contexts of its hosts, and the keys of its tickets.
#[napi(js_name = "TlsServer")]
pub struct JsTlsServer {
    pub(super) shared: Arc<TlsServer>,
}

#[napi(object, object_to_js = false, use_nullable = true)]
pub struct TlsServerOptions {
    /// In the order of preference, latin1; empty: the client's are ignored.
    pub alpn: Vec<String>,
    /// In milliseconds.
    pub handshake_timeout: f64,
    /// In seconds; 0: there are no tickets.
    pub session_timeout: f64,
    /// 48 bytes; null: keys of ours, replaced each `session_timeout`.
    pub ticket_keys: Option<Uint8Array>,
    /// The bits `TLS_ASK_`.
    pub ask: u32,
}

#[napi]
impl JsTlsServer {
    /// `context`: for clients that name no host, or none of those added.
    #[napi(constructor, catch_unwind)]
    pub fn new(context: &JsSecureContext, options: TlsServerOptions) -> Result<Self> {
        let keys = options.ticket_keys.as_deref().map(ticket_keys).transpose()?;
        let server = TlsServer::new(TlsOptions {
            context: context.shared.clone(),
            alpn: options.alpn.iter().map(|name| protocol(name)).collect(),
            handshake_timeout: millis(options.handshake_timeout),
            session_timeout: millis(options.session_timeout * 1000.0),
            ticket_keys: keys,
            ask: options.ask,
        });
        let server =
            server.ok_or_else(|| Error::new(Status::GenericFailure, "the system has no random numbers"))?;
        Ok(Self { shared: Arc::new(server) })
    }

    /// For handshakes that begin from now on.
    #[napi(catch_unwind)]
    pub fn set_context(&self, context: &JsSecureContext) {
        self.shared.set_context(&context.shared);
    }

    /// For clients that name a host which `host` matches, where `*` stands for a part of a name without
    /// dots. The last one added counts.
    #[napi(catch_unwind)]
    pub fn add_context(&self, host: String, context: &JsSecureContext) {
        self.shared.add_context(&host, &context.shared);
    }

    /// The 48 bytes that seal tickets now. From then on they are not replaced by themselves.
    #[napi(catch_unwind)]
    pub fn ticket_keys(&self) -> Buffer {
        self.shared.ticket_keys().to_vec().into()
    }

    #[napi(catch_unwind)]
    pub fn set_ticket_keys(&self, keys: Uint8Array) -> Result<()> {
        self.shared.set_ticket_keys(ticket_keys(&keys)?);
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn set_ask(&self, bits: u32) {
        self.shared.set_ask(bits);
    }
}

fn ticket_keys(bytes: &[u8]) -> Result<&[u8; TICKET_KEY_BYTES]> {
    bytes.try_into().map_err(|_other_length| {
        Error::new(Status::InvalidArg, format!("ticketKeys: must be {TICKET_KEY_BYTES} bytes"))
    })
}

/// The bytes of a protocol's name, which JavaScript sees as latin1.
pub(super) fn protocol(name: &str) -> Vec<u8> {
    name.chars().map(super::listen::latin1).collect()
}
