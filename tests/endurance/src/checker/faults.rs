//! The faults of the writers and of the ensemble.

use core::fmt;
use core::time::Duration;

use fastrand::Rng;
use zk_test_kit::proxy::Directions;
use zk_test_kit::zookeeper::{Lost, Member};

/// One fault. A fault of a writer hits the one that leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The leader's process is killed, and started again at the end.
    Kill,
    /// The leader's process is stopped, and goes on at the end.
    Stop,
    /// The leader's connections are closed.
    Cut,
    /// Nothing passes between the leader and the servers, or nothing one way.
    BlackHole(Directions),
    /// All that passes between the leader and the servers comes so much later.
    Slow(Duration),
    /// A member of the ensemble is killed, and started again at the end.
    MemberKilled(Member),
    /// A member is stopped.
    MemberStopped(Member),
    /// A member loses what it sends to the others, or gets, or both.
    MemberCutOff(Member, Lost),
    /// ZooKeeper's leader is left by the others without noticing it.
    LeaderDeserted,
}

impl Fault {
    /// Draws a fault and its length, at this session timeout.
    pub(super) fn random(rng: &mut Rng, timeout: Duration) -> (Self, Duration) {
        let directions = [Directions::Both, Directions::ToServer, Directions::ToClient];
        let lost = [Lost::Both, Lost::Sent, Lost::Received];
        let member = one_of(rng, Member::ALL);
        let spans = |rng: &mut Rng, from: f64, to: f64| {
            timeout.mul_f64((to - from).mul_add(rng.f64(), from))
        };
        match rng.u8(..12) {
            0 => (Self::Kill, spans(rng, 0.2, 0.5)),
            1..=3 => (Self::Stop, spans(rng, 0.5, 2.5)),
            4 => (Self::Cut, Duration::ZERO),
            5 | 6 => (Self::BlackHole(one_of(rng, directions)), spans(rng, 0.5, 2.5)),
            7 => {
                let delay = timeout.mul_f64(rng.f64() / 4.0);
                (Self::Slow(delay), spans(rng, 0.5, 2.0))
            }
            8 => (Self::MemberKilled(member), spans(rng, 0.5, 1.5)),
            9 => (Self::MemberStopped(member), spans(rng, 0.5, 2.0)),
            10 => (Self::MemberCutOff(member, one_of(rng, lost)), spans(rng, 1.0, 3.0)),
            _ => (Self::LeaderDeserted, spans(rng, 1.0, 3.0)),
        }
    }
}

impl Fault {
    /// Whether it hits the writer that leads, and not the ensemble.
    pub(super) const fn hits_the_writer(self) -> bool {
        match self {
            Self::Kill | Self::Stop | Self::Cut | Self::BlackHole(_) | Self::Slow(_) => true,
            Self::MemberKilled(_)
            | Self::MemberStopped(_)
            | Self::MemberCutOff(..)
            | Self::LeaderDeserted => false,
        }
    }
}

fn one_of<T: Copy>(rng: &mut Rng, [first, second, third]: [T; 3]) -> T {
    match rng.u8(..3) {
        0 => first,
        1 => second,
        _ => third,
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill => formatter.write_str("kill"),
            Self::Stop => formatter.write_str("stop"),
            Self::Cut => formatter.write_str("cut"),
            Self::BlackHole(Directions::Both) => formatter.write_str("black hole"),
            Self::BlackHole(Directions::ToServer) => formatter.write_str("black hole to servers"),
            Self::BlackHole(Directions::ToClient) => formatter.write_str("black hole from servers"),
            Self::Slow(delay) => write!(formatter, "slow by {} ms", delay.as_millis()),
            Self::MemberKilled(member) => write!(formatter, "{member:?} member killed"),
            Self::MemberStopped(member) => write!(formatter, "{member:?} member stopped"),
            Self::MemberCutOff(member, Lost::Both) => {
                write!(formatter, "{member:?} member cut off")
            }
            Self::MemberCutOff(member, Lost::Sent) => {
                write!(formatter, "{member:?} member not heard")
            }
            Self::MemberCutOff(member, Lost::Received) => {
                write!(formatter, "{member:?} member hears nothing")
            }
            Self::LeaderDeserted => formatter.write_str("ZooKeeper's leader deserted"),
        }
    }
}
