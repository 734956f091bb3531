//! `listen`: options from JavaScript, errors as Node's own servers raise them.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::Arc;

use napi::{Env, Error, JsValue, Result, Status};
use napi_derive::napi;

use super::deflate::{DeflateOptions, NegotiatedDeflate, millis};
use crate::bridge::admission::Admission;
use crate::bridge::rates::Rates;
use crate::engine;
use crate::engine::handshake::HeadLimits;
use crate::engine::proxy::Network;
use crate::reactor::{BoundListener, ListenAddress, ListenerConfig};

/// What `Reactor.listen` takes. Times are in milliseconds, 0 = never.
#[napi(object, use_nullable = true)]
pub struct ListenOptions {
    /// An IP literal; null: all addresses.
    pub host: Option<String>,
    /// 0 = any free one.
    pub port: u32,
    /// Connections that may wait to be accepted.
    pub backlog: i32,
    /// Refuse IPv4 on an IPv6 address.
    pub ipv6_only: bool,
    /// The only path served; null: every path.
    pub path: Option<String>,
    /// Answer handshakes that do not need JavaScript before it has seen them.
    pub early_handshake: bool,
    /// From accept to the complete request.
    pub handshake_timeout: f64,
    /// Bytes of a request head that are read.
    pub max_header_bytes: u32,
    /// Header fields of a request that are read, at most 256.
    pub max_headers: u32,
    /// Networks of peers that must begin with a header of the PROXY protocol.
    pub proxies: Vec<String>,
    /// Which handshakes need JavaScript.
    pub ask: u32,
    /// permessage-deflate; null: off.
    pub per_message_deflate: Option<DeflateOptions>,
    /// How its connections are served.
    pub connection: ConnectionOptions,
}

/// How a connection is served. Times are in milliseconds, 0 = never.
#[napi(object)]
pub struct ConnectionOptions {
    /// Bytes, 0 = no limit.
    pub max_payload: f64,
    /// Frames, 0 = no limit.
    pub max_fragments: u32,
    /// Do not check text for UTF-8.
    pub skip_utf8_validation: bool,
    /// Answer pings.
    pub auto_pong: bool,
    /// Pongs that may wait for a peer that does not read, 0 = no limit.
    pub max_pending_auto_pongs: u32,
    /// From close frame to closed socket.
    pub close_timeout: f64,
    /// Silence before a ping.
    pub ping_interval: f64,
    /// Silence before the connection is ended.
    pub idle_timeout: f64,
    /// permessage-deflate, where JavaScript has answered the handshake.
    pub deflate: Option<NegotiatedDeflate>,
}

/// A listener that has been bound.
#[napi(object)]
pub struct Listening {
    /// Its number.
    pub id: u32,
    /// The address it is bound to.
    pub address: String,
    /// The port it is bound to.
    pub port: u32,
    /// `IPv4` or `IPv6`.
    pub family: String,
}

/// Binds as `options` say.
pub(super) fn bind(env: &Env, options: &ListenOptions) -> Result<BoundListener> {
    let host = options.host.as_deref().map(str::parse::<IpAddr>).transpose().map_err(|_not_an_ip| {
        Error::new(Status::InvalidArg, "host: an IP address is expected here; names are looked up before")
    })?;
    let port = u16::try_from(options.port)
        .map_err(|_too_large| Error::new(Status::InvalidArg, "port: must be at most 65535"))?;
    let ipv6_only = options.ipv6_only;
    let address = ListenAddress { host, port, backlog: options.backlog.max(1), ipv6_only };
    BoundListener::bind(&address).map_err(|error| listen_error(env, &error, options.host.as_deref(), port))
}

/// How connections of the listener are served.
pub(super) fn config(
    options: &ListenOptions,
    admission: Option<Arc<Admission>>,
    rates: Option<Arc<Rates>>,
) -> Arc<ListenerConfig> {
    Arc::new(ListenerConfig {
        path: options.path.as_ref().map(|path| path.chars().map(latin1).collect()),
        deflate: options.per_message_deflate.as_ref().map(DeflateOptions::config),
        early_handshake: options.early_handshake,
        admission,
        rates,
        proxies: options.proxies.iter().filter_map(|network| Network::parse(network)).collect(),
        head: HeadLimits { bytes: options.max_header_bytes as usize, fields: options.max_headers as usize },
        handshake_timeout: millis(options.handshake_timeout),
        ..connection_config(&options.connection)
    })
}

/// How one connection is served.
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
fn latin1(c: char) -> u8 {
    u8::try_from(u32::from(c)).unwrap_or(0)
}

/// These numbers are the same on every POSIX system that we build for.
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// Throws what `net.Server` would emit: `listen EADDRINUSE: address already in use 127.0.0.1:80`.
fn listen_error(env: &Env, error: &io::Error, host: Option<&str>, port: u16) -> Error {
    let (code, sentence) = match error.kind() {
        ErrorKind::AddrInUse => ("EADDRINUSE", "address already in use".to_owned()),
        ErrorKind::AddrNotAvailable => ("EADDRNOTAVAIL", "address not available".to_owned()),
        ErrorKind::PermissionDenied => ("EACCES", "permission denied".to_owned()),
        _ if error.raw_os_error() == Some(ENFILE) => ("ENFILE", "file table overflow".to_owned()),
        _ if error.raw_os_error() == Some(EMFILE) => ("EMFILE", "too many open files".to_owned()),
        _ => ("UNKNOWN", error.to_string()),
    };
    let host = host.unwrap_or("::");
    let errno = -error.raw_os_error().unwrap_or(0);
    // As in Node, a port that was left to the system is not shown.
    let place = if port == 0 { host.to_owned() } else { format!("{host}:{port}") };
    let message = format!("listen {code}: {sentence} {place}");
    let throw = || {
        let mut object = env.create_error(Error::new(Status::GenericFailure, message.clone()))?;
        object.set("code", code)?;
        object.set("errno", errno)?;
        object.set("syscall", "listen")?;
        object.set("address", host)?;
        if port != 0 {
            object.set("port", u32::from(port))?;
        }
        env.throw(object.to_unknown())
    };
    match throw() {
        Ok(()) => Error::new(Status::PendingException, message),
        Err(other) => other,
    }
}

/// The system's error as an exception.
pub(super) fn system_error(error: &io::Error) -> Error {
    Error::new(Status::GenericFailure, error.to_string())
}
