//! The bytes of every answer.

use super::*;

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn accept_is_that_of_rfc_6455_section_1_3() {
    assert_eq!(&accept_for(KEY.as_bytes()), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    let bytes = Head::new().with("Sec-WebSocket-Protocol", "chat, superchat").bytes();
    let upgrade = check(&request(&bytes), &Options::default()).unwrap();
    assert_eq!(
        text(accept(&upgrade.accept, upgrade.protocol, None)),
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: chat\r\n\r\n"
    );
    assert_eq!(
        text(accept(&upgrade.accept, None, None)),
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
    );
}

#[test]
fn refusals_are_those_of_ws() {
    let refused = |refusal| text(refuse(refusal));
    assert_eq!(
        refused(Refusal::Method),
        "HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Type: text/html\r\n\
         Content-Length: 19\r\n\r\nInvalid HTTP method"
    );
    assert_eq!(
        refused(Refusal::Version),
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: 47\r\n\
         Sec-WebSocket-Version: 13, 8\r\n\r\nMissing or invalid Sec-WebSocket-Version header"
    );
    for (refusal, length, body) in [
        (Refusal::Upgrade, 22, "Invalid Upgrade header"),
        (Refusal::Key, 43, "Missing or invalid Sec-WebSocket-Key header"),
        (Refusal::Body, 23, "Unexpected request body"),
        (Refusal::Path, 11, "Bad Request"),
        (Refusal::Protocol, 37, "Invalid Sec-WebSocket-Protocol header"),
    ] {
        let head =
            "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length";
        assert_eq!(refused(refusal), format!("{head}: {length}\r\n\r\n{body}"));
    }
}

#[test]
fn aborts_carry_extra_headers_after_the_usual_ones() {
    assert_eq!(
        text(abort(429, "slow down", &[("Retry-After", "7")])),
        "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Type: text/html\r\n\
         Content-Length: 9\r\nRetry-After: 7\r\n\r\nslow down"
    );
    assert_eq!(
        text(abort(503, reason_phrase(503), &[])),
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/html\r\n\
         Content-Length: 19\r\n\r\nService Unavailable"
    );
}

#[test]
fn plain_requests_are_answered_as_by_node() {
    let date = "Sat, 21 Nov 2026 01:29:57 GMT";
    let head = "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 16\r\nContent-Type: text/plain\r\n\
                Date: Sat, 21 Nov 2026 01:29:57 GMT\r\n";
    let keep_alive = "Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n";
    let close = "Connection: close\r\n\r\n";
    for (keep, head_only, rest) in [
        (true, false, format!("{keep_alive}Upgrade Required")),
        (true, true, keep_alive.to_owned()),
        (false, false, format!("{close}Upgrade Required")),
        (false, true, close.to_owned()),
    ] {
        assert_eq!(text(plain(426, date, keep, head_only)), format!("{head}{rest}"));
    }
}

#[test]
fn what_is_not_a_request_is_answered_as_by_node() {
    assert_eq!(text(bare(400)), "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    assert_eq!(
        text(bare(HttpError::HeaderTooLarge.status())),
        "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(text(bare(408)), "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n");
}

#[test]
fn every_status_that_is_sent_has_a_phrase() {
    for status in Refusal::ALL.map(Refusal::status).into_iter().chain([200, 403, 408, 426, 429, 431, 503]) {
        assert_ne!(reason_phrase(status), "", "{status}");
    }
    assert_eq!([0, 299, 999, u16::MAX].map(reason_phrase), [""; 4]);
}
