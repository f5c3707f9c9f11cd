//! Failures, and the reactions to them: a test for each hazard that is the election's own business.

mod creating;
mod formats;
mod handing_over;
mod leaving;
mod link;
mod standing;

use core::time::Duration;

use crate::contest::{NO_FAULTS, World};
use crate::lab::Step;
use election_core::election::{ElectionNode, NodeKind, OnLoss, Policy};

const STAND_AGAIN: Policy = Policy {
    on_loss: OnLoss::StandAgain,
    election_node: ElectionNode::Create(NodeKind::Persistent),
    lock_delay: Duration::ZERO,
};
const END: Policy = Policy {
    on_loss: OnLoss::End,
    election_node: ElectionNode::MustExist,
    lock_delay: Duration::ZERO,
};

/// Makes a world with a client that lost its connection after it had sent its create.
fn create_in_doubt() -> World {
    let mut world = World::nominees(1, NO_FAULTS).scripted();
    world.take(Step::Connect(0));
    world.take(Step::Disconnect(0));
    assert_eq!(world.clients[0].in_doubt.len(), 1, "the create is in doubt");
    world
}
