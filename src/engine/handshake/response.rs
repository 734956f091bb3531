//! The answers to a request, byte for byte as from `ws` and Node's HTTP server. Unless they say
//! otherwise the connection ends after them.

use std::io::Write as _;

use super::refusal::Refusal;
use super::status::reason_phrase;

/// The response that opens a WebSocket (RFC 6455 section 4.2.2). `extensions` is the value of its
/// header.
pub fn write_accept(out: &mut Vec<u8>, accept: &[u8; 28], protocol: Option<&[u8]>, extensions: Option<&str>) {
    out.extend_from_slice(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ",
    );
    out.extend_from_slice(accept);
    if let Some(protocol) = protocol {
        out.extend_from_slice(b"\r\nSec-WebSocket-Protocol: ");
        out.extend_from_slice(protocol);
    }
    if let Some(extensions) = extensions {
        out.extend_from_slice(b"\r\nSec-WebSocket-Extensions: ");
        out.extend_from_slice(extensions.as_bytes());
    }
    out.extend_from_slice(b"\r\n\r\n");
}

pub fn write_refusal(out: &mut Vec<u8>, refusal: Refusal) {
    write_abort(out, refusal.status(), refusal.body().as_bytes(), refusal.headers());
}

/// The response with which `ws` aborts a handshake.
///
/// The names in `extra` must differ from `Connection`, `Content-Type` and `Content-Length`.
pub fn write_abort(out: &mut Vec<u8>, status: u16, body: &[u8], extra: &[(&str, &str)]) {
    write_status_line(out, status);
    append(
        out,
        format_args!("Connection: close\r\nContent-Type: text/html\r\nContent-Length: {}\r\n", body.len()),
    );
    for (name, value) in extra {
        append(out, format_args!("{name}: {value}\r\n"));
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
}

/// To an upgrade request that arrives while the server is closing.
pub fn write_service_unavailable(out: &mut Vec<u8>) {
    write_abort(out, 503, reason_phrase(503).as_bytes(), &[]);
}

/// To a request that is not an upgrade, or to a health check.
///
/// `date` is the current time in the format of RFC 9110 section 5.6.7. With `keep_alive` the
/// connection stays open for another request, five seconds as announced. `head_only` leaves the
/// body out, for a HEAD request.
pub fn write_plain(out: &mut Vec<u8>, status: u16, date: &str, keep_alive: bool, head_only: bool) {
    let body = reason_phrase(status);
    write_status_line(out, status);
    append(
        out,
        format_args!("Content-Length: {}\r\nContent-Type: text/plain\r\nDate: {date}\r\n", body.len()),
    );
    out.extend_from_slice(if keep_alive {
        b"Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n"
    } else {
        b"Connection: close\r\n\r\n"
    });
    if !head_only {
        out.extend_from_slice(body.as_bytes());
    }
}

/// To bytes that are not HTTP.
pub fn write_bad_request(out: &mut Vec<u8>) {
    write_bare(out, 400);
}

/// To a head that exceeds the limits.
pub fn write_header_too_large(out: &mut Vec<u8>) {
    write_bare(out, 431);
}

/// To a head that did not arrive in time.
pub fn write_request_timeout(out: &mut Vec<u8>) {
    write_bare(out, 408);
}

fn write_bare(out: &mut Vec<u8>, status: u16) {
    write_status_line(out, status);
    out.extend_from_slice(b"Connection: close\r\n\r\n");
}

fn write_status_line(out: &mut Vec<u8>, status: u16) {
    append(out, format_args!("HTTP/1.1 {status} {}\r\n", reason_phrase(status)));
}

fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let written = out.write_fmt(text);
    debug_assert!(written.is_ok(), "writing to a Vec cannot fail");
}
