//! The answers to a request, byte for byte as from `ws` and Node's HTTP server. Unless they say
//! otherwise the connection ends after them.

use super::refusal::Refusal;
use super::request::MAX_HEADERS;

/// The response that opens a WebSocket (RFC 6455 section 4.2.2). `extensions` is the value of its
/// header.
pub fn accept(key: &[u8; 28], protocol: Option<&[u8]>, extensions: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(192);
    out.extend_from_slice(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ",
    );
    out.extend_from_slice(key);
    if let Some(protocol) = protocol {
        out.extend_from_slice(b"\r\nSec-WebSocket-Protocol: ");
        out.extend_from_slice(protocol);
    }
    if let Some(extensions) = extensions {
        out.extend_from_slice(b"\r\nSec-WebSocket-Extensions: ");
        out.extend_from_slice(extensions.as_bytes());
    }
    out.extend_from_slice(b"\r\n\r\n");
    out
}

/// The subprotocol and the extensions in the response that opened a WebSocket. `None`: it is none.
pub fn read_accept(response: &[u8]) -> Option<(Option<&[u8]>, Option<&str>)> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Response::new(&mut fields);
    parsed.parse(response).ok()?.is_complete().then_some(())?;
    let value = |name: &str| {
        parsed.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
    };
    let extensions = value("sec-websocket-extensions").map(str::from_utf8).transpose().ok()?;
    Some((value("sec-websocket-protocol"), extensions))
}

pub fn refuse(refusal: Refusal) -> Vec<u8> {
    abort(refusal.status(), refusal.body(), refusal.headers())
}

/// The response with which `ws` aborts a handshake.
///
/// The names in `extra` must differ from `Connection`, `Content-Type` and `Content-Length`.
pub fn abort(status: u16, body: &str, extra: &[(&str, &str)]) -> Vec<u8> {
    let (line, length) = (status_line(status), body.len());
    let extra: String = extra.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
    format!(
        "{line}Connection: close\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n{extra}\r\n{body}"
    )
    .into_bytes()
}

/// How long a connection stays open for another request, in seconds (Node's keepAliveTimeout).
pub const KEEP_ALIVE: u64 = 5;

/// To a request that is not an upgrade, or to a health check.
///
/// `date` is the current time in the format of RFC 9110 section 5.6.7. With `keep_alive` the
/// connection stays open for another request, for [`KEEP_ALIVE`]. `head_only` omits the body, for a
/// HEAD request.
pub fn plain(status: u16, date: &str, keep_alive: bool, head_only: bool) -> Vec<u8> {
    let (line, phrase) = (status_line(status), reason_phrase(status));
    let fields = format!("Content-Length: {}\r\nContent-Type: text/plain\r\nDate: {date}", phrase.len());
    let connection = match keep_alive {
        true => format!("keep-alive\r\nKeep-Alive: timeout={KEEP_ALIVE}"),
        false => "close".to_owned(),
    };
    let body = if head_only { "" } else { phrase };
    format!("{line}{fields}\r\nConnection: {connection}\r\n\r\n{body}").into_bytes()
}

/// To bytes that are not HTTP (400), or a head that is too long (431) or too late (408).
pub fn bare(status: u16) -> Vec<u8> {
    format!("{}Connection: close\r\n\r\n", status_line(status)).into_bytes()
}

fn status_line(status: u16) -> String {
    format!("HTTP/1.1 {status} {}\r\n", reason_phrase(status))
}

/// As in Node's `http.STATUS_CODES`, for the codes that this server sends; else empty.
pub fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "",
    }
}
