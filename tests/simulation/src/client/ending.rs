//! Ending an election and reopening it, by the requests that the guide to operating elections names.

use core::ops::ControlFlow;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use election_core::format::{Access, Format};
use zk_jute::records::{
    Acl, CreateMode, CreateRequest, DeleteRequest, GetChildrenRequest, GetChildrenResponse,
};
use zk_jute::{Decode as _, ErrorCode, Vector, Version};
use zk_session::{Completion, Failure, Instant};

use super::deleting::Deletion;
use super::operating::AGAIN;
use super::{CallId, Client, Observed};
use crate::queue::Queue;

/// What an operator is about to do to elections.
pub(super) type Endings = BTreeMap<Queue, Ending>;

/// What an operator is about to do to one election.
#[derive(Debug)]
pub(super) struct Ending {
    goal: Goal,
    step: Step,
}

/// What is to become of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    Ended,
    Open,
    /// It is ended, and deleted with its marks once no candidate has come for this time.
    Deleted(Duration),
}

#[derive(Debug)]
enum Step {
    /// The sign is created, or deleted.
    Sign(CallId),
    /// The election node is missing, and created.
    Node(CallId),
    List(CallId),
    Delete {
        unanswered: BTreeSet<CallId>,
        /// One of them may have failed.
        in_doubt: bool,
    },
    /// All candidates are gone, and the election is to go.
    Deletion(Deletion),
    /// It begins anew.
    Later(Instant),
}

/// The sign that the election is ended.
pub(crate) fn sign_of(queue: Queue) -> String {
    queue.child(Format::curator_latch().end_mark().unwrap_or_default())
}

impl Ending {
    pub(super) const fn due(&self) -> Option<Instant> {
        match self.step {
            Step::Later(at) | Step::Deletion(Deletion::Quiet(at)) => Some(at),
            _ => None,
        }
    }

    pub(super) fn awaits(&self, call: CallId) -> bool {
        match &self.step {
            Step::Sign(awaited) | Step::Node(awaited) | Step::List(awaited) => *awaited == call,
            Step::Delete { unanswered, .. } => unanswered.contains(&call),
            Step::Deletion(deletion) => deletion.awaits(call),
            Step::Later(_) => false,
        }
    }
}

impl Client {
    /// An operator ends an election, or reopens it, and no longer does the opposite.
    pub(crate) fn bring_about(&mut self, now: Instant, queue: Queue, goal: Goal) {
        let step = self.begin_ending(now, queue, goal);
        self.procedures.endings.insert(queue, Ending { goal, step });
    }

    pub(super) fn begin_again(&mut self, now: Instant, queue: Queue) {
        match self.procedures.endings.remove(&queue) {
            Some(Ending { goal, step: Step::Deletion(Deletion::Quiet(_)) }) => {
                let step = self.look_for_the_last_time(now, queue).map(Step::Deletion);
                let step = step.unwrap_or(Step::Later(now + AGAIN));
                self.procedures.endings.insert(queue, Ending { goal, step });
            }
            Some(Ending { goal, .. }) => self.bring_about(now, queue, goal),
            None => {}
        }
    }

