#![expect(unsafe_code, reason = "a C library, see `uv/mod.rs`")]

use std::cell::{Cell, OnceCell};
use std::ffi::c_int;
use std::rc::Rc;
use std::time::Duration;

use napi::Env;

use super::handles::{Handles, called};
use super::{CHECK, EventLoop, Handle, IDLE, POLL, READABLE, TIMER};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::binding) enum Reason {
    Readable,
    Time,
    /// `call_next` was called.
    Turn,
}

/// A timer (`uv_timer_t`), a call in the next turn (`uv_idle_t`), the number of turns (`uv_check_t`) and
/// maybe a watched descriptor (`uv_poll_t`), none of which keeps the loop alive. Must be closed, as its
/// handles.
pub(in crate::binding) struct Watch {
    clock: Handles<Clock, 3>,
    poll: OnceCell<Handles<OnCall, 1>>,
}

struct Clock {
    on_call: OnCall,
    turn: Cell<u32>,
}

/// Of the number of a turn: as many as JavaScript keeps in a field without memory of its own.
const TURN_BITS: u32 = 30;

type OnCall = Rc<dyn Fn(Reason)>;

impl Watch {
    /// Calls `on_call`, on the loop's thread, when the time has come. `None`: this process has no libuv.
    pub(in crate::binding) fn start(env: &Env, on_call: OnCall) -> Option<Self> {
        let own = Clock { on_call, turn: Cell::new(0) };
        // SAFETY: none of the functions fails; their arguments are as `Handles` says.
        let clock = unsafe {
            Handles::start(env, [TIMER, IDLE, CHECK], own, |api, event_loop, [timer, idle, check]| {
                (api.timer_init)(event_loop, timer) == 0
                    && (api.idle_init)(event_loop, idle) == 0
                    && (api.check_init)(event_loop, check) == 0
            })
        }?;
        let shared = clock.get();
        let [.., check] = shared.handles();
        // Before Node's own handle, which calls the callbacks of `setImmediate`: the last to be
        // started comes first. SAFETY: the handle is initialised and not closing.
        unsafe { (shared.api.check_start)(check, on_check) };
        Some(Self { clock, poll: OnceCell::new() })
    }

    /// Calls also whenever `descriptor` is readable. It may be closed after `stop` or `close`. False: it
    /// cannot be watched.
    pub(in crate::binding) fn watch(&self, env: &Env, descriptor: i32) -> bool {
        let on_call = self.clock.get().own.on_call.clone();
        // SAFETY: the arguments are as `Handles` says.
        let poll = unsafe {
            Handles::start(env, [POLL], on_call, |api, event_loop, [poll]| {
                (api.poll_init)(event_loop, poll, descriptor) == 0
            })
        };
        let Some(poll) = poll else { return false };
        let shared = poll.get();
        let [handle] = shared.handles();
        // SAFETY: the handle is initialised and not closing.
        if unsafe { (shared.api.poll_start)(handle, READABLE, on_readable) } != 0 {
            poll.close(Box::new(|| {}));
            return false;
        }
        self.poll.set(poll).is_ok()
    }

    /// Calls once in the next turn. A timer of 0 ms would not do: when its callback starts it
    /// again, it runs again before the loop has looked at any descriptor (libuv before 1.48).
    pub(in crate::binding) fn call_next(&self) {
        let shared = self.clock.get();
        let [_, idle, _] = shared.handles();
        // SAFETY: the handle is initialised and not closing.
        unsafe { (shared.api.idle_start)(idle, on_idle) };
    }

    /// Instead of the time set before. Whole milliseconds, rounded up.
    pub(in crate::binding) fn start_timer(&self, after: Duration) {
        let millis = u64::try_from(after.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let shared = self.clock.get();
        let [timer, ..] = shared.handles();
        // SAFETY: the handle is initialised and not closing.
        unsafe { (shared.api.timer_start)(timer, on_time, millis, 0) };
    }

    /// Counts a turn when the loop has read its sockets, before the callbacks of `setImmediate` and the
    /// timers that are due: what a callback postpones runs under another number.
    pub(in crate::binding) fn turn(&self) -> u32 {
        self.clock.get().own.turn.get()
    }

    pub(in crate::binding) fn event_loop(&self) -> EventLoop {
        self.clock.get().event_loop()
    }

    /// The descriptor may be closed after this.
    pub(in crate::binding) fn stop(&self) {
        let shared = self.clock.get();
        let [timer, idle, _] = shared.handles();
        // SAFETY: the handles are initialised and not closing.
        unsafe {
            (shared.api.timer_stop)(timer);
            (shared.api.idle_stop)(idle);
        }
        if let Some(poll) = self.poll.get() {
            let [handle] = poll.get().handles();
            // SAFETY: the same.
            unsafe { (shared.api.poll_stop)(handle) };
        }
    }

    /// `until_closed` is dropped when the loop has closed the handles.
    pub(in crate::binding) fn close<T: 'static>(mut self, until_closed: Rc<T>) {
        if let Some(poll) = self.poll.take() {
            let until_closed = until_closed.clone();
            poll.close(Box::new(move || drop(until_closed)));
        }
        self.clock.close(Box::new(move || drop(until_closed)));
    }
}

extern "C" fn on_readable(handle: Handle, _status: c_int, _events: c_int) {
    // SAFETY: started by a `Watch`.
    unsafe { called::<OnCall, 1>(handle, |shared| (shared.own)(Reason::Readable)) };
}

extern "C" fn on_idle(handle: Handle) {
    // SAFETY: started by a `Watch`.
    unsafe {
        called::<Clock, 3>(handle, |shared| {
            // The call may start the handle again, for the turn after this.
            (shared.api.idle_stop)(handle);
            (shared.own.on_call)(Reason::Turn);
        });
    }
}

extern "C" fn on_check(handle: Handle) {
    // SAFETY: started by a `Watch`.
    unsafe {
        called::<Clock, 3>(handle, |shared| {
            let turn = &shared.own.turn;
            turn.set((turn.get() + 1) & ((1 << TURN_BITS) - 1));
        });
    }
}

extern "C" fn on_time(handle: Handle) {
    // SAFETY: started by a `Watch`.
    unsafe { called::<Clock, 3>(handle, |shared| (shared.own.on_call)(Reason::Time)) };
}
