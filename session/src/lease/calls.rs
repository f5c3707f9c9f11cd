//! The lease against the model of the proof: `calls.txt` has random calls, and what the model says
//! after each. `proof/calls.py` writes it.

extern crate std;

use std::string::{String, ToString};
use std::vec::Vec;

use super::*;

const CALLS: &str = include_str!("calls.txt");

fn millis(word: &str) -> Duration {
    Duration::from_millis(word.parse().expect("milliseconds"))
}

fn at(word: &str) -> Instant {
    Instant::since_origin(millis(word))
}

fn handshake(now: &str, sent_at: &str, timeout: &str) -> Handshake {
    Handshake { sent_at: at(sent_at), answered_at: at(now), least_timeout: millis(timeout) }
}

/// Returns the lease of a session that was made at the origin.
fn run(grade: &str, pace: &str, timeout: &str) -> Lease {
    let grade = match grade {
        "Contact" => LeaseGrade::Contact,
        "Sync" => LeaseGrade::Sync,
        _ => LeaseGrade::Quorum,
    };
    let pace = if pace == "Thirds" { HeartbeatPace::Thirds } else { HeartbeatPace::Sixths };
    let mut lease = Lease::new(grade, LeaseMargin::default(), pace);
    let handshake = handshake("0", "0", timeout);
    lease.accepted(handshake);
    lease.begin(handshake);
    lease
}

/// Makes one call as `Session` makes it, and returns what it says.
fn call(lease: &mut Lease, words: &[&str]) -> Vec<String> {
    let mut said = Vec::new();
    if lease.lapses(at(words[1])) {
        said.push("lapsed".to_string());
    }
    match *words {
        ["clock", _] => {}
        ["made", now, sent_at, timeout] => {
            lease.accepted(handshake(now, sent_at, timeout));
            lease.begin(handshake(now, sent_at, timeout));
        }
        ["resumed", now, sent_at, timeout] => {
            lease.accepted(handshake(now, sent_at, timeout));
            lease.resume(at(now), handshake(now, sent_at, timeout));
        }
        ["read-only", now, sent_at, timeout] => {
            lease.accepted(handshake(now, sent_at, timeout));
            lease.read_only();
        }
        ["answered", now, sent_at] => lease.answered(at(now), at(sent_at)),
        ["heartbeat", now, sent_at, kind] => {
            let kind = if kind == "check" { HeartbeatKind::Check } else { HeartbeatKind::Sync };
            let followup = lease.heartbeat_answered(at(now), at(sent_at), kind);
            let confirms = followup == Followup::Confirm;
            said.push(if confirms { "confirm" } else { "nothing" }.to_string());
        }
        ["confirmed", now, sent_at] => {
            let counts = lease.confirmed(at(now), at(sent_at)).is_some();
            said.push(if counts { "counts" } else { "nothing" }.to_string());
        }
        ["committed", now, sent_at] => lease.committed(at(now), at(sent_at)),
        ["refused", _] => lease.not_confirmed(),
        ["end", _] => lease.end(),
        _ => panic!("no call: {words:?}"),
    }
    said.push(match lease.deadline() {
        Some(deadline) => deadline.elapsed().as_millis().to_string(),
        None if lease.is_settling() => "settling".to_string(),
        None => "unproved".to_string(),
    });
    said
}

#[test]
fn the_lease_says_what_the_model_of_the_proof_says() {
    let mut lease = None;
    let mut calls = 0;
    for (number, line) in CALLS.lines().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["run", grade, pace, timeout] = *words {
            lease = Some(run(grade, pace, timeout));
            continue;
        }
        let (made, said) = words.split_at(words.iter().position(|word| *word == ">").expect(">"));
        let lease = lease.as_mut().expect("a run begins before its calls");
        assert_eq!(call(lease, made), said[1..], "line {}: {line}", number + 1);
        calls += 1;
    }
    assert!(calls > 1000, "calls: {calls}");
}
