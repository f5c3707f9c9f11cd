//! Cuts that wait for their frame or byte.

use alloc::collections::BTreeMap;

use super::connection::{ConnectionId, Frame, Label, RequestNumber};
use super::frame::{Direction, FrameKind};
use crate::opcode::Opcode;

/// The moment at which to cut the connection on which it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    point: Point,
    skip: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    Before(FrameKind),
    After(FrameKind),
    InsteadOfReplyTo(Opcode),
    AfterBytes { direction: Direction, left: u64 },
}

impl Cut {
    /// Cuts before the frame: it does not reach its receiver.
    pub const fn before(kind: FrameKind) -> Self {
        Self { point: Point::Before(kind), skip: 0 }
    }

    /// Cuts after the frame: the proxy writes it to its receiver, and cuts the connection at once.
    /// The answer to it will hardly have arrived by then.
    pub const fn after(kind: FrameKind) -> Self {
        Self { point: Point::After(kind), skip: 0 }
    }

    /// Cuts instead of the reply: the server executes the request and answers; the proxy cuts the
    /// connection when the answer arrives, and the client never sees it. Earlier answers pass.
    pub const fn instead_of_reply_to(opcode: Opcode) -> Self {
        Self { point: Point::InsteadOfReplyTo(opcode), skip: 0 }
    }

    /// Cuts as soon as that many bytes have passed.
    pub const fn after_bytes(direction: Direction, bytes: u64) -> Self {
        Self { point: Point::AfterBytes { direction, left: bytes }, skip: 0 }
    }

    /// Lets that many such frames pass first: with 2, it is about the third. Bytes are not
    /// skipped.
    #[must_use]
    pub const fn skipping(mut self, frames: u64) -> Self {
        self.skip = frames;
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PlanId(u64);

#[derive(Debug)]
enum Plan {
    Waiting(Cut),
    AwaitingReply { connection: ConnectionId, request: RequestNumber },
    Happened(ConnectionId),
}

/// The treatment of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    /// Only the first bytes (none, or all, or some) pass; then the connection is cut.
    CutAfter(usize),
}

#[derive(Debug, Default)]
pub(super) struct Plans {
    next: u64,
    plans: BTreeMap<PlanId, Plan>,
}

impl Plans {
    pub(super) fn add(&mut self, cut: Cut) -> PlanId {
        let id = PlanId(self.next);
        self.next += 1;
        self.plans.insert(id, Plan::Waiting(cut));
        id
    }

    pub(super) fn remove(&mut self, id: PlanId) {
        self.plans.remove(&id);
    }

    pub(super) fn outcome(&self, id: PlanId) -> Option<ConnectionId> {
        match self.plans.get(&id) {
            Some(Plan::Happened(connection)) => Some(*connection),
            _ => None,
        }
    }

    /// Shows every plan a frame that is about to pass; the earliest cut wins.
    pub(super) fn judge(&mut self, connection: ConnectionId, frame: &Frame) -> Verdict {
        let mut verdict = Verdict::Pass;
        for plan in self.plans.values_mut() {
            if let Some(length) = plan.judge(connection, frame) {
                *plan = Plan::Happened(connection);
                verdict = Verdict::CutAfter(match verdict {
                    Verdict::CutAfter(other) => other.min(length),
                    Verdict::Pass => length,
                });
            }
        }
        verdict
    }
}

impl Plan {
    /// Returns after how many bytes of the frame to cut, if this plan says so.
    fn judge(&mut self, connection: ConnectionId, frame: &Frame) -> Option<usize> {
        match self {
            Self::Happened(_) => None,
            Self::AwaitingReply { connection: awaited, request } => {
                let is_it = *awaited == connection
                    && matches!(frame.label, Label::Reply { number, .. } if number == *request);
                is_it.then_some(0)
            }
            Self::Waiting(Cut { point: Point::AfterBytes { direction, left }, .. }) => {
                if *direction != frame.direction {
                    return None;
                }
                let length = u64::try_from(frame.bytes.len()).unwrap_or(u64::MAX);
                if length < *left {
                    *left -= length;
                    return None;
                }
                usize::try_from(*left).ok()
            }
            Self::Waiting(cut) => {
                let kind = match cut.point {
                    Point::Before(kind) | Point::After(kind) => kind,
                    Point::InsteadOfReplyTo(opcode) => FrameKind::Request(opcode),
                    Point::AfterBytes { .. } => return None,
                };
                if frame.kind() != kind {
                    return None;
                }
                if let Some(left) = cut.skip.checked_sub(1) {
                    cut.skip = left;
                    return None;
                }
                match (cut.point, frame.label) {
                    (Point::Before(_), _) => Some(0),
                    (Point::InsteadOfReplyTo(_), Label::Request { number, .. }) => {
                        *self = Self::AwaitingReply { connection, request: number };
                        None
                    }
                    _ => Some(frame.bytes.len()),
                }
            }
        }
    }
}
