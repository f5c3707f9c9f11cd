//! The state of a membership, as its holder sees it.

use bytes::Bytes;
use election_core::Token;
use election_core::election::{Cause, Departure};
use election_core::group::{
    Member, MemberEnd, MemberFailure, MemberNotice, MemberState, NameOwner,
};
use election_session::{Step, View};
use zk_session::SessionEnd;

use super::error::MembershipError;
use crate::broadcast::{Receiver, Sender};
use crate::error::Place;
use crate::hub::{Face, Unlocked};
use crate::telemetry::Entry;

/// The machine of a member.
pub(super) type Machine = Member<String, Data>;

/// The data of a member, and how often it was set before.
#[derive(Clone, Debug)]
pub(super) struct Data {
    pub(super) bytes: Bytes,
    pub(super) generation: u64,
}

impl AsRef<[u8]> for Data {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The present state of a membership.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MembershipState {
    /// The member has no znode, as far as is known here, and is about to create one.
    Joining {
        /// Why it lost its last znode, if it had one.
        lost: Option<Cause>,
    },
    /// The member waits until another znode with its name goes.
    Waiting {
        /// The event that ends that znode's life.
        owner: NameOwner,
    },
    /// The client holds back the creation of its znode: connections were lost over requests as long, which the
    /// servers may not take, or by chance. It asks again a minute later, then after twice as long each
    /// time, up to an hour.
    HeldBack,
    /// The znode exists, as far as is known here: neither the end of its session nor its deletion
    /// was reported. If the token has changed, the znode was lost in between.
    Joined {
        /// The `czxid` of its znode.
        token: Token,
    },
    /// The member has left.
    Left,
    /// The membership has ended, for this reason.
    Ended(MembershipError),
}

#[derive(Clone, Debug)]
pub(super) struct ShownMembership {
    pub(super) state: MembershipState,
    /// The generation of the data that the znode has, or had last.
    pub(super) written: Option<u64>,
    /// The refusal of data of this generation.
    pub(super) refused: Option<(u64, MemberFailure)>,
    pub(super) departure: Option<Departure>,
}

#[derive(Debug)]
pub(super) struct MemberFace {
    /// Where joining fails, or the membership ends.
    at: Place,
    shown: Sender<ShownMembership>,
}

impl MemberFace {
    pub(super) fn new(at: Place) -> (Self, Receiver<ShownMembership>) {
        let state = MembershipState::Joining { lost: None };
        let shown =
            Sender::new(ShownMembership { state, written: None, refused: None, departure: None });
        let receiver = shown.subscribe();
        (Self { at, shown }, receiver)
    }

    fn end(&self, error: MembershipError, unlocked: &mut Unlocked) {
        let state = MembershipState::Ended(error);
        self.shown.modify(|shown| shown.state = state, &mut unlocked.wakers);
        self.shown.end(&mut unlocked.wakers);
    }
}

impl Face for MemberFace {
    type Recipe = Machine;

    fn stepped(
        &mut self,
        member: &Machine,
        step: Step<MemberNotice>,
        _: View<'_>,
        unlocked: &mut Unlocked,
    ) {
        let generation = member.data().generation;
        let state = match step.notice {
            Some(MemberNotice::Lost(cause)) => MembershipState::Joining { lost: Some(cause) },
            Some(MemberNotice::HeldBack) => {
                unlocked.journal.note(Entry::MemberHeldBack(self.at.clone()));
                MembershipState::HeldBack
            }
            Some(MemberNotice::Ended(end)) => {
                let at = self.at.clone();
                let error = match end {
                    MemberEnd::Left(departure) => {
                        let left = |shown: &mut ShownMembership| {
                            shown.state = MembershipState::Left;
                            shown.departure = Some(departure);
                        };
                        self.shown.modify(left, &mut unlocked.wakers);
                        return self.shown.end(&mut unlocked.wakers);
                    }
                    MemberEnd::Evicted => MembershipError::Evicted { at },
                    MemberEnd::Taken(owner) => MembershipError::NameTaken { at, owner },
                    MemberEnd::Failed(failure) => MembershipError::Failed { at, failure },
                };
                return self.end(error, unlocked);
            }
            Some(_) => match member.state() {
                MemberState::Joined(token) => MembershipState::Joined { token },
                MemberState::Waiting(owner) => MembershipState::Waiting { owner },
                _ => return,
            },
            None => return,
        };
        let refused = match step.notice {
            Some(MemberNotice::DataRefused(failure)) => Some((generation, failure)),
            _ => None,
        };
        let show = |shown: &mut ShownMembership| {
            shown.state = state;
            shown.refused = refused.or(shown.refused);
            if member.shows_data() && refused.is_none() {
                shown.written = Some(generation);
            }
        };
        self.shown.modify(show, &mut unlocked.wakers);
    }

    fn client_ended(&mut self, _: &Machine, end: SessionEnd, unlocked: &mut Unlocked) {
        let at = self.at.clone();
        self.end(MembershipError::ClientClosed { at, end }, unlocked);
    }
}
