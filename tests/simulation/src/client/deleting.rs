//! Deleting an election that is ended, with what stands beside its node, as `Election::delete` does.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use election_core::format::{Access, Format};
use zk_jute::records::{
    Acl, CreateMode, CreateRequest, DeleteRequest, ExistsRequest, ExistsResponse,
    GetChildrenRequest, GetChildrenResponse, MultiOp, MultiRequest, MultiResponse,
};
use zk_jute::{Decode as _, ErrorCode, Vector, Version};
use zk_session::{Completion, Failure, Instant};

use super::ending::sign_of;
use super::{CallId, Client};
use crate::checker::{epoch_of, mark_of};
use crate::queue::Queue;

/// How far the deletion of an election has come, once its candidates are gone.
#[derive(Debug)]
pub(super) enum Deletion {
    /// No candidate is to come until then.
    Quiet(Instant),
    /// Whether one came.
    LastLook(CallId),
    /// The marks are looked for.
    Marks { unanswered: BTreeMap<CallId, String>, found: Vec<(String, Version)>, node: Node },
    /// All goes in one transaction.
    Commit(CallId),
}

/// The election node, as the operator knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// It stands, with the sign of the end.
    Stands,
    /// It is missing. Marks may have been left beside it.
    Missing,
}

/// How a deletion goes on: it is done, or there is another step, or it begins anew.
type Next = ControlFlow<(), Option<Deletion>>;

impl Deletion {
    pub(super) fn awaits(&self, call: CallId) -> bool {
        match self {
            Self::Quiet(_) => false,
            Self::LastLook(awaited) | Self::Commit(awaited) => *awaited == call,
            Self::Marks { unanswered, .. } => unanswered.contains_key(&call),
        }
    }
}

impl Client {
    /// The operator looks whether a candidate has come.
    pub(super) fn look_for_the_last_time(
        &mut self,
        now: Instant,
        queue: Queue,
    ) -> Option<Deletion> {
        let list = GetChildrenRequest { path: queue.node(), watch: false };
        self.submit_call(now, &list).map(Deletion::LastLook)
    }

    /// There is no election, and there may be marks.
    pub(super) fn look_for_stray_marks(&mut self, now: Instant, queue: Queue) -> Option<Deletion> {
        self.look_for_marks(now, queue, Node::Missing)
    }

    fn look_for_marks(&mut self, now: Instant, queue: Queue, node: Node) -> Option<Deletion> {
        let mut unanswered = BTreeMap::new();
        for path in [epoch_of(queue), mark_of(queue)] {
            let call = self.submit_call(now, &ExistsRequest { path: &path, watch: false })?;
            unanswered.insert(call, path);
        }
        Some(Deletion::Marks { unanswered, found: Vec::new(), node })
    }

    /// The operator goes on behind an answer.
    pub(super) fn deletion_answered(
        &mut self,
        now: Instant,
        queue: Queue,
        (deletion, call): (Deletion, CallId),
        outcome: &Result<Completion, Failure>,
    ) -> Next {
        let refused = match outcome {
            Err(Failure::Refused(code)) => Some(*code),
            _ => None,
        };
        ControlFlow::Continue(match (deletion, outcome) {
            (Deletion::LastLook(_), Ok(Completion { body, .. })) if is_over(body) => {
                self.look_for_marks(now, queue, Node::Stands)
            }
            (Deletion::Marks { mut unanswered, mut found, node }, outcome) => {
                let Some(path) = unanswered.remove(&call) else {
                    return ControlFlow::Continue(None);
                };
                match outcome {
                    Ok(Completion { body, .. }) => {
                        let Ok(ExistsResponse { stat }) = ExistsResponse::decode_prefix(body)
                        else {
                            return ControlFlow::Continue(None);
                        };
                        found.push((path, stat.version));
                    }
                    Err(_) if refused == Some(ErrorCode::NO_NODE) => {}
                    Err(_) => return ControlFlow::Continue(None),
                }
                match (unanswered.is_empty(), node, found.is_empty()) {
                    (false, ..) => Some(Deletion::Marks { unanswered, found, node }),
                    (true, Node::Missing, true) => return ControlFlow::Break(()),
                    (true, ..) => self.commit_deletion(now, queue, node, &found),
                }
            }
            (Deletion::Commit(_), Ok(Completion { body, .. })) => {
                match MultiResponse::decode_prefix(body).map(|response| response.error()) {
                    // A node that has come meanwhile has marks of its own.
                    Ok(None | Some((_, ErrorCode::NODE_EXISTS))) => return ControlFlow::Break(()),
                    Ok(Some(_)) | Err(_) => None,
                }
            }
            _ => None,
        })
    }

    /// Deletes the election in one transaction: its sign, its node, and its marks in the versions that
    /// were found. Where there is no node, the marks go only while there is none.
    fn commit_deletion(
        &mut self,
        now: Instant,
        queue: Queue,
        node: Node,
        found: &[(String, Version)],
    ) -> Option<Deletion> {
        let (path, sign, version) = (queue.node(), &*sign_of(queue), Version::ANY);
        let (acl, mode) = (Vector::<Acl<'_>>::OPEN, CreateMode::PERSISTENT);
        let first = match node {
            Node::Stands => MultiOp::Delete(DeleteRequest { path: sign, version }),
            Node::Missing => MultiOp::Create(CreateRequest { path, data: Some(&[]), acl, mode }),
        };
        let mut operations = vec![first, MultiOp::Delete(DeleteRequest { path, version })];
        let marks = found.iter().map(|(path, version)| DeleteRequest { path, version: *version });
        operations.extend(marks.map(MultiOp::Delete));
        self.submit_call(now, &MultiRequest::new(&operations)).map(Deletion::Commit)
    }
}

/// Whether a list shows the sign, and no candidate.
fn is_over(body: &[u8]) -> bool {
    let format = Format::curator_latch();
    let Ok(list) = GetChildrenResponse::decode_prefix(body) else {
        return false;
    };
    let names: Vec<&str> = list.children.into_iter().collect();
    let is_candidate = |name: &&str| {
        format.rival(Access::Exclusive, name).is_some()
            || format.parse_hand_over_mark(name).is_some()
    };
    names.iter().any(|name| format.end_mark() == Some(*name)) && !names.iter().any(is_candidate)
}
