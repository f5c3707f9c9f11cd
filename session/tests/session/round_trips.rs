//! Leases on slow links: what is called secure does not lapse while answers take no longer.

use core::time::Duration;
use std::collections::VecDeque;

use zk_jute::records::{GetDataRequest, MultiResult};
use zk_jute::{ErrorCode, OpCode};
use zk_session::lease::{HeartbeatPace, LeaseGrade, LeaseMargin, LeaseOutlook, LeaseUpkeep};
use zk_session::{Event, Instant};

use crate::beats::*;
use crate::lab::{Lab, Sent, TIMEOUT, after};

/// A session, and a server that answers everything so much later.
struct Link {
    lab: Lab,
    round_trip: Duration,
    in_flight: VecDeque<(Instant, Sent)>,
}

impl Link {
    fn connect(case: Case, round_trip: Duration) -> Self {
        let mut lab = Lab::with(1, |config| {
            config.grade = case.grade;
            config.margin = LeaseMargin::percent(case.percent);
            config.pace = case.pace;
        });
        start(&mut lab);
        lab.open();
        lab.now = lab.now + round_trip;
        lab.accept();
        Self { lab, round_trip, in_flight: VecDeque::new() }
    }

    /// Goes on to the next moment at which anything is due; returns the answer that came, if one
    /// did.
    fn step(&mut self) -> Option<Sent> {
        let arrived_at = self.lab.now + self.round_trip;
        self.in_flight.extend(self.lab.sent().into_iter().map(|sent| (arrived_at, sent)));
        let answered_at = self.in_flight.front().map(|&(at, _)| at);
        let due_at = self.lab.session.poll_timeout();
        let next = [answered_at, due_at].into_iter().flatten().min().expect("a session goes on");
        self.lab.now = self.lab.now.max(next);
        if answered_at.is_none_or(|at| next < at) {
            self.lab.tick();
            return None;
        }
        let (_, sent) = self.in_flight.pop_front()?;
        self.answer(&sent);
        Some(sent)
    }

    fn answer(&mut self, sent: &Sent) {
        match sent.opcode {
            OpCode::MULTI => self.lab.answer_heartbeat(sent, 1, MultiResult::Check),
            _ => self.lab.reply(sent.xid, 1, ErrorCode::OK),
        }
    }

    fn outlook(&self) -> LeaseOutlook {
        self.lab.session.lease_outlook(self.lab.now)
    }

    fn keep(&mut self, upkeep: LeaseUpkeep<'_>) {
        self.lab.session.keep_lease(self.lab.now, upkeep).expect("short enough");
    }

    /// Goes on for that long, whatever becomes of the lease.
    fn pass(&mut self, span: Duration) {
        let end = self.lab.now + span;
        while self.lab.now < end {
            self.step();
        }
        self.lab.events();
    }

    /// Goes on for that long; returns whether the lease was called secure, having seen that it
    /// does not lapse then.
    fn run(&mut self, span: Duration) -> bool {
        let end = self.lab.now + span;
        let mut was_secure = false;
        while self.lab.now < end {
            self.step();
            let lapsed = self.lab.events().contains(&Event::LeaseLapsed);
            assert!(!(was_secure && lapsed), "it was called secure, at {:?}", self.round_trip);
            let outlook = self.outlook();
            let is_secure = matches!(outlook, LeaseOutlook::Secure { .. });
            assert_eq!(is_secure, self.lab.session.lease_is_secure(self.lab.now));
            if let LeaseOutlook::Secure { until } = outlook {
                assert_eq!(Some(until), self.lab.session.lease_deadline());
            }
            was_secure |= is_secure;
        }
        was_secure
    }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    grade: LeaseGrade,
    pace: HeartbeatPace,
    percent: u8,
}

/// Returns all round trips up to an eighth of the timeout (Contact: a third), in steps of a 500th, and those next to
/// the bound.
fn round_trips(case: Case) -> impl Iterator<Item = Duration> {
    let end = if case.grade == LeaseGrade::Contact { TIMEOUT / 3 } else { TIMEOUT / 8 };
    let steps =
        (1..).map(|step| TIMEOUT * step / 500).take_while(move |&round_trip| round_trip <= end);
    let (bound, step) = (longest(case), TIMEOUT / 2000);
    steps.chain([bound.saturating_sub(step), bound + step])
}

