//! Transactions on the children of a transaction's node.

use heapless::Vec;

use super::child::{ChildName, CommitChild};
use crate::code::{NO_NODE, NODE_EXISTS, NOT_EMPTY};
use crate::command::{
    Check, Create, CreateMode, Delete, ExpectedVersion, Multi, NewZnode, Part, Payload, Znode,
};

/// The change to one child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Check,
    Create,
    CreateEphemeral,
    Delete,
}

/// The change to the node itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Node {
    Stays,
    /// It is deleted last.
    Goes,
}

/// A transaction, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    steps: Vec<(Step, ChildName), { Multi::CAPACITY }>,
    node: Node,
}

impl Plan {
    pub(super) const NONE: Self = Self { steps: Vec::new(), node: Node::Stays };

    pub(super) fn of<const N: usize>(steps: [(Step, CommitChild<'_>); N]) -> Self {
        const { assert!(N <= Multi::CAPACITY, "so many parts has a multi") };
        let mut plan = Self::NONE;
        for (step, child) in steps {
            plan.add_if_there_is_room(step, child);
        }
        plan
    }

    pub(super) fn add_if_there_is_room(&mut self, step: Step, child: CommitChild<'_>) {
        // A step that finds no room is left for the next transaction.
        let _ = self.steps.push((step, child.name()));
    }

    /// Adds the condition that this child exists. Conditions beyond the room are left out.
    pub(super) fn provided(&self, child: CommitChild<'_>) -> Self {
        let mut plan = Self::of([(Step::Check, child)]);
        for step in &self.steps {
            let _ = plan.steps.push(step.clone());
        }
        plan
    }

    /// Adds the deletion of the node.
    pub(super) fn and_the_node(self) -> Self {
        Self { node: Node::Goes, ..self }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn multi(&self) -> Multi<'_> {
        Multi::collect(self.parts())
    }

    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let any = ExpectedVersion::Any;
        let node = match self.node {
            Node::Stays => None,
            Node::Goes => Some(Part::Delete(Delete { znode: Znode::Node, version: any })),
        };
        let create = |znode, mode| {
            let znode = NewZnode::Named(znode);
            Part::Create(Create { znode, mode, data: Payload::Empty })
        };
        let steps = self.steps.iter().map(move |(step, name)| {
            let znode = Znode::child(name.as_str());
            match step {
                Step::Check => Part::Check(Check { znode, version: any }),
                Step::Create => create(znode, CreateMode::Persistent),
                Step::CreateEphemeral => create(znode, CreateMode::Ephemeral),
                Step::Delete => Part::Delete(Delete { znode, version: any }),
            }
        });
        steps.chain(node)
    }
}

/// Returns whether a transaction was refused because of a change since the list.
pub(super) const fn is_outdated(code: i32) -> bool {
    matches!(code, NO_NODE | NODE_EXISTS | NOT_EMPTY)
}
