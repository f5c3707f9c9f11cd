//! The requests of a contender.

use election_core::format::CandidatePrefix;
use election_core::{
    Create, CreateMode, Delete, ExpectedVersion, NewZnode, Op, Part, Payload, Version, Watch,
};

use super::names::{END_MARK, Kind, Name, split};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// By which attempt.
    Create(u32),
    CreateElectionNode,
    Barrier,
    List,
    /// Which leaves a watch, if the znode exists.
    Read(Name),
    /// The same, but the driver took the watch down before the reply came.
    ReadUnwatched(Name),
    /// A read that leaves no watch.
    Inspect(Name),
    /// Which needs no permission, and leaves a watch, if the znode exists.
    Exists(Name),
    /// The same without a watch.
    LookAt(Name),
    /// Whether the mark stands, asked by a nominee that lost its candidate to a deletion.
    LookForEnd,
    /// Which version, or any.
    Delete(Name, Option<Version>),
    /// A writer's znode for a reader's.
    Exchange {
        writer: Name,
        reader: Name,
    },
}

impl Request {
    pub fn of(op: &Op<'_>) -> Self {
        match *op {
            Op::Create(Create {
                znode: NewZnode::Child(prefix),
                mode: CreateMode::EphemeralSequential,
                data: Payload::Kept(0) | Payload::Bytes([0x12, 0x34]),
            }) => Self::Create(attempt(prefix)),
            Op::CreateNode => Self::CreateElectionNode,
            Op::Barrier => Self::Barrier,
            Op::List { parent: election_core::Znode::Node, watch: Watch::None } => Self::List,
            Op::Read {
                znode: election_core::Znode::Child(name),
                watch: Watch::Own | Watch::Other,
            } => Self::Read(Name::parse(&name.text())),
            Op::Read { znode: election_core::Znode::Child(name), watch: Watch::None } => {
                Self::Inspect(Name::parse(&name.text()))
            }
            Op::Exists { znode: election_core::Znode::Child(name), watch: Watch::Other } => {
                Self::Exists(Name::parse(&name.text()))
            }
            Op::Exists {
                znode: election_core::Znode::Child(election_core::name::Name::Text(END_MARK)),
                watch: Watch::None,
            } => Self::LookForEnd,
            Op::Exists { znode: election_core::Znode::Child(name), watch: Watch::None } => {
                Self::LookAt(Name::parse(&name.text()))
            }
            Op::Delete(Delete { znode: election_core::Znode::Child(name), version }) => {
                let version = match version {
                    ExpectedVersion::Any => None,
                    ExpectedVersion::Exactly(version) => Some(version),
                };
                Self::Delete(Name::parse(&name.text()), version)
            }
            Op::Multi(ref multi) => {
                let mut parts = multi.parts();
                let (
                    Some(Part::Create(Create {
                        znode: NewZnode::Named(election_core::Znode::Child(reader)),
                        mode: CreateMode::Ephemeral,
                        data: Payload::Kept(0),
                    })),
                    Some(Part::Delete(Delete {
                        znode: election_core::Znode::Child(writer), ..
                    })),
                    None,
                ) = (parts.next(), parts.next(), parts.next())
                else {
                    panic!("no contender asks for {multi:?}");
                };
                Self::Exchange {
                    writer: Name::parse(&writer.text()),
                    reader: Name::parse(&reader.text()),
                }
            }
            other => panic!("no nominee asks for {other:?}"),
        }
    }

    pub fn writes(self) -> bool {
        matches!(
            self,
            Self::Create(_) | Self::CreateElectionNode | Self::Delete(..) | Self::Exchange { .. }
        )
    }

    /// Whether the session's own server answers it, from what it has applied.
    pub fn reads(self) -> bool {
        !self.writes() && self != Self::Barrier
    }
}

fn attempt(prefix: CandidatePrefix) -> u32 {
    let (_, attempt, kind, _) = split(&format!("{prefix}"));
    if matches!(kind, Kind::Plain | Kind::Session) { 0 } else { attempt }
}
