//! Heartbeats: requests that a session sends in place of pings to prove its lease.

use alloc::string::String;

use zk_jute::records::{CheckVersionRequest, MultiOp, MultiRequest, MultiResponse, SyncRequest};
use zk_jute::{Decode, DecodeError, Encode, ErrorCode, OpCode, Version};

use super::Session;
use super::state::{
    AcceptedHandshake, Closing, Grant, Heartbeat, Live, Ping, SentFor, State, Upkeep,
};
use super::submission::REQUEST_HEADER_LEN;
use crate::event::{Event, SubmitError};
use crate::lease::{Followup, HeartbeatKind, LeaseGrade, LeaseOutlook, LeaseUpkeep};
use crate::requests::Purpose;
use crate::time::Instant;

/// The znode to check if the session is not known to have created one: it always exists.
const ROOT: &str = "/";

impl<R, W: Clone> Session<R, W> {
    /// Sets what the session sends for the lease from now on, over reconnects too, until the next
    /// call. It begins as [`LeaseUpkeep::Idle`].
    ///
    /// Heartbeats go out at once if something has to be proved anew, and then at the
    /// [pace](crate::Config::pace) of this session. Each is a request and, after its answer, a
    /// `sync` that confirms it. After a refusal the session tries the same znode again soon, then
    /// ever more rarely; it tries another znode at once, so name one that stands.
    ///
    /// With [`LeaseGrade::Contact`] and [`LeaseGrade::Advisory`], pings prove the lease, and this changes nothing.
    ///
    /// # Errors
    ///
    /// [`SubmitError::TooLarge`] if no server would accept the request. Nothing is changed then.
    pub fn keep_lease(&mut self, now: Instant, upkeep: LeaseUpkeep<'_>) -> Result<(), SubmitError> {
        self.check_lease(now);
        if self.lease.grade().counts_any_answer() {
            return Ok(());
        }
        let next = match upkeep {
            LeaseUpkeep::Idle => Upkeep::Idle,
            LeaseUpkeep::Ready => Upkeep::Ready,
            LeaseUpkeep::InForce { znode } => {
                let check = check(znode);
                self.check_size(REQUEST_HEADER_LEN + MultiRequest::new(&check).encoded_len())?;
                Upkeep::InForce { znode: String::from(znode) }
            }
        };
        if next == self.upkeep {
            return Ok(());
        }
        let proves_more = match (&self.upkeep, &next) {
            (Upkeep::Idle, Upkeep::Ready | Upkeep::InForce { .. })
            | (Upkeep::Ready, Upkeep::InForce { .. }) => true,
            (_, Upkeep::Idle | Upkeep::Ready) | (Upkeep::InForce { .. }, _) => false,
        };
        self.upkeep = next;
        // What the caller's own writes have proved needs no heartbeat at once, where the next proof has begun.
        let needs = |at| {
            self.lease.next_heartbeat(now) <= now
                || !matches!(self.lease.outlook(now, at), LeaseOutlook::Secure { .. })
        };
        if let State::Live(live) = &mut self.state {
            live.heartbeat = match live.heartbeat {
                Heartbeat::DueAt(at) if proves_more && needs(at) => Heartbeat::DueAt(now),
                Heartbeat::DueAt(at) => Heartbeat::DueAt(at),
                Heartbeat::RefusedUntil(_) => Heartbeat::DueAt(now),
                Heartbeat::Unanswered(_) => Heartbeat::Unanswered(SentFor::AFormer),
            };
            let live = *live;
            self.beat_if_due(now, live);
        }
        Ok(())
    }

    /// Returns whether the lease can be relied on to go on ([`LeaseOutlook::Secure`]), if
    /// heartbeats go on (or start now), nothing fails and answers take no longer than they did. A
    /// new leader should wait for this; otherwise it would lose its lease although nothing is
    /// wrong.
    pub fn lease_is_secure(&self, now: Instant) -> bool {
        matches!(self.lease_outlook(now), LeaseOutlook::Secure { .. })
    }

