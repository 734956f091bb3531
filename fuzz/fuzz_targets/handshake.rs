//! Request heads: no panic, the same answer however the bytes arrive, and a well-formed response.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reactor_ws::engine::handshake::extensions::Acceptance;
use reactor_ws::engine::handshake::{
    HeadLimits, HeadScanner, HttpError, MAX_HEAD, Options, Refusal, Request, accept, check, refuse,
};

#[derive(Debug, PartialEq)]
enum Outcome {
    Incomplete,
    Invalid(HttpError),
    Request { head_len: usize, normal_form: Vec<u8>, response: Vec<u8> },
}

fuzz_target!(|input: (u16, Option<&[u8]>, &[u8])| {
    let (cut, path, bytes) = input;
    let whole = feed(bytes, path, [bytes.len()].into_iter());
    let cut = usize::from(cut).min(bytes.len());
    assert_eq!(feed(bytes, path, [cut, bytes.len()].into_iter()), whole);
    // Feeding byte by byte copies nothing, but takes a call for each byte.
    if bytes.len() <= 1024 {
        assert_eq!(feed(bytes, path, 0..=bytes.len()), whole);
    }
});

/// Shows a scanner the bytes up to each cut, and stops at the first answer, as a connection does.
fn feed(bytes: &[u8], path: Option<&[u8]>, cuts: impl Iterator<Item = usize>) -> Outcome {
    let mut scanner = HeadScanner::default();
    for cut in cuts {
        match scanner.parse(&bytes[..cut], &HeadLimits::default()) {
            Ok(None) => assert!(cut < MAX_HEAD),
            Err(error) => return Outcome::Invalid(error),
            Ok(Some(request)) => {
                return answer(&request, &Options { path, deflate: Some(&Acceptance::default()) });
            },
        }
    }
    Outcome::Incomplete
}

fn answer(request: &Request<'_>, options: &Options<'_>) -> Outcome {
    let head_len = request.head_len;
    assert!(head_len <= MAX_HEAD);

    let mut normal_form = Vec::new();
    request.write_normal_form(&mut normal_form);
    let parts: Vec<&[u8]> = normal_form.split(|&byte| byte == 0).collect();
    assert_eq!(parts.len() % 2, 1, "three parts and then pairs");
    assert_eq!((parts[0], parts[1]), (request.method.as_bytes(), request.target));

    let response = match check(request, options) {
        Ok(upgrade) => {
            assert!(!request.has_body());
            accept(&upgrade.accept, upgrade.protocol, upgrade.deflate.as_ref().map(|deflate| &*deflate.answer))
        }
        Err(refusal) => {
            assert_eq!(Refusal::ALL[usize::from(refusal as u8) - 1], refusal);
            refuse(refusal)
        }
    };
    // Nothing that the client sent may end a line of the response early.
    let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let lines = &response[..end.expect("a response has a head")];
    assert!(lines.split(|&byte| byte == b'\n').rev().skip(1).all(|line| line.ends_with(b"\r")));
    assert!(lines.iter().filter(|&&byte| byte == b'\n').count() <= 5);
    Outcome::Request { head_len, normal_form, response }
}
