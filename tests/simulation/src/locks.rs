//! The contention of a run's clients for locks.

use core::time::Duration;

use election_core::format::Access;
use election_core::lock::WhenBusy;

use super::plan::Plan;
use super::queue::Queue;

/// How clients contend for locks, in runs in which they do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Locks {
    /// How often each client contends once more.
    pub(super) every: Duration,
    /// How long a lock is held at most.
    pub(super) longest: Duration,
    pub(super) in_the_end: InTheEnd,
}

/// The treatment of contenders from the calm on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InTheEnd {
    /// Each gets the lock, or gives up, and lets go of it: nothing is left.
    Drain,
    /// Holders hold on, and the others wait behind them.
    Stay,
}

/// The task of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) queue: Queue,
    pub(super) access: Access,
    pub(super) when_busy: WhenBusy,
    /// It waits for so long by the clock of its client, at most.
    pub(super) deadline: Option<Duration>,
    /// It is withdrawn after so long, whether it waits or holds.
    pub(super) dropped_after: Option<Duration>,
}

impl Locks {
    pub(super) fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Self {
        let pace = plan.latency * 8;
        Self {
            every: pace + Duration::from_millis(rng.u64(300..4_000)),
            longest: Duration::from_millis(rng.choice([20, 400, 3_000, 10_000]).unwrap_or(400)),
            in_the_end: if rng.bool() { InTheEnd::Drain } else { InTheEnd::Stay },
        }
    }
}

impl Claim {
    pub(super) fn draw(rng: &mut fastrand::Rng) -> Self {
        let queue = Queue::lock(rng.u8(..));
        let accesses = queue.kind().accesses();
        let access = rng.choice(accesses).copied().unwrap_or(Access::Exclusive);
        let when_busy = if rng.u8(0..6) == 0 { WhenBusy::GiveUp } else { WhenBusy::Wait };
        let mut some_time = |one_of: u8| {
            let longest = 1_u64 << rng.u8(4..=13);
            let time = Duration::from_millis(rng.u64(0..=longest));
            (rng.u8(0..one_of) == 0).then_some(time)
        };
        let (deadline, dropped_after) = (some_time(4), some_time(4));
        Self { queue, access, when_busy, deadline, dropped_after }
    }
}
