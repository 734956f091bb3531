//! What ties reactors to their environment: it goes away with the first of the two.

use std::cell::RefCell;
use std::rc::Rc;

use napi::bindgen_prelude::{Array, Function};
use napi::{Env, Result};

use super::callback::{Callback, Cleanup, CleanupHook, Reference, on_cleanup};

/// The ties of one environment's reactors. Belong to its thread.
pub(super) struct Ties {
    /// Not borrowed while it is called: the call may cut the ties, or run the event loop, which calls again.
    wake: RefCell<Option<Rc<Callback>>>,
    /// Lists of all memory that the reactors have been lent. They may write there until they have ended, whoever else is gone.
    memory: RefCell<Option<Reference>>,
    hook: RefCell<Option<CleanupHook>>,
}

impl Ties {
    /// `wake` is not held.
    pub(super) fn new(env: &Env, wake: &Function<'_, (), ()>, memory: &Array<'_>) -> Result<Rc<Self>> {
        Ok(Rc::new(Self {
            wake: RefCell::new(Some(Rc::new(Callback::new(env, wake, "REACTOR_WS")?))),
            memory: RefCell::new(Some(Reference::new(env, memory, true)?)),
            hook: RefCell::new(None),
        }))
    }

    /// Has `hook` called before the environment goes away, unless they are cut before that. It ends the reactors and cuts the ties;
    /// the environment waits for its second argument to be dropped.
    pub(super) fn on_cleanup(
        self: &Rc<Self>,
        env: &Env,
        hook: impl FnOnce(&Self, Cleanup) + 'static,
    ) -> Result<()> {
        let ties = self.clone();
        let hook = on_cleanup(env, move |cleanup| {
            ties.hook.take();
            hook(&ties, cleanup);
        })?;
        *self.hook.borrow_mut() = Some(hook);
        Ok(())
    }

    /// Whether JavaScript has to be called although nobody there refers to anything of the reactors.
    pub(super) fn hold(&self, does: bool) {
        if let Some(wake) = &*self.wake.borrow() {
            wake.hold(does);
        }
    }

    /// Calls JavaScript.
    pub(super) fn wake(&self) {
        let wake = self.wake.borrow().clone();
        if let Some(wake) = wake {
            wake.call();
        }
    }

    /// The reactors have ended.
    pub(super) fn cut(&self) {
        self.wake.take();
        self.memory.take();
        if let Some(hook) = self.hook.take() {
            hook.remove();
        }
    }
}
