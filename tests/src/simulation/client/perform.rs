//! Carrying out what a nominee commands, as the tokio adapter does, and reading the answers.

use bytes::Bytes;
use election_core::{
    CandidatePrefix, Command, Failure, Nominee, Notice, Op, Output, Reply, Ticket, Watch,
};
use zk_jute::records::{
    Acl, CheckVersionRequest, CreateMode, CreateRequest, CreateResponse, DeleteRequest,
    GetChildrenRequest, GetChildrenResponse, GetDataRequest, GetDataResponse, MultiOp,
    MultiRequest,
};
use zk_jute::{Decode, ErrorCode, Vector, Version};
use zk_session::{Completion, Instant, SubmitError, WatchId, Watching};

use super::nomination::NominationKey;
use super::{Session, Tag, Watcher};
use crate::simulation::election::Election;

/// Which answer a request of a nominee will bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Create,
    ElectionNode,
    Barrier,
    List,
    Read,
    Delete,
}

/// The watches that a nominee keeps, at most one of each kind.
#[derive(Debug, Default)]
pub(super) struct WatchSlots {
    own: Option<WatchId>,
    predecessor: Option<WatchId>,
    /// The last predecessor, and the read that watches it.
    pub(super) watched: Option<(Ticket, String)>,
}

impl WatchSlots {
    pub(super) fn forget_all(&mut self, session: &mut Session, now: Instant) {
        // The own candidate is going, or gone.
        if let Some(watch) = self.own.take() {
            session.forget_locally(watch);
        }
        if let Some(watch) = self.predecessor.take() {
            session.forget(now, watch);
        }
    }
}

/// A command that could not be sent.
pub(super) type NotSent = (Ticket, Failure);

/// What a step of a nominee led to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) notice: Option<Notice>,
    pub(super) not_sent: Option<NotSent>,
}

/// Whose command it is.
pub(super) struct Performer<'c> {
    pub(super) session: &'c mut Session,
    pub(super) now: Instant,
    pub(super) key: NominationKey,
    pub(super) election: Election,
    pub(super) slots: &'c mut WatchSlots,
}

