//! The settings of the reactors.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "a function of the C library")
)]

use napi_derive::napi;

use crate::reactor::{ReactorConfig, Spin};

#[napi(object)]
pub struct ReactorOptions {
    /// Microseconds to poll without blocking after traffic; -1 = automatic, 0 = never.
    pub spin: i32,
    /// The number of reactors, each in a thread; 0: one, on the JavaScript thread where that is
    /// possible.
    pub reactors: u32,
    /// 0: the thread has its reactor alone. 1: the event loop drives it while that is better, where
    /// that is possible. 2, for tests: they take turns.
    pub adaptive: u32,
    /// An integer; 0 = no limit.
    pub unfinished_budget: f64,
    /// An integer; 0 = no limit.
    pub send_budget: f64,
}

impl ReactorOptions {
    pub(super) fn config(&self) -> ReactorConfig {
        ReactorConfig {
            spin: match u32::try_from(self.spin) {
                Ok(0) => Spin::Never,
                Ok(micros) => Spin::Micros(micros),
                Err(_) => Spin::Automatic,
            },
            unfinished_budget: budget(self.unfinished_budget),
            send_budget: budget(self.send_budget),
            ..config()
        }
    }
}

pub(super) fn config() -> ReactorConfig {
    ReactorConfig { give_back: give_back(), ..ReactorConfig::default() }
}

fn budget(bytes: f64) -> usize {
    match bytes as usize {
        0 => usize::MAX,
        bytes => bytes,
    }
}

/// Makes the allocator return free memory to the system; `None` where it cannot.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back() -> Option<fn()> {
    Some(|| {
        // SAFETY: any thread can call it at any time; it changes no memory in use.
        let _anything = unsafe { libc::malloc_trim(0) };
    })
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() -> Option<fn()> {
    None
}
