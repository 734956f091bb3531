//! A question about what has come.

/// The consumer's question whether all that has come by now is reported to it: it lets something else come after that.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fence {
    /// It has not asked, or has its answer.
    None,
    /// It has asked since the last poll.
    Asked,
    /// The poll has reported since, and the turn is not over.
    Polled,
}

impl Fence {
    /// The poll has reported what has come.
    pub(super) fn polled(&mut self) {
        if *self == Self::Asked {
            *self = Self::Polled;
        }
    }

    /// The turn is over. Whether that is the answer.
    pub(super) fn is_passed(&mut self) -> bool {
        let passed = *self == Self::Polled;
        if passed {
            *self = Self::None;
        }
        passed
    }
}
