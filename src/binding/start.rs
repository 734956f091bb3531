//! Starts the reactors: in threads of their own, or on the event loop of their environment.

use std::rc::Rc;
use std::sync::Arc;

use napi::bindgen_prelude::{Array, Function};
use napi::{Env, Result};
use napi_derive::napi;

use crate::reactor::{Link, ReactorConfig, Spin};

use super::allocator;
use super::drive::Drive;
use super::inline::Inline;
use super::lingering::Delivered;
use super::threads::Threads;

/// Settings of the reactors.
#[napi(object)]
pub struct ReactorOptions {
    /// Microseconds to poll without blocking after traffic; -1 = automatic, 0 = never.
    pub spin: i32,
    /// The number of reactors, each in a thread; 0: one, on the JavaScript thread where that is
    /// possible.
    pub reactors: u32,
    /// Whether the event loop is libuv's: others may have functions of its names.
    pub libuv: bool,
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

/// The way to reactors that run, and a link of each.
type Started = (Rc<dyn Drive>, Vec<Arc<Link>>);

/// Starts reactors in threads, or one that needs none, if that is possible. They call `wake`, never
/// re-entrantly, when one of the links, one for each, has something. `memory` stays until they have
/// ended.
pub(super) fn start(
    env: &Env,
    wake: &Function<'_, (), ()>,
    memory: &Array<'_>,
    config: ReactorConfig,
    delivered: &Rc<Delivered>,
    options: &ReactorOptions,
) -> Result<Started> {
    let links = Link::group((options.reactors as usize).max(1));
    if let (0, true, [link]) = (options.reactors, options.libuv, links.as_slice())
        && let Some(inline) = Inline::start(env, wake, memory, link.clone(), config)?
    {
        return Ok((inline, links));
    }
    let threads = Threads::start(env, wake, memory, &links, config, delivered, options.libuv)?;
    Ok((Rc::new(threads), links))
}
