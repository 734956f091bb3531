//! A call from the event loop into JavaScript, as Node makes its own: microtasks and ticks run
//! after it. Also references to values, and a hook for the environment's end.
#![expect(unsafe_code, reason = "Node-API has this for C only")]

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use napi::bindgen_prelude::{Function, JsObjectValue, Object};
use napi::{Env, Error, JsValue, Result, Status, sys};

pub(super) struct Callback {
    function: Reference,
    context: sys::napi_async_context,
}

impl Callback {
    /// `name` is the type that async_hooks shows.
    pub(super) fn new(env: &Env, function: &Function<'_, (), ()>, name: &str) -> Result<Self> {
        let raw = env.raw();
        let function = Reference::new(env, function, false)?;
        let mut context = ptr::null_mut();
        // Tools that look for what keeps a process alive ask the resources of async_hooks.
        let mut resource = Object::new(env)?;
        resource.set_named_property(
            "hasRef",
            env.create_function_from_closure::<(), _, _>("hasRef", |_| Ok(false))?,
        )?;
        let name = env.create_string(name)?;
        // SAFETY: the environment and both values belong to the running call; the result is a live
        // local.
        check(unsafe { sys::napi_async_init(raw, resource.raw(), name.raw(), &mut context) })?;
        Ok(Self { function, context })
    }

    /// Whether this keeps the function alive when nothing else does.
    pub(super) fn set_ref(&self, does: bool) {
        self.function.set_ref(does);
    }

    /// An exception goes to 'uncaughtException'. Nothing happens when the environment is ending or
    /// the function has been collected.
    pub(super) fn call(&self) {
        let (env, context) = (self.function.env, self.context);
        let (mut handles, mut scope) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the environment lives, because its cleanup hook drops this. The loop calls on its
        // thread, with no JavaScript on the stack. Scopes are closed in reverse order.
        unsafe {
            if sys::napi_open_handle_scope(env, &mut handles) != OK {
                return;
            }
            if sys::napi_open_callback_scope(env, ptr::null_mut(), context, &mut scope) == OK {
                let (mut this, mut result) = (ptr::null_mut(), ptr::null_mut());
                if let Some(target) = self.function.value()
                    && sys::napi_get_undefined(env, &mut this) == OK
                    && sys::napi_call_function(env, this, target, 0, ptr::null(), &mut result) == PENDING
                {
                    report(env);
                }
                sys::napi_close_callback_scope(env, scope);
            }
            sys::napi_close_handle_scope(env, handles);
        }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        // SAFETY: made in this environment, which lives: see `call`.
        unsafe { sys::napi_async_destroy(self.function.env, self.context) };
    }
}

/// A JavaScript value, used on its environment's thread; the cleanup hook drops it at the latest.
pub(super) struct Reference {
    env: sys::napi_env,
    raw: sys::napi_ref,
    held: Cell<bool>,
}

impl Reference {
    /// `held`: whether this keeps the value alive when nothing else does.
    pub(super) fn new<'env>(env: &Env, value: &impl JsValue<'env>, held: bool) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the environment and the value belong to the running call; the result is a live
        // local.
        check(unsafe { sys::napi_create_reference(env.raw(), value.raw(), u32::from(held), &mut raw) })?;
        Ok(Self { env: env.raw(), raw, held: Cell::new(held) })
    }

    fn set_ref(&self, does: bool) {
        if self.held.replace(does) == does {
            return;
        }
        let mut count = 0;
        // SAFETY: made in this environment, which lives. The count is 1 exactly while it is held.
        unsafe {
            if does {
                sys::napi_reference_ref(self.env, self.raw, &mut count);
            } else {
                sys::napi_reference_unref(self.env, self.raw, &mut count);
            }
        }
    }

    /// Valid in the open handle scope; `None` if it has been collected.
    fn value(&self) -> Option<sys::napi_value> {
        let mut value = ptr::null_mut();
        // SAFETY: made in this environment, which lives.
        let status = unsafe { sys::napi_get_reference_value(self.env, self.raw, &mut value) };
        (status == OK && !value.is_null()).then_some(value)
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // SAFETY: made in this environment, which lives.
        unsafe { sys::napi_delete_reference(self.env, self.raw) };
    }
}

/// Calls `hook` before the environment ends; the end waits until the hook's argument is dropped.
pub(super) fn on_cleanup(env: &Env, hook: impl FnOnce(Cleanup) + 'static) -> Result<CleanupHook> {
    let hook: Box<Hook> = Box::new(Box::new(hook));
    let (hook, mut handle) = (Box::into_raw(hook), ptr::null_mut());
    // SAFETY: `run` takes the box back, unless `remove` does; the result is a live local.
    let added = unsafe { sys::napi_add_async_cleanup_hook(env.raw(), Some(run), hook.cast(), &mut handle) };
    check(added).inspect_err(|_not_added| {
        // SAFETY: nothing else has the box.
        drop(unsafe { Box::from_raw(hook) });
    })?;
    Ok(CleanupHook { handle, hook })
}

/// A hook that was not called yet; its owner drops this when it is.
pub(super) struct CleanupHook {
    handle: sys::napi_async_cleanup_hook_handle,
    hook: *mut Hook,
}

impl CleanupHook {
    pub(super) fn remove(self) {
        // SAFETY: it was not called, so neither handle nor box has been given back.
        unsafe {
            sys::napi_remove_async_cleanup_hook(self.handle);
            drop(Box::from_raw(self.hook));
        }
    }
}

type Hook = Box<dyn FnOnce(Cleanup)>;

pub(super) struct Cleanup(sys::napi_async_cleanup_hook_handle);

impl Drop for Cleanup {
    fn drop(&mut self) {
        // SAFETY: the handle is the argument of the hook, and given back once.
        unsafe { sys::napi_remove_async_cleanup_hook(self.0) };
    }
}

unsafe extern "C" fn run(handle: sys::napi_async_cleanup_hook_handle, hook: *mut c_void) {
    // SAFETY: `on_cleanup` made the box, and Node calls this function once.
    let hook = unsafe { Box::from_raw(hook.cast::<Hook>()) };
    let cleanup = Cleanup(handle);
    let _contained = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| hook(cleanup)));
}

const OK: sys::napi_status = sys::Status::napi_ok;
const PENDING: sys::napi_status = sys::Status::napi_pending_exception;

/// # Safety
/// As for [`Callback::call`].
unsafe fn report(env: sys::napi_env) {
    let mut error = ptr::null_mut();
    // SAFETY: as the caller promises. Node refuses the second call where JavaScript can no longer
    // run.
    unsafe {
        if sys::napi_get_and_clear_last_exception(env, &mut error) == OK {
            sys::napi_fatal_exception(env, error);
        }
    }
}

fn check(status: sys::napi_status) -> Result<()> {
    match status {
        OK => Ok(()),
        other => Err(Error::new(Status::from(other), "Node-API refused")),
    }
}
