//! State that the connections of a thread share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use one_shot::OneShot;

use super::budget::Budget;
use super::deflater::{Deflater, Recipe};
use super::inflater::Inflater;

/// One of each kind, for the next message. Only messages in fragments need several at a time.
const SPARE: usize = 4;
/// Pieces of this size stay in the first-level cache.
const SCRATCH: usize = 12 << 10;
/// A longer message is not remembered for the next connection that sends the same.
const LONGEST_REMEMBERED: usize = 1 << 20;

/// One for each thread that has engines; locked while a message is worked on.
pub struct Pool {
    budget: Arc<Budget>,
    shared: Mutex<Contexts>,
}

pub(super) struct Contexts {
    pub(super) scratch: Box<[u8]>,
    inflaters: Vec<Inflater>,
    deflaters: Vec<Deflater>,
    one_shot: Option<Box<OneShot>>,
    /// Bytes inflated since [`Pool::take_work`], and the bytes they came from.
    pub(super) work: usize,
    last: Option<Remembered>,
    /// How often a compressed message was sent again as it was.
    reused: u64,
}

struct Remembered {
    recipe: Recipe,
    plain: Vec<u8>,
    compressed: Vec<u8>,
}

impl Pool {
    pub fn new(budget: usize) -> Self {
        Self::within(Arc::new(Budget::new(budget)))
    }

    pub fn of_process() -> Self {
        Self::within(Budget::of_process())
    }

    fn within(budget: Arc<Budget>) -> Self {
        let shared = Contexts {
            scratch: Box::default(),
            inflaters: Vec::new(),
            deflaters: Vec::new(),
            one_shot: None,
            work: 0,
            last: None,
            reused: 0,
        };
        Self { budget, shared: Mutex::new(shared) }
    }

    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    pub fn reused(&self) -> u64 {
        self.lock().reused
    }

    /// Bytes that went into and came out of inflating since the last call: a measure of the time
    /// spent.
    pub fn take_work(&self) -> usize {
        std::mem::take(&mut self.lock().work)
    }

    /// Forgets the last compressed message: one for several connections is sent within a turn.
    pub fn forget_message(&self) {
        self.lock().last = None;
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Contexts> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.scratch.is_empty() {
            shared.scratch = vec![0; SCRATCH].into_boxed_slice();
        }
        shared
    }
}

impl Contexts {
    pub(super) fn inflater(&mut self, history: Option<&[u8]>) -> Inflater {
        let mut inflater = self.inflaters.pop().unwrap_or_else(Inflater::new);
        if let Some(history) = history {
            inflater.remember(history);
        }
        inflater
    }

    pub(super) fn give_inflater(&mut self, mut inflater: Inflater) {
        if self.inflaters.len() < SPARE {
            inflater.reset();
            self.inflaters.push(inflater);
        }
    }

    pub(super) fn deflater(&mut self, recipe: Recipe) -> Deflater {
        let known = self.deflaters.iter().rposition(|deflater| deflater.recipe() == recipe);
        known.map_or_else(|| Deflater::new(recipe), |at| self.deflaters.remove(at))
    }

    pub(super) fn give_deflater(&mut self, mut deflater: Deflater) {
        if self.deflaters.len() == SPARE {
            self.deflaters.remove(0);
        }
        deflater.reset();
        self.deflaters.push(deflater);
    }

    pub(super) fn one_shot(&mut self) -> &mut OneShot {
        self.one_shot.get_or_insert_with(|| Box::new(OneShot::new()))
    }

    /// If it is the last compressed message.
    pub(super) fn compressed(&mut self, recipe: Recipe, plain: &[u8]) -> Option<&[u8]> {
        let last = self.last.as_ref().filter(|last| last.recipe == recipe && last.plain == plain)?;
        self.reused += 1;
        Some(&last.compressed)
    }

    pub(super) fn remember(&mut self, recipe: Recipe, plain: &[u8], compressed: &[u8]) {
        if plain.len() > LONGEST_REMEMBERED {
            return;
        }
        let last =
            self.last.get_or_insert_with(|| Remembered { recipe, plain: Vec::new(), compressed: Vec::new() });
        last.recipe = recipe;
        last.plain.clear();
        last.plain.extend_from_slice(plain);
        last.compressed.clear();
        last.compressed.extend_from_slice(compressed);
    }
}
