//! How connections begin: the opening handshake of those that a listener has accepted, the hand-over
//! to the consumer's HTTP server, and sockets that are adopted.

mod adopt;
mod handoff;
pub(super) mod head;
pub(super) mod routes;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::bridge::admission::{Admission, Denial};
use crate::engine::deflate::Params;
use crate::engine::handshake::{
    self, HttpError, Options, Refusal, Request, Upgrade, bare, check, reason_phrase,
};
use crate::engine::proxy;

use crate::reactor::config::UNREAD_ANSWERS;
use crate::reactor::conn::life::Life;
use crate::reactor::conn::origin::{Asked, Origin};
use crate::reactor::read::ReadClass;
use crate::reactor::{Conn, Consumer, ListenerConfig};
use head::{Head, PendingUpgrade};
use routes::Route;

pub type Verdict = Result<(), Refusal>;

pub struct HandshakeInfo<'a> {
    /// The listener it came through, or the number given with `adopt`.
    pub listener: u32,
    /// Our end; `None` when the socket is already dead or not an IP socket.
    pub local: Option<SocketAddr>,
    pub remote: Option<SocketAddr>,
    /// `None` for an adopted socket: its request was read elsewhere.
    pub request: Option<&'a Request<'a>>,
    pub protocol: Option<&'a [u8]>,
    /// The value of `Sec-WebSocket-Extensions` in the answer.
    pub extensions: Option<&'a str>,
    /// Bytes read after the request. Only in `on_request`.
    pub rest: &'a [u8],
}

impl HandshakeInfo<'static> {
    /// The consumer knows the rest.
    pub(super) fn known(listener: u32) -> Self {
        Self {
            listener,
            local: None,
            remote: None,
            request: None,
            protocol: None,
            extensions: None,
            rest: &[],
        }
    }
}

impl Conn<'_> {
    /// The client's, which a proxy might have named.
    fn peer_address(&self) -> Option<SocketAddr> {
        let named = match &self.state.life {
            Life::Opening(head) => head.peer,
            Life::AwaitingDecision(pending) => pending.peer,
            _ => None,
        };
        named.or_else(|| self.remote_address())
    }

    pub(super) fn handshake_info(&self) -> HandshakeInfo<'static> {
        HandshakeInfo {
            local: self.local_address(),
            remote: self.peer_address(),
            ..HandshakeInfo::known(self.state.listener)
        }
    }
}

pub(super) enum Step {
    /// More bytes are needed, or the consumer's decision.
    Wait,
    /// The connection is open; these are the first bytes of frames.
    Opened(Vec<u8>),
    /// The connection is for the consumer's HTTP server, with these bytes.
    HandOff(Vec<u8>),
    /// A request without an upgrade was answered; the next can already be there.
    Again,
}

/// Takes bytes of a handshake. The last step is not [`Step::Again`].
pub(super) fn on_bytes<C: Consumer>(consumer: &mut C, conn: &mut Conn<'_>, bytes: &[u8]) -> Step {
    if let Life::Opening(head) = &mut conn.state.life {
        head.bytes.extend_from_slice(bytes);
        if head.kept.take().is_some() {
            conn.arm(conn.state.config.handshake_timeout);
        }
    }
    loop {
        let Life::Opening(head) = &mut conn.state.life else { return Step::Wait };
        let mut head = std::mem::take(&mut **head);
        let step = step(consumer, conn, &mut head);
        if let Life::Opening(place) = &mut conn.state.life {
            **place = head;
        }
        if !matches!(step, Step::Again) {
            return step;
        }
    }
}

/// The consumer accepts: `response` is the whole 101. Bytes that it has handed back, see [`keep`], are
/// read first.
///
/// Without permessage-deflate, unless [`serve`] has given the negotiated parameters.
pub(super) fn accept<C: Consumer>(consumer: &mut C, conn: &mut Conn<'_>, response: &[u8]) {
    let Life::AwaitingDecision(pending) = &mut conn.state.life else { return };
    let PendingUpgrade { deflate, since, behind, relayed, asked, peer, resumed, .. } =
        std::mem::take(&mut **pending);
    if let Some(opened) = resumed {
        return conn.go_on_here(*opened, peer);
    }
    conn.write(response);
    if let Some(asked) = asked {
        conn.handovers.begin(conn.id.slot, Origin::new(&asked, response));
    }
    open(conn, deflate);
    note_accepted(conn, since);
    if relayed {
        handoff::await_handback(consumer, conn);
    }
    conn.want_read();
    conn.feed(&behind);
}

