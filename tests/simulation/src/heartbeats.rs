//! The heartbeats of a connection, as they pass the client's end of it.

use core::time::Duration;
use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};
use zk_jute::records::{MultiOp, MultiRequest};
use zk_jute::{Decode, OpCode, ReplyHeader, RequestHeader, Xid};

use super::clock::Time;

/// A heartbeat, or its confirmation.
#[derive(Clone, Copy, Debug)]
struct Heartbeat {
    sent_at: Time,
    answered_at: Option<Time>,
}

/// The heartbeats of a client's present connection, in true time.
#[derive(Debug, Default)]
pub(super) struct Heartbeats {
    /// Bytes behind the last whole frame that came.
    input: BytesMut,
    sent: VecDeque<(Xid, Heartbeat)>,
}

/// What a wait is judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Answers that take no longer than this are no reason to wait.
    pub(super) bearable: Duration,
    /// The longest time from an answer to the next heartbeat.
    pub(super) interval: Duration,
}

/// What a promotion has waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// The time in which no heartbeat was under way, and none had a reason to be later: the last heartbeat
    /// and its confirmation were answered fast.
    pub(super) idle: Duration,
    /// How many were sent meanwhile though the last ones were answered fast.
    pub(super) unasked: u32,
}

/// A heartbeat and its confirmation. The last of each counts.
const PAIR: usize = 2;

impl Heartbeats {
    /// Notes that the client dials.
    pub(super) fn begin(&mut self) {
        self.input.clear();
        self.sent.clear();
    }

    /// Takes in the whole frames that the client sends.
    pub(super) fn take_in_sent<'a>(&mut self, now: Time, frames: impl Iterator<Item = &'a [u8]>) {
        for frame in frames {
            if let Some(xid) = heartbeat(frame) {
                self.sent.push_back((xid, Heartbeat { sent_at: now, answered_at: None }));
            }
        }
    }

    /// Takes in bytes that reach the client.
    pub(super) fn take_in_received(&mut self, now: Time, bytes: &Bytes) {
        self.input.extend_from_slice(bytes);
        while let Some(frame) = self.next_frame() {
            let Ok(header) = ReplyHeader::decode_prefix(&frame) else {
                continue;
            };
            let waiting = self.sent.iter_mut().filter(|(_, sent)| sent.answered_at.is_none());
            for (xid, sent) in waiting {
                if *xid == header.xid {
                    sent.answered_at = Some(now);
                }
            }
        }
    }

    /// Forgets all but the last pair.
    pub(super) fn forget(&mut self) {
        while self.sent.len() > PAIR {
            self.sent.pop_front();
        }
    }

    /// Returns what a promotion has waited for from one moment to another.
    pub(super) fn wait(&self, from: Time, to: Time, terms: Terms) -> Wait {
        let mut wait = Wait { idle: Duration::ZERO, unasked: 0 };
        // How many answers are to come until a slow one counts no more.
        let mut slow = 0;
        // When the last one was answered.
        let mut since = from;
        for (_, Heartbeat { sent_at, answered_at }) in &self.sent {
            let pause = sent_at.since(since);
            wait.idle += if slow > 0 { pause.saturating_sub(terms.interval) } else { pause };
            // A session has one under way at a time: what is sent beside another is a recipe's barrier.
            wait.unasked += u32::from(slow == 0 && since <= *sent_at);
            let Some(answered_at) = *answered_at else {
                return wait;
            };
            let is_slow = answered_at.since(*sent_at) >= terms.bearable;
            // A recipe's barrier has no confirmation, and its fast answer does not make up for a slow one.
            let is_single = !self.has_confirmation(*sent_at, answered_at);
            slow = match (is_slow, is_single) {
                (true, _) => PAIR,
                (false, true) => slow,
                (false, false) => slow.saturating_sub(1),
            };
            since = answered_at.max(since);
        }
        let pause = to.since(since);
        wait.idle += if slow > 0 { pause.saturating_sub(terms.interval) } else { pause };
        wait
    }

    /// Whether what was sent and answered then is a heartbeat with its confirmation, or that: the one is sent with the
    /// answer to the other.
    fn has_confirmation(&self, sent_at: Time, answered_at: Time) -> bool {
        let mut others = self.sent.iter().map(|(_, other)| other);
        others.any(|other| other.sent_at == answered_at || other.answered_at == Some(sent_at))
    }

    fn next_frame(&mut self) -> Option<BytesMut> {
        let head = self.input.first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*head)).ok()?;
        if self.input.len() < 4 + length {
            return None;
        }
        self.input.advance(4);
        Some(self.input.split_to(length))
    }
}

