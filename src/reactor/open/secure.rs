//! The handshake of TLS, before the first byte of a request.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use crate::reactor::config::{FAILURES_REPORTED, HANDSHAKE_GRACE, OPENINGS_PART};
use crate::reactor::connection::life::Life;
use crate::reactor::read::half::Pace;
use crate::reactor::tls::{Failure, Refusal, SecureContext};
use crate::reactor::transport::tls::Shaken;
use crate::reactor::{Cause, ConnectionId, Consumer, Opening, Reactor, Session};

/// The consumer's answer to `on_hello`.
pub enum Choice {
    Go {
        /// `None`: that of the host, or the server's.
        context: Option<Arc<SecureContext>>,
        /// `None`: by the server's list.
        alpn: Option<Vec<u8>>,
    },
    /// With this alert.
    Refuse(u8),
}

/// Asks for key material of a connection (RFC 8446, section 7.5; RFC 5705).
pub struct Export {
    pub len: usize,
    pub label: Vec<u8>,
    pub context: Option<Vec<u8>>,
    /// `None`: there is none.
    pub reply: SyncSender<Option<Vec<u8>>>,
}

impl<C: Consumer> Reactor<C> {
    /// Goes on with the handshake of a connection.
    pub(in crate::reactor) fn shake(&mut self, id: ConnectionId) {
        let Some((mut session, consumer)) = self.session(id.slot) else { return };
        let Some(tls) = session.connection.transport.as_tls().filter(|tls| tls.is_shaking()) else {
            session.connection.read.pace = Pace::Modest;
            return session.want_read();
        };
        match tls.shake() {
            Shaken::Waits => {
                let is_asked = tls.is_asked();
                session.connection.read.unread = is_asked;
            }
            Shaken::Short => session.timers.retry_later(id),
            Shaken::Asks(hello) => {
                let opening = session.opening();
                consumer.on_hello(&mut session, &opening, &hello);
            }
            Shaken::Done => self.on_secure(id),
            Shaken::Failed(failure) => self.on_failure(id, &failure),
        }
    }

    pub(in crate::reactor) fn on_choice(&mut self, id: ConnectionId, choice: Choice) {
        let Some(mut session) = self.session_of(id) else { return };
        let Some(tls) = session.connection.transport.as_tls().filter(|tls| tls.is_asked()) else { return };
        match choice {
            Choice::Go { context, alpn } => {
                tls.choose(context.as_deref(), alpn);
                // The ClientHello may have come with a proxy's header: then what follows has no edge of its own.
                session.read_again();
            }
            Choice::Refuse(alert) => {
                tls.refuse(alert);
                self.on_failure(id, &Failure::program());
            }
        }
    }

    pub(in crate::reactor) fn on_export(&mut self, id: ConnectionId, export: &Export) {
        let material = self.session_of(id).and_then(|session| {
            let tls = session.connection.transport.as_tls()?;
            tls.export(&export.label, export.context.as_deref(), vec![0; export.len])
        });
        // Who does not wait any more has the answer that there is none.
        let _nobody_waits = export.reply.send(material);
    }

    /// The time of a handshake is over.
    pub(in crate::reactor) fn on_slow_handshake(&mut self, id: ConnectionId) {
        let Some(mut session) = self.session_of(id) else { return };
        // The client has done its part; it waits for its turn.
        if session.connection.read.is_queued() {
            return session.arm(HANDSHAKE_GRACE);
        }
        self.on_failure(id, &Failure::timeout());
    }

    fn on_secure(&mut self, id: ConnectionId) {
        let Some((mut session, consumer)) = self.session(id.slot) else { return };
        let Some(tls) = session.connection.transport.as_tls() else { return };
        if let Err(failure) = tls.authorize() {
            return self.on_failure(id, &failure);
        }
        let (is_reused, shows_certificates) = (tls.is_reused(), tls.shows_certificates());
        session.metrics.tally.tls_handshakes += 1;
        session.metrics.tally.tls_reused += u64::from(is_reused);
        session.connection.read.pace = Pace::Modest;
        let config = session.connection.config.clone();
        // For the request, from now on.
        session.arm(config.handshake_timeout);
        // JavaScript looks at certificates before any handler does.
        if shows_certificates || config.tls.as_ref().is_some_and(|server| server.asks().secure()) {
            let opening = session.opening();
            consumer.on_secure(&mut session, &opening);
            if let Life::Opening(head) = &mut session.connection.life {
                head.known = true;
            }
        }
        // The first bytes of the request may be there already.
        session.connection.read.unread = true;
        session.want_read();
    }

    fn on_failure(&mut self, id: ConnectionId, failure: &Failure) {
        let Some((session, _)) = self.session(id.slot) else { return };
        let tally = &mut session.metrics.tally;
        *match failure.refusal {
            Refusal::Unshared => &mut tally.tls_unshared,
            Refusal::Certificate => &mut tally.tls_bad_certificates,
            Refusal::Alert => &mut tally.tls_alerts,
            Refusal::Plain => &mut tally.tls_plain_http,
            Refusal::Timeout => &mut tally.tls_timeouts,
            Refusal::Gone => &mut tally.tls_gone,
            Refusal::Program => &mut tally.tls_refused,
            Refusal::Malformed => &mut tally.tls_malformed,
        } += 1;
        let is_wanted = session.connection.config.tls.as_ref().is_some_and(|server| server.asks().errors());
        if is_wanted && failure.refusal != Refusal::Program {
            let opening = session.opening();
            self.report_failure(&opening, failure);
        }
        let Some(mut session) = self.session_of(id) else { return };
        match failure.refusal {
            Refusal::Gone | Refusal::Timeout => session.doom(Cause::Handshake),
            // The alert is on its way, and must not be overtaken by a reset.
            _ => session.respond(&[]),
        }
    }

    fn report_failure(&mut self, opening: &Opening<'_>, failure: &Failure) {
        let has_room = self.consumer.openings() <= self.config.total_mark / OPENINGS_PART;
        if has_room && self.openings.failures < FAILURES_REPORTED {
            self.openings.failures += 1;
            self.consumer.on_tls_error(opening, failure);
        } else {
            self.metrics.tally.tls_unreported += 1;
        }
    }

    pub(in crate::reactor) fn end_failures(&mut self) {
        self.openings.failures = 0;
    }
}

impl Session<'_> {
    /// After the header of a proxy, of which `bytes` are left. False: the connection has no TLS.
    pub(super) fn begin_tls(&mut self, bytes: &mut Vec<u8>) -> bool {
        let begun = self.connection.transport.as_tls().is_some_and(|tls| tls.begin(bytes));
        if begun {
            bytes.clear();
            self.connection.read.pace = Pace::Shaking;
            self.connection.read.unread = true;
            self.want_read();
        }
        begun
    }
}
