//! Entering: the nominee creates a candidate znode, and survives lost replies.

use super::stage::{
    Afterwards, Cleanup, Entering, Entry, Intent, Look, NomineeStage, OwnWatch, Position, Standing,
    Suspect,
};
use super::unnamed::Found;
use super::{Nominee, Patience, Reaction, is_owned, mismatch};
use crate::code::NOT_EMPTY;
use crate::command::ExpectedVersion;
use crate::event::{Failure, Reply, Stat};
use crate::id::SessionId;
use crate::name::{CandidateName, ChildName, NameError};
use crate::outcome::{Departure, End, NominationError, Notice, Obstacle};
use crate::policy::ElectionNode;
use crate::ticket::Ticket;

impl Nominee {
    pub(super) fn create_answered<'a>(
        &mut self,
        session: SessionId,
        result: Result<Reply<'a>, Failure>,
    ) -> Reaction<'a> {
        let NomineeStage::Entering(Entering { intent, .. }) = &self.stage else {
            return Reaction::default();
        };
        match (result, *intent) {
            (Ok(Reply::Created { name, stat }), intent) => {
                let stat = stat.filter(|stat| is_owned(stat, session));
                self.created(session, name, stat, intent)
            }
            // The znode exists, and only a list shows its name.
            (Err(Failure::Unreadable), _) => self.step(Entry::Barrier).into(),
            // The server refused, so nothing was created, and nothing has to be removed.
            (Err(_), Intent::Leave) => self.end(End::Withdrawn(Departure::NeverCreated)).into(),
            (Err(Failure::NoNode), Intent::Stand) => self.home_missing().into(),
            (Err(Failure::NodeExists), Intent::Stand) => {
                self.fail(NominationError::SequenceExhausted).into()
            }
            (result, _) => self.fail(mismatch(&result)).into(),
        }
    }

    fn created<'a>(
        &mut self,
        session: SessionId,
        name: &'a str,
        stat: Option<Stat>,
        intent: Intent,
    ) -> Reaction<'a> {
        let last = self.contest.prefix((self.id, self.attempts.wrapping_sub(1)), session);
        let error = match self.contest.format.parse(name) {
            Ok(own) if last.begins(name) => {
                let own_watch = match stat {
                    Some(Stat { token, .. }) => OwnWatch::Unset { token },
                    None => OwnWatch::Unread,
                };
                self.adopt(own, own_watch, intent);
                return Reaction::default();
            }
            Err(NameError::SequenceExhausted) if last.begins(name) => {
                NominationError::SequenceExhausted
            }
            Ok(_) | Err(_) => NominationError::UnexpectedName,
        };
        if let Some(name) = ChildName::new(name) {
            self.fail_owing(error, Cleanup::Delete(name)).into()
        } else {
            let notice = Some(self.fail(error));
            Reaction { notice, discard: Some(name) }
        }
    }

    /// Handles a missing parent of the contenders, or its missing parent.
    fn home_missing(&mut self) -> Option<Notice> {
        match self.contest.mode_of_home(self.election_node) {
            Some(mode) => self.repair(Entry::CreateHome(mode)),
            None => self.election_node_missing(),
        }
    }

    fn election_node_missing(&mut self) -> Option<Notice> {
        match self.election_node {
            ElectionNode::Create(_) => self.repair(Entry::CreateElectionNode),
            ElectionNode::MustExist => Some(self.fail(NominationError::NoElectionNode)),
        }
    }

    fn repair(&mut self, step: Entry) -> Option<Notice> {
        let most = self.contest.rounds();
        match &mut self.stage {
            NomineeStage::Entering(entering) if entering.rounds < most => {
                entering.step = step;
                None
            }
            _ => Some(self.fail(NominationError::NoElectionNode)),
        }
    }

    /// Goes on once a server has confirmed that what was missing is there.
    fn repaired(&mut self, step: Entry) -> Option<Notice> {
        if let NomineeStage::Entering(entering) = &mut self.stage {
            entering.rounds += 1;
        }
        self.step(step)
    }

    pub(super) fn home_answered(&mut self, result: &Result<Reply<'_>, Failure>) -> Option<Notice> {
        match result {
            Ok(Reply::Created { .. }) | Err(Failure::NodeExists) => self.repaired(Entry::Create),
            Err(Failure::NoNode) => self.election_node_missing(),
            _ => Some(self.fail(mismatch(result))),
        }
    }

    pub(super) fn election_node_answered(
        &mut self,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        match result {
            // Or an ancestor vanished while the others were created.
            Ok(Reply::NodeCreated) | Err(Failure::NodeExists | Failure::NoNode) => {
                let home = self.contest.mode_of_home(self.election_node);
                self.repaired(home.map_or(Entry::Create, Entry::CreateHome))
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }

    pub(super) fn barrier_answered(
        &mut self,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        match result {
            Ok(Reply::BarrierPassed) => self.step(Entry::Search),
            _ => Some(self.fail(mismatch(result))),
        }
    }

    pub(super) fn search_answered(
        &mut self,
        session: SessionId,
        result: Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        let NomineeStage::Entering(Entering { step, .. }) = &self.stage else {
            return None;
        };
        let search = self.search(session);
        let found = match (result, step) {
            (Ok(Reply::Children(children)), Entry::SearchBelow(name)) => {
                search.below(name, children).map(Found::Unnamed)
            }
            (Ok(Reply::Children(children)), _) => search.first(children),
            (Err(Failure::NoNode), _) => None,
            (other, _) => return Some(self.fail(mismatch(&other))),
        };
        match found {
            Some(Found::Own(name)) => self.step(Entry::Suspect(Suspect::Found { name })),
            Some(Found::Unnamed(name)) => self.step(Entry::Unnamed(name)),
            None => self.found_none(),
        }
    }

    /// Handles the case that this session has no znode of the nominee.
    pub(super) fn found_none(&mut self) -> Option<Notice> {
        match &self.stage {
            NomineeStage::Entering(Entering { intent: Intent::Stand, .. }) => {
                self.step(Entry::Create)
            }
            NomineeStage::Entering(Entering { intent: Intent::Leave, .. }) => {
                Some(self.end(End::Withdrawn(Departure::NeverCreated)))
            }
            _ => None,
        }
    }

    pub(super) fn suspect_answered(
        &mut self,
        session: SessionId,
        ticket: Ticket,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        let NomineeStage::Entering(Entering { step: Entry::Suspect(suspect), intent, .. }) =
            &self.stage
        else {
            return None;
        };
        match result {
            // The owner decides: a znode of an earlier session is about to vanish (CURATOR-498).
            Ok(Reply::Read { stat, .. }) if is_owned(stat, session) => {
                let intent = *intent;
                match self.contest.format.parse(suspect.name().as_str()) {
                    Ok(own) => {
                        self.adopt(own, OwnWatch::Armed { token: stat.token, ticket }, intent);
                        None
                    }
                    Err(_) => Some(self.fail(NominationError::SequenceExhausted)),
                }
            }
            Ok(Reply::Read { stat, .. }) => {
                let ghost = suspect.condemned(ExpectedVersion::Exactly(stat.version));
                self.step(Entry::Suspect(ghost))
            }
            // If this is the nominee's own znode, the nominee creates another one after it.
            Err(Failure::NoAuth) => {
                let ghost = suspect.condemned(ExpectedVersion::Any);
                self.step(Entry::Suspect(ghost))
            }
            Err(Failure::NoNode) => self.step(Entry::Search),
            _ => Some(self.fail(mismatch(result))),
        }
    }

    /// Handles the deletion of a ghost, also of one that a standing candidate met.
    pub(super) fn ghost_deletion_answered(
        &mut self,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        match (&mut self.stage, result) {
            (NomineeStage::Entering(_), Ok(Reply::Deleted) | Err(Failure::NoNode)) => {
                self.step(Entry::Search)
            }
            (
                NomineeStage::Entering(Entering { step: Entry::Suspect(suspect), .. })
                | NomineeStage::Standing(Standing { position: Position::Haunted(suspect), .. }),
                Err(Failure::BadVersion),
            ) => {
                *suspect = suspect.found();
                None
            }
            (NomineeStage::Standing(standing), Ok(Reply::Deleted) | Err(Failure::NoNode)) => {
                standing.position = Position::Unknown;
                None
            }
            // A ghost of a nominee has no children.
            (
                NomineeStage::Entering(Entering { intent: Intent::Stand, .. })
                | NomineeStage::Standing(_),
                Err(Failure::Rejected(NOT_EMPTY)),
            ) => self.obstructed_by_own_name(),
            _ => Some(self.fail(mismatch(result))),
        }
    }

    /// Waits, because a participant that may create znodes can forge one under any nominee's id. If a
    /// nominee ended on meeting one, such a participant could end every nominee.
    pub(super) fn obstructed_by_own_name(&mut self) -> Option<Notice> {
        match &mut self.stage {
            NomineeStage::Entering(entering) if self.contest.patience == Patience::Leaves => {
                entering.step = Entry::Barrier;
                entering.intent = Intent::Leave;
                return None;
            }
            NomineeStage::Standing(Standing { own, .. })
                if self.contest.patience == Patience::Leaves =>
            {
                let own = own.clone();
                self.stage = self.leaving(own, Afterwards::Withdrawn);
                return None;
            }
            NomineeStage::Entering(entering) => entering.step = Entry::Obstructed,
            NomineeStage::Standing(standing) => {
                standing.position = Position::Obstructed(Obstacle::OwnName);
            }
            NomineeStage::Leading(_)
            | NomineeStage::Leaving(_)
            | NomineeStage::Evicted(_)
            | NomineeStage::Ended(_) => {
                return None;
            }
        }
        Some(Notice::Obstructed(Obstacle::OwnName))
    }

    pub(super) fn adopt(&mut self, own: CandidateName, own_watch: OwnWatch, intent: Intent) {
        if let OwnWatch::Armed { token, .. } | OwnWatch::Unset { token } = own_watch {
            self.knows(token);
        }
        self.stage = match intent {
            Intent::Stand => {
                let (position, look) = (Position::Unknown, Look::NotDue);
                NomineeStage::Standing(Standing { own, own_watch, position, look })
            }
            Intent::Leave => self.leaving(own, Afterwards::Withdrawn),
        };
    }

    pub(super) fn step(&mut self, step: Entry) -> Option<Notice> {
        if let NomineeStage::Entering(entering) = &mut self.stage {
            entering.step = step;
        }
        None
    }
}