    fn begin_ending(&mut self, now: Instant, queue: Queue, goal: Goal) -> Step {
        let (path, version) = (&*sign_of(queue), Version::ANY);
        let (acl, mode) = (Vector::<Acl<'_>>::OPEN, CreateMode::PERSISTENT);
        let create = CreateRequest { path, data: Some(&[]), acl, mode };
        let call = match goal {
            Goal::Ended | Goal::Deleted(_) => self.submit_call(now, &create),
            Goal::Open => self.submit_call(now, &DeleteRequest { path, version }),
        };
        call.map_or(Step::Later(now + AGAIN), Step::Sign)
    }

    /// The operator goes on behind an answer.
    pub(super) fn ending_answered(
        &mut self,
        now: Instant,
        (queue, call): (Queue, CallId),
        outcome: &Result<Completion, Failure>,
    ) {
        let Some(Ending { goal, step }) = self.procedures.endings.remove(&queue) else {
            return;
        };
        let refused = match outcome {
            Err(Failure::Refused(code)) => Some(*code),
            _ => None,
        };
        let later = Step::Later(now + AGAIN);
        let next = match (step, goal, outcome) {
            (Step::Sign(_), Goal::Open, Ok(_)) => return,
            (Step::Sign(_), Goal::Open, Err(_)) if refused == Some(ErrorCode::NO_NODE) => return,
            (Step::Sign(_), _, Ok(_)) => self.list_candidates(now, queue),
            (Step::Sign(_), _, Err(_)) if refused == Some(ErrorCode::NODE_EXISTS) => {
                self.list_candidates(now, queue)
            }
            (Step::Sign(_), Goal::Deleted(_), Err(_)) if refused == Some(ErrorCode::NO_NODE) => {
                self.look_for_stray_marks(now, queue).map_or(later, Step::Deletion)
            }
            (Step::Sign(_), Goal::Ended, Err(_)) if refused == Some(ErrorCode::NO_NODE) => {
                let (acl, mode) = (Vector::<Acl<'_>>::OPEN, CreateMode::PERSISTENT);
                let node = CreateRequest { path: queue.node(), data: Some(&[]), acl, mode };
                self.submit_call(now, &node).map_or(later, Step::Node)
            }
            (Step::Node(_), ..) => self.begin_ending(now, queue, goal),
            (Step::List(_), _, Ok(Completion { body, .. })) => {
                match self.delete_candidates(now, queue, body) {
                    Some(Step::Delete { unanswered, in_doubt: false }) if unanswered.is_empty() => {
                        return self.acknowledge(now, queue, goal);
                    }
                    Some(step) => step,
                    None => later,
                }
            }
            (Step::Delete { mut unanswered, in_doubt }, _, _) => {
                unanswered.remove(&call);
                let is_gone = outcome.is_ok() || refused == Some(ErrorCode::NO_NODE);
                let in_doubt = in_doubt || !is_gone;
                match (unanswered.is_empty(), in_doubt) {
                    (true, false) => return self.acknowledge(now, queue, goal),
                    (true, true) => later,
                    (false, _) => Step::Delete { unanswered, in_doubt },
                }
            }
            (Step::Deletion(deletion), ..) => {
                match self.deletion_answered(now, queue, (deletion, call), outcome) {
                    ControlFlow::Continue(deletion) => deletion.map_or(later, Step::Deletion),
                    ControlFlow::Break(()) => return self.told.push(Observed::ElectionDeleted),
                }
            }
            _ => later,
        };
        self.procedures.endings.insert(queue, Ending { goal, step: next });
    }

    /// All candidates from before the end are gone.
    fn acknowledge(&mut self, now: Instant, queue: Queue, goal: Goal) {
        self.told.push(Observed::EndAcknowledged(queue));
        if let Goal::Deleted(quiet) = goal {
            let step = Step::Deletion(Deletion::Quiet(now + quiet));
            self.procedures.endings.insert(queue, Ending { goal, step });
        }
    }

    fn list_candidates(&mut self, now: Instant, queue: Queue) -> Step {
        let list = GetChildrenRequest { path: queue.node(), watch: false };
        self.submit_call(now, &list).map_or(Step::Later(now + AGAIN), Step::List)
    }

    /// Deletes all that stand, the last one first. `None` if the list does not show the sign.
    fn delete_candidates(&mut self, now: Instant, queue: Queue, body: &Bytes) -> Option<Step> {
        let format = Format::curator_latch();
        let list = GetChildrenResponse::decode_prefix(body).ok()?;
        let names: Vec<&str> = list.children.into_iter().collect();
        names.iter().find(|name| format.end_mark() == Some(**name))?;
        let number = |name: &str| {
            let mark = || Some(format.parse_hand_over_mark(name)?.to());
            format.rival(Access::Exclusive, name).or_else(mark)
        };
        let numbered = names.into_iter().filter_map(|name| Some((number(name)?, name)));
        let mut found: Vec<_> = numbered.collect();
        found.sort_unstable();
        let candidates = found.iter().map(|(_, name)| (*name).to_owned()).collect();
        self.told.push(Observed::Condemns { queue, candidates });
        let (mut unanswered, mut in_doubt) = (BTreeSet::new(), false);
        for (_, name) in found.into_iter().rev() {
            let path = &*queue.child(name);
            match self.submit_call(now, &DeleteRequest { path, version: Version::ANY }) {
                Some(call) => drop(unanswered.insert(call)),
                None => in_doubt = true,
            }
        }
        if in_doubt && unanswered.is_empty() {
            return None;
        }
        Some(Step::Delete { unanswered, in_doubt })
    }
}
