//! The bytes of every answer.

use super::*;

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
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
fn every_status_that_is_sent_has_a_phrase() {
    for status in Refusal::ALL.map(Refusal::status).into_iter().chain([200, 403, 408, 426, 429, 431, 503]) {
        assert_ne!(reason_phrase(status), "", "{status}");
    }
    assert_eq!([0, 299, 999, u16::MAX].map(reason_phrase), [""; 4]);
}
