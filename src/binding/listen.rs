//! Options from JavaScript.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use napi::bindgen_prelude::{Buffer, JsObjectValue as _};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;

use super::adopt;
use super::deflate::{DeflateOptions, NegotiatedDeflate, millis};
use crate::bridge::admission::Admission;
use crate::bridge::rates::Rates;
use crate::engine;
use crate::engine::handshake::HeadLimits;
use crate::engine::proxy::Network;
use crate::reactor::tls::TlsServer;
use crate::reactor::{Asked, BoundListener, Http, ListenAddress, ListenerConfig, TcpOptions};

/// Times are in milliseconds, 0 = never.
#[napi(object, use_nullable = true)]
pub struct ListenOptions {
    /// An IP literal; null: all addresses.
    pub host: Option<String>,
    /// 0 = any free one.
    pub port: u32,
    /// Instead of host and port; null: listen there.
    pub socket_path: Option<String>,
    /// Permissions of the file at that path; null: as the process makes files.
    pub mode: Option<u32>,
    /// A socket that another process has bound, instead of an address; null: a new one.
    pub fd: Option<i32>,
    pub backlog: i32,
    /// Shared with other processes that set it too.
    pub reuse_port: bool,
    pub no_delay: bool,
    /// Silence before the system probes a peer; 0: the system's default, below 0: no probes.
    pub keep_alive: f64,
    pub ipv6_only: bool,
    /// null: every path.
    pub path: Option<String>,
    /// A GET there is answered with 200; null: none.
    pub health_check: Option<String>,
    /// null: requests without an upgrade are answered with 426.
    pub http: Option<HttpOptions>,
    pub early_handshake: bool,
    /// Its connections can move to another process. Those of a route, if those of its port can.
    pub movable: bool,
    pub handshake_timeout: f64,
    pub max_header_bytes: u32,
    /// At most 256.
    pub max_headers: u32,
    pub proxies: Vec<String>,
    /// The handshakes that need JavaScript, `ASK_`.
    pub ask: u32,
    /// null: off.
    pub per_message_deflate: Option<DeflateOptions>,
    pub connection: ConnectionOptions,
}

/// Connections for an HTTP server of the program, except upgrades of the routes.
#[napi(object)]
pub struct HttpOptions {
    /// Plain ones come as descriptors; else the reactor relays them.
    pub sockets: bool,
}

/// Times are in milliseconds, 0 = never.
#[napi(object)]
pub struct ConnectionOptions {
    /// Bytes, 0 = no limit.
    pub max_payload: f64,
    /// Frames, 0 = no limit.
    pub max_fragments: u32,
    pub skip_utf8_validation: bool,
    pub auto_pong: bool,
    /// For a peer that does not read; 0 = no limit.
    pub max_pending_auto_pongs: u32,
    pub close_timeout: f64,
    pub ping_interval: f64,
    pub idle_timeout: f64,
    pub deflate: Option<NegotiatedDeflate>,
}

/// The request of a connection that can move to another process.
#[napi(object)]
pub struct AskedOptions {
    /// The listener that has the port.
    pub listener: u32,
    /// The head.
    pub request: Buffer,
    /// The client that a proxy has named, with its port; null: the peer.
    pub client: Option<String>,
}

impl AskedOptions {
    pub(super) fn asked(&self) -> Asked {
        let client = self.client.as_deref().and_then(|client| client.parse().ok());
        Asked { port: self.listener, client, request: self.request.to_vec() }
    }
}

#[napi(object)]
pub struct Listening {
    pub id: u32,
    /// Or the path; empty for a socket without a name.
    pub address: String,
    pub port: u32,
    /// `IPv4`, `IPv6`, or empty for a socket of the file system.
    pub family: String,
}

pub(super) fn listening(id: u32, listener: &BoundListener) -> Listening {
    let at = listener.address();
    let (address, family) = match (listener.is_tcp(), at.is_ipv4()) {
        (true, true) => (at.ip().to_string(), "IPv4"),
        (true, false) => (at.ip().to_string(), "IPv6"),
        (false, _) => (listener.path().map_or_else(String::new, |path| path.display().to_string()), ""),
    };
    Listening { id, address, port: at.port().into(), family: family.to_owned() }
}

