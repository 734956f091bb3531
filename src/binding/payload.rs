//! JavaScript's memory, written from Rust.
#![expect(unsafe_code, reason = "Node-API hands out views of memory that it owns")]

use std::ptr::NonNull;

use napi::bindgen_prelude::{Uint8ArraySlice, Uint32ArraySlice};

use crate::bridge::read_buffer::Lent;

pub(super) struct LentMemory {
    id: u32,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is not bound to a thread. Until it is handed back, this value is the only way
// to it: lib keeps the ArrayBuffer in a list that no other code can reach.
unsafe impl Send for LentMemory {}

impl LentMemory {
    /// `view` is the whole memory of an ArrayBuffer that only lib's list of lent memory refers to;
    /// or the value is dropped before the call with the argument `view` returns.
    pub(super) fn new(id: u32, view: &mut Uint8ArraySlice<'_>) -> Self {
        let bytes = bytes_mut(view);
        Self { id, len: bytes.len(), start: NonNull::from(bytes).cast() }
    }
}

impl Lent for LentMemory {
    fn id(&self) -> u32 {
        self.id
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: `start..start + len` is the backing store of an ArrayBuffer that stays attached
        // while it is lent: lib keeps it in a list, and `Wake` keeps the list until the reactors
        // have ended.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`. Nothing else has access, so the borrow of `self` makes it unique.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// The array of records and the words after it, which both sides of a crossing read and write.
pub(super) struct LentWords {
    start: NonNull<u32>,
    len: usize,
}

impl LentWords {
    /// `view` is the whole memory of an ArrayBuffer that lib keeps, out of reach of other code, as
    /// long as it has a reactor.
    pub(super) fn new(view: &mut Uint32ArraySlice<'_>) -> Self {
        // SAFETY: as for `bytes_mut`; a Uint32Array is aligned to four bytes.
        let words = unsafe { view.as_mut() };
        Self { len: words.len(), start: NonNull::from(words).cast() }
    }

    pub(super) fn all(&mut self) -> &mut [u32] {
        // SAFETY: `start..start + len` is the backing store of an ArrayBuffer that lib keeps alive
        // and attached. Only calls from JavaScript come here, on its thread, so no JavaScript runs
        // while the slice lives; the borrow of `self` makes it unique.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Returns the old value; 0 if there is no such word.
    pub(super) fn replace(&mut self, index: usize, value: u32) -> u32 {
        self.all().get_mut(index).map_or(0, |word| std::mem::replace(word, value))
    }
}

/// The slice must be written before this call returns to JavaScript.
pub(super) fn bytes_mut<'a>(view: &'a mut Uint8ArraySlice<'_>) -> &'a mut [u8] {
    // SAFETY: the view is an argument of the call that is running on the JavaScript thread, so its
    // buffer is attached and no JavaScript runs while the slice lives. lib passes no two arguments
    // over the same memory, and never memory of a SharedArrayBuffer.
    unsafe { view.as_mut() }
}
