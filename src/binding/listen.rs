//! Options from JavaScript, errors as Node's own servers raise them.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use napi::{Env, Error, JsValue, Result, Status};
use napi_derive::napi;

use super::adopt;
use super::deflate::{DeflateOptions, NegotiatedDeflate, millis};
use crate::bridge::admission::Admission;
use crate::bridge::rates::Rates;
use crate::engine;
use crate::engine::handshake::HeadLimits;
use crate::engine::proxy::Network;
use crate::reactor::{BoundListener, ListenAddress, ListenerConfig, TcpOptions};

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
    /// With other processes that do the same.
    pub reuse_port: bool,
    pub no_delay: bool,
    /// Silence before the system probes a peer, 0 = as the system says; below 0: it does not.
    pub keep_alive: f64,
    pub ipv6_only: bool,
    /// null: every path.
    pub path: Option<String>,
    /// A GET there is answered with 200; null: none.
    pub health_check: Option<String>,
    /// Answer handshakes that do not need JavaScript before it has seen them.
    pub early_handshake: bool,
    /// From accept to the complete request.
    pub handshake_timeout: f64,
    pub max_header_bytes: u32,
    /// At most 256.
    pub max_headers: u32,
    /// Networks of peers that must begin with a header of the PROXY protocol.
    pub proxies: Vec<String>,
    /// The handshakes that need JavaScript, `ASK_`.
    pub ask: u32,
    /// null: off.
    pub per_message_deflate: Option<DeflateOptions>,
    pub connection: ConnectionOptions,
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
    /// From close frame to closed socket.
    pub close_timeout: f64,
    /// Silence before a ping.
    pub ping_interval: f64,
    /// Silence before the connection is ended.
    pub idle_timeout: f64,
    /// Where JavaScript has answered the handshake.
    pub deflate: Option<NegotiatedDeflate>,
}

#[napi(object)]
pub struct Listening {
    pub id: u32,
    /// Or the path; empty for a socket without a name.
    pub address: String,
    pub port: u32,
    /// `IPv4`, `IPv6`, or empty for a socket of the file system.
    pub family: String,
    /// null where sockets have none.
    pub descriptor: Option<i32>,
    /// The given descriptor belongs to another listener, and must stay open.
    pub is_borrowed: bool,
}

pub(super) fn listening(id: u32, listener: &BoundListener, given: Option<i32>) -> Listening {
    let at = listener.address();
    let (address, family) = match (listener.is_tcp(), at.is_ipv4()) {
        (true, true) => (at.ip().to_string(), "IPv4"),
        (true, false) => (at.ip().to_string(), "IPv6"),
        (false, _) => (listener.path().map_or_else(String::new, |path| path.display().to_string()), ""),
    };
    Listening {
        id,
        address,
        port: at.port().into(),
        family: family.to_owned(),
        descriptor: listener.descriptor(),
        is_borrowed: given.is_some_and(BoundListener::is_known),
    }
}

pub(super) fn bind(env: &Env, options: &ListenOptions) -> Result<BoundListener> {
    let backlog = options.backlog.max(1);
    if let Some(fd) = options.fd {
        return adopt::listener(fd, backlog).map_err(|error| listen_error(env, &error, Place::Given));
    }
    if let Some(path) = &options.socket_path {
        let bound = BoundListener::bind_path(Path::new(path), options.mode, backlog);
        return bound.map_err(|error| listen_error(env, &error, Place::Path(path)));
    }
    let host = options.host.as_deref().map(str::parse::<IpAddr>).transpose().map_err(|_not_an_ip| {
        Error::new(Status::InvalidArg, "host: an IP address is expected here; names are looked up before")
    })?;
    let port = u16::try_from(options.port)
        .map_err(|_too_large| Error::new(Status::InvalidArg, "port: must be at most 65535"))?;
    let address = ListenAddress {
        host,
        port,
        backlog,
        ipv6_only: options.ipv6_only,
        reuse_port: options.reuse_port,
        tcp: tcp_options(options),
    };
    let place = Place::Address(options.host.as_deref().unwrap_or("::"), port);
    BoundListener::bind(&address).map_err(|error| listen_error(env, &error, place))
}

