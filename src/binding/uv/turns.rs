//! The turns of an event loop: `uv_check_t` counts them, `uv_idle_t` calls at the beginning of one.
#![expect(unsafe_code, reason = "a C library, see `uv/mod.rs`")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::rc::Rc;

use napi::Env;

use super::{Api, CHECK, Handle, IDLE, Loop, Memory, data_of};

/// Bits of the number of a turn: as many as JavaScript keeps in a field without memory of its own.
const BITS: u32 = 30;

/// Counts a turn when the loop has read its sockets, before it calls what was given to
/// `setImmediate`, and then the timers that are due. What a callback has put off so is done when
/// the next turn begins with another number. It does not keep the loop alive.
///
/// Must be closed: the loop refers to it until then, so dropping it frees nothing.
pub(in crate::binding) struct Turns {
    shared: NonNull<Shared>,
}

/// What the loop's callbacks find.
struct Shared {
    api: &'static Api,
    check: Memory,
    idle: Memory,
    count: Rc<Cell<u32>>,
    on_next: Box<dyn Fn()>,
    on_closed: Cell<Option<Box<dyn FnOnce()>>>,
    /// Handles that are not closed yet.
    open: Cell<u8>,
}

impl Shared {
    fn handles(&self) -> [Handle; 2] {
        [self.check.handle(), self.idle.handle()]
    }
}

impl Turns {
    /// Counts in `count`, and calls `on_next` at the beginning of turns, on the loop's thread.
    /// `None`: this process has no libuv.
    pub(in crate::binding) fn start(env: &Env, count: Rc<Cell<u32>>, on_next: Box<dyn Fn()>) -> Option<Self> {
        let api = Api::get()?;
        let event_loop: Loop = env.get_uv_event_loop().ok()?.cast();
        // SAFETY: any type may be asked for.
        let memory = |kind| Memory::new(unsafe { (api.handle_size)(kind) });
        let (check, idle, open) = (memory(CHECK), memory(IDLE), Cell::new(2));
        let shared = Shared { api, check, idle, count, on_next, on_closed: Cell::new(None), open };
        let shared = NonNull::from(Box::leak(Box::new(shared)));
        let turns = Self { shared };
        let handles @ [check, idle] = turns.get().handles();
        // SAFETY: just made. The loop is that of the thread that the environment runs on and
        // outlives the handles, whose memory is as large as it should be and stays where it is
        // until they are closed. None of these functions fails for such handles.
        unsafe {
            (api.check_init)(event_loop, check);
            (api.idle_init)(event_loop, idle);
            for handle in handles {
                (api.handle_set_data)(handle, shared.as_ptr().cast());
                (api.unref)(handle);
            }
            // Before Node's own, which calls what was given to `setImmediate`: the last to be
            // started comes first.
            (api.check_start)(check, on_check);
        }
        Some(turns)
    }

    /// Calls at the beginning of the next turn, before the loop reads any socket, once.
    pub(in crate::binding) fn call_next(&self) {
        let Shared { api, idle, .. } = self.get();
        // SAFETY: the handle is initialised and not closing.
        unsafe { (api.idle_start)(idle.handle(), on_idle) };
    }

    /// Counts and calls no more; `on_closed` is called by the loop when the handles are given back.
    pub(in crate::binding) fn close(self, on_closed: Box<dyn FnOnce()>) {
        let Shared { api, on_closed: later, .. } = self.get();
        later.set(Some(on_closed));
        for handle in self.get().handles() {
            // SAFETY: it is initialised, and this is the only call for it, for it takes the turns.
            unsafe { (api.close)(handle, Some(on_handle_closed)) };
        }
    }

    fn get(&self) -> &Shared {
        // SAFETY: it is freed when the loop has closed the handles, after `close` has taken the
        // turns.
        unsafe { self.shared.as_ref() }
    }
}

extern "C" fn on_check(handle: Handle) {
    let Some(shared) = data_of::<Shared>(handle) else { return };
    // SAFETY: it is freed when the loop has closed the handle, and the loop does not do so while it
    // calls.
    let count = unsafe { &shared.as_ref().count };
    count.set((count.get() + 1) & ((1 << BITS) - 1));
}

extern "C" fn on_idle(handle: Handle) {
    let Some(shared) = data_of::<Shared>(handle) else { return };
    // SAFETY: as above.
    let shared = unsafe { shared.as_ref() };
    // SAFETY: the loop has just called it. What follows may start it again, for the turn after
    // this.
    unsafe { (shared.api.idle_stop)(handle) };
    // Unwinding into C would abort.
    let _contained = catch_unwind(AssertUnwindSafe(|| (shared.on_next)()));
}

extern "C" fn on_handle_closed(handle: Handle) {
    let Some(shared) = data_of::<Shared>(handle) else { return };
    // SAFETY: still there, for this handle was not closed until now.
    let open = unsafe { &shared.as_ref().open };
    open.set(open.get() - 1);
    if open.get() != 0 {
        return;
    }
    // SAFETY: it came from a Box, both handles are closed, and the turns are gone: nobody else
    // refers to it.
    let shared = unsafe { Box::from_raw(shared.as_ptr()) };
    let _contained = catch_unwind(AssertUnwindSafe(|| {
        let on_closed = shared.on_closed.take();
        drop(shared);
        if let Some(on_closed) = on_closed {
            on_closed();
        }
    }));
}
