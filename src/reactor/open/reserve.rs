//! A descriptor in reserve.
//!
//! Without one, a process that has used up its descriptors cannot even refuse a connection: the
//! connection waits in the kernel's queue, and its peer for an answer, until some other connection
//! ends.

#[cfg(unix)]
use std::fs::File;

/// A descriptor without a use, which can be given up and taken again.
#[derive(Default)]
pub(super) struct Reserve {
    #[cfg(unix)]
    held: Option<File>,
}

impl Reserve {
    /// Takes the descriptor, unless there is one already, or none can be had.
    pub(super) fn fill(&mut self) {
        #[cfg(unix)]
        if self.held.is_none() {
            self.held = File::open("/dev/null").ok();
        }
    }

    /// Runs `act` with one descriptor free, which it must not keep. `None`: there is none.
    pub(super) fn spend<T>(&mut self, act: impl FnOnce() -> T) -> Option<T> {
        #[cfg(unix)]
        if self.held.take().is_some() {
            let done = act();
            self.fill();
            return Some(done);
        }
        // Elsewhere sockets are not descriptors.
        let _unused = act;
        None
    }
}
