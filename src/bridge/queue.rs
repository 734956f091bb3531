//! A lock-free queue from many producers to one consumer. The only unsafe code of this layer.
//!
//! ```text
//! push(value):  node.next = head                 -- Treiber's stack, newest first
//!               if !cas(head, node.next, node) retry
//! take_all():   list = swap(head, null)          -- the whole stack at once
//! ```
//!
//! No node is popped by itself, so no thread looks into a node that another can free: no ABA
//! problem, nothing to reclaim later. If a push returned before another began, it
//! comes out first.
#![expect(unsafe_code)]

use std::marker::PhantomData;
use std::{ptr, vec};

use super::sync::{AtomicPtr, Ordering};

/// Invariant: `head` is null or the first node of a list, linked by `next` and ended by null. The
/// nodes came from `Box::into_raw`, and nothing else will free them. The thread that swaps `head`
/// out owns that list.
pub struct Queue<T: Send> {
    head: AtomicPtr<Node<T>>,
    /// Like a mutex, it can be shared if `T: Send`: it gives `T`s away by value only.
    values: PhantomData<std::sync::Mutex<T>>,
}

struct Node<T> {
    next: *mut Self,
    value: T,
}

impl<T: Send> Queue<T> {
    pub fn new() -> Self {
        Self { head: AtomicPtr::new(ptr::null_mut()), values: PhantomData }
    }

    pub fn push(&self, value: T) {
        let mut head = self.head.load(Ordering::Relaxed);
        let node = Box::into_raw(Box::new(Node { next: head, value }));
        // Release: the thread that takes the node sees what was written into it. The nodes below
        // were released by their own pushes: a chain of exchanges is one release sequence.
        while let Err(now) = self.head.compare_exchange_weak(head, node, Ordering::Release, Ordering::Relaxed)
        {
            head = now;
            // SAFETY: `node` came from `Box::into_raw` above and is not in the list yet, so only
            // this thread knows it.
            unsafe { (*node).next = head };
        }
    }

    pub fn is_empty(&self) -> bool {
        // Relaxed: it follows no pointer, and what must be seen was made visible by the exchange
        // before this look.
        self.head.load(Ordering::Relaxed).is_null()
    }

    /// Takes everything pushed so far, oldest first.
    pub fn take_all(&self) -> vec::IntoIter<T> {
        // Acquire: pairs with the release of every push in the list.
        let mut newest = self.head.swap(ptr::null_mut(), Ordering::Acquire);
        let mut values = Vec::new();
        while !newest.is_null() {
            // SAFETY: by the invariant of `Queue::head` this thread owns the list that it swapped
            // out. Each node came from `Box::into_raw`, and becomes a Box once.
            let node = unsafe { Box::from_raw(newest) };
            newest = node.next;
            values.push(node.value);
        }
        values.reverse();
        values.into_iter()
    }
}

impl<T: Send> Drop for Queue<T> {
    fn drop(&mut self) {
        drop(self.take_all());
    }
}
