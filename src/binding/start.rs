//! The settings of the reactors.

use napi_derive::napi;

use crate::reactor::{ReactorConfig, Spin};

use super::allocator;

/// Settings of the reactors.
#[napi(object)]
pub struct ReactorOptions {
    /// Microseconds to poll without blocking after traffic; -1 = automatic, 0 = never.
    pub spin: i32,
    /// The number of reactors, each in a thread; 0: one, on the JavaScript thread where that is
    /// possible.
    pub reactors: u32,
    /// Bytes that unfinished messages of all connections may take together, an integer; 0 = no
    /// limit.
    pub unfinished_budget: f64,
    /// Bytes that may wait to be sent to all connections together, an integer; 0 = no limit.
    pub send_budget: f64,
}

impl ReactorOptions {
    /// The same for a reactor.
    pub(super) fn config(&self) -> ReactorConfig {
        ReactorConfig {
            spin: spin(self.spin),
            unfinished_budget: match self.unfinished_budget as usize {
                0 => usize::MAX,
                bytes => bytes,
            },
            send_budget: match self.send_budget as usize {
                0 => usize::MAX,
                bytes => bytes,
            },
            give_back: allocator::give_back(),
            ..ReactorConfig::default()
        }
    }
}

fn spin(micros: i32) -> Spin {
    match u32::try_from(micros) {
        Ok(0) => Spin::Never,
        Ok(micros) => Spin::Micros(micros),
        Err(_) => Spin::Automatic,
    }
}
