//! The question whether the election is ended, of one whose znode another client has deleted.

use super::home::Home;
use super::request::Request;
use crate::command::{Op, Watch};

/// Asks whether the election is ended before it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Evicted {
    pub(super) was: Was,
    pub(super) step: Inquiry,
    pub(super) mark: &'static str,
}

/// What the nominee was by the znode that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Was {
    Standing,
    Leading,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Inquiry {
    /// On another connection than the one that told of the deletion: its server may lag behind that, and
    /// behind the mark, which was there before.
    Barrier,
    Look,
}

impl Evicted {
    pub(super) fn demand(&self, home: Home) -> (Request, Op<'_>) {
        match self.step {
            Inquiry::Barrier => (Request::BarrierBeforeEnd, Op::Barrier),
            Inquiry::Look => (Request::LookForEnd, home.exists(self.mark.into(), Watch::None)),
        }
    }

    /// The connection is lost.
    pub(super) const fn begin_anew(&mut self) {
        self.step = Inquiry::Barrier;
    }
}
