//! A trace of one session and its ensemble, for `proof/replay.py`, which says what the lines mean.

use core::fmt::Arguments;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use zk_embedded::replication::{Txn, TxnBody};
use zk_simulation::ensemble::{Member, MemberId, MemberRole, PeerMessage};

use super::{Network, Server};
use crate::wires::{Link, Micros};

/// The lines so far, and what they follow from.
#[derive(Default)]
pub(crate) struct Trace {
    lines: Vec<String>,
    /// The traced session, as messages name it.
    session: Option<String>,
    /// The epoch that each member stood for last.
    epochs: BTreeMap<MemberId, u64>,
    leaders: BTreeSet<MemberId>,
    marked: BTreeSet<u64>,
    closed: BTreeSet<u64>,
    /// When the last handshake was sent that reached each member.
    handshakes: BTreeMap<MemberId, Micros>,
    /// The time from due until closing at each leader, by its clock.
    to_closing: Duration,
}

impl Trace {
    /// Adds a line; times are in microseconds.
    pub(crate) fn line(&mut self, now: Micros, what: Arguments<'_>) {
        self.lines.push(format!("{now} {what}"));
    }

    fn epoch(&self, member: MemberId) -> u64 {
        self.epochs.get(&member).copied().unwrap_or(0)
    }

    fn names(&self, text: &str) -> bool {
        self.session.as_ref().is_some_and(|session| text.contains(session))
    }

    /// Notes what a member says. `answered` is when the message was sent that it is working on.
    fn said(&mut self, now: Micros, (from, to): Link, answered: Micros, message: &PeerMessage) {
        let text = format!("{message:?}");
        if let Some(rest) = text.strip_prefix("standing for epoch ") {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            self.epochs.insert(from, digits.parse().expect("an epoch"));
        } else if text == "heartbeat" {
            self.line(now, format_args!("ping {} {}", to.0, self.epoch(from)));
        } else if text.starts_with("alive") {
            let touch = if self.names(&text) { "touch" } else { "none" };
            self.line(now, format_args!("swap {} {} {answered} {touch}", from.0, self.epoch(to)));
        }
    }

    /// Notes what reaches a leader.
    fn arrives(
        &mut self,
        now: Micros,
        (from, server): (MemberId, &Server),
        packet: (Micros, &PeerMessage),
    ) {
        let to = server.member.id();
        if server.member.role() != MemberRole::Leading || !server.member.is_serving() {
            return;
        }
        let (sent_at, text) = (packet.0, format!("{:?}", packet.1));
        let handshake = self.handshakes.get(&from).copied().unwrap_or(0);
        let (from, epoch, rate) = (from.0, self.epoch(to), server.clock.rate);
        if let Some(session) = text.strip_prefix("create session ") {
            self.session = Some(session.to_owned());
            self.line(now, format_args!("made {from} {epoch} {handshake} {rate}"));
        } else if text.starts_with("alive") {
            let touch = if self.names(&text) { "touch" } else { "none" };
            self.line(now, format_args!("touches {from} {epoch} {sent_at} {touch} {rate}"));
        } else if text.starts_with("resume") && self.names(&text) {
            self.line(now, format_args!("handshake {from} {epoch} {handshake} {rate}"));
        } else if self.names(&text) {
            let what = if text.ends_with("caller's") { "works" } else { "work" };
            self.line(now, format_args!("{what} {from} {epoch}"));
        }
    }

    /// Notes what has become of a member, and of the session in its log.
    fn looks_at(&mut self, now: Micros, member: &Member, rate: u64) {
        let leads = member.role() == MemberRole::Leading && member.is_serving();
        if let Some((epoch, end)) = self.end_in(member.log()) {
            // The leader marks the session and proposes its end at once.
            if leads && epoch == self.epoch(member.id()) && self.marked.insert(epoch) {
                let ago = u64::try_from(self.to_closing.as_micros()).expect("short") * 1000 / rate;
                self.line(now, format_args!("marks {epoch} {}", now - ago));
            }
            if member.committed() >= end && self.closed.insert(epoch) {
                self.line(now, format_args!("closed {epoch}"));
            }
        }
        if !leads {
            self.leaders.remove(&member.id());
        } else if self.leaders.insert(member.id()) {
            let epoch = self.epoch(member.id());
            self.line(now, format_args!("leads {} {epoch} {rate}", member.id().0));
        }
    }

    fn end_in(&self, log: &[Txn]) -> Option<(u64, zk_jute::Zxid)> {
        let session = self.session.as_ref()?;
        let ends =
            |txn: &&Txn| txn.body == TxnBody::CloseSession && txn.session.to_string() == *session;
        let end = log.iter().rev().find(ends)?.at.zxid;
        Some((u64::try_from(end.get()).expect("positive") >> 32, end))
    }
}

impl Network {
    /// Traces from now on; to be called before a member stands for an epoch.
    pub(crate) fn trace(&mut self, to_closing: Duration) {
        self.trace = Some(Trace { to_closing, ..Trace::default() });
    }

    pub(crate) fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Returns the trace so far.
    pub(crate) fn take_trace(&mut self) -> String {
        let trace = self.trace.take().expect("a trace");
        trace.lines.join("\n") + "\n"
    }

    /// Adds a line to the trace, if there is one.
    pub(crate) fn note(&mut self, what: Arguments<'_>) {
        let now = self.now;
        if let Some(trace) = &mut self.trace {
            trace.line(now, what);
        }
    }

    /// Begins with the session that is made next.
    pub(crate) fn note_run(&mut self, what: Arguments<'_>) {
        self.note(what);
        if let Some(trace) = &mut self.trace {
            trace.session = None;
            trace.marked.clear();
            trace.closed.clear();
        }
    }

    pub(crate) fn note_handshake(&mut self, member: MemberId, sent_at: Duration) {
        if let Some(trace) = &mut self.trace {
            trace.handshakes.insert(member, super::micros(sent_at));
        }
    }

    pub(crate) fn has_closed(&self) -> bool {
        self.trace.as_ref().is_some_and(|trace| !trace.closed.is_empty())
    }

    pub(super) fn say(&mut self, link: Link, message: &PeerMessage) {
        let (now, answered) = (self.now, self.working_on);
        if let Some(trace) = &mut self.trace {
            trace.said(now, link, answered, message);
        }
    }

    pub(super) fn look(&mut self, id: MemberId) {
        let server = &self.servers[&id];
        if let Some(trace) = &mut self.trace {
            trace.looks_at(self.now, &server.member, server.clock.rate);
        }
    }

    pub(super) fn arrives(&mut self, (from, to): Link, sent_at: Micros, message: &PeerMessage) {
        self.working_on = sent_at;
        let server = &self.servers[&to];
        if let Some(trace) = &mut self.trace {
            trace.arrives(self.now, (from, server), (sent_at, message));
        }
    }
}
