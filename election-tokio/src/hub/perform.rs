//! Carrying out what a nominee commands, and reading the answers.

use std::sync::Arc;

use election_core::{CandidatePrefix, Command, Failure, Op, Output, Ticket, Watch};
use zk_jute::records::{
    CheckVersionRequest, Create2Request, CreateContainerRequest, CreateMode, CreateRequest,
    DeleteRequest, GetChildrenRequest, GetDataRequest, MultiOp, MultiRequest,
};
use zk_jute::{ErrorCode, Vector, Version};
use zk_session::{Instant, SubmitError, WatchId, Watching};

use super::lists::{Customer, Lists};
use super::{ListKey, NominationKey, Session, Tag, Target, Watcher};

/// Which answer a request of a nominee will bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Create,
    /// An ancestor of the election node; whether it exists shows when its child is created.
    Ancestor,
    ElectionNode,
    Barrier,
    Read,
    Delete,
}

impl Step {
    /// For metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Ancestor => "create_ancestor",
            Self::ElectionNode => "create_election_node",
            Self::Barrier => "barrier",
            Self::Read => "read",
            Self::Delete => "delete",
        }
    }
}

/// The watches that a nominee keeps on the server, at most one of each kind.
#[derive(Debug, Default)]
pub(super) struct WatchSlots {
    own: Option<WatchId>,
    predecessor: Option<WatchId>,
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

    fn slot(&mut self, watch: Watch) -> &mut Option<WatchId> {
        match watch {
            Watch::Own => &mut self.own,
            Watch::Predecessor => &mut self.predecessor,
        }
    }
}

/// A command that could not be sent.
pub(super) type NotSent = (Ticket, Failure);

/// Whose command it is, and where.
pub(super) struct Performer<'h> {
    pub(super) session: &'h mut Session,
    pub(super) now: Instant,
    pub(super) key: NominationKey,
    pub(super) target: &'h Target,
    pub(super) slots: &'h mut WatchSlots,
    pub(super) lists: &'h mut Lists,
}

impl Performer<'_> {
    /// Submits the command, if there is one. A command that found no connection is dropped: the
    /// nominee is told that the connection is gone.
    pub(super) fn carry_out(mut self, output: &Output<'_>) -> Option<NotSent> {
        let Command { ticket, op } = output.command?;
        self.perform(ticket, op).err().map(|error| (ticket, failure_of(error)))
    }

    fn perform(&mut self, ticket: Ticket, op: Op<'_>) -> Result<(), SubmitError> {
        match op {
            Op::Create { prefix } => self.create_candidate(ticket, prefix),
            Op::CreateElectionNode => self.create_election_node(ticket),
            Op::Barrier => {
                let path = &self.target.server_path;
                let check = [MultiOp::Check(CheckVersionRequest { path, version: Version::ANY })];
                let tag = self.tag(ticket, Step::Barrier);
                self.session.submit(self.now, tag, &MultiRequest::new(&check))
            }
            Op::List => {
                self.lists.ask(&self.target.server_path, Customer { key: self.key, ticket });
                Ok(())
            }
            Op::Read { name, watch } => self.read(ticket, name, watch),
            Op::Inspect { name } => {
                let request = GetDataRequest { path: &self.target.child(name), watch: false };
                self.session.submit(self.now, self.tag(ticket, Step::Read), &request)
            }
            Op::Delete { name, version } => {
                let version = Version::new(version.number());
                let request = DeleteRequest { path: &self.target.child(name), version };
                self.session.submit(self.now, self.tag(ticket, Step::Delete), &request)
            }
        }
    }

    fn create_candidate(
        &mut self,
        ticket: Ticket,
        prefix: CandidatePrefix,
    ) -> Result<(), SubmitError> {
        let acl = self.target.acl.entries();
        let request = CreateRequest {
            path: &self.target.child(prefix),
            data: Some(&self.target.data),
            acl: Vector::new(&acl),
            mode: CreateMode::EPHEMERAL_SEQUENTIAL,
        };
        self.session.submit(self.now, self.tag(ticket, Step::Create), &request)
    }

    /// All at once, in order: servers execute them in order, and only the last answer counts.
    fn create_election_node(&mut self, ticket: Ticket) -> Result<(), SubmitError> {
        let acl = self.target.acl.entries();
        for path in self.target.lineage() {
            let is_election_node = path.len() == self.target.server_path.len();
            let (step, mode) = if is_election_node {
                (Step::ElectionNode, self.target.election_node_mode)
            } else {
                (Step::Ancestor, CreateMode::PERSISTENT)
            };
            let request = CreateRequest { path, data: Some(&[]), acl: Vector::new(&acl), mode };
            let tag = self.tag(ticket, step);
            if mode == CreateMode::CONTAINER {
                self.session.submit(self.now, tag, &CreateContainerRequest(request))?;
            } else {
                self.session.submit(self.now, tag, &Create2Request(request))?;
            }
        }
        Ok(())
    }

    fn read(&mut self, ticket: Ticket, name: &str, watch: Watch) -> Result<(), SubmitError> {
        let slot = self.slots.slot(watch);
        let superseded = slot.take();
        let path = self.target.child(name);
        let tag = Tag::Nomination { key: self.key, ticket, step: Step::Read };
        let watcher = Watcher::Nomination { key: self.key, ticket };
        let read = Watching::GetData(&path);
        let submitted = self.session.submit_watching(self.now, tag, read, watcher);
        *slot = submitted.as_ref().ok().copied();
        // After the new one: on the same path, the server need not set it anew.
        if let Some(superseded) = superseded {
            self.session.forget(self.now, superseded);
        }
        submitted.map(drop)
    }

    fn tag(&self, ticket: Ticket, step: Step) -> Tag {
        Tag::Nomination { key: self.key, ticket, step }
    }
}

/// Asks for the children of an election node.
pub(super) fn submit_list(
    session: &mut Session,
    now: Instant,
    election: &Arc<str>,
    key: ListKey,
) -> Result<(), SubmitError> {
    let tag = Tag::List { election: Arc::clone(election), key };
    session.submit(now, tag, &GetChildrenRequest { path: election, watch: false })
}

/// What a nominee is told of a command that was not submitted.
pub(super) const fn failure_of(error: SubmitError) -> Failure {
    match error {
        SubmitError::TooLarge { .. } => Failure::Rejected(ErrorCode::BAD_ARGUMENTS.get()),
        SubmitError::Unsupported(_) => Failure::Rejected(ErrorCode::UNIMPLEMENTED.get()),
        SubmitError::NotConnected | SubmitError::Closed | SubmitError::Full => {
            Failure::ConnectionLoss
        }
    }
}
