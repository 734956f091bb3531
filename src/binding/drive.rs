//! The reactors run in threads of their own, or on the event loop of their environment.

use std::rc::Rc;
use std::sync::Arc;

use napi::bindgen_prelude::{Array, Function};
use napi::{Env, Result};
use napi_derive::napi;

use crate::bridge::chunk::Arena;
use crate::bridge::large::Large;
use crate::bridge::room::Lent;
use crate::bridge::split::split;
use crate::reactor::{Command, Handle, Link, ReactorConfig, Spin};

use super::allocator;
use super::inline::Inline;
use super::lingering::Delivered;
use super::listen::system_error;
use super::threads::{Flushed, Threads};

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
            unfinished_mark: match self.unfinished_budget as usize {
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

/// The way to the reactors.
pub(super) enum Drive {
    /// Each reactor runs in a thread of its own.
    Threads(Threads),
    /// There is one reactor, on the JavaScript thread.
    Inline(Rc<Inline>),
}

impl Drive {
    /// Starts reactors in threads, or one that needs none, if that is possible. They call `wake`,
    /// never re-entrantly, when one of the links, one for each, has something. `memory` stays until
    /// they have ended.
    pub(super) fn start(
        env: &Env,
        wake: &Function<'_, (), ()>,
        memory: &Array<'_>,
        config: ReactorConfig,
        delivered: &Rc<Delivered>,
        options: &ReactorOptions,
    ) -> Result<(Self, Vec<Arc<Link>>)> {
        let links = Link::group((options.reactors as usize).max(1));
        if let (0, true, [link]) = (options.reactors, options.libuv, links.as_slice())
            && let Some(inline) = Inline::start(env, wake, memory, link.clone(), config)?
        {
            return Ok((Self::Inline(inline), links));
        }
        let threads = Threads::start(env, wake, memory, &links, config, delivered, options.libuv)?;
        Ok((Self::Threads(threads), links))
    }

    /// The number of reactors.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Threads(threads) => threads.count(),
            Self::Inline(_) => 1,
        }
    }

    /// The number of the reactor that a slot belongs to.
    pub(super) fn number(&self, slot: u32) -> usize {
        slot as usize & (self.count().next_power_of_two() - 1)
    }

    /// Sends a command to a reactor.
    pub(super) fn submit(&self, number: usize, command: Command) -> Result<()> {
        match self {
            Self::Threads(threads) => threads.submit(number, command),
            Self::Inline(inline) => {
                inline.serve(command);
                Ok(())
            }
        }
    }

    /// Whether there is no thread.
    pub(super) fn is_inline(&self) -> bool {
        matches!(self, Self::Inline(_))
    }

    /// Hands the records of an arena over. Without a thread `last` may be the payload of its last
    /// record.
    pub(super) fn flush(&self, mut arena: Arena, last: Option<&[u8]>) -> Flushed {
        match self {
            Self::Threads(threads) if threads.count() == 1 => threads.flush(arena),
            Self::Threads(threads) => {
                let large = std::mem::take(&mut arena.large);
                let outcome = self.split(threads, arena.bytes(), large);
                Flushed { next: arena.memory, wanting: false, outcome }
            }
            Self::Inline(inline) => {
                let large = std::mem::take(&mut arena.large);
                inline.flush(arena.bytes(), large, last);
                Flushed { next: arena.memory, wanting: false, outcome: Ok(()) }
            }
        }
    }

    /// The arena to be filled next instead of one that is empty.
    pub(super) fn exchange(&self, arena: Box<dyn Lent>) -> Box<dyn Lent> {
        match self {
            Self::Threads(threads) => match threads.handle(0) {
                Ok(handle) => handle.exchange(arena),
                Err(_) => arena,
            },
            Self::Inline(_) => arena,
        }
    }

    /// Lends memory for arenas.
    pub(super) fn lend_arena(&self, memory: Box<dyn Lent>) {
        // The other ways need no more than the one that is filled.
        if let Self::Threads(threads) = self
            && let Ok(handle) = threads.handle(0)
        {
            handle.lend_arena(memory);
        }
    }

    /// Reports that credit was given back for which a reactor waits.
    pub(super) fn wake(&self, number: usize) -> Result<()> {
        match self {
            Self::Threads(threads) => threads.handle(number)?.wake().map_err(|error| system_error(&error)),
            Self::Inline(inline) => {
                inline.reclaim();
                Ok(())
            }
        }
    }

    /// Makes the reactors hand over the bytes that have come by now, if that does not take too
    /// long.
    pub(super) fn settle(&self) {
        match self {
            Self::Threads(threads) => threads.settle(),
            Self::Inline(inline) => inline.settle(),
        }
    }

    /// Number of the event loop's turn; always the same where there is no libuv.
    pub(super) fn loop_turn(&self) -> u32 {
        match self {
            Self::Threads(threads) => threads.loop_turn(),
            Self::Inline(inline) => inline.loop_turn(),
        }
    }

    /// Schedules `wake` for the event loop's next turn, before that reads any socket. False: there
    /// is no libuv.
    pub(super) fn call_next(&self) -> bool {
        match self {
            Self::Threads(threads) => threads.call_next(),
            Self::Inline(inline) => inline.call_next(),
        }
    }

    /// Ends the reactors after an attempt to write the queued bytes.
    pub(super) fn stop(&self) {
        match self {
            Self::Threads(threads) => threads.stop(),
            Self::Inline(inline) => inline.stop(),
        }
    }

    /// Whether JavaScript has to be called although nothing there refers to the reactors.
    pub(super) fn hold(&self, does: bool) {
        match self {
            Self::Threads(threads) => threads.hold(does),
            Self::Inline(inline) => inline.hold(does),
        }
    }

    /// Lets the reactors end, sooner or later, with all that they have.
    pub(super) fn retire(&self) {
        match self {
            Self::Threads(threads) => threads.retire(),
            Self::Inline(inline) => inline.retire(),
        }
    }

    /// Gives each reactor the records of its own slots.
    fn split(&self, threads: &Threads, bytes: &[u8], large: Vec<Large>) -> Result<()> {
        let (count, number) = (threads.count(), |slot| self.number(slot));
        let chunks = split(bytes, large, count, number, |number| {
            threads.handle(number).map(Handle::buffer).unwrap_or_default()
        });
        for (number, chunk) in chunks.into_iter().enumerate() {
            if !chunk.bytes.is_empty() {
                threads.submit(number, Command::Chunk(chunk))?;
            }
        }
        Ok(())
    }
}