pub(super) fn bind(env: &Env, options: &ListenOptions) -> Result<BoundListener> {
    let host = options.host.as_deref().map(str::parse::<IpAddr>).transpose().map_err(|_not_an_ip| {
        Error::new(Status::InvalidArg, "host: an IP address is expected here; names are looked up before")
    })?;
    let port = u16::try_from(options.port)
        .map_err(|_too_large| Error::new(Status::InvalidArg, "port: must be at most 65535"))?;
    let backlog = options.backlog.max(1);
    let bound = match (options.fd, &options.socket_path) {
        (Some(fd), _) => adopt::listener(fd, backlog),
        (None, Some(path)) => BoundListener::bind_path(Path::new(path), options.mode, backlog),
        (None, None) => BoundListener::bind(&ListenAddress {
            host,
            port,
            backlog,
            ipv6_only: options.ipv6_only,
            reuse_port: options.reuse_port,
            tcp: tcp_options(options),
        }),
    };
    bound.map_err(|error| listen_error(env, &error, options))
}

fn tcp_options(options: &ListenOptions) -> TcpOptions {
    let keep_alive = (options.keep_alive >= 0.0).then(|| millis(options.keep_alive));
    TcpOptions { no_delay: options.no_delay, keep_alive }
}

/// `movable`: the listener with the port, if its connections can move.
pub(super) fn config(
    options: &ListenOptions,
    movable: Option<u32>,
    admission: Option<Arc<Admission>>,
    rates: Option<Arc<Rates>>,
    tls: Option<Arc<TlsServer>>,
) -> Arc<ListenerConfig> {
    Arc::new(ListenerConfig {
        path: options.path.as_ref().map(|path| path.chars().map(latin1).collect()),
        health_check: options.health_check.as_ref().map(|path| path.bytes().collect()),
        http: options.http.as_ref().map(|http| Http { routes: Arc::default(), sockets: http.sockets }),
        deflate: options.per_message_deflate.as_ref().map(DeflateOptions::config),
        early_handshake: options.early_handshake,
        movable,
        admission,
        rates,
        tls,
        proxies: options.proxies.iter().filter_map(|network| Network::parse(network)).collect(),
        tcp: tcp_options(options).after_accept(options.fd.is_some()),
        head: HeadLimits { bytes: options.max_header_bytes as usize, fields: options.max_headers as usize },
        handshake_timeout: millis(options.handshake_timeout),
        ..connection_config(&options.connection)
    })
}

pub(super) fn connection_config(options: &ConnectionOptions) -> ListenerConfig {
    ListenerConfig {
        engine: engine::Config {
            max_payload: options.max_payload as u64,
            max_fragments: options.max_fragments,
            skip_utf8_validation: options.skip_utf8_validation,
            ..engine::Config::default()
        },
        auto_pong: options.auto_pong,
        max_pending_auto_pongs: options.max_pending_auto_pongs,
        close_timeout: millis(options.close_timeout),
        ping_interval: millis(options.ping_interval),
        idle_timeout: millis(options.idle_timeout),
        deflate: options.deflate.as_ref().map(|negotiated| negotiated.settings.config()),
        ..ListenerConfig::default()
    }
}

/// Request targets are bytes, which JavaScript sees as latin1.
pub(super) fn latin1(c: char) -> u8 {
    u8::try_from(u32::from(c)).unwrap_or(0)
}

/// Also throws the code that Node would report, where lib cannot find it by the system's number.
fn listen_error(env: &Env, error: &io::Error, options: &ListenOptions) -> Error {
    let code = match error.kind() {
        ErrorKind::AddrInUse => "EADDRINUSE",
        ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
        ErrorKind::PermissionDenied => "EACCES",
        // As libuv reports a missing folder.
        ErrorKind::NotFound if options.socket_path.is_some() => "EACCES",
        ErrorKind::Unsupported => "ENOTSUP",
        _ if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => return thrown(env, error, None),
        // The descriptor is not open, no socket, or a connected one.
        _ if options.fd.is_some() => "EINVAL",
        ErrorKind::InvalidInput => "EINVAL",
        _ => return thrown(env, error, None),
    };
    thrown(env, error, Some(code))
}

/// The same on every POSIX system that we build for.
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

pub(super) fn system_error(error: &io::Error) -> Error {
    Error::new(Status::GenericFailure, error.to_string())
}

/// Throws the error with its number as `errno`, by which lib finds the name that Node has for it, or
/// with that name.
pub(super) fn thrown(env: &Env, error: &io::Error, code: Option<&str>) -> Error {
    let throw = || {
        let mut thrown = env.create_error(system_error(error))?;
        thrown.set_named_property("errno", error.raw_os_error().map_or(0, |errno| -errno))?;
        if let Some(code) = code {
            thrown.set_named_property("code", code)?;
        }
        env.throw(thrown)
    };
    throw().map_or_else(|other| other, |()| Error::new(Status::PendingException, ""))
}
