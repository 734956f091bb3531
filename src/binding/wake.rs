//! The way from the reactors to JavaScript.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use napi::bindgen_prelude::{Array, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Result, Status};

use super::callback::{Callback, Cleanup, CleanupHook, Reference, on_cleanup};
use super::uv::EventLoop;
use super::uv::signal::{Ringer, Signal};

/// JavaScript's end, on its environment's thread.
pub(super) struct Wake {
    /// Not borrowed during the call, which may cut it off, or run the event loop, which calls
    /// again.
    function: RefCell<Option<Rc<Callback>>>,
    /// Lists of all memory lent to the reactors, which may write there until they have ended.
    memory: RefCell<Option<Reference>>,
    hook: RefCell<Option<CleanupHook>>,
    /// The bell of the threads.
    signal: RefCell<Option<Signal>>,
}

impl Wake {
    /// Does not hold `function`.
    pub(super) fn new(env: &Env, function: &Function<'_, (), ()>, memory: &Array<'_>) -> Result<Rc<Self>> {
        Ok(Rc::new(Self {
            function: RefCell::new(Some(Rc::new(Callback::new(env, function, "REACTOR_WS")?))),
            memory: RefCell::new(Some(Reference::new(env, memory, true)?)),
            hook: RefCell::new(None),
            signal: RefCell::new(None),
        }))
    }

    /// Rings make the event loop call `on_ring`. `None` where there is no libuv. Unlike a threadsafe
    /// function the bell takes no lock that the loop takes: on one CPU the loop would block on that
    /// lock at once.
    pub(super) fn bell(&self, env: &Env, on_ring: impl Fn(EventLoop) + 'static) -> Option<Ring> {
        let signal = Signal::start(env, Box::new(on_ring))?;
        let ring = Ring::Signal(signal.ringer());
        *self.signal.borrow_mut() = Some(signal);
        Some(ring)
    }

    /// Calls `hook` before the environment ends, unless this is cut before. The hook ends the
    /// reactors and cuts; the environment waits for its argument to be dropped.
    pub(super) fn on_cleanup(self: &Rc<Self>, env: &Env, hook: impl FnOnce(Cleanup) + 'static) -> Result<()> {
        let wake = self.clone();
        let hook = on_cleanup(env, move |cleanup| {
            wake.hook.take();
            hook(cleanup);
        })?;
        *self.hook.borrow_mut() = Some(hook);
        Ok(())
    }

    pub(super) fn hold(&self, does: bool) {
        if let Some(function) = &*self.function.borrow() {
            function.hold(does);
        }
    }

    pub(super) fn call(&self) {
        let function = self.function.borrow().clone();
        if let Some(function) = function {
            function.call();
        }
    }

    /// The reactors have ended. `until_closed` is dropped when the loop has closed the bell.
    pub(super) fn cut<T: 'static>(&self, until_closed: T) {
        self.function.take();
        self.memory.take();
        if let Some(hook) = self.hook.take() {
            hook.remove();
        }
        self.hang_up(until_closed);
    }

    /// The threads have ended.
    pub(super) fn hang_up<T: 'static>(&self, until_closed: T) {
        if let Some(signal) = self.signal.take() {
            signal.close(Box::new(move || drop(until_closed)));
        }
    }
}

/// The reactors' end.
#[derive(Clone)]
pub(super) enum Ring {
    Signal(Ringer),
    /// The bell of Node-API, which exists everywhere. It holds its function as long as the
    /// environment lives.
    Function(Arc<ThreadsafeFunction<(), (), (), Status, false, true>>),
}

impl Ring {
    pub(super) fn threadsafe_function(function: &Function<'_, (), ()>) -> Result<Self> {
        let bell = function.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
        Ok(Self::Function(Arc::new(bell)))
    }

    pub(super) fn ring(&self) {
        match self {
            Self::Signal(ringer) => ringer.ring(),
            // Refused only when the environment is ending, and then nothing is left to be called.
            Self::Function(bell) => {
                let _closing = bell.call((), ThreadsafeFunctionCallMode::NonBlocking);
            }
        }
    }
}