/// Returns the number of a request that is a heartbeat or its confirmation. The barrier of a recipe, a transaction
/// of one check too, passes for one.
fn heartbeat(frame: &[u8]) -> Option<Xid> {
    let header = RequestHeader::decode_prefix(frame).ok()?;
    match header.opcode {
        OpCode::SYNC => Some(header.xid),
        OpCode::MULTI => {
            let request = MultiRequest::decode_prefix(frame.get(8..)?).ok()?;
            let mut operations = request.iter();
            let is_check = matches!(operations.next(), Some(MultiOp::Check(_)));
            (is_check && operations.next().is_none()).then_some(header.xid)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms =
        Terms { bearable: Duration::from_millis(60), interval: Duration::from_millis(700) };

    /// Heartbeats and confirmations that were sent and answered at these milliseconds.
    fn heartbeats(times: &[(u64, u64)]) -> Heartbeats {
        let sent = times.iter().map(|(sent, answered)| {
            let answered_at = Some(Time::from_millis(*answered));
            (Xid::default(), Heartbeat { sent_at: Time::from_millis(*sent), answered_at })
        });
        Heartbeats { input: BytesMut::new(), sent: sent.collect() }
    }

    fn wait(times: &[(u64, u64)], from: u64, to: u64) -> (u128, u32) {
        let (from, to) = (Time::from_millis(from), Time::from_millis(to));
        let Wait { idle, unasked } = heartbeats(times).wait(from, to, TERMS);
        (idle.as_millis(), unasked)
    }

    #[test]
    fn a_promotion_waits_for_the_heartbeat_that_is_under_way_and_for_a_check() {
        assert_eq!(wait(&[(0, 5), (5, 10), (690, 720), (720, 725), (725, 735)], 700, 735), (0, 2));
    }

    #[test]
    fn a_promotion_that_waits_for_the_next_heartbeat_is_idle() {
        assert_eq!(wait(&[(0, 5), (5, 10), (690, 695)], 100, 700), (595, 1));
    }

    #[test]
    fn a_promotion_that_waits_for_ever_is_idle() {
        assert_eq!(wait(&[(0, 5), (5, 10)], 100, 2_000), (1_900, 0));
    }

    #[test]
    fn a_slow_heartbeat_counts_until_the_next_one_is_answered() {
        let times = [(0, 80), (80, 85), (700, 705), (705, 710)];
        assert_eq!(wait(&times, 100, 705), (0, 1));
        assert_eq!(wait(&times, 100, 1_000), (290, 1));
    }

    #[test]
    fn a_slow_confirmation_counts_until_the_next_one_is_answered() {
        let times = [(0, 5), (5, 80), (700, 705), (705, 710)];
        assert_eq!(wait(&times, 100, 710), (0, 0));
        assert_eq!(wait(&times, 100, 750), (40, 0));
    }

    #[test]
    fn a_recipes_barrier_beside_a_heartbeat_does_not_count() {
        let times = [(690, 720), (720, 750), (750, 780), (760, 790)];
        assert_eq!(wait(&times, 700, 780), (0, 2));
        assert_eq!(wait(&[(700, 730), (710, 740), (740, 770), (770, 800)], 700, 800), (0, 3));
    }

    #[test]
    fn a_recipes_barrier_does_not_make_up_for_a_slow_heartbeat() {
        assert_eq!(wait(&[(600, 900), (880, 900), (890, 900)], 700, 950), (0, 0));
        assert_eq!(wait(&[(600, 750), (750, 755), (900, 905)], 760, 950), (0, 0));
    }

    #[test]
    fn the_heartbeat_behind_a_slow_one_is_not_to_be_late() {
        assert_eq!(wait(&[(0, 5), (5, 80), (900, 905)], 100, 905), (100, 0));
    }
}
