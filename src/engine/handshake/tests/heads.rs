//! Request heads: their ends, and those that are not HTTP.

use super::*;

#[test]
fn h03_bytes_already_scanned_are_not_looked_at_again() {
    let head = Head::new().with("X-Padding", "a".repeat(15_000)).bytes();
    let mut scanner = HeadScanner::default();
    let mut seen = Vec::new();
    for &byte in &head[..head.len() - 1] {
        seen.push(byte);
        assert!(is_incomplete(&scanner.parse(&seen, &HeadLimits::default())));
        // A second look refuses this byte; the last one stays because LF must follow its CR.
        if let Some(old) = seen.len().checked_sub(2) {
            seen[old] = 0;
        }
    }
    assert!(
        matches!(scanner.parse(&head, &HeadLimits::default()), Ok(Some(request)) if request.head_len == head.len())
    );
}

#[test]
fn h04_a_head_of_16_kib_is_the_longest() {
    let padding = MAX_HEAD - Head::new().with("X", "").bytes().len();
    let longest = Head::new().with("X", "a".repeat(padding)).bytes();
    assert_eq!(request(&longest).head_len, MAX_HEAD);
    let longer = Head::new().with("X", "a".repeat(padding + 1)).bytes();
    assert_eq!(invalid(&longer), Some(HttpError::HeaderTooLarge));
    assert_eq!(invalid(&longer[..MAX_HEAD]), Some(HttpError::HeaderTooLarge));
    assert!(is_incomplete(&HeadScanner::default().parse(&longer[..MAX_HEAD - 1], &HeadLimits::default())));
    let target = [b"GET /", "a".repeat(64 * 1024).as_bytes(), b" HTTP/1.1\r\n\r\n"].concat();
    assert_eq!(invalid(&target), Some(HttpError::HeaderTooLarge));
}

#[test]
fn h04_empty_lines_before_the_request_count_as_head() {
    assert_eq!(invalid(&b"\r\n".repeat(MAX_HEAD / 2)), Some(HttpError::HeaderTooLarge));
}

#[test]
fn h09_h10_the_number_of_fields_is_limited() {
    let fields = |count| [b"GET / HTTP/1.1\r\n", "a:\r\n".repeat(count).as_bytes(), b"\r\n"].concat();
    assert_eq!(request(&fields(MAX_HEADERS)).values("a").count(), MAX_HEADERS);
    assert_eq!(invalid(&fields(MAX_HEADERS + 1)), Some(HttpError::HeaderTooLarge));
    assert_eq!(invalid(&fields(100_000)), Some(HttpError::HeaderTooLarge));
    let distinct: String = (0..2000).map(|i| format!("h{i}:\r\n")).collect();
    let head = [b"GET / HTTP/1.1\r\n", distinct.as_bytes(), b"\r\n"].concat();
    assert_eq!(invalid(&head), Some(HttpError::HeaderTooLarge));
}

#[test]
fn h11_the_grammar_is_strict() {
    let fields: [&[u8]; 12] = [
        b"X-A: b\r\n c\r\n",
        b"X-A: b\r\n\tc\r\n",
        b"X-A : b\r\n",
        b" X-A: b\r\n",
        b"X-A: \0\r\n",
        b"X-A: a\rb\r\n",
        b"X-A: a\nX-B: c\r\n",
        b"X-A: a\r\r\n",
        b"X-A: \x7f\r\n",
        b"X-A\r\n",
        b": a\r\n",
        b"X\xe9: a\r\n",
    ];
    for field in fields {
        let head = [b"GET / HTTP/1.1\r\nHost: x\r\n", field, b"\r\n"].concat();
        assert!(is_bad(&head), "{}", field.escape_ascii());
    }
    assert!(is_bad(b"GET / HTTP/1.1\nHost: x\n\n"));
    assert!(is_bad(b"\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"));
}

#[test]
fn h12_targets_are_those_that_node_accepts() {
    let accepted: [(&'static [u8], &[u8]); 7] = [
        (b"GET http://169.254.169.254/ HTTP/1.1", b"http://169.254.169.254/"),
        (b"GET * HTTP/1.1", b"*"),
        (b"GET //x HTTP/1.1", b"//x"),
        (b"GET /a#b HTTP/1.1", b"/a#b"),
        (b"GET /%00?%ff HTTP/1.1", b"/%00?%ff"),
        (b"GET /\"<>{}|\\^` HTTP/1.1", b"/\"<>{}|\\^`"),
        (b"GET /?q=http://x HTTP/1.1", b"/?q=http://x"),
    ];
    for (line, target) in accepted {
        assert_eq!(request(&Head::new().line(line).bytes()).target, target);
    }
    let refused: [&'static [u8]; 5] = [
        b"GET foo HTTP/1.1",
        b"GET ://x HTTP/1.1",
        b"GET /\xe9\xff HTTP/1.1",
        b"GET /\xc3\xa9 HTTP/1.1",
        b"GET  HTTP/1.1",
    ];
    for line in refused {
        assert!(is_bad(&Head::new().line(line).bytes()), "{}", line.escape_ascii());
    }
    let zeros = [b"GET /", "%00".repeat(2700).as_bytes(), b" HTTP/1.1\r\n\r\n"].concat();
    assert_eq!(request(&zeros).target.len(), 1 + 3 * 2700);
}

#[test]
fn h18_bodies_whose_end_is_ambiguous_are_refused() {
    let fields: [&[(&'static str, &str)]; 7] = [
        &[("Content-Length", "5"), ("Transfer-Encoding", "chunked")],
        &[("Transfer-Encoding", "chunked"), ("Content-Length", "0")],
        &[("Content-Length", "0"), ("Content-Length", "0")],
        &[("Content-Length", "")],
        &[("Content-Length", "+1")],
        &[("Content-Length", "1, 1")],
        &[("Content-Length", "18446744073709551616")],
    ];
    for fields in fields {
        let head = fields.iter().fold(Head::new(), |head, (name, value)| head.with(name, value));
        assert!(is_bad(&head.bytes()), "{fields:?}");
    }
    let bytes = Head::new().with("Content-Length", "18446744073709551615").bytes();
    assert_eq!(request(&bytes).content_length(), Some(u64::MAX));
}

#[test]
fn plain_requests_say_what_becomes_of_the_connection() {
    for (line, connection, keep_alive) in [
        (b"GET / HTTP/1.1", "", true),
        (b"GET / HTTP/1.1", "Keep-Alive, CLOSE", false),
        (b"GET / HTTP/1.0", "", false),
        (b"GET / HTTP/1.0", "foo,\tkeep-alive", true),
        (b"GET / HTTP/1.0", "keep-alive, close", false),
    ] {
        let bytes = Head::new().line(line).replace("Connection", connection).bytes();
        let request = request(&bytes);
        assert_eq!((request.keep_alive(), request.is_upgrade()), (keep_alive, false), "{connection}");
    }
    let bytes = Head::new().line(b"HEAD / HTTP/1.1").without("Host").bytes();
    let request = request(&bytes);
    assert!(request.method == "HEAD" && request.values("host").next().is_none() && !request.has_body());
}
