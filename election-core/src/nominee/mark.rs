//! The mark that a leader leaves for the next one, and the requests for it.

use core::fmt::Write as _;
use core::time::Duration;

use heapless::String;

use super::home::Home;
use super::request::{Awaits, InFlight, NomineeLink, Request};
use crate::command::{
    Check, Create, CreateMode, Delete, ExpectedVersion, Multi, NewZnode, Op, Part, Payload, Watch,
    Write, Znode,
};
use crate::id::{Token, Version};
use crate::name::CandidateName;

/// The suffix that makes the path of the mark from the path of the election.
pub(super) const SUFFIX: &str = ".lock-delay";

/// A text with room for `token: ` and the number with the most digits.
type Text = String<27, u8>;

/// The leader's knowledge of the mark.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Mark {
    /// Without a lock delay there is no mark: the leadership begins at once.
    #[default]
    Unused,
    /// The leader has to read the mark.
    Unread(Delay),
    /// Another leader has left the mark with this version: the delay has to pass.
    OfAnother(Version),
    /// The leader has to write its own mark, in place of the one with this version if there is one.
    Due { version: Option<Version>, text: Text, delay: Delay },
    /// The leader's own mark stands, with this version: the leadership has begun.
    Own(Version),
    /// The leader's own mark stands, and stays, because the end will be unclean.
    Kept,
}

/// The state of the delay for this candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Delay {
    Ahead,
    Passed,
}

impl Mark {
    pub(super) const fn new(lock_delay: Duration) -> Self {
        if lock_delay.is_zero() { Self::Unused } else { Self::Unread(Delay::Ahead) }
    }

    /// Returns whether the leadership has begun.
    pub(super) const fn is_settled(&self) -> bool {
        matches!(self, Self::Unused | Self::Own(_) | Self::Kept)
    }

    pub(super) fn demand<'a>(
        &'a self,
        home: Home,
        own: &'a CandidateName,
    ) -> Option<(Request, Op<'a>)> {
        match self {
            Self::Unread(_) => {
                Some((Request::ReadMark, Op::Read { znode: MARK, watch: Watch::None }))
            }
            Self::Due { version, text, .. } => {
                let (data, znode) = (Payload::Bytes(text.as_bytes()), home.znode(own.into()));
                let check = Part::Check(Check { znode, version: ExpectedVersion::Any });
                let write = match *version {
                    Some(version) => {
                        let version = ExpectedVersion::Exactly(version);
                        Part::Write(Write { znode: MARK, version, data })
                    }
                    None => Part::Create(Create {
                        znode: NewZnode::Named(MARK),
                        mode: CreateMode::Persistent,
                        data,
                    }),
                };
                Some((Request::WriteMark, Op::Multi(Multi::of([check, write]))))
            }
            Self::Unused | Self::OfAnother(_) | Self::Own(_) | Self::Kept => None,
        }
    }

    /// Notes that a write may or may not have been executed.
    pub(super) fn connection_lost(&mut self) {
        if let Self::Due { delay, .. } = self {
            *self = Self::Unread(*delay);
        }
    }

    pub(super) fn due(token: Token, version: Option<Version>, delay: Delay) -> Self {
        Self::Due { version, text: text(token), delay }
    }

    /// Returns the mark that a clean end deletes together with the leader's znode.
    pub(super) fn to_be_deleted(&self, link: NomineeLink) -> Option<Version> {
        match self {
            Self::Own(version) => Some(*version),
            // The write comes before this request on the connection. If it is refused, so is the
            // request.
            Self::Due { version, .. } if link.is_writing_mark() => Some(after(*version)),
            _ => None,
        }
    }
}

impl NomineeLink {
    const fn is_writing_mark(self) -> bool {
        matches!(
            self,
            Self::Up { awaits: Awaits::Answer(InFlight { request: Request::WriteMark, .. }), .. }
        )
    }
}

/// Deletes the leader's own znode, and the mark with it.
pub(super) fn delete_with_mark(
    home: Home,
    (own, expected): (&CandidateName, ExpectedVersion),
    version: Version,
) -> Op<'_> {
    let (znode, version) = (home.znode(own.into()), ExpectedVersion::Exactly(version));
    Op::Multi(Multi::of([
        Part::Delete(Delete { znode, version: expected }),
        Part::Delete(Delete { znode: MARK, version }),
    ]))
}

const MARK: Znode<'_> = Znode::Sibling(SUFFIX);

pub(super) fn text(token: Token) -> Text {
    let mut text = Text::new();
    // Every token fits.
    let _fits = write!(text, "token: {token}");
    text
}

/// Returns the version that a write leads to.
pub(super) const fn after(version: Option<Version>) -> Version {
    match version {
        None => Version::new(0),
        Some(version) => Version::new(version.get().wrapping_add(1)),
    }
}
