//! JavaScript's memory, written from Rust: the only unsafe of this layer.
#![expect(unsafe_code, reason = "Node-API hands out views of memory that it owns")]

use napi::bindgen_prelude::{Uint8ArraySlice, Uint32ArraySlice};

/// The bytes of a view, to be written before this call returns to JavaScript.
pub(super) fn bytes_mut<'a>(view: &'a mut Uint8ArraySlice<'_>) -> &'a mut [u8] {
    // SAFETY: the view was taken from the arguments of the call that is running on the JavaScript thread, so its buffer
    // is attached and no JavaScript runs while the slice lives; lib passes no two arguments over the same memory, and
    // memory of a SharedArrayBuffer is never passed.
    unsafe { view.as_mut() }
}

/// The words of a view, to be written before this call returns to JavaScript.
pub(super) fn words_mut<'a>(view: &'a mut Uint32ArraySlice<'_>) -> &'a mut [u32] {
    // SAFETY: as for `bytes_mut`; a Uint32Array is aligned to four bytes.
    unsafe { view.as_mut() }
}
