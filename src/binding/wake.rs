//! The way from the reactors to JavaScript.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use napi::bindgen_prelude::{Array, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Result, Status};

use super::callback::{Callback, Cleanup, CleanupHook, Reference, on_cleanup};
use super::uv::signal::Signal;

pub(super) struct Wake {
    /// Not borrowed during the call, which can cut it off, or run the event loop, which calls
    /// again.
    function: RefCell<Option<Rc<Callback>>>,
    /// Lists of all memory lent to the reactors, which can write there until they have ended.
    memory: RefCell<Option<Reference>>,
    hook: RefCell<Option<CleanupHook>>,
}

impl Wake {
    /// Does not hold `function`.
    pub(super) fn new(env: &Env, function: &Function<'_, (), ()>, memory: &Array<'_>) -> Result<Rc<Self>> {
        Ok(Rc::new(Self {
            function: RefCell::new(Some(Rc::new(Callback::new(env, function, "REACTOR_WS")?))),
            memory: RefCell::new(Some(Reference::new(env, memory, true)?)),
            hook: RefCell::new(None),
        }))
    }

    /// Calls `hook` before the environment ends, unless this is cut before. The hook ends the
    /// reactors and cuts; the environment waits until the hook's argument is dropped.
    pub(super) fn on_cleanup(self: &Rc<Self>, env: &Env, hook: impl FnOnce(Cleanup) + 'static) -> Result<()> {
        let wake = self.clone();
        let hook = on_cleanup(env, move |cleanup| {
            wake.hook.take();
            hook(cleanup);
        })?;
        *self.hook.borrow_mut() = Some(hook);
        Ok(())
    }

    pub(super) fn set_ref(&self, does: bool) {
        if let Some(function) = &*self.function.borrow() {
            function.set_ref(does);
        }
    }

    pub(super) fn call(&self) {
        let function = self.function.borrow().clone();
        if let Some(function) = function {
            function.call();
        }
    }

    pub(super) fn cut(&self) {
        self.function.take();
        self.memory.take();
        if let Some(hook) = self.hook.take() {
            hook.remove();
        }
    }
}

#[derive(Clone)]
pub(super) enum Ring {
    /// libuv's own bell. Unlike the other it takes no lock that the loop takes: on one CPU the loop
    /// would block on that lock at once.
    Signal(Signal),
    /// Node-API's bell, which exists everywhere. It keeps its function until the end of the environment
    /// lives.
    Function(Arc<ThreadsafeFunction<(), (), (), Status, false, true>>),
}

impl Ring {
    pub(super) fn threadsafe_function(function: &Function<'_, (), ()>) -> Result<Self> {
        let bell = function.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
        Ok(Self::Function(Arc::new(bell)))
    }

    pub(super) fn ring(&self) {
        match self {
            Self::Signal(signal) => signal.ring(),
            // Refused only when the environment is ending; then nothing is left to call.
            Self::Function(bell) => {
                let _closing = bell.call((), ThreadsafeFunctionCallMode::NonBlocking);
            }
        }
    }
}