fn tcp_options(options: &ListenOptions) -> TcpOptions {
    let keep_alive = (options.keep_alive >= 0.0).then(|| millis(options.keep_alive));
    TcpOptions { no_delay: options.no_delay, keep_alive }
}

pub(super) fn config(
    options: &ListenOptions,
    admission: Option<Arc<Admission>>,
    rates: Option<Arc<Rates>>,
) -> Arc<ListenerConfig> {
    Arc::new(ListenerConfig {
        path: options.path.as_ref().map(|path| path.chars().map(latin1).collect()),
        health_check: options.health_check.as_ref().map(|path| path.bytes().collect()),
        deflate: options.per_message_deflate.as_ref().map(DeflateOptions::config),
        early_handshake: options.early_handshake,
        admission,
        rates,
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
fn latin1(c: char) -> u8 {
    u8::try_from(u32::from(c)).unwrap_or(0)
}

/// The same on every POSIX system that we build for.
const EACCES: i32 = 13;
const EINVAL: i32 = 22;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
/// On Windows libuv's.
const ENOTSUP: i32 = if cfg!(windows) {
    4049
} else if cfg!(target_os = "linux") {
    95
} else {
    45
};

/// What was asked for, as errors show it.
#[derive(Clone, Copy)]
enum Place<'a> {
    /// As in Node, a port that the system chose is not shown.
    Address(&'a str, u16),
    Path(&'a str),
    Given,
}

impl Place<'_> {
    /// Code, sentence and number as Node reports them.
    fn cause(self, error: &io::Error) -> (&'static str, String, i32) {
        let number = error.raw_os_error();
        let (code, sentence, number) = match (error.kind(), self) {
            (ErrorKind::AddrInUse, _) => ("EADDRINUSE", "address already in use", number),
            (ErrorKind::AddrNotAvailable, _) => ("EADDRNOTAVAIL", "address not available", number),
            (ErrorKind::PermissionDenied, _) => ("EACCES", "permission denied", number),
            // As libuv reports a missing folder.
            (ErrorKind::NotFound, Place::Path(_)) => ("EACCES", "permission denied", Some(EACCES)),
            (ErrorKind::NotADirectory, _) => ("ENOTDIR", "not a directory", number),
            (ErrorKind::ReadOnlyFilesystem, _) => ("EROFS", "read-only file system", number),
            (ErrorKind::Unsupported, _) => {
                ("ENOTSUP", "operation not supported on socket", number.or(Some(ENOTSUP)))
            }
            _ if number == Some(ENFILE) => ("ENFILE", "file table overflow", number),
            _ if number == Some(EMFILE) => ("EMFILE", "too many open files", number),
            // The descriptor is not open, no socket, or a connected one.
            (_, Place::Given) | (ErrorKind::InvalidInput, _) => ("EINVAL", "invalid argument", Some(EINVAL)),
            _ => return ("UNKNOWN", error.to_string(), -number.unwrap_or(0)),
        };
        (code, sentence.to_owned(), -number.unwrap_or(0))
    }
}

/// As `net.Server` would emit it: `listen EADDRINUSE: address already in use 127.0.0.1:80`.
fn listen_error(env: &Env, error: &io::Error, place: Place<'_>) -> Error {
    let (code, sentence, errno) = place.cause(error);
    let (shown, address, port) = match place {
        Place::Address(host, 0) => (format!(" {host}"), Some(host), None),
        Place::Address(host, port) => (format!(" {host}:{port}"), Some(host), Some(i32::from(port))),
        Place::Path(path) => (format!(" {path}"), Some(path), Some(-1)),
        Place::Given => (String::new(), None, None),
    };
    let message = format!("listen {code}: {sentence}{shown}");
    let throw = || {
        let mut object = env.create_error(Error::new(Status::GenericFailure, message.clone()))?;
        object.set("code", code)?;
        object.set("errno", errno)?;
        object.set("syscall", "listen")?;
        object.set("address", address)?;
        if let Some(port) = port {
            object.set("port", port)?;
        }
        env.throw(object.to_unknown())
    };
    match throw() {
        Ok(()) => Error::new(Status::PendingException, message),
        Err(other) => other,
    }
}

pub(super) fn system_error(error: &io::Error) -> Error {
    Error::new(Status::GenericFailure, error.to_string())
}
