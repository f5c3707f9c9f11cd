//! An inquiry whether the election is ended, after another client has deleted the nominee's znode.

use super::home::Home;
use super::request::Request;
use crate::command::{Op, Watch};

/// An inquiry whether the election is ended, before the nominee goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Evicted {
    pub(super) was: Was,
    pub(super) step: Inquiry,
    pub(super) mark: &'static str,
}

/// The role of the nominee by the znode that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Was {
    Standing,
    Leading,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Inquiry {
    /// The nominee makes a barrier on another connection than the one that reported the deletion: the
    /// server may not have applied the deletion yet, nor the mark, which was there before.
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

    /// Begins the inquiry again after a lost connection.
    pub(super) const fn begin_anew(&mut self) {
        self.step = Inquiry::Barrier;
    }
}
