//! The checks of an opening handshake, for headers that JavaScript has read.

use std::iter::once;

use napi::bindgen_prelude::Either;
use napi_derive::napi;

use super::deflate::AcceptanceOptions;
use crate::engine::handshake::extensions::{self, confirm, negotiate};
use crate::engine::handshake::{self, Fault, subprotocol};

#[napi(object, object_from_js = false)]
pub struct HeaderFault {
    pub class: &'static str,
    pub message: String,
}

/// The checks before `shouldHandle`. Returns the first one that failed, by its name in `REFUSALS`.
#[napi(catch_unwind)]
pub fn check_upgrade(
    method: Option<String>,
    upgrade: Option<String>,
    key: Option<String>,
    version: Option<String>,
) -> Option<String> {
    let fields = [&upgrade, &key, &version].map(|field| field.as_deref().map(str::as_bytes));
    let checked = handshake::check_fields(method.as_deref().unwrap_or_default(), fields);
    checked.err().map(|refusal| format!("{refusal:?}").to_uppercase())
}

/// The status of the answer to a request without an upgrade, on a server with this path of health checks.
#[napi(catch_unwind)]
pub fn plain_status(method: String, target: String, health_check: Option<String>, refuses: bool) -> u16 {
    let path = health_check.as_deref().map(str::as_bytes);
    handshake::plain_status(handshake::asks_health(&method, target.as_bytes(), path), refuses)
}

#[napi(catch_unwind)]
pub fn accept_key(key: String) -> String {
    text(&handshake::accept_for(key.as_bytes()))
}

#[napi(catch_unwind)]
pub fn parse_subprotocols(header: String) -> Either<Vec<String>, HeaderFault> {
    outcome(subprotocol::parse(once(header.as_bytes())).map(|names| names.into_iter().map(text).collect()))
}

/// Each extension is its name, then the name and value of each parameter; a missing value is empty.
#[napi(catch_unwind)]
pub fn parse_extensions(header: String) -> Either<Vec<Vec<String>>, HeaderFault> {
    let words = |(name, params): extensions::Extension<'_>| {
        let params =
            params.into_iter().flat_map(|(name, value)| [text(name), text(&value.unwrap_or_default())]);
        once(text(name)).chain(params).collect()
    };
    outcome(extensions::parse(once(header.as_bytes())).map(|list| list.into_iter().map(words).collect()))
}

/// The parameters of permessage-deflate that a server answers with, or that a client must use after
/// an answer, as a header value.
#[napi(catch_unwind)]
pub fn negotiate_deflate(
    header: String,
    is_server: bool,
    options: AcceptanceOptions,
) -> Either<String, HeaderFault> {
    let (header, acceptance) = (once(header.as_bytes()), options.acceptance());
    let agreed = if is_server {
        negotiate(header, &acceptance).map(Option::unwrap_or_default)
    } else {
        confirm(header, &acceptance)
    };
    outcome(agreed.map(|agreed| agreed.answer))
}

fn outcome<T>(result: Result<T, Fault>) -> Either<T, HeaderFault> {
    match result {
        Ok(value) => Either::A(value),
        Err(Fault { class, message }) => Either::B(HeaderFault { class, message }),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
