//! The stages of a taker, with the request of each.

use heapless::String;

use super::format::{CLAIM, ITEM, Key};
use super::give_back::GiveBack;
use super::told::{TakerEnd, TakerFailure};
use crate::command::{
    Check, Create, CreateMode, Delete, ExpectedVersion, Multi, NewZnode, Op, Part, Payload, Watch,
    Znode,
};
use crate::event::{Failure, Reply};
use crate::id::Version;
use crate::owed::{Owed, Removal as _};

/// An item with the names of its znode, of its claim, and of the taker's child that pins it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub(super) key: Key,
    pub(super) name: String<ITEM, u8>,
    pub(super) claim: String<CLAIM, u8>,
    pub(super) pin: String<36, u8>,
}

/// The purpose of the next request, or of the one in flight.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum TakerStage<D> {
    /// It chooses the next item, or how to look for one. It never rests here.
    Choosing,
    CreatingNode,
    /// With priorities: it asks whether an item has come since the list of the window.
    Comparing,
    Listing(Watch),
    /// The queue has no item. The watch reports a change.
    Waiting,
    Reading,
    Deleting {
        version: Version,
        data: D,
        earlier: Earlier,
    },
    /// It gives up after the reply to its deletion was lost, and asks whether the item exists.
    Checking {
        version: Version,
        data: D,
        parting: Parting,
    },
    Claiming(Earlier),
    ReadingClaimed,
    Holding,
    GivingBack(Parting, GiveBack),
    /// It has told its end, and a server refused to delete its claim. Until that is gone, no other
    /// taker gets the item.
    Owing(Owed<GiveBack>),
    Finishing(Earlier),
    /// The claim is gone after the reply to a finish was lost. Whether the item is gone, too, shows
    /// the outcome.
    Settling(Session),
    Over,
}

/// An earlier sending of the same request, with a lost reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Earlier {
    None,
    /// Later requests are executed after it.
    Lost,
    /// It may be executed at any time, because it was sent in a session that lives on beside this
    /// one.
    Astray,
}

/// Why an item or a claim is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Parting {
    Withdrawn,
    Failed(TakerFailure),
}

impl Parting {
    /// Returns the end of a taker that has left the item where it is.
    pub(super) const fn end<D>(self) -> TakerEnd<D> {
        match self {
            Self::Withdrawn => TakerEnd::Withdrawn,
            Self::Failed(failure) => TakerEnd::Failed(failure),
        }
    }

    /// Returns the end of a taker that has given a claim back.
    pub(super) const fn end_of_claim<D>(self) -> TakerEnd<D> {
        match self {
            Self::Withdrawn => TakerEnd::GivenBack,
            Self::Failed(failure) => TakerEnd::Failed(failure),
        }
    }
}

/// The session in which a claim was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Session {
    /// The session of the claim: only the taker's own finish, or an operator, deletes it.
    Same,
    Other,
}

impl<D> TakerStage<D> {
    pub(super) const fn giving_back(parting: Parting) -> Self {
        Self::GivingBack(parting, GiveBack::LookAtPin)
    }

    /// Gives back a claim that is in doubt, and was refused when it was sent again.
    pub(super) const fn giving_back_after(
        refusal: &Result<Reply<'_>, Failure>,
        failure: TakerFailure,
    ) -> Self {
        Self::GivingBack(Parting::Failed(failure), GiveBack::after(refusal))
    }

    /// Returns the request, if there is one.
    pub(super) fn op<'a>(&self, target: Option<&'a Target>) -> Option<Op<'a>> {
        let node = Znode::Node;
        Some(match self {
            Self::CreatingNode => Op::CreateNode,
            Self::Comparing => Op::Exists { znode: node, watch: Watch::None },
            Self::Listing(watch) => Op::List { parent: node, watch: *watch },
            Self::Choosing
            | Self::Waiting
            | Self::Holding
            | Self::Owing(Owed::Refused(_))
            | Self::Over => return None,
            about_item => about_item.op_on(target?),
        })
    }

    fn op_on<'a>(&self, target: &'a Target) -> Op<'a> {
        let Target { name, claim, pin, .. } = target;
        let item = Znode::child(name);
        let pin = Znode::Grandchild { child: name, name: pin.as_str().into() };
        let claim = Znode::child(claim);
        let delete = |znode| Part::Delete(Delete { znode, version: ExpectedVersion::Any });
        match self {
            Self::Deleting { version, .. } => {
                Op::Delete(Delete { znode: item, version: ExpectedVersion::Exactly(*version) })
            }
            Self::Checking { .. } => {
                let stands = Check { znode: item, version: ExpectedVersion::Any };
                Op::Multi(Multi::of([Part::Check(stands)]))
            }
            // The own child first: that it exists says that the whole was done before.
            Self::Claiming(_) => {
                let create = |znode| {
                    let znode = NewZnode::Named(znode);
                    let (mode, data) = (CreateMode::Ephemeral, Payload::Kept(0));
                    Part::Create(Create { znode, mode, data })
                };
                Op::Multi(Multi::of([create(pin), create(claim)]))
            }
            Self::GivingBack(_, step) | Self::Owing(Owed::Due(step)) => match step {
                GiveBack::Barrier => Op::Barrier,
                GiveBack::LookAtPin => Op::Exists { znode: pin, watch: Watch::None },
                GiveBack::LookAtClaim(_) => Op::Exists { znode: claim, watch: Watch::None },
                // The own child first here, too: that it is gone says that the whole was done.
                GiveBack::DeleteBoth => Op::Multi(Multi::of([delete(pin), delete(claim)])),
                GiveBack::DeletePin => {
                    Op::Delete(Delete { znode: pin, version: ExpectedVersion::Any })
                }
            },
            Self::Finishing(_) => Op::Multi(Multi::of([delete(pin), delete(item), delete(claim)])),
            Self::Settling(_) => Op::Exists { znode: item, watch: Watch::None },
            _ => Op::Read { znode: item, watch: Watch::None },
        }
    }

    /// Handles the loss of the connection: a request in flight may be executed or not.
    pub(super) fn lose_reply(&mut self) {
        match self {
            Self::Deleting { earlier: Earlier::Astray, .. } => {}
            Self::Deleting { earlier, .. } | Self::Claiming(earlier) | Self::Finishing(earlier) => {
                *earlier = Earlier::Lost;
            }
            Self::GivingBack(_, step) => *step = step.anew(),
            Self::Owing(owed) => owed.link_lost(),
            _ => {}
        }
    }

    /// Handles the begin of another session while the last one may live.
    pub(super) fn go_astray(&mut self) {
        *self = match core::mem::replace(self, Self::Over) {
            Self::Deleting { version, data, earlier: Earlier::Lost }
            | Self::Checking { version, data, .. } => {
                Self::Deleting { version, data, earlier: Earlier::Astray }
            }
            stage => stage,
        };
    }

    /// Turns a deletion with a lost reply into a check, if the item is not wanted any more, and
    /// unless nothing else can show its outcome.
    pub(super) fn check_instead(self) -> Self {
        match self {
            Self::Deleting { version, data, earlier: Earlier::Lost } => {
                Self::Checking { version, data, parting: Parting::Withdrawn }
            }
            stage => stage,
        }
    }
}

const _: () = assert!(CLAIM < 64);
