//! Messages that several records of a chunk send, and refer to by number.

use crate::bridge::chunk::OutRecord;
use crate::bridge::layout::{OUT_FLAG_SHARED, OUT_TEXT, SHARED_OTHER, SHARED_TEXT};
use crate::engine::{MessageKind, Prepared};

use crate::reactor::command::records::{Outbound, message};

#[derive(Default)]
pub(in crate::reactor) struct Messages {
    /// Messages of the chunk that is being applied, by number.
    shared: [Option<Box<Prepared>>; SHARED_OTHER as usize + 1],
}

impl Messages {
    #[inline]
    pub(in crate::reactor) fn get_mut(&mut self, number: u32) -> Option<&mut Prepared> {
        self.shared.get_mut(number as usize)?.as_deref_mut()
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
}
