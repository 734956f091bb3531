//! Upgrades that the reactor answers in place of the consumer's HTTP server.

use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::handshake::{Request, is_for, is_websocket};
use crate::reactor::ListenerConfig;

/// A listener without a socket: its connections come through the listeners that name it.
#[derive(Clone)]
pub struct Route {
    pub listener: u32,
    pub config: Arc<ListenerConfig>,
}

/// The routes of a listener. The consumer can replace them at any time.
#[derive(Default)]
pub struct Routes(Mutex<Arc<[Route]>>);

impl Routes {
    pub fn set(&self, routes: Vec<Route>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = routes.into();
    }

    pub(in crate::reactor) fn current(&self) -> Arc<[Route]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl PartialEq for Routes {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Route {
    /// Longer heads are judged by the HTTP server, and bodies: some versions of Node read them before
    /// the upgrade.
    pub(in crate::reactor) fn serves(&self, request: &Request<'_>) -> bool {
        let ListenerConfig { head, path, .. } = &*self.config;
        request.is_upgrade()
            && !request.has_body()
            && is_websocket(request)
            && is_for(request, path.as_deref())
            && request.head_len <= head.bytes
            && request.headers.len() <= head.fields
    }
}
