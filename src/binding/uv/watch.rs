#![expect(unsafe_code, reason = "a C library, see `uv/mod.rs`")]

use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::time::Duration;

use napi::Env;

use super::handles::{Handle, Open, on_call, on_poll};
use super::{CHECK, EventLoop, IDLE, IdleClock, POLL, READABLE, TIMER};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::binding) enum Reason {
    Readable,
    Time,
    Turn,
}

/// A timer (`uv_timer_t`), a call in the next turn (`uv_idle_t`), the number of turns
/// (`uv_check_t`) and perhaps a watched descriptor (`uv_poll_t`). None keeps the loop alive. Must
/// be closed, like its handles.
pub(in crate::binding) struct Watch {
    timer: Handle,
    idle: Handle,
    check: Handle,
    poll: OnceCell<Handle>,
    act: Act,
    turn: Rc<Cell<u32>>,
}

/// Bits of a turn's number: as many as JavaScript stores in a field without extra memory.
const TURN_BITS: u32 = 30;

type Act = Rc<dyn Fn(Reason)>;

impl Watch {
    /// Calls `act` on the loop's thread when it is time. `None`: this process has no libuv.
    pub(in crate::binding) fn start(env: &Env, act: Act) -> Option<Self> {
        let turn = Rc::new(Cell::new(0_u32));
        let (on_time, on_turn, turns) = (act.clone(), act.clone(), turn.clone());
        let on_idle = move |open: &Open| {
            let (api, idle) = open.parts();
            // The call can start the handle again, for the next turn. SAFETY: it is initialised.
            unsafe { (api.idle_stop)(idle) };
            on_turn(Reason::Turn);
        };
        let on_check = move |_: &Open| turns.set((turns.get() + 1) & ((1 << TURN_BITS) - 1));
        // SAFETY: these functions initialise their handles and never fail. `check` must run before
        // Node's own handle, which calls the callbacks of `setImmediate`: the handle started last
        // comes first.
        unsafe {
            let on_time = move |_: &Open| on_time(Reason::Time);
            let timer = Handle::start(env, TIMER, on_time, |api, on, raw| (api.timer_init)(on, raw))?;
            let idle = Handle::start(env, IDLE, on_idle, |api, on, raw| (api.idle_init)(on, raw))?;
            let check = Handle::start(env, CHECK, on_check, |api, on, raw| (api.check_init)(on, raw))?;
            let (api, raw) = check.parts();
            (api.check_start)(raw, on_call);
            Some(Self { timer, idle, check, poll: OnceCell::new(), act, turn })
        }
    }

    /// Also calls whenever `descriptor` is readable, which can be closed after `stop` or `close`.
    /// False: it cannot be watched.
    pub(in crate::binding) fn watch(&self, env: &Env, descriptor: i32) -> bool {
        let act = self.act.clone();
        let act = move |_: &Open| act(Reason::Readable);
        // SAFETY: the function initialises the handle or returns an error.
        let poll =
            unsafe { Handle::start(env, POLL, act, |api, on, raw| (api.poll_init)(on, raw, descriptor)) };
        let Some(poll) = poll else { return false };
        let (api, raw) = poll.parts();
        // SAFETY: as `parts` says.
        if unsafe { (api.poll_start)(raw, READABLE, on_poll) } != 0 {
            poll.close(());
            return false;
        }
        self.poll.set(poll).is_ok()
    }

    /// Calls once in the next turn. A timer of 0 ms would not do: if its callback starts it again,
    /// it runs again before the loop looks at any descriptor (libuv before 1.48).
    pub(in crate::binding) fn call_next(&self) {
        let (api, idle) = self.idle.parts();
        // SAFETY: as `parts` says.
        unsafe { (api.idle_start)(idle, on_call) };
    }

    /// Replaces the time set before. Rounded up to whole milliseconds.
    pub(in crate::binding) fn start_timer(&self, after: Duration) {
        let millis = u64::try_from(after.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let (api, timer) = self.timer.parts();
        // SAFETY: as `parts` says.
        unsafe { (api.timer_start)(timer, on_call, millis, 0) };
    }

    /// Counts a turn after the loop has read its sockets, before the callbacks of `setImmediate`
    /// and the timers that are due: work that a callback postpones runs under another number.
    pub(in crate::binding) fn turn(&self) -> u32 {
        self.turn.get()
    }

    /// For a thread that ends before this is closed.
    pub(in crate::binding) fn idle_clock(&self) -> IdleClock {
        IdleClock(self.event_loop())
    }

    /// Looks at the descriptor again after `pause`.
    pub(in crate::binding) fn resume(&self) {
        if let Some((api, poll)) = self.poll.get().map(Handle::parts) {
            // SAFETY: as `parts` says.
            let _watched_before = unsafe { (api.poll_start)(poll, READABLE, on_poll) };
        }
    }

    pub(in crate::binding) fn pause(&self) {
        if let Some((api, poll)) = self.poll.get().map(Handle::parts) {
            // SAFETY: as `parts` says.
            unsafe { (api.poll_stop)(poll) };
        }
    }

    pub(in crate::binding) fn event_loop(&self) -> EventLoop {
        self.timer.event_loop()
    }

    /// The descriptor can be closed after this.
    pub(in crate::binding) fn stop(&self) {
        let ((api, timer), (_, idle)) = (self.timer.parts(), self.idle.parts());
        // SAFETY: as `parts` says.
        unsafe {
            (api.timer_stop)(timer);
            (api.idle_stop)(idle);
        }
        self.pause();
    }

    pub(in crate::binding) fn close<T: Any>(self, until_closed: &Rc<T>) {
        let handles = [self.timer, self.idle, self.check].into_iter().chain(self.poll.into_inner());
        handles.for_each(|handle| handle.close(until_closed.clone()));
    }
}