    /// Returns what [`lease_is_secure`](Self::lease_is_secure) does, with the reason if the lease
    /// is not secure. An answer or the passing of time changes it: ask again after each of the two.
    pub fn lease_outlook(&self, now: Instant) -> LeaseOutlook {
        match self.state {
            State::Live(Live { family, .. }) if !self.grants_leases(family) => {
                LeaseOutlook::NoLease { family }
            }
            State::Live(live) if !live.is_read_only() => {
                let beats_from = match (live.heartbeat, &self.upkeep) {
                    (Heartbeat::RefusedUntil(at), _)
                    | (Heartbeat::DueAt(at), Upkeep::InForce { .. }) => at,
                    (Heartbeat::DueAt(_), Upkeep::Idle | Upkeep::Ready)
                    | (Heartbeat::Unanswered(_), _) => now,
                };
                self.lease.outlook(now, beats_from)
            }
            _ => LeaseOutlook::AwaitsProof,
        }
    }

    /// Returns when the first heartbeat of a connection is due. The handshake that made a session
    /// has proved enough for a while.
    pub(super) fn first_heartbeat_at(&self, now: Instant, accepted: &AcceptedHandshake) -> Instant {
        match (&self.upkeep, accepted.session) {
            (Upkeep::Ready, Grant::Made(_)) => {
                now.max(accepted.handshake.sent_at + accepted.timeout / 3)
            }
            (Upkeep::Ready, Grant::Resumed(_)) | (Upkeep::Idle | Upkeep::InForce { .. }, _) => now,
        }
    }

    /// Returns when a heartbeat is due on this connection.
    pub(super) fn heartbeat_at(&self, live: &Live) -> Option<Instant> {
        match (&self.upkeep, live.heartbeat, live.closing) {
            // A server without its leader would refuse it.
            _ if live.is_read_only() || !self.grants_leases(live.family) => None,
            (
                Upkeep::Ready | Upkeep::InForce { .. },
                Heartbeat::DueAt(due) | Heartbeat::RefusedUntil(due),
                Closing::NotAsked,
            ) => Some(due),
            _ => None,
        }
    }

    /// Returns when a ping is due, if the last one is answered; not if the next heartbeat takes its
    /// place.
    pub(super) fn ping_at(&self, live: &Live) -> Option<Instant> {
        match (self.heartbeat_at(live), live.ping) {
            (Some(_), _) | (None, Ping::SentAt(_)) => None,
            (None, Ping::Answered) => {
                let due = live.ping_at();
                Some(self.lease.next_ping(live.last_sent).map_or(due, |at| due.min(at)))
            }
        }
    }

    /// Continues with `live`, and sends a heartbeat if one is due.
    pub(super) fn beat_if_due(&mut self, now: Instant, live: Live) {
        self.state = State::Live(live);
        if self.heartbeat_at(&live).is_none_or(|due| now < due) {
            return;
        }
        let znode = match &self.upkeep {
            Upkeep::Idle => return,
            Upkeep::Ready => ROOT,
            Upkeep::InForce { znode } => znode.as_str(),
        };
        let kind = match (self.lease.grade(), &self.upkeep) {
            (LeaseGrade::Contact | LeaseGrade::Advisory, _) => return,
            (LeaseGrade::Quorum, Upkeep::InForce { .. }) => HeartbeatKind::Check,
            // A follower answers a `sync` also for a session that its leader is closing.
            _ if self.lease.is_settling() => HeartbeatKind::Check,
            _ => HeartbeatKind::Sync,
        };
        let sent = match kind {
            HeartbeatKind::Sync => {
                self.requests.send(now, &SyncRequest { path: znode }, Purpose::Heartbeat)
            }
            HeartbeatKind::Check => {
                self.requests.send(now, &MultiRequest::new(&check(znode)), Purpose::Heartbeat)
            }
        };
        debug_assert!(sent.is_ok(), "its length was checked when the znode was named");
        let heartbeat = Heartbeat::Unanswered(SentFor::ThePresent);
        self.state = State::Live(Live { last_sent: now, heartbeat, ..live });
    }

