//! The use that the clients of a run make of barriers, queues and counters.

use core::time::Duration;

use election_core::NomineeId;
use election_core::barrier::{BarrierTask, WhenUnderWay};
use election_core::queue::{Purpose, WhenEmpty};

use super::plan::Plan;

/// How clients use them, in runs in which they do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uses {
    /// How often each client begins one more.
    pub(super) every: Duration,
    /// How long a client stays inside a double barrier, or keeps a claim, at most.
    pub(super) longest: Duration,
    /// How many have to enter the double barrier.
    pub(super) participants: u32,
}

/// A use that a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Barrier(BarrierTask),
    DoubleBarrier(WhenUnderWay),
    /// With this priority, in a queue that has them.
    Put(WhichQueue, u16),
    Take(WhichQueue, Purpose, WhenEmpty),
    Count(Count),
}

/// One of the queues of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhichQueue {
    Plain,
    Urgent,
}

/// An operation on the counter. It only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Get,
    Add(u8),
    /// If it is what this client has seen last.
    CompareAndAdd(u8),
}

/// A use that is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub(super) what: Use,
    /// It is withdrawn after so long, if it is not over by then.
    pub(super) dropped_after: Option<Duration>,
    /// It waits for so long by the clock of its client, at most.
    pub(super) deadline: Option<Duration>,
}

/// The fate of an item that is claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    #[default]
    GiveBack,
    Done,
}

impl Uses {
    pub(super) fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Self {
        let pace = plan.latency * 8;
        Self {
            every: pace + Duration::from_millis(rng.u64(200..2_500)),
            longest: Duration::from_millis(rng.choice([20, 400, 3_000]).unwrap_or(400)),
            participants: rng.u32(2..=3),
        }
    }
}

impl WhichQueue {
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Urgent => 1,
        }
    }

    fn draw(rng: &mut fastrand::Rng) -> Self {
        if rng.u8(0..3) == 0 { Self::Urgent } else { Self::Plain }
    }
}

impl Drawn {
    pub(super) fn draw(rng: &mut fastrand::Rng) -> Self {
        let wait = if rng.u8(0..3) == 0 { WhenEmpty::GiveUp } else { WhenEmpty::Wait };
        let what = match rng.u8(0..24) {
            0 | 1 => Use::Barrier(BarrierTask::Set),
            2 => Use::Barrier(BarrierTask::Lift),
            3..=6 => Use::Barrier(BarrierTask::Wait),
            7 => Use::Barrier(BarrierTask::Ask),
            8..=10 => Use::DoubleBarrier(WhenUnderWay::Wait),
            11 => Use::DoubleBarrier(WhenUnderWay::GiveUp),
            12..=14 => Use::Put(WhichQueue::draw(rng), rng.u16(0..4)),
            15..=17 => Use::Take(WhichQueue::draw(rng), Purpose::Take, wait),
            18 => Use::Take(WhichQueue::draw(rng), Purpose::Claim, wait),
            19 => Use::Take(WhichQueue::draw(rng), Purpose::Peek, WhenEmpty::GiveUp),
            20 => Use::Count(Count::Get),
            21 => Use::Count(Count::CompareAndAdd(rng.u8(1..200))),
            _ => Use::Count(Count::Add(rng.u8(1..200))),
        };
        let mut some_time = |one_of: u8| {
            let longest = 1_u64 << rng.u8(4..=13);
            let time = Duration::from_millis(rng.u64(0..=longest));
            (rng.u8(0..one_of) == 0).then_some(time)
        };
        let (dropped_after, deadline) = (some_time(4), some_time(8));
        Self { what, dropped_after, deadline }
    }

    /// Draws a use that waits, once all is well.
    pub(super) fn draw_late(rng: &mut fastrand::Rng) -> Self {
        let purpose = if rng.u8(0..3) == 0 { Purpose::Claim } else { Purpose::Take };
        let what = match rng.u8(0..5) {
            0 => Use::Barrier(BarrierTask::Set),
            1 | 2 => Use::Barrier(BarrierTask::Wait),
            _ => Use::Take(WhichQueue::draw(rng), purpose, WhenEmpty::Wait),
        };
        Self { what, dropped_after: None, deadline: None }
    }
}

/// Returns the id of the use of this number of a client: unlike that of any other use of the run.
pub(super) fn use_id(client: usize, number: u32) -> NomineeId {
    let mut bytes = [0xcc; 16];
    let client = u8::try_from(client).unwrap_or(u8::MAX);
    let [first, second, third, last] = number.to_be_bytes();
    // The last ones count sessions.
    for (byte, value) in bytes.iter_mut().zip([client, 0xcc, first, second, third, last]) {
        *byte = value;
    }
    NomineeId::from_bytes(bytes)
}
