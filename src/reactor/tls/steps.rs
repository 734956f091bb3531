//! The handshake of TLS, before the first byte of a request.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use super::{Failure, Refusal, SecureContext};
use crate::reactor::config::{FAILURES_REPORTED, HANDSHAKE_GRACE, PENDING_OPEN_PART};
use crate::reactor::conn::life::Life;
use crate::reactor::read::ReadClass;
use crate::reactor::tls::stream::{HandshakeStep, TlsStream};
use crate::reactor::{Cause, Conn, Consumer};

/// The consumer's answer to `on_hello`.
pub enum Choice {
    Go {
        /// `None`: the host's, or the server's.
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
    /// `None`, or no reply: there is none.
    pub reply: SyncSender<Option<Vec<u8>>>,
}

impl Conn<'_> {
    /// Goes on with the handshake.
    pub(in crate::reactor) fn handshake<C: Consumer>(&mut self, consumer: &mut C) {
        let Some(tls) = self.state.transport.as_tls().filter(|tls| tls.is_handshaking()) else {
            self.state.read.class = ReadClass::Modest;
            return self.want_read();
        };
        match tls.handshake() {
            HandshakeStep::Waits => self.state.read.unread = tls.is_pending(),
            HandshakeStep::Short => self.timers.retry_later(self.id),
            HandshakeStep::Asks(hello) => {
                let info = self.handshake_info();
                consumer.on_hello(self, &info, &hello);
            }
            HandshakeStep::Done => self.on_secure(consumer),
            HandshakeStep::Failed(failure) => self.on_failure(consumer, &failure),
        }
    }

    pub(in crate::reactor) fn on_choice<C: Consumer>(&mut self, consumer: &mut C, choice: Choice) {
        let Some(tls) = self.state.transport.as_tls().filter(|tls| tls.is_pending()) else { return };
        match choice {
            Choice::Go { context, alpn } => {
                tls.choose(context.as_deref(), alpn);
                // The ClientHello can come with a proxy's header: then later bytes have no edge of their own.
                self.read_again();
            }
            Choice::Refuse(alert) => {
                tls.refuse(alert);
                self.on_failure(consumer, &Failure::program());
            }
        }
    }

    pub(in crate::reactor) fn on_export(&mut self, export: &Export) {
        let tls = self.state.transport.as_tls().and_then(TlsStream::conn);
        let material = tls.and_then(|tls| tls.export(export));
        // A caller that timed out has already returned `None`.
        let _timed_out = export.reply.send(material);
    }

    /// The TLS section of a record; empty without TLS.
    pub(in crate::reactor) fn describe_tls(&mut self) -> Vec<u8> {
        let tls = self.state.transport.as_tls().and_then(TlsStream::conn);
        tls.map_or_else(Vec::new, |tls| tls.describe())
    }

    /// The time of a handshake is over.
    pub(in crate::reactor) fn on_slow_handshake<C: Consumer>(&mut self, consumer: &mut C) {
        // The client has done its part; it waits for its turn.
        if self.state.read.is_queued() {
            return self.arm(HANDSHAKE_GRACE);
        }
        self.on_failure(consumer, &Failure::timeout());
    }

    fn on_secure<C: Consumer>(&mut self, consumer: &mut C) {
        let Some(tls) = self.state.transport.as_tls().and_then(TlsStream::conn) else { return };
        if let Err(failure) = tls.authorize() {
            return self.on_failure(consumer, &failure);
        }
        let (is_reused, shows_certificates) = (tls.is_reused(), tls.shows_certificates());
        self.metrics.tally.tls_handshakes += 1;
        self.metrics.tally.tls_reused += u64::from(is_reused);
        self.state.read.class = ReadClass::Modest;
        let config = self.state.config.clone();
        // For the request, from now on.
        self.arm(config.handshake_timeout);
        // JavaScript looks at certificates before any handler does.
        if shows_certificates || config.tls.as_ref().is_some_and(|server| server.asks().secure()) {
            let info = self.handshake_info();
            consumer.on_secure(self, &info);
            if let Life::Opening(head) = &mut self.state.life {
                head.known = true;
            }
        }
        // The first bytes of the request can be there already.
        self.read_again();
    }

    fn on_failure<C: Consumer>(&mut self, consumer: &mut C, failure: &Failure) {
        let tally = &mut self.metrics.tally;
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
        let is_wanted = self.state.config.tls.as_ref().is_some_and(|server| server.asks().errors());
        if is_wanted && failure.refusal != Refusal::Program {
            let has_room = consumer.pending_open_bytes() <= self.config.total_mark / PENDING_OPEN_PART;
            if has_room && self.metrics.failures < FAILURES_REPORTED {
                self.metrics.failures += 1;
                consumer.on_tls_error(&self.handshake_info(), failure);
            } else {
                self.metrics.tally.tls_unreported += 1;
            }
        }
        match failure.refusal {
            Refusal::Gone | Refusal::Timeout => self.schedule_close(Cause::Handshake),
            // The alert is on its way, and must not be overtaken by a reset.
            _ => self.respond(&[]),
        }
    }

    /// After the header of a proxy, of which `bytes` are left. False: the connection has no TLS.
    pub(in crate::reactor) fn begin_tls(&mut self, bytes: &mut Vec<u8>) -> bool {
        let begun = self.state.transport.as_tls().is_some_and(|tls| tls.begin(bytes));
        if begun {
            bytes.clear();
            self.state.read.class = ReadClass::Handshaking;
            self.read_again();
        }
        begun
    }
}
