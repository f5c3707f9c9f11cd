//! Advice for failures of a barrier, a queue, a counter or a group.

use election_tokio::barrier::{BarrierError, BarrierFailure};
use election_tokio::counter::{CounterError, CounterFailure};
use election_tokio::group::{MembershipError, NameOwner};
use election_tokio::queue::{PutError, SiblingQueue, TakeError, TakerFailure};

use super::Failure;

impl Failure {
    pub(super) fn recipe_advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Barrier(BarrierError::InvalidPath { .. }) => {
                "write PATH as an absolute path, such as /app/migration"
            }
            Self::Take(TakeError::InvalidPath { .. }) => {
                "write PATH as an absolute path, such as /app/jobs"
            }
            Self::Put(error) if error.may_have_happened() => PUT_IN_DOUBT,
            Self::Put(PutError::Priority { .. }) => {
                "give a smaller --priority, or --format kazoo, which has more of them; --format guide \
                 and distributed-queue have none"
            }
            Self::Put(PutError::SequenceExhausted { .. }) => "put into a queue at another PATH",
            Self::Take(TakeError::Unknown(_)) => {
                "it was printed: make sure that no other taker has done it, or do it again where twice \
                 does no harm"
            }
            Self::Take(TakeError::Failed { failure: TakerFailure::Sibling(sibling), .. }) => {
                sibling_advice(*sibling)
            }
            Self::Operating(failure) => return failure.advice(),
            Self::Settings(error) => return error.advice(),
            Self::OtherItems { .. } => "give --format with the format that the items have",
            Self::Unprinted { .. } => {
                "put it again if it is known what it was; `zkelect queue claim` loses no item so"
            }
            Self::InDoubt { .. } => IN_DOUBT,
            Self::Counter(error) => return counter_advice(error),
            Self::Barrier(BarrierError::Failed { failure: BarrierFailure::NotEmpty, .. }) => {
                "give the PATH of a barrier; `zkelect list` shows what is at this one"
            }
            Self::Membership(MembershipError::InvalidPath { .. }) => {
                "write PATH as an absolute path, such as /app/workers, and --name without a slash"
            }
            Self::Membership(MembershipError::NameTaken {
                owner: NameOwner::Persistent, ..
            }) => {
                "its znode is not ephemeral, and goes with no session: take another --name, or delete it"
            }
            Self::Membership(MembershipError::NameTaken { .. }) => {
                "take another --name, or wait with --wait: the name of a member that was killed is free \
                 when its session has timed out; `zkelect members list` shows the session"
            }
            Self::Membership(MembershipError::Evicted { .. }) => {
                "an operator or another program has deleted it: find out which, and why; start zkelect again to join again"
            }
            _ => return None,
        })
    }
}

const IN_DOUBT: &str = "look what is there, and do it again where that does no harm";

fn counter_advice(error: &CounterError) -> Option<&'static str> {
    Some(match error {
        CounterError::InvalidPath { .. } => "write PATH as an absolute path, such as /app/done",
        CounterError::Unknown { .. } => IN_DOUBT,
        CounterError::Failed { failure: CounterFailure::NotANumber(_), .. } => {
            "give the PATH of a counter, and --format curator if Curator's SharedCount uses it"
        }
        CounterError::Failed { failure: CounterFailure::Overflow(_), .. } => {
            "give a smaller number: 64 bits are all that --format decimal has, and 32 those of curator"
        }
        _ => return None,
    })
}

const PUT_IN_DOUBT: &str = "the item may be in the queue: look with `zkelect list`, and put it again where \
     twice does no harm";

const fn sibling_advice(sibling: SiblingQueue) -> &'static str {
    match sibling {
        SiblingQueue::Guide => "give --format guide, which the items have",
        SiblingQueue::GuideWithPriority => "give --format guide-priority, which the items have",
        SiblingQueue::DistributedQueue => "give --format distributed-queue, which the items have",
        SiblingQueue::Kazoo => "give --format kazoo, which the items have",
        _ => "zkelect has no --format for them: take them by what put them, or use another PATH",
    }
}