impl Performer<'_> {
    pub(super) fn react<'n>(
        self,
        nominee: &'n mut Nominee,
        event: election_core::Event<'n>,
    ) -> Outcome {
        let output = nominee.handle_event(event);
        Outcome { notice: output.notice, not_sent: self.carry_out(&output) }
    }

    /// Feeds the answer to a command.
    pub(super) fn answer(
        self,
        nominee: &mut Nominee,
        (ticket, step): (Ticket, Step),
        outcome: Result<Completion, zk_session::Failure>,
    ) -> Outcome {
        let event = |result| election_core::Event::Reply { ticket, result };
        let body = match outcome {
            Ok(Completion { body, .. }) => body,
            Err(failure) => return self.react(nominee, event(Err(core_failure(failure)))),
        };
        match step {
            Step::List => match GetChildrenResponse::decode_prefix(&body) {
                Ok(response) => {
                    let mut names = response.children.into_iter();
                    self.react(nominee, event(Ok(Reply::Children(&mut names))))
                }
                Err(_) => self.react(nominee, event(Err(Failure::Unreadable))),
            },
            Step::Create => match CreateResponse::decode_prefix(&body) {
                Ok(CreateResponse { path }) => {
                    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
                    self.react(nominee, event(Ok(Reply::Created { name })))
                }
                Err(_) => self.react(nominee, event(Err(Failure::Unreadable))),
            },
            Step::Read => self.react(nominee, event(read_reply(&body))),
            Step::ElectionNode => self.react(nominee, event(Ok(Reply::ElectionNodeCreated))),
            Step::Barrier => self.react(nominee, event(Ok(Reply::BarrierPassed))),
            Step::Delete => self.react(nominee, event(Ok(Reply::Deleted))),
        }
    }

    /// Submits the command, if there is one. A command that found no connection is dropped: the
    /// nominee is told that the connection is gone.
    pub(super) fn carry_out(mut self, output: &Output<'_>) -> Option<NotSent> {
        let Command { ticket, op } = output.command?;
        match self.perform(ticket, op) {
            Ok(()) => None,
            Err(SubmitError::TooLarge { .. }) => {
                Some((ticket, Failure::Rejected(ErrorCode::BAD_ARGUMENTS.get())))
            }
            Err(SubmitError::Unsupported(_)) => {
                Some((ticket, Failure::Rejected(ErrorCode::UNIMPLEMENTED.get())))
            }
            Err(SubmitError::NotConnected | SubmitError::Closed | SubmitError::Full) => {
                Some((ticket, Failure::ConnectionLoss))
            }
        }
    }

    fn perform(&mut self, ticket: Ticket, op: Op<'_>) -> Result<(), SubmitError> {
        let tag = |step| Tag::Nomination { key: self.key, ticket, step };
        match op {
            Op::Create { prefix } => self.create_candidate(ticket, prefix),
            Op::CreateElectionNode => {
                let mode = CreateMode::PERSISTENT;
                let acl = Vector::<Acl<'_>>::OPEN;
                let path = self.election.node();
                let request = CreateRequest { path, data: Some(&[]), acl, mode };
                self.session.submit(self.now, tag(Step::ElectionNode), &request)
            }
            Op::Barrier => {
                let check =
                    CheckVersionRequest { path: self.election.node(), version: Version::ANY };
                let request = [MultiOp::Check(check)];
                self.session.submit(self.now, tag(Step::Barrier), &MultiRequest::new(&request))
            }
            Op::List => {
                let request = GetChildrenRequest { path: self.election.node(), watch: false };
                self.session.submit(self.now, tag(Step::List), &request)
            }
            Op::Read { name, watch } => self.read(ticket, name, watch),
            Op::Inspect { name } => {
                let request = GetDataRequest { path: &self.election.child(name), watch: false };
                self.session.submit(self.now, tag(Step::Read), &request)
            }
            Op::Delete { name, version } => {
                let version = Version::new(version.number());
                let request = DeleteRequest { path: &self.election.child(name), version };
                self.session.submit(self.now, tag(Step::Delete), &request)
            }
        }
    }

    fn create_candidate(
        &mut self,
        ticket: Ticket,
        prefix: CandidatePrefix,
    ) -> Result<(), SubmitError> {
        let request = CreateRequest {
            path: &self.election.child(prefix),
            data: Some(b"simulated"),
            acl: Vector::<Acl<'_>>::OPEN,
            mode: CreateMode::EPHEMERAL_SEQUENTIAL,
        };
        let tag = Tag::Nomination { key: self.key, ticket, step: Step::Create };
        self.session.submit(self.now, tag, &request)
    }

    fn read(&mut self, ticket: Ticket, name: &str, watch: Watch) -> Result<(), SubmitError> {
        let slot = match watch {
            Watch::Own => &mut self.slots.own,
            Watch::Predecessor => {
                self.slots.watched = Some((ticket, name.to_owned()));
                &mut self.slots.predecessor
            }
        };
        let superseded = slot.take();
        let tag = Tag::Nomination { key: self.key, ticket, step: Step::Read };
        let watcher = Watcher { key: self.key, ticket };
        let path = self.election.child(name);
        let read = Watching::GetData(&path);
        let submitted = self.session.submit_watching(self.now, tag, read, watcher);
        *slot = submitted.as_ref().ok().copied();
        if let Some(superseded) = superseded {
            self.session.forget(self.now, superseded);
        }
        submitted.map(drop)
    }
}

fn read_reply<'a>(body: &Bytes) -> Result<Reply<'a>, Failure> {
    let response = GetDataResponse::decode_prefix(body).map_err(|_| Failure::Unreadable)?;
    let stat = response.stat;
    Ok(Reply::Read(election_core::Stat::new(
        stat.ephemeral_owner.get(),
        stat.czxid.get(),
        stat.version.get(),
    )))
}

fn core_failure(failure: zk_session::Failure) -> Failure {
    match failure {
        zk_session::Failure::Refused(code) => Failure::from_code(code.get()),
        zk_session::Failure::ReplyTooLarge { .. } => Failure::Unreadable,
        zk_session::Failure::ConnectionLoss | zk_session::Failure::NotSent => {
            Failure::ConnectionLoss
        }
    }
}
