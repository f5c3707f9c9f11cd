//! The znode that keeps a nominee from leading until a human removes it.

use core::fmt;
use election_core::election::{Notice, Obstacle};
use election_core::name::CandidateName;

use super::status::Role;

/// The znode that keeps a nominee from leading until a human removes it. The end of a session does not
/// remove it.
///
/// Displayed as the words after "blocked by".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blocker {
    /// The candidate ahead, which is not ephemeral: a participant left it there by mistake, or to block the
    /// election.
    Persistent(CandidateName),
    /// A znode that the nominee can neither pass over, nor follow, nor delete; or its own request, which is
    /// held back ([`Obstacle::HeldBack`]).
    Obstacle(Obstacle),
}

impl Blocker {
    /// Returns whether this candidate is the one that blocks, so that it leads nothing.
    fn is(&self, candidate: &CandidateName) -> bool {
        matches!(self, Self::Persistent(name) if name == candidate)
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Persistent(name) => {
                write!(f, "{name}, which is not ephemeral: delete it if no participant needs it")
            }
            Self::Obstacle(obstacle @ Obstacle::HeldBack) => obstacle.fmt(f),
            Self::Obstacle(obstacle) => write!(f, "a znode in the way: {obstacle}"),
        }
    }
}

/// The present blocker of a nominee, if there is one.
#[derive(Debug, Default)]
pub(super) struct PresentBlocker(Option<Box<Blocker>>);

/// A change of a nominee's blocker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockChange {
    Began,
    Ended,
}

impl PresentBlocker {
    pub(super) fn get(&self) -> Option<Blocker> {
        self.0.as_deref().cloned()
    }

    /// Returns whether this candidate blocks the nominee, so that it leads nothing.
    pub(super) fn is(&self, candidate: &CandidateName) -> bool {
        self.0.as_ref().is_some_and(|blocker| blocker.is(candidate))
    }

    /// Takes in the nominee's notice, and its role since. While the connection is lost, no blocker is
    /// known; the nominee reports it anew once it is connected.
    pub(super) fn follow(&mut self, notice: Option<Notice>, role: &Role) -> Option<BlockChange> {
        match (role, notice) {
            (Role::Following { predecessor, .. }, Some(Notice::FollowingPersistent)) => {
                self.set(Some(Blocker::Persistent(predecessor.clone())))
            }
            (Role::Standing, Some(Notice::Obstructed(obstacle))) => {
                self.set(Some(Blocker::Obstacle(obstacle)))
            }
            (
                Role::Standing | Role::Following { .. },
                None | Some(Notice::ForeignChild | Notice::FollowingPersistent),
            ) => None,
            _ => self.set(None),
        }
    }

    /// Notes that nothing blocks any more.
    pub(super) fn end(&mut self) -> Option<BlockChange> {
        self.set(None)
    }

    fn set(&mut self, blocker: Option<Blocker>) -> Option<BlockChange> {
        let change = match (&self.0, &blocker) {
            (None, Some(_)) => Some(BlockChange::Began),
            (Some(_), None) => Some(BlockChange::Ended),
            (None, None) | (Some(_), Some(_)) => None,
        };
        self.0 = blocker.map(Box::new);
        change
    }
}

#[cfg(test)]
mod tests {
    use election_core::format::Format;

    use super::*;

    #[test]
    fn a_nominee_is_blocked_until_it_is_told_otherwise() {
        let name = Format::curator_latch().parse("forged-latch-0000000000").unwrap();
        let following =
            Role::Following { predecessor: name.clone(), previous: None, leader: name.clone() };
        let mut blocker = PresentBlocker::default();
        let persistent = Some(Notice::FollowingPersistent);
        assert_eq!(blocker.follow(persistent, &following), Some(BlockChange::Began));
        assert_eq!(blocker.follow(persistent, &following), None, "it is told once");
        assert_eq!(blocker.follow(None, &Role::Standing), None, "it looks again");
        assert!(blocker.is(&name));
        assert_eq!(
            blocker.get().map(|by| by.to_string()).as_deref(),
            Some(
                "forged-latch-0000000000, which is not ephemeral: delete it if no participant needs it"
            )
        );
        let obstructed = Some(Notice::Obstructed(Obstacle::OwnName));
        assert_eq!(blocker.follow(obstructed, &Role::Standing), None, "by another one");
        assert_eq!(blocker.get(), Some(Blocker::Obstacle(Obstacle::OwnName)));
        assert_eq!(blocker.follow(None, &Role::Connecting), Some(BlockChange::Ended));
        assert_eq!(blocker.follow(obstructed, &Role::Standing), Some(BlockChange::Began));
        let follows = Some(Notice::Following);
        assert_eq!(blocker.follow(follows, &following), Some(BlockChange::Ended));
        assert_eq!((blocker.get(), blocker.end()), (None, None));
    }
}
