//! The opening handshake of RFC 6455 section 4.2: the bytes of a request in, the bytes of a
//! response out.
//!
//! ```text
//! bytes -> HeadScanner::parse -> Request -> check -> Upgrade -> accept
//!                          |        |          +---> Refusal -> refuse
//!                          |        +-- not is_upgrade() -----> plain
//!                          +-- HttpError ---------------------> bare
//! ```
//!
//! Checks, their order and the answers are as in `ws`. Where Node's HTTP parser is more lenient
//! than RFC 9112, this one is not. It refuses a bare line feed before the request line, several
//! spaces in it, any version but HTTP/1.0 and HTTP/1.1, and more than [`MAX_HEADERS`] fields.

pub mod extensions;
mod list;
mod refusal;
mod request;
mod response;
mod scanner;
pub mod subprotocol;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

use extensions::{Acceptance, Accepted, negotiate};

pub use list::Fault;
pub use refusal::Refusal;
pub use request::{HttpError, MAX_HEADERS, Request};
pub use response::{KEEP_ALIVE, abort, accept, bare, plain, read_accept, reason_phrase, refuse};
pub use scanner::{HeadLimits, HeadScanner, MAX_HEAD};

/// Demands of a server on an upgrade request, beyond the RFC.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The only path served, compared byte for byte with the target up to its `?`. Default, and if
    /// empty: every path.
    pub path: Option<&'a [u8]>,
    /// Default: permessage-deflate is off, and its header is ignored.
    pub deflate: Option<&'a Acceptance>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upgrade<'a> {
    pub accept: [u8; 28],
    /// The first that the client offers; JavaScript can choose another.
    pub protocol: Option<&'a [u8]>,
    pub deflate: Option<Accepted>,
    /// 13, or 8 for the last drafts, with the same framing.
    pub version: u8,
}

/// In the order of `ws`.
///
/// # Errors
///
/// The first check that failed.
pub fn check<'a>(request: &Request<'a>, options: &Options<'_>) -> Result<Upgrade<'a>, Refusal> {
    let fields = ["upgrade", "sec-websocket-key", "sec-websocket-version"].map(|name| request.only(name));
    let (key, version) = check_fields(request.method, fields)?;
    if !is_for(request, options.path) {
        return Err(Refusal::Path);
    }
    let protocols =
        subprotocol::parse(request.values("sec-websocket-protocol")).map_err(|_fault| Refusal::Protocol)?;
    let deflate = match options.deflate {
        Some(acceptance) => negotiate(request.values("sec-websocket-extensions"), acceptance)
            .map_err(|_fault| Refusal::Extensions)?,
        None => None,
    };
    Ok(Upgrade { accept: accept_for(key), protocol: protocols.first().copied(), deflate, version })
}

/// The checks before `shouldHandle`. Returns key and version.
///
/// # Errors
///
/// The first that failed.
pub fn check_fields<'a>(
    method: &str,
    [upgrade, key, version]: [Option<&'a [u8]>; 3],
) -> Result<(&'a [u8], u8), Refusal> {
    if method != "GET" {
        return Err(Refusal::Method);
    }
    if !upgrade.is_some_and(names_websocket) {
        return Err(Refusal::Upgrade);
    }
    let key = key.filter(|key| is_key(key)).ok_or(Refusal::Key)?;
    let version = version.and_then(parse_version).ok_or(Refusal::Version)?;
    Ok((key, version))
}

/// Whether an upgrade request asks for a WebSocket, be it well or badly.
pub fn is_websocket(request: &Request<'_>) -> bool {
    request.method == "GET" && request.only("upgrade").is_some_and(names_websocket)
}

/// Whether a request is for `path`; `None` and an empty one: every path.
pub fn is_for(request: &Request<'_>, path: Option<&[u8]>) -> bool {
    path.is_none_or(|path| path.is_empty() || path == path_of(request.target))
}

fn names_websocket(upgrade: &[u8]) -> bool {
    upgrade.eq_ignore_ascii_case(b"websocket")
}

/// `Sec-WebSocket-Accept` for a `Sec-WebSocket-Key` (RFC 6455 section 4.2.2, item 5.4).
pub fn accept_for(key: &[u8]) -> [u8; 28] {
    let digest = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    let mut accept = [0; 28];
    let written = STANDARD.encode_slice(digest, &mut accept);
    debug_assert_eq!(written, Ok(28), "a SHA-1 digest is 28 characters in base64");
    accept
}

/// As far as `ws` looks: 22 digits of base64 and the padding.
fn is_key(key: &[u8]) -> bool {
    key.strip_suffix(b"==").is_some_and(|digits| {
        digits.len() == 22
            && digits.iter().all(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
    })
}

/// Only the two spellings of the RFC; `ws` takes everything that JavaScript reads as these numbers,
/// such as `0xd`.
fn parse_version(value: &[u8]) -> Option<u8> {
    match value {
        b"13" => Some(13),
        b"8" => Some(8),
        _ => None,
    }
}

/// The field that names the page, by version.
pub const ORIGIN_FIELDS: [(u8, &str); 2] = [(8, "Sec-WebSocket-Origin"), (13, "Origin")];

/// The page. Several fields are one value, as Node joins them for `verifyClient`: it is no origin (RFC 6454, section 7.3).
pub fn origin_of(request: &Request<'_>, version: u8) -> Option<Vec<u8>> {
    let (_, name) = ORIGIN_FIELDS.iter().find(|(of, _)| *of == version)?;
    let values: Vec<&[u8]> = request.values(name).collect();
    (!values.is_empty()).then(|| values.join(&b", "[..]))
}

/// Whether a request asks for the health of a server, whose checks have this path.
pub fn asks_health(method: &str, target: &[u8], path: Option<&[u8]>) -> bool {
    matches!(method, "GET" | "HEAD") && path == Some(path_of(target))
}

/// To a request without an upgrade. `refuses`: the server takes no more connections.
pub fn plain_status(asks_health: bool, refuses: bool) -> u16 {
    match (asks_health, refuses) {
        (false, _) => 426,
        (true, true) => 503,
        (true, false) => 200,
    }
}

pub fn path_of(target: &[u8]) -> &[u8] {
    target.split(|&byte| byte == b'?').next().unwrap_or_default()
}

/// RFC 6455 section 1.3.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
