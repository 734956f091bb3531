//! What all reactors share of a server with TLS.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;

use super::context::SecureContext;
use super::hosts::Pattern;
use super::tickets::{ContextTickets, TICKET_KEY_BYTES, Tickets};
use super::trust::Trust;
use crate::bridge::layout::{TLS_ASK_ALPN, TLS_ASK_ERRORS, TLS_ASK_SECURE, TLS_ASK_SNI};

pub struct TlsOptions<'a> {
    pub context: Arc<SecureContext>,
    /// Protocols in the order of preference; empty: the client's are ignored.
    pub alpn: Vec<Vec<u8>>,
    /// From accept to the end of the handshake.
    pub handshake_timeout: Duration,
    /// How long a session can be gone on with; zero: there are no tickets.
    pub session_timeout: Duration,
    /// `None`: keys of ours, replaced now and then.
    pub ticket_keys: Option<&'a [u8; TICKET_KEY_BYTES]>,
    /// The bits `TLS_ASK_`.
    pub ask: u32,
}

pub struct TlsServer {
    hosts: RwLock<Hosts>,
    alpn: Vec<Vec<u8>>,
    tickets: Arc<Tickets>,
    ask: AtomicU32,
    pub(in crate::reactor) handshake_timeout: Duration,
}

struct Hosts {
    default: Chosen,
    /// The last one that matches counts.
    named: Vec<(Pattern, Chosen)>,
}

/// A context as this server uses it.
#[derive(Clone)]
pub(super) struct Chosen {
    pub(super) config: Arc<ServerConfig>,
    pub(super) trust: Arc<Trust>,
}

/// Events that the program listens for, and decisions that it makes.
#[derive(Debug, Clone, Copy)]
pub struct Asks(u32);

impl Asks {
    pub fn errors(self) -> bool {
        self.0 & TLS_ASK_ERRORS != 0
    }

    pub fn secure(self) -> bool {
        self.0 & TLS_ASK_SECURE != 0
    }

    /// Whether the program chooses for a client that names a server, or protocols.
    pub(super) fn hello(self, names_server: bool, names_protocols: bool) -> bool {
        self.0 & TLS_ASK_SNI != 0 && names_server || self.0 & TLS_ASK_ALPN != 0 && names_protocols
    }
}

impl TlsServer {
    /// `None`: the system has no random numbers.
    pub fn new(options: TlsOptions<'_>) -> Option<Self> {
        let TlsOptions { context, alpn, handshake_timeout, session_timeout, ticket_keys, ask } = options;
        let tickets = Arc::new(Tickets::new(session_timeout, ticket_keys)?);
        let default = chosen(&context, &alpn, &tickets);
        let hosts = RwLock::new(Hosts { default, named: Vec::new() });
        Some(Self { hosts, alpn, tickets, ask: AtomicU32::new(ask), handshake_timeout })
    }

    /// For handshakes that begin from now on.
    pub fn set_context(&self, context: &SecureContext) {
        let chosen = chosen(context, &self.alpn, &self.tickets);
        self.hosts.write().unwrap_or_else(PoisonError::into_inner).default = chosen;
    }

    /// For names that match `host`, in which `*` stands for a part of a name without dots. Replaces a
    /// context of the same host; of several that match, the last one added counts.
    pub fn add_context(&self, host: &str, context: &SecureContext) {
        let (pattern, chosen) = (Pattern::new(host), chosen(context, &self.alpn, &self.tickets));
        let mut hosts = self.hosts.write().unwrap_or_else(PoisonError::into_inner);
        hosts.named.retain(|(known, _)| *known != pattern);
        hosts.named.push((pattern, chosen));
    }

    /// Also keeps the key from being replaced: others have it now.
    pub fn ticket_keys(&self) -> [u8; TICKET_KEY_BYTES] {
        self.tickets.bytes()
    }

    pub fn set_ticket_keys(&self, keys: &[u8; TICKET_KEY_BYTES]) {
        self.tickets.set_bytes(keys);
    }

    /// The bits `TLS_ASK_`.
    pub fn set_ask(&self, bits: u32) {
        self.ask.store(bits, Ordering::Relaxed);
    }

    pub fn asks(&self) -> Asks {
        Asks(self.ask.load(Ordering::Relaxed))
    }

    /// For a client that names this server, or none.
    pub(super) fn of_host(&self, name: Option<&str>) -> Chosen {
        let hosts = self.hosts.read().unwrap_or_else(PoisonError::into_inner);
        let named = name.and_then(|name| hosts.named.iter().rev().find(|(pattern, _)| pattern.matches(name)));
        named.map_or(&hosts.default, |(_, chosen)| chosen).clone()
    }

    pub(super) fn of_context(&self, context: &SecureContext) -> Chosen {
        chosen(context, &self.alpn, &self.tickets)
    }
}

impl Chosen {
    /// With this protocol, whatever the server's list is.
    pub(super) fn with_protocol(mut self, alpn: Vec<u8>) -> Self {
        Arc::make_mut(&mut self.config).alpn_protocols = vec![alpn];
        self
    }
}

fn chosen(context: &SecureContext, alpn: &[Vec<u8>], tickets: &Arc<Tickets>) -> Chosen {
    let mut config = context.config.clone();
    config.alpn_protocols = alpn.to_vec();
    config.ticketer = Arc::new(ContextTickets { tickets: tickets.clone(), context: context.trust.digest() });
    Chosen { config: Arc::new(config), trust: context.trust.clone() }
}

impl PartialEq for TlsServer {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
