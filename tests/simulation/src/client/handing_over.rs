//! Handing the leadership over to a named candidate, by the requests that the guide to operating
//! elections names.

use bytes::Bytes;
use election_core::election::Role;
use election_core::format::{Access, Format};
use election_core::name::{CandidateName, Sequence};
use election_core::{NomineeId, Token};
use election_session::{Grant, RecipeKey};
use zk_jute::records::{
    Acl, CheckVersionRequest, CreateMode, CreateRequest, DeleteRequest, GetChildrenRequest,
    GetChildrenResponse, MultiOp, MultiRequest, MultiResponse,
};
use zk_jute::{Decode as _, ErrorCode, SessionId, Vector, Version};
use zk_session::{Completion, Failure, Instant};

use super::operating::AGAIN;
use super::{CallId, Client, Observed};
use crate::queue::{Kind, Queue};

/// A leader that hands the leadership over.
#[derive(Debug)]
pub(super) struct HandingOver {
    leader: Leader,
    session: Option<SessionId>,
    to: (String, Sequence),
    /// It gives up then.
    until: Instant,
    step: Step,
}

/// A nominee that leads, as its user was told.
#[derive(Clone, Debug)]
pub(crate) struct Leader {
    key: RecipeKey,
    pub(crate) nominee: NomineeId,
    pub(crate) queue: Queue,
    pub(crate) token: Token,
    own: CandidateName,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The mark is created.
    Ask(CallId),
    List(CallId),
    /// Some stand between.
    Wait(Instant),
    /// The mark is deleted.
    CleanUp(CallId),
    CleanUpLater(Instant),
}

/// What a list shows.
enum Sight {
    IsNext,
    IsGone,
    OthersBetween,
}

impl Leader {
    pub(crate) fn place(&self) -> Sequence {
        self.own.sequence()
    }
}

impl HandingOver {
    pub(super) const fn due(&self) -> Option<Instant> {
        match self.step {
            Step::Wait(at) | Step::CleanUpLater(at) => Some(at),
            _ => None,
        }
    }

    pub(super) fn awaits(&self, call: CallId) -> bool {
        match self.step {
            Step::Ask(awaited) | Step::List(awaited) | Step::CleanUp(awaited) => awaited == call,
            Step::Wait(_) | Step::CleanUpLater(_) => false,
        }
    }

    fn mark(&self) -> String {
        let mark = Format::curator_latch().hand_over_mark(self.to.1);
        self.leader.queue.child(mark.expect("the default format has such marks"))
    }

    fn sight(&self, body: &Bytes) -> Option<Sight> {
        let list = GetChildrenResponse::decode_prefix(body).ok()?;
        let names: Vec<&str> = list.children.into_iter().collect();
        let own = self.leader.place();
        let numbers =
            names.iter().filter_map(|name| Format::curator_latch().rival(Access::Exclusive, name));
        let others = numbers.filter(|number| own < *number && *number < self.to.1).count();
        Some(match (names.contains(&&*self.to.0), others) {
            (false, _) => Sight::IsGone,
            (true, 0) => Sight::IsNext,
            (true, _) => Sight::OthersBetween,
        })
    }
}

impl Client {
    /// The nominee that leads this election, as its user was told.
    pub(crate) fn leader_of(&self, queue: Queue) -> Option<Leader> {
        self.queued().find_map(|(key, queued)| {
            let seen = self.seen.get(&key).filter(|seen| seen.stand.queue == queue)?;
            let Grant::Announced { token } = *self.host.view(key)?.grant else {
                return None;
            };
            let own = queued.znode?.clone();
            Some(Leader { key, nominee: seen.stand.id, queue, token, own })
        })
    }

    /// All that lead, also those of which the user is not told yet: another process was.
    pub(crate) fn leaders(&self) -> impl Iterator<Item = Leader> {
        self.queued().filter_map(|(key, queued)| {
            let (Role::Leading { token } | Role::Suspended { token }) = queued.role else {
                return None;
            };
            let queue = self.seen.get(&key)?.stand.queue;
            let own = queued.znode?.clone();
            let is_election = queue.kind() == Kind::Election;
            is_election.then_some(Leader { key, nominee: queued.id, queue, token, own })
        })
    }

