//! A call from the event loop into JavaScript, as Node makes its own: with microtasks and ticks after it.
#![expect(unsafe_code, reason = "Node-API has this for C only")]

use std::ffi::c_void;
use std::ptr;

use napi::bindgen_prelude::{Function, JsObjectValue, Object};
use napi::{Env, Error, JsValue, Result, Status, sys};

/// A JavaScript function that the event loop's callbacks may call. Belongs to its environment's thread.
pub(super) struct Callback {
    env: sys::napi_env,
    function: sys::napi_ref,
    context: sys::napi_async_context,
}

impl Callback {
    /// `name` is what async_hooks sees.
    pub(super) fn new(env: &Env, function: &Function<'_, (), ()>, name: &str) -> Result<Self> {
        let raw = env.raw();
        let (mut reference, mut context) = (ptr::null_mut(), ptr::null_mut());
        // Tools that look for what keeps a process alive ask the resources of async_hooks.
        let mut resource = Object::new(env)?;
        resource.set_named_property(
            "hasRef",
            env.create_function_from_closure::<(), _, _>("hasRef", |_| Ok(false))?,
        )?;
        let name = env.create_string(name)?;
        // SAFETY: the environment and both values belong to the call that is running; the results are live locals.
        unsafe {
            check(sys::napi_create_reference(raw, function.raw(), 1, &mut reference))?;
            check(sys::napi_async_init(raw, resource.raw(), name.raw(), &mut context))?;
        }
        Ok(Self { env: raw, function: reference, context })
    }

    /// Calls it. An exception goes to 'uncaughtException', and nothing happens when the environment is going away.
    pub(super) fn call(&self) {
        let Self { env, function, context } = *self;
        let (mut handles, mut scope) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the environment lives, for its cleanup hook drops this; the loop calls on its thread, with no JavaScript on
        // the stack. Scopes are closed in the order opposite to that of opening.
        unsafe {
            if sys::napi_open_handle_scope(env, &mut handles) != OK {
                return;
            }
            if sys::napi_open_callback_scope(env, ptr::null_mut(), context, &mut scope) == OK {
                let (mut target, mut this, mut result) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
                if sys::napi_get_reference_value(env, function, &mut target) == OK
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
        // SAFETY: both were made in this environment, which lives: see `call`.
        unsafe {
            sys::napi_delete_reference(self.env, self.function);
            sys::napi_async_destroy(self.env, self.context);
        }
    }
}

/// Calls `hook` before the environment goes away. The environment waits for its argument to be dropped.
pub(super) fn on_cleanup(env: &Env, hook: impl FnOnce(Cleanup) + 'static) -> Result<()> {
    let hook: Box<Hook> = Box::new(Box::new(hook));
    let hook = Box::into_raw(hook);
    // SAFETY: `run` takes the box back, and is called once.
    let added =
        unsafe { sys::napi_add_async_cleanup_hook(env.raw(), Some(run), hook.cast(), ptr::null_mut()) };
    check(added).inspect_err(|_not_added| {
        // SAFETY: nobody else has it.
        drop(unsafe { Box::from_raw(hook) });
    })
}

type Hook = Box<dyn FnOnce(Cleanup)>;

/// The clean-up under way.
pub(super) struct Cleanup(sys::napi_async_cleanup_hook_handle);

impl Drop for Cleanup {
    fn drop(&mut self) {
        // SAFETY: it is what the hook was called with, and given back once.
        unsafe { sys::napi_remove_async_cleanup_hook(self.0) };
    }
}

unsafe extern "C" fn run(handle: sys::napi_async_cleanup_hook_handle, hook: *mut c_void) {
    // SAFETY: `on_cleanup` made it, and Node calls this once.
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
    // SAFETY: as the caller promises. Node refuses the second call where no JavaScript may run any more.
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
