#![expect(unsafe_code, reason = "a C library, see `uv/mod.rs`")]

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use napi::Env;

use super::{Api, EventLoop, Handle, Loop};

/// `N` handles of a loop, none of which keeps it alive, and the state of their callbacks.
///
/// Must be closed: the loop refers to it until then, so dropping it frees nothing.
pub(super) struct Handles<T, const N: usize> {
    shared: NonNull<Found<T, N>>,
}

pub(super) struct Found<T, const N: usize> {
    pub(super) api: &'static Api,
    pub(super) own: T,
    event_loop: Loop,
    memory: [HandleMemory; N],
    on_closed: Cell<Option<Box<dyn FnOnce()>>>,
    /// Handles that are not closed yet.
    open: Cell<usize>,
}

/// For one handle; must not move while that is open.
struct HandleMemory(Box<[UnsafeCell<u128>]>);

impl HandleMemory {
    /// Aligned to 16 bytes, more than any handle needs.
    fn new(bytes: usize) -> Self {
        Self((0..bytes.div_ceil(size_of::<u128>())).map(|_| UnsafeCell::new(0)).collect())
    }

    fn handle(&self) -> Handle {
        // Through UnsafeCell: libuv writes there.
        self.0.first().map_or(std::ptr::null_mut(), |first| UnsafeCell::raw_get(first).cast())
    }
}

impl<T, const N: usize> Handles<T, N> {
    /// `None`: `init` returned false, or this process has no libuv.
    ///
    /// # Safety
    /// `init` initialises all handles, or none and returns false.
    pub(super) unsafe fn start(
        env: &Env,
        types: [c_int; N],
        own: T,
        init: impl FnOnce(&Api, Loop, [Handle; N]) -> bool,
    ) -> Option<Self> {
        let api = Api::get()?;
        let event_loop: Loop = env.get_uv_event_loop().ok()?.cast();
        // SAFETY: any type may be asked for.
        let memory = types.map(|kind| HandleMemory::new(unsafe { (api.handle_size)(kind) }));
        let shared = Found { api, own, event_loop, memory, on_closed: Cell::new(None), open: Cell::new(N) };
        let handles = Self { shared: NonNull::from(Box::leak(Box::new(shared))) };
        let all = handles.get().handles();
        // The loop belongs to the environment's thread and outlives the handles, whose memory is
        // large enough and stays where it is until they are closed.
        if !init(api, event_loop, all) {
            // SAFETY: just made, and no handle refers to it.
            drop(unsafe { Box::from_raw(handles.shared.as_ptr()) });
            return None;
        }
        for handle in all {
            // SAFETY: the handle is initialised.
            unsafe {
                (api.handle_set_data)(handle, handles.shared.as_ptr().cast());
                (api.unref)(handle);
            }
        }
        Some(handles)
    }

    pub(super) fn get(&self) -> &Found<T, N> {
        // SAFETY: freed when the loop has closed all handles, after `close` has taken `self`.
        unsafe { self.shared.as_ref() }
    }

    /// The loop calls `on_closed` when the handles are given back.
    pub(super) fn close(self, on_closed: Box<dyn FnOnce()>) {
        let shared = self.get();
        shared.on_closed.set(Some(on_closed));
        for handle in shared.handles() {
            // SAFETY: the handle is initialised, and `close` is called once, as it takes the
            // handles.
            unsafe { (shared.api.close)(handle, Some(on_handle_closed::<T, N>)) };
        }
    }
}

impl<T, const N: usize> Found<T, N> {
    /// In the order of their types.
    pub(super) fn handles(&self) -> [Handle; N] {
        self.memory.each_ref().map(HandleMemory::handle)
    }

    pub(super) fn event_loop(&self) -> EventLoop {
        EventLoop { api: self.api, raw: self.event_loop }
    }
}

/// Calls `step` with the state of a callback.
///
/// # Safety
/// The loop is calling for `handle`, which is one of a `Handles<T, N>`.
pub(super) unsafe fn called<T, const N: usize>(handle: Handle, step: impl FnOnce(&Found<T, N>)) {
    let Some(shared) = data_of::<Found<T, N>>(handle) else { return };
    // SAFETY: of that type, as the caller promises, and not freed while the loop calls for the
    // handle.
    let shared = unsafe { shared.as_ref() };
    contained(|| step(shared));
}

extern "C" fn on_handle_closed<T, const N: usize>(handle: Handle) {
    let Some(shared) = data_of::<Found<T, N>>(handle) else { return };
    // SAFETY: not freed, for this handle was not closed until now.
    let open = unsafe { &shared.as_ref().open };
    open.set(open.get() - 1);
    if open.get() != 0 {
        return;
    }
    // SAFETY: it came from a Box, all handles are closed and their owner was consumed: nothing else
    // refers to it.
    let shared = unsafe { Box::from_raw(shared.as_ptr()) };
    contained(|| {
        let on_closed = shared.on_closed.take();
        drop(shared);
        if let Some(on_closed) = on_closed {
            on_closed();
        }
    });
}

/// Unwinding into C would abort.
fn contained(step: impl FnOnce()) {
    let _contained = catch_unwind(AssertUnwindSafe(step));
}

fn data_of<T>(handle: Handle) -> Option<NonNull<T>> {
    // SAFETY: libuv passes handles that it was given, and does so before their memory is freed.
    NonNull::new(unsafe { (Api::get()?.handle_get_data)(handle) }.cast())
}
