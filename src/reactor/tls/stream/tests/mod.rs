//! Over real sockets, with a client of rustls.

mod client;
mod emptiness;
mod handshakes;
mod messages;

use std::sync::Arc;

use crate::reactor::ListenerConfig;
use crate::reactor::tests::{Server, Setup};
use crate::reactor::tls::TlsServer;
use crate::reactor::tls::tests::server;

fn listener(tls: Arc<TlsServer>) -> ListenerConfig {
    ListenerConfig { tls: Some(tls), ..ListenerConfig::default() }
}

fn echo() -> Server {
    Server::with(Setup { listener: listener(server()), ..Setup::default() })
}
