//! The requests of a participant, as operations.

use super::DoubleBarrier;
use super::member::MemberName;
use super::request::Request;
use super::stage::{DoubleBarrierStage, Entry, Leaving};
use crate::command::{
    Check, Create, CreateMode, Delete, ExpectedVersion, Multi, NewZnode, Op, Part, Payload, Watch,
    Write, Znode,
};
use crate::id::Version;

/// The name of the child that exists while a round is under way.
const READY: &str = "ready";

impl DoubleBarrier {
    /// Returns the member to watch, and the version of the node as it was read.
    fn subject(&self) -> (Option<&MemberName>, Option<Version>) {
        match &self.stage {
            DoubleBarrierStage::Entering(entering) => entering.subject(),
            DoubleBarrierStage::Gathering(gathering) => (None, gathering.generation),
            DoubleBarrierStage::Leaving(leaving) => leaving.subject(),
            DoubleBarrierStage::Inside(_)
            | DoubleBarrierStage::Owing { .. }
            | DoubleBarrierStage::Ended(_) => (None, None),
        }
    }

    pub(super) fn op(&self, request: Request) -> Op<'_> {
        let (entry, ready) = (Znode::child(self.entry.as_str()), Znode::child(READY));
        let (member, generation) = self.subject();
        let any = ExpectedVersion::Any;
        let generation = generation.map_or(any, ExpectedVersion::Exactly);
        let turn = Write { znode: Znode::Node, version: generation, data: Payload::Empty };
        let delete = |znode| Delete { znode, version: any };
        match request {
            Request::ReadNode => Op::Exists { znode: Znode::Node, watch: Watch::None },
            Request::CreateNode => Op::CreateNode,
            Request::LookAtReady => Op::Exists { znode: ready, watch: Watch::Other },
            Request::CreateEntry => {
                let (znode, mode) = (NewZnode::Named(entry), CreateMode::Ephemeral);
                Op::Multi(Multi::of([
                    Part::Check(Check { znode: Znode::Node, version: generation }),
                    Part::Create(Create { znode, mode, data: Payload::Kept(0) }),
                ]))
            }
            Request::Barrier => Op::Barrier,
            Request::LookForEntry => Op::Exists { znode: entry, watch: Watch::None },
            Request::WatchEntry => Op::Exists { znode: entry, watch: Watch::Own },
            Request::DeleteEntry => Op::Delete(delete(entry)),
            Request::List => Op::List { parent: Znode::Node, watch: Watch::None },
            Request::WatchMember => {
                let znode = member.map_or(ready, |name| Znode::child(name.as_str()));
                Op::Exists { znode, watch: Watch::Other }
            }
            Request::Open => {
                let (znode, mode) = (NewZnode::Named(ready), CreateMode::Persistent);
                Op::Multi(Multi::of([
                    Part::Check(Check { znode: entry, version: any }),
                    Part::Write(turn),
                    Part::Create(Create { znode, mode, data: Payload::Empty }),
                ]))
            }
            Request::Close => match &self.stage {
                DoubleBarrierStage::Leaving(Leaving { entry: Entry::Stands, .. }) => {
                    Op::Multi(Multi::of([
                        Part::Write(turn),
                        Part::Delete(delete(ready)),
                        Part::Delete(delete(entry)),
                    ]))
                }
                _ => Op::Multi(Multi::of([Part::Write(turn), Part::Delete(delete(ready))])),
            },
        }
    }
}
