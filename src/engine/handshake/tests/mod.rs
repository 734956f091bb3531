//! The rows of the handshake's fault list, byte for byte.

mod answers;
mod checks;
mod extensions;
mod heads;
mod properties;

use super::*;

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// A valid upgrade request with lines that can be replaced.
struct Head {
    line: &'static [u8],
    fields: Vec<(&'static str, Vec<u8>)>,
}

impl Head {
    fn new() -> Self {
        let fields = [
            ("Host", "example.com"),
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", KEY),
            ("Sec-WebSocket-Version", "13"),
        ];
        Self {
            line: b"GET / HTTP/1.1",
            fields: fields.into_iter().map(|(name, value)| (name, value.as_bytes().to_vec())).collect(),
        }
    }

    fn line(mut self, line: &'static [u8]) -> Self {
        self.line = line;
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(field, _)| *field != name);
        self
    }

    fn with(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.fields.push((name, value.as_ref().to_vec()));
        self
    }

    fn replace(self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).with(name, value)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = [self.line, b"\r\n"].concat();
        for (name, value) in &self.fields {
            bytes.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes
    }

    fn check(&self) -> Result<(Option<Vec<u8>>, u8), Refusal> {
        self.check_path(None)
    }

    fn check_path(&self, path: Option<&[u8]>) -> Result<(Option<Vec<u8>>, u8), Refusal> {
        let bytes = self.bytes();
        let request = request(&bytes);
        check(&request, &Options { path, deflate: None })
            .map(|upgrade| (upgrade.protocol.map(<[u8]>::to_vec), upgrade.version))
    }
}

fn request(bytes: &[u8]) -> Request<'_> {
    match HeadScanner::default().parse(bytes, &HeadLimits::default()) {
        Ok(Some(request)) => request,
        other => panic!("not a request: {other:?} in {}", bytes.escape_ascii()),
    }
}

fn invalid(bytes: &[u8]) -> Option<HttpError> {
    match HeadScanner::default().parse(bytes, &HeadLimits::default()) {
        Err(error) => Some(error),
        Ok(None) | Ok(Some(_)) => None,
    }
}

fn is_bad(bytes: &[u8]) -> bool {
    invalid(bytes) == Some(HttpError::BadRequest)
}

fn is_incomplete(parsed: &Result<Option<Request<'_>>, HttpError>) -> bool {
    matches!(parsed, Ok(None))
}

fn normal_form(request: &Request<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    request.write_normal_form(&mut out);
    out
}