/// Returns the bound, as the documentation has it.
fn longest(case: Case) -> Duration {
    let rest = f64::from(100 - case.percent) / 100.0;
    let part = match (case.grade, case.pace) {
        (LeaseGrade::Contact, _) => (rest - 1.0 / 3.0) / 3.0,
        (_, HeartbeatPace::Sixths) => ((rest - 0.6) / 3.0).min((rest - 0.5) / 6.0),
        _ => ((rest - 2.0 / 3.0 - 0.1) / 4.0).min((rest - 2.0 / 3.0) / 7.0),
    };
    TIMEOUT.mul_f64(part)
}

const fn thirds(grade: LeaseGrade, percent: u8) -> Case {
    Case { grade, pace: HeartbeatPace::Thirds, percent }
}

const fn sixths(grade: LeaseGrade, percent: u8) -> Case {
    Case { grade, pace: HeartbeatPace::Sixths, percent }
}

const CASES: [Case; 11] = [
    thirds(LeaseGrade::Quorum, 10),
    thirds(LeaseGrade::Quorum, 0),
    thirds(LeaseGrade::Quorum, 20),
    thirds(LeaseGrade::Sync, 10),
    thirds(LeaseGrade::Sync, 1),
    sixths(LeaseGrade::Quorum, 10),
    sixths(LeaseGrade::Quorum, 20),
    sixths(LeaseGrade::Sync, 15),
    thirds(LeaseGrade::Contact, 10),
    thirds(LeaseGrade::Contact, 0),
    thirds(LeaseGrade::Contact, 50),
];

/// Either the lease is never secure, or it never lapses once it was: from the session's creation
/// on, and after a lapse.
#[test]
fn a_lease_that_is_called_secure_does_not_lapse_while_answers_take_no_longer() {
    for case in CASES {
        for round_trip in round_trips(case) {
            let mut link = Link::connect(case, round_trip);
            let at_first = link.run(8 * TIMEOUT);
            while link.step().is_none() {}
            link.lab.close_by_server();
            link.in_flight.clear();
            // It is tried again when its lease has lapsed, and before it is given up.
            link.lab.sleep(6010);
            link.lab.session.handle_timeout(link.lab.now);
            link.lab.open();
            link.lab.now = link.lab.now + round_trip;
            link.lab.accept();
            link.lab.events();
            let after_a_lapse = link.run(8 * TIMEOUT);
            let is_short = round_trip < longest(case);
            assert_eq!((at_first, after_a_lapse), (is_short, is_short), "{case:?} {round_trip:?}");
        }
    }
}

/// However the heartbeats of a lease that was ready came out of step, they find their pace again once
/// it is to be in force, also where it leaves nothing to spare. (Answers that take a third of the timeout
/// end the connection.)
#[test]
fn heartbeats_out_of_step_find_their_pace_again() {
    for case in CASES {
        let round_trip = longest(case).saturating_sub(TIMEOUT / 2000);
        for late in 0..=11 {
            for wanted_at in 0..32 {
                let mut link = Link::connect(case, round_trip);
                link.keep(LeaseUpkeep::Ready);
                link.pass(2 * TIMEOUT);
                link.round_trip = round_trip + TIMEOUT * late / 40;
                link.pass(TIMEOUT / 2);
                link.round_trip = round_trip;
                link.pass(TIMEOUT * wanted_at / 32);
                link.keep(LeaseUpkeep::InForce { znode: ZNODE });
                link.pass(8 * TIMEOUT);
                assert!(
                    link.lab.session.lease_is_secure(link.lab.now),
                    "{case:?} {round_trip:?}, late by {late}, wanted at {wanted_at}: {:?}",
                    link.outlook()
                );
            }
        }
    }
}

/// Where it is never secure, the outlook says so, and how short round trips have to be.
#[test]
fn round_trips_that_are_too_long_are_named_with_their_bound() {
    for case in CASES {
        for round_trip in round_trips(case) {
            let mut link = Link::connect(case, round_trip);
            link.run(2 * TIMEOUT);
            let bound = longest(case);
            match link.outlook() {
                LeaseOutlook::RoundTripTooLong { round_trip: measured, timeout, longest } => {
                    assert!(round_trip >= bound, "{case:?} {round_trip:?}");
                    assert_eq!((measured, timeout), (round_trip, TIMEOUT));
                    let off = longest.abs_diff(bound);
                    assert!(off < Duration::from_micros(1), "{longest:?} {bound:?}");
                }
                outlook => assert!(round_trip < bound, "{case:?} {round_trip:?} {outlook:?}"),
            }
        }
    }
}

