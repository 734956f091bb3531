//! Messages that records refer to by number: prepared ones, as long as the program has them, and
//! those that several records of a chunk send.

use std::collections::HashMap;

use crate::bridge::chunk::OutRecord;
use crate::bridge::layout::{FIRST_PREPARED, OUT_FLAG_SHARED, OUT_TEXT, SHARED_OTHER, SHARED_TEXT};
use crate::engine::{MessageKind, Prepared};

use crate::reactor::command::records::{Outbound, message};

#[derive(Default)]
pub(in crate::reactor) struct Messages {
    prepared: HashMap<u32, Box<Prepared>>,
    /// Of the chunk that is being applied, by number.
    shared: [Option<Box<Prepared>>; FIRST_PREPARED as usize],
}

impl Messages {
    pub(super) fn prepare(&mut self, number: u32, message: Box<Prepared>) {
        self.prepared.insert(number, message);
    }

    pub(super) fn forget(&mut self, numbers: &[u32]) {
        for number in numbers {
            self.prepared.remove(number);
        }
    }

    pub(in crate::reactor) fn prepared(&self) -> impl Iterator<Item = (u32, Prepared)> {
        self.prepared.iter().map(|(&number, message)| (number, (**message).clone()))
    }

    #[inline]
    pub(in crate::reactor) fn get_mut(&mut self, number: u32) -> Option<&mut Prepared> {
        match self.shared.get_mut(number as usize) {
            Some(shared) => shared.as_deref_mut(),
            None => self.prepared.get_mut(&number).map(Box::as_mut),
        }
    }

    /// The number of a record's payload, which is kept from now on if later records share it.
    #[inline]
    pub(super) fn number(&mut self, record: &OutRecord, payload: &mut Outbound<'_>) -> Option<u32> {
        if record.flags & OUT_FLAG_SHARED == 0 {
            return record.number;
        }
        Some(self.share(record, std::mem::take(payload)))
    }

    fn share(&mut self, record: &OutRecord, payload: Outbound<'_>) -> u32 {
        let number = if record.kind == OUT_TEXT { SHARED_TEXT } else { SHARED_OTHER };
        let (kind, compress) = message(record).unwrap_or((MessageKind::Binary, false));
        if let Some(shared) = self.shared.get_mut(number as usize) {
            *shared = Some(Box::new(payload.prepare(kind, compress)));
        }
        number
    }

    pub(super) fn forget_shared(&mut self) {
        self.shared = Default::default();
    }
}
