//! Leaders begin epochs and write in them, as `Leadership::epoch` and its caller do.

use std::collections::BTreeMap;

use election_core::Token;
use election_core::name::CandidateName;
use election_session::{Grant, RecipeKey};
use zk_jute::records::{
    Acl, CheckVersionRequest, CreateMode, CreateRequest, GetDataRequest, GetDataResponse, MultiOp,
    MultiRequest, MultiResponse, SetDataRequest,
};
use zk_jute::{Decode as _, ErrorCode, Vector, Version};
use zk_session::{Completion, Failure, Instant};

use super::{CallId, Client};
use crate::checker::{epoch_of, queue_of};
use crate::queue::{Kind, Queue};

/// The leaders of a client that have an epoch, or are about to.
pub(super) type Epochs = BTreeMap<(RecipeKey, Token), Epoch>;

/// What a leader has of its epoch.
#[derive(Debug)]
pub(super) struct Epoch {
    queue: Queue,
    own: CandidateName,
    step: Step,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// None; it asks when it works next.
    Idle,
    /// It reads the last one.
    Reads(CallId),
    /// It begins the one with this version.
    Begins(CallId, Version),
    /// It has it.
    Has(Version),
    /// It writes in it.
    Writes(CallId, Version),
}

impl Epoch {
    pub(super) fn awaits(&self, call: CallId) -> bool {
        match self.step {
            Step::Reads(awaited) | Step::Begins(awaited, _) | Step::Writes(awaited, _) => {
                awaited == call
            }
            Step::Idle | Step::Has(_) => false,
        }
    }
}

impl Client {
    /// Lets each leader begin its epoch, and write its token in it. One that has lost its leadership, and
    /// not its epoch, goes on to write: that is what the check is for.
    pub(crate) fn work_in_epochs(&mut self, now: Instant) {
        let leaders = self.queued().filter_map(|(key, queued)| {
            let Grant::Announced { token } = *self.host.view(key)?.grant else {
                return None;
            };
            let queue = queue_of(queued.id);
            let own = queued.znode.filter(|_| queue.kind() == Kind::Election)?.clone();
            Some(((key, token), Epoch { queue, own, step: Step::Idle }))
        });
        let leaders: Vec<_> = leaders.collect();
        for (leader, epoch) in leaders {
            self.procedures.epochs.entry(leader).or_insert(epoch);
        }
        for (leader, mut epoch) in core::mem::take(&mut self.procedures.epochs) {
            match epoch.step {
                Step::Idle => {
                    let path = &*epoch_of(epoch.queue);
                    let call = self.submit_call(now, &GetDataRequest { path, watch: false });
                    epoch.step = call.map_or(Step::Idle, Step::Reads);
                }
                Step::Has(version) => {
                    let call = self.write_in_epoch(now, (epoch.queue, leader.1), version);
                    epoch.step = call.map_or(epoch.step, |call| Step::Writes(call, version));
                }
                Step::Reads(_) | Step::Begins(..) | Step::Writes(..) => {}
            }
            self.procedures.epochs.insert(leader, epoch);
        }
    }

    /// A leader goes on behind an answer.
    pub(super) fn epoch_answered(
        &mut self,
        now: Instant,
        leader: (RecipeKey, Token),
        outcome: &Result<Completion, Failure>,
    ) {
        let Some(mut epoch) = self.procedures.epochs.remove(&leader) else {
            return;
        };
        let refused = match outcome {
            Ok(Completion { body, .. }) => {
                let response = MultiResponse::decode_prefix(body);
                response.map_or(None, |response| response.error().map(|(_, code)| code))
            }
            Err(Failure::Refused(code)) => Some(*code),
            Err(_) => None,
        };
        epoch.step = match (epoch.step, outcome) {
            (Step::Reads(_), Ok(Completion { body, .. })) => {
                let Ok(GetDataResponse { data, stat }) = GetDataResponse::decode_prefix(body)
                else {
                    return;
                };
                if data == Some(&leader.1.get().to_be_bytes()) {
                    Step::Has(stat.version)
                } else {
                    self.begin_epoch(now, (&epoch, leader.1), Some(stat.version))
                }
            }
            (Step::Reads(_), Err(_)) if refused == Some(ErrorCode::NO_NODE) => {
                self.begin_epoch(now, (&epoch, leader.1), None)
            }
            (Step::Begins(_, version), Ok(_)) if refused.is_none() => Step::Has(version),
            // Its candidate is gone, or another leader's epoch has begun meanwhile: it reads once more
            // while it leads.
            (Step::Begins(..), Ok(_)) => return,
            // The epoch is over.
            (Step::Writes(..), Ok(_)) if refused.is_some() => return,
            (Step::Writes(_, version), _) => Step::Has(version),
            _ => Step::Idle,
        };
        self.procedures.epochs.insert(leader, epoch);
    }

    /// Raises the version, in one transaction with a check of the leader's candidate.
    fn begin_epoch(
        &mut self,
        now: Instant,
        (epoch, token): (&Epoch, Token),
        last: Option<Version>,
    ) -> Step {
        let (own, path) = (&*epoch.queue.child(&epoch.own), &*epoch_of(epoch.queue));
        let data = &token.get().to_be_bytes()[..];
        let (acl, mode) = (Vector::<Acl<'_>>::OPEN, CreateMode::PERSISTENT);
        let begin = match last {
            Some(version) => MultiOp::SetData(SetDataRequest { path, data: Some(data), version }),
            None => MultiOp::Create(CreateRequest { path, data: Some(data), acl, mode }),
        };
        let check = CheckVersionRequest { path: own, version: Version::ANY };
        let next = last.map_or(0, |version| version.get().wrapping_add(1));
        let call = self.submit_call(now, &MultiRequest::new(&[MultiOp::Check(check), begin]));
        call.map_or(Step::Idle, |call| Step::Begins(call, Version::new(next)))
    }

    fn write_in_epoch(
        &mut self,
        now: Instant,
        (queue, token): (Queue, Token),
        version: Version,
    ) -> Option<CallId> {
        let (path, data) = (&*epoch_of(queue), token.get().to_be_bytes());
        let (register, any) = (queue.register(), Version::ANY);
        let operations = [
            MultiOp::Check(CheckVersionRequest { path, version }),
            MultiOp::SetData(SetDataRequest { path: register, data: Some(&data), version: any }),
        ];
        self.submit_call(now, &MultiRequest::new(&operations))
    }
}