/// The consumer hands back bytes that were read after the request.
pub(super) fn keep(conn: &mut Conn<'_>, bytes: &[u8]) {
    match &mut conn.state.life {
        Life::AwaitingDecision(pending) => pending.behind.extend_from_slice(bytes),
        _ if conn.state.read.class == ReadClass::AwaitingHandback => handoff::hand_back(conn, bytes),
        _ => {}
    }
}

/// If the consumer accepts, these settings replace the listener's. Until then, nothing is read. `asked`: of a relayed
/// connection that can move.
pub(super) fn serve(
    conn: &mut Conn<'_>,
    config: Arc<ListenerConfig>,
    deflate: Option<Params>,
    asked: Option<Asked>,
) {
    if conn.state.life.is_relayed() {
        let pending = PendingUpgrade { relayed: true, asked, ..PendingUpgrade::default() };
        conn.state.life = Life::AwaitingDecision(Box::new(pending));
    }
    if let Life::AwaitingDecision(pending) = &mut conn.state.life {
        pending.deflate = deflate;
        conn.state.config = config;
    }
}

fn step<C: Consumer>(consumer: &mut C, conn: &mut Conn<'_>, head: &mut Head) -> Step {
    if head.proxied && !read_proxied(conn, head) {
        return Step::Wait;
    }
    let skipped = usize::try_from(head.skip).unwrap_or(usize::MAX).min(head.bytes.len());
    head.bytes.drain(..skipped);
    head.skip -= skipped as u64;
    if head.skip > 0 || head.bytes.is_empty() {
        return Step::Wait;
    }
    let bytes = std::mem::take(&mut head.bytes);
    let routes = conn.state.config.http.as_ref().map(|http| http.routes.current());
    if routes.as_ref().is_some_and(|routes| !could_be_ours(&conn.state.config, routes, &bytes)) {
        return hand_off(conn, head, bytes);
    }
    match head.scanner.parse(&bytes, &conn.state.config.head) {
        Ok(None) => {
            head.bytes = bytes;
            Step::Wait
        }
        // That server can know what to do with it, and reads it from its first byte.
        Err(_) if routes.is_some() => hand_off(conn, head, bytes),
        Err(error) => {
            if let (HttpError::HeaderTooLarge, Some(admission)) = (error, &conn.state.config.admission) {
                admission.deny(Denial::Head);
            }
            conn.metrics.tally.bad_requests += 1;
            conn.respond(&bare(error.status()));
            Step::Wait
        }
        Ok(Some(request)) => match routes.filter(|_| !asks_health(&conn.state.config, &request)) {
            None if request.is_upgrade() => on_upgrade(consumer, conn, head, &request, &bytes),
            None => on_plain_request(consumer, conn, head, &request, &bytes),
            Some(routes) => match routes.iter().find(|route| route.serves(&request)) {
                None => hand_off(conn, head, bytes),
                Some(route) if take_route(conn, head, route) => {
                    on_upgrade(consumer, conn, head, &request, &bytes)
                }
                Some(_) => Step::Wait,
            },
        },
    }
}

/// Whether the first bytes can become a request that is answered here, if there is an HTTP server for
/// all others.
fn could_be_ours(config: &ListenerConfig, routes: &[Route], bytes: &[u8]) -> bool {
    let is_get = || bytes.trim_ascii_start().iter().zip(b"GET ").all(|(byte, wanted)| byte == wanted);
    config.health_check.is_some() || (!routes.is_empty() && is_get())
}

/// The connection belongs to the listener of the route from now on. False: that has too many.
fn take_route(conn: &mut Conn<'_>, head: &Head, route: &Route) -> bool {
    let Route { listener, config } = route.clone();
    let client = head.peer.or_else(|| conn.remote_address()).map(|client| client.ip());
    // It has counted as one of its own port.
    let counts = config.admission.clone().filter(|it| conn.state.config.admission.as_ref() != Some(it));
    (conn.state.listener, conn.state.config) = (listener, config);
    counts.is_none_or(|admission| !admission.counts() || let_in(conn, &admission, client))
}

fn hand_off(conn: &mut Conn<'_>, head: &Head, bytes: Vec<u8>) -> Step {
    if head.closed {
        conn.respond(&handshake::abort(503, reason_phrase(503), &[]));
        return Step::Wait;
    }
    Step::HandOff(bytes)
}

