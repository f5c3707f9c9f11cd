//! Leaders ask a quorum whether they lead, as `Leadership::confirm` does.

use std::collections::BTreeSet;

use bytes::Bytes;
use election_session::Grant;
use zk_jute::records::{CheckVersionRequest, MultiOp, MultiRequest, MultiResponse};
use zk_jute::{Decode as _, Version};
use zk_session::{Completion, Failure, Instant};

use super::{CallId, Client, Observed};
use crate::checker::queue_of;
use crate::queue::Kind;

/// A question whether a leader leads, by its call.
pub(crate) type Question = CallId;

/// The questions that are not answered.
pub(super) type Questions = BTreeSet<Question>;

impl Client {
    /// Lets each leader ask, whether its lease is in force or not: it rests on no clock.
    pub(crate) fn confirm(&mut self, now: Instant) {
        let leaders = self.queued().filter_map(|(key, queued)| {
            let Grant::Announced { .. } = *self.host.view(key)?.grant else {
                return None;
            };
            let queue = queue_of(queued.id);
            let own = queued.znode.filter(|_| queue.kind() == Kind::Election)?.to_string();
            Some((queue, own))
        });
        let leaders: Vec<_> = leaders.collect();
        for (queue, candidate) in leaders {
            let (path, version) = (&*queue.child(&candidate), Version::ANY);
            let check = MultiOp::Check(CheckVersionRequest { path, version });
            if let Some(question) = self.submit_call(now, &MultiRequest::new(&[check])) {
                self.procedures.questions.insert(question);
                self.told.push(Observed::AsksToConfirm { question, queue, candidate });
            }
        }
    }

    pub(super) fn confirmation_answered(
        &mut self,
        call: CallId,
        outcome: &Result<Completion, Failure>,
    ) {
        let is_confirmed = |body: &Bytes| {
            MultiResponse::decode_prefix(body).is_ok_and(|response| response.error().is_none())
        };
        let is_asked = self.procedures.questions.remove(&call);
        if let (true, Ok(Completion { body, .. })) = (is_asked, outcome)
            && is_confirmed(body)
        {
            self.told.push(Observed::Confirmed(call));
        }
    }
}