    /// Handles the answer to a heartbeat.
    pub(super) fn heartbeat_answered(
        &mut self,
        now: Instant,
        sent_at: Instant,
        kind: HeartbeatKind,
        outcome: ErrorCode,
    ) {
        let State::Live(live) = self.state else {
            return;
        };
        let is_present = matches!(live.heartbeat, Heartbeat::Unanswered(SentFor::ThePresent));
        match (outcome, &self.upkeep) {
            (ErrorCode::OK, _) => {}
            // The leader looks at the session before it looks at the root's access list.
            (ErrorCode::NO_AUTH, Upkeep::Ready) if is_present => {}
            _ => return self.heartbeat_refused(now, outcome),
        }
        let followup = self.lease.heartbeat_answered(now, sent_at, kind);
        if followup == Followup::Confirm {
            let path = match (&self.upkeep, live.closing) {
                (_, Closing::GiveUpAt(_)) | (Upkeep::Idle, _) => None,
                (Upkeep::Ready, Closing::NotAsked) => Some(ROOT),
                (Upkeep::InForce { znode }, Closing::NotAsked) => Some(znode.as_str()),
            };
            if let Some(path) = path {
                let sent = self.requests.send(now, &SyncRequest { path }, Purpose::Confirmation);
                debug_assert!(sent.is_ok(), "shorter than the heartbeat");
                self.state = State::Live(Live { last_sent: now, refusals: 0, ..live });
                return;
            }
            self.lease.not_confirmed();
        }
        let heartbeat = Heartbeat::DueAt(self.heartbeat_after(now, kind));
        self.beat_if_due(now, Live { refusals: 0, heartbeat, ..live });
    }

    /// Handles the answer to the confirmation of a heartbeat.
    pub(super) fn confirmation_answered(
        &mut self,
        now: Instant,
        sent_at: Instant,
        outcome: ErrorCode,
    ) {
        if outcome != ErrorCode::OK {
            self.lease.not_confirmed();
            return self.heartbeat_refused(now, outcome);
        }
        let kind = self.lease.confirmed(now, sent_at);
        let due = kind
            .map_or_else(|| self.lease.next_heartbeat(now), |kind| self.heartbeat_after(now, kind));
        if let State::Live(live) = self.state {
            self.beat_if_due(now, Live { heartbeat: Heartbeat::DueAt(due), ..live });
        }
    }

    /// Returns when the next heartbeat is due after one of this kind: at once if a `sync` was
    /// answered, and a commit has been asked for meanwhile.
    fn heartbeat_after(&self, now: Instant, kind: HeartbeatKind) -> Instant {
        match (self.lease.grade(), &self.upkeep, kind) {
            (LeaseGrade::Quorum, Upkeep::InForce { .. }, HeartbeatKind::Sync) => now,
            _ => self.lease.next_heartbeat(now),
        }
    }

    fn heartbeat_refused(&mut self, now: Instant, error: ErrorCode) {
        let State::Live(live) = &mut self.state else {
            return;
        };
        live.heartbeat = if let Heartbeat::Unanswered(SentFor::AFormer) = live.heartbeat {
            // The refusal concerns an earlier upkeep.
            Heartbeat::DueAt(now)
        } else {
            self.events.push_back(Event::HeartbeatRefused { error });
            Heartbeat::RefusedUntil(now + self.lease.retry_delay(live.refusals))
        };
        live.refusals = live.refusals.saturating_add(1);
        let live = *live;
        self.beat_if_due(now, live);
    }
}

pub(super) fn heartbeat_kind(opcode: OpCode) -> HeartbeatKind {
    if opcode == OpCode::MULTI { HeartbeatKind::Check } else { HeartbeatKind::Sync }
}

/// Returns the outcome of a heartbeat. The header calls every multi a success, so the result of its
/// operation counts.
pub(super) fn heartbeat_outcome(
    opcode: OpCode,
    error: ErrorCode,
    body: &[u8],
) -> Result<ErrorCode, DecodeError> {
    if opcode != OpCode::MULTI || error != ErrorCode::OK {
        return Ok(error);
    }
    let response = MultiResponse::decode_prefix(body)?;
    Ok(response.error().map_or(ErrorCode::OK, |(_, error)| error))
}

fn check(znode: &str) -> [MultiOp<'_>; 1] {
    [MultiOp::Check(CheckVersionRequest { path: znode, version: Version::ANY })]
}