/// A margin of a tenth leaves heartbeats a 30th of the timeout, twice as many of them a 15th, and
/// pings almost a fifth.
#[test]
fn the_bounds_that_the_documentation_names() {
    for (case, too_long, short) in [
        (thirds(LeaseGrade::Quorum, 10), 30, 31),
        (thirds(LeaseGrade::Sync, 10), 30, 31),
        (sixths(LeaseGrade::Quorum, 10), 15, 16),
        (sixths(LeaseGrade::Sync, 10), 15, 16),
        (thirds(LeaseGrade::Contact, 10), 5, 6),
    ] {
        let run = |part: u32| Link::connect(case, TIMEOUT / part).run(3 * TIMEOUT);
        assert!(!run(too_long) && run(short), "{case:?}");
    }
}

/// Once answers come faster, the lease is secure, too.
#[test]
fn round_trips_that_get_shorter_are_noticed() {
    for grade in [LeaseGrade::Contact, LeaseGrade::Sync, LeaseGrade::Quorum] {
        let mut link = Link::connect(thirds(grade, 10), TIMEOUT / 4);
        assert!(!link.run(5 * TIMEOUT));
        assert!(matches!(link.outlook(), LeaseOutlook::RoundTripTooLong { .. }));
        link.round_trip = TIMEOUT / 40;
        assert!(link.run(3 * TIMEOUT), "{grade:?}");
    }
}

/// Also where the caller's requests leave no time for a ping.
#[test]
fn under_contact_requests_show_that_round_trips_got_shorter() {
    let mut link = Link::connect(thirds(LeaseGrade::Contact, 10), TIMEOUT / 4);
    assert!(!link.run(5 * TIMEOUT));
    link.round_trip = TIMEOUT / 40;
    while !link.in_flight.is_empty() {
        link.step();
    }
    assert!(matches!(link.outlook(), LeaseOutlook::RoundTripTooLong { .. }));
    let read = GetDataRequest { path: "/a", watch: false };
    link.lab.session.submit(link.lab.now, 1, &read).expect("accepted");
    while link.step().is_none_or(|answered| answered.opcode != OpCode::GET_DATA) {}
    assert!(matches!(link.outlook(), LeaseOutlook::Secure { .. }), "{:?}", link.outlook());
}

/// So they do after a slow handshake, of which no ping has shown yet that it was slow only once.
#[test]
fn under_contact_requests_show_that_a_handshake_was_slow_only_once() {
    let mut link = Link::connect(thirds(LeaseGrade::Contact, 10), TIMEOUT / 4);
    assert_eq!(link.outlook(), LeaseOutlook::AwaitsProof);
    link.round_trip = TIMEOUT / 40;
    let read = GetDataRequest { path: "/a", watch: false };
    link.lab.session.submit(link.lab.now, 1, &read).expect("accepted");
    while link.step().is_none_or(|answered| answered.opcode != OpCode::GET_DATA) {}
    assert!(matches!(link.outlook(), LeaseOutlook::Secure { .. }), "{:?}", link.outlook());
}

/// The session never calls a lease secure if the margin leaves no time for it, but for `Contact`,
/// where the caller's requests may do what pings cannot.
#[test]
fn margins_that_leave_no_time() {
    let none = Duration::ZERO;
    let mut link = Link::connect(thirds(LeaseGrade::Quorum, 40), none);
    assert!(!link.run(3 * TIMEOUT));
    let (round_trip, longest, timeout) = (none, none, TIMEOUT);
    let too_long = LeaseOutlook::RoundTripTooLong { round_trip, timeout, longest };
    assert_eq!(link.outlook(), too_long);

    let link = Link::connect(thirds(LeaseGrade::Contact, 90), none);
    assert_eq!(link.outlook(), LeaseOutlook::Secure { until: after(600) });
}

#[test]
fn without_a_connection_a_proof_is_awaited() {
    let mut link = Link::connect(thirds(LeaseGrade::Quorum, 10), Duration::ZERO);
    assert!(matches!(link.outlook(), LeaseOutlook::Secure { .. }));
    link.lab.close_by_server();
    assert_eq!(link.outlook(), LeaseOutlook::AwaitsProof);
    assert!(link.lab.session.lease_deadline().is_some());
}