    /// A leader begins to hand the leadership over, unless one of this client does so.
    pub(crate) fn hand_lead_over(
        &mut self,
        now: Instant,
        leader: Leader,
        to: (String, Sequence),
        until: Instant,
    ) {
        if self.procedures.handing_over.is_some() || self.is_closed() {
            return;
        }
        let (version, session) = (Version::ANY, self.host.session_id());
        let own = leader.queue.child(&leader.own);
        let step = Step::Wait(until);
        let mut handing_over = HandingOver { leader, session, to, until, step };
        let (path, mark) = (&*own, &*handing_over.mark());
        let (acl, mode) = (Vector::<Acl<'_>>::OPEN, CreateMode::EPHEMERAL);
        let operations = [
            MultiOp::Check(CheckVersionRequest { path, version }),
            MultiOp::Create(CreateRequest { path: mark, data: Some(&[]), acl, mode }),
        ];
        if let Some(call) = self.submit_call(now, &MultiRequest::new(&operations)) {
            handing_over.step = Step::Ask(call);
            self.procedures.handing_over = Some(handing_over);
        }
    }

    /// Whether a leader of this client hands the leadership over.
    pub(crate) const fn hands_over(&self) -> bool {
        self.procedures.handing_over.is_some()
    }

    /// A leader steps down.
    pub(crate) fn step_down(&mut self, now: Instant, leader: &Leader) {
        self.host.reach_deadline(now, leader.key);
    }

    /// A leader resigns, and its work goes on.
    pub(crate) fn resign_uncleanly(&mut self, now: Instant, leader: &Leader) {
        if let Some((super::Standing::Nominee(nominee), _)) = self.host.recipe_mut(leader.key) {
            nominee.end_uncleanly();
        }
        self.withdraw(now, leader.key);
    }

    /// A leader resigns.
    pub(crate) fn resign(&mut self, now: Instant, leader: &Leader) {
        self.withdraw(now, leader.key);
    }

    /// No leader hands the leadership over any more.
    pub(crate) fn give_hand_overs_up(&mut self, now: Instant) {
        if let Some(handing_over) = self.procedures.handing_over.take() {
            match handing_over.step {
                Step::CleanUp(_) | Step::CleanUpLater(_) => {
                    self.procedures.handing_over = Some(handing_over);
                }
                Step::Ask(_) | Step::List(_) | Step::Wait(_) => self.clean_up(now, handing_over),
            }
        }
    }

    /// A leader goes on, since its time has come.
    pub(super) fn go_on_handing_over(&mut self, now: Instant) {
        let Some(handing_over) = self.procedures.handing_over.take() else {
            return;
        };
        let leads = self.leads_by(now, handing_over.leader.key, handing_over.leader.token);
        match handing_over.step {
            Step::Wait(_) if leads && now < handing_over.until => self.look(now, handing_over),
            _ => self.clean_up(now, handing_over),
        }
    }

    fn look(&mut self, now: Instant, mut handing_over: HandingOver) {
        let list = GetChildrenRequest { path: handing_over.leader.queue.node(), watch: false };
        let call = self.submit_call(now, &list);
        handing_over.step = call.map_or(Step::Wait(now + AGAIN), Step::List);
        self.procedures.handing_over = Some(handing_over);
    }

    fn clean_up(&mut self, now: Instant, mut handing_over: HandingOver) {
        // The mark ends with its session.
        if self.is_closed() || self.host.session_id() != handing_over.session {
            return;
        }
        let (path, version) = (&*handing_over.mark(), Version::ANY);
        let call = self.submit_call(now, &DeleteRequest { path, version });
        handing_over.step = call.map_or(Step::CleanUpLater(now + AGAIN), Step::CleanUp);
        self.procedures.handing_over = Some(handing_over);
    }

    /// A leader goes on behind an answer.
    pub(super) fn handing_over_answered(
        &mut self,
        now: Instant,
        outcome: &Result<Completion, Failure>,
    ) {
        let Some(mut handing_over) = self.procedures.handing_over.take() else {
            return;
        };
        let leader = &handing_over.leader;
        let leads = self.leads_by(now, leader.key, leader.token);
        match (handing_over.step, outcome) {
            (Step::Ask(_), Ok(Completion { body, .. })) if leads && is_committed(body) => {
                self.look(now, handing_over);
            }
            (Step::List(_), Ok(Completion { body, .. })) if leads => {
                match handing_over.sight(body) {
                    Some(Sight::IsNext) => {
                        let (leader, to) = (leader.clone(), handing_over.to.0.clone());
                        self.told.push(Observed::StepsDown { leader, to });
                        self.step_down(now, &handing_over.leader);
                        self.clean_up(now, handing_over);
                    }
                    Some(Sight::OthersBetween) => {
                        handing_over.step = Step::Wait(now + AGAIN);
                        self.procedures.handing_over = Some(handing_over);
                    }
                    Some(Sight::IsGone) | None => self.clean_up(now, handing_over),
                }
            }
            (Step::CleanUp(_), Ok(_) | Err(Failure::Refused(ErrorCode::NO_NODE))) => {}
            (Step::CleanUp(_), Err(_)) => {
                handing_over.step = Step::CleanUpLater(now + AGAIN);
                self.procedures.handing_over = Some(handing_over);
            }
            _ => self.clean_up(now, handing_over),
        }
    }
}

fn is_committed(body: &Bytes) -> bool {
    MultiResponse::decode_prefix(body).is_ok_and(|response| response.error().is_none())
}
