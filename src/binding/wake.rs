//! The way from the reactors to JavaScript.

use std::cell::RefCell;
use std::rc::Rc;

use napi::bindgen_prelude::{Array, Function};
use napi::{Env, Result};

use super::callback::{Callback, Cleanup, CleanupHook, Reference, on_cleanup};

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