/// The peer has ended its side within a head: the consumer's HTTP server says what is missing.
pub(super) fn unfinished(conn: &mut Conn<'_>) -> Option<Vec<u8>> {
    let Life::Opening(head) = &mut conn.state.life else { return None };
    let is_others = conn.state.config.http.is_some() && head.has_begun() && !head.closed && !head.proxied;
    is_others.then(|| std::mem::take(&mut head.bytes))
}

fn asks_health(config: &ListenerConfig, request: &Request<'_>) -> bool {
    !request.is_upgrade()
        && handshake::asks_health(request.method, request.target, config.health_check.as_deref())
}

/// Takes the header by which a proxy names its client. False: it is incomplete, or was refused.
fn read_proxied(conn: &mut Conn<'_>, head: &mut Head) -> bool {
    let (len, client) = match proxy::parse(&head.bytes) {
        proxy::Parsed::Incomplete => return false,
        proxy::Parsed::Header(len, client) => (len, client),
        proxy::Parsed::Invalid => {
            conn.metrics.tally.bad_requests += 1;
            conn.respond(&bare(400));
            return false;
        }
    };
    head.bytes.drain(..len);
    head.proxied = false;
    // Without an address the proxy speaks for itself.
    if let Some(client) = client {
        head.peer = Some(client);
        if let Some(admission) = conn.state.config.admission.clone() {
            // So far the connection counted as one without an address.
            conn.teardown.set_ticket(conn.id.slot, None);
            if !let_in(conn, &admission, Some(client.ip())) {
                return false;
            }
        }
    }
    !conn.begin_tls(&mut head.bytes)
}

/// Counts a connection, or answers one too many, even before it has asked. False: that was one.
pub(super) fn let_in(conn: &mut Conn<'_>, admission: &Arc<Admission>, client: Option<IpAddr>) -> bool {
    match admission.admit(client) {
        Ok(ticket) => conn.teardown.set_ticket(conn.id.slot, Some(ticket)),
        Err(denial) => {
            deny(conn, denial);
            return false;
        }
    }
    true
}

fn on_upgrade<C: Consumer>(
    consumer: &mut C,
    conn: &mut Conn<'_>,
    head: &mut Head,
    request: &Request<'_>,
    bytes: &[u8],
) -> Step {
    if turns_away(conn, head) {
        return Step::Wait;
    }
    let config = conn.state.config.clone();
    let admission = config.admission.as_deref();
    let acceptance = config.deflate.as_ref().map(|deflate| conn.acceptance(deflate));
    let options = Options { path: config.path.as_deref(), deflate: acceptance.as_ref() };
    let checked = check(request, &options);
    let verdict = checked.as_ref().map(|_| ()).map_err(|&refusal| refusal);
    let rest = bytes.get(request.head_len..).unwrap_or_default();
    let mut info = HandshakeInfo {
        listener: conn.state.listener,
        local: conn.local_address(),
        remote: head.peer.or_else(|| conn.remote_address()),
        request: Some(request),
        protocol: checked.as_ref().ok().and_then(|upgrade| upgrade.protocol),
        extensions: None,
        rest: &[],
    };
    let asks = consumer.asks(info.listener, verdict);
    let refused = admission.filter(|admission| {
        !asks
            && checked
                .as_ref()
                .is_ok_and(|it| !admission.allows(handshake::origin_of(request, it.version).as_deref()))
    });
    if let Some(admission) = refused.filter(|admission| !admission.shows_origin()) {
        deny(conn, admission.deny(Denial::Origin));
        return Step::Wait;
    }
    // The consumer answers a few requests from pages that must not connect, so it can print how to
    // allow such a page.
    if asks || refused.is_some() {
        (info.protocol, info.rest) = (None, rest);
        let (since, peer) = (head.since, head.peer);
        let asked = asked(&config, request, (peer, bytes));
        let pending = PendingUpgrade { since, peer, asked, ..PendingUpgrade::default() };
        conn.state.life = Life::AwaitingDecision(Box::new(pending));
        // The peer has done its part in time; the consumer has no deadline.
        conn.state.deadline.clear();
        consumer.on_request(conn, &info);
        return Step::Wait;
    }
    match checked {
        Ok(ref upgrade) => {
            switch_protocols(consumer, conn, &mut info, upgrade, (head.peer, bytes));
            note_accepted(conn, head.since);
            return Step::Opened(rest.to_vec());
        }
        Err(refusal) => {
            conn.metrics.tally.refused += 1;
            conn.respond(&handshake::refuse(refusal));
        }
    }
    Step::Wait
}

/// Answers an upgrade request unseen, if its listener has closed or there were too many.
fn turns_away(conn: &mut Conn<'_>, head: &Head) -> bool {
    if head.closed {
        conn.respond(&handshake::abort(503, reason_phrase(503), &[]));
        return true;
    }
    let admission = conn.state.config.admission.as_deref();
    match admission.map(|admission| admission.handshake(conn.timers.now())) {
        Some(Err(denial)) => {
            deny(conn, denial);
            true
        }
        _ => false,
    }
}

/// Unless the server has `early_handshake`, the 101 waits until the consumer has dealt with the
/// connection.
fn switch_protocols<'r, C: Consumer>(
    consumer: &mut C,
    conn: &mut Conn<'_>,
    info: &mut HandshakeInfo<'r>,
    upgrade: &'r Upgrade<'r>,
    (client, bytes): (Option<SocketAddr>, &[u8]),
) {
    info.extensions = upgrade.deflate.as_ref().map(|accepted| &*accepted.answer);
    let response = handshake::accept(&upgrade.accept, upgrade.protocol, info.extensions);
    conn.write(&response);
    if let Some(asked) = info.request.and_then(|request| asked(&conn.state.config, request, (client, bytes)))
    {
        conn.handovers.begin(conn.id.slot, Origin::new(&asked, &response));
    }
    open(conn, upgrade.deflate.as_ref().map(|accepted| accepted.params));
    consumer.on_open(conn, info);
    if !conn.state.config.early_handshake
        && let Some(progress) = consumer.progress()
    {
        conn.withhold(progress.recorded);
    }
}

/// `None`: the connection cannot move.
fn asked(
    config: &ListenerConfig,
    request: &Request<'_>,
    (client, bytes): (Option<SocketAddr>, &[u8]),
) -> Option<Asked> {
    let port = config.movable?;
    Some(Asked { port, client, request: bytes.get(..request.head_len)?.to_vec() })
}

/// A request without an upgrade: 426, as the HTTP server inside ws answers, or a health check.
fn on_plain_request<C: Consumer>(
    consumer: &mut C,
    conn: &mut Conn<'_>,
    head: &mut Head,
    request: &Request<'_>,
    bytes: &[u8],
) -> Step {
    let asks_health = asks_health(&conn.state.config, request);
    conn.metrics.tally.plain_requests += u64::from(!asks_health);
    let refuses = head.closed || consumer.refuses(conn.state.listener);
    let status = handshake::plain_status(asks_health, refuses);
    // HTTP/1.1 demands it, and `ws` does not.
    if request.minor == 1 && request.values("host").next().is_none() {
        conn.respond(&bare(400));
        return Step::Wait;
    }
    let body = if request.has_body() { request.content_length() } else { Some(0) };
    // After a body of unknown length the next request cannot be found without decoding the body.
    // And answers that the peer does not read would pile up.
    let keep_alive = request.keep_alive() && body.is_some() && conn.queued() < UNREAD_ANSWERS && !head.closed;
    #[expect(clippy::disallowed_methods, reason = "the Date header is wall-clock time")]
    let date = httpdate::fmt_http_date(SystemTime::now());
    let response = handshake::plain(status, &date, keep_alive, request.method == "HEAD");
    if !keep_alive {
        conn.respond(&response);
        return Step::Wait;
    }
    conn.write(&response);
    head.bytes = bytes.get(request.head_len..).unwrap_or_default().to_vec();
    head.scanner = handshake::HeadScanner::default();
    head.skip = body.unwrap_or(0);
    conn.arm(conn.state.config.handshake_timeout.min(Duration::from_secs(handshake::KEEP_ALIVE)));
    Step::Again
}

fn open(conn: &mut Conn<'_>, deflate: Option<Params>) {
    if let Some(params) = deflate {
        conn.enable_deflate(params);
    }
    conn.state.life = Life::Open;
    conn.state.deadline.clear();
    conn.limit_rate();
    if let Some(after) = conn.state.silence() {
        conn.arm(after);
    }
}

fn note_accepted(conn: &Conn<'_>, since: Option<Instant>) {
    if let Some(since) = since {
        conn.metrics.meters.handshakes.record(since.elapsed());
    }
}

fn deny(conn: &mut Conn<'_>, denial: Denial) {
    let (status, retry_after) = (denial.status(), denial.retry_after());
    let fields: &[(&str, &str)] = if retry_after.is_empty() { &[] } else { &[("Retry-After", retry_after)] };
    conn.respond(&handshake::abort(status, reason_phrase(status), fields));
}
