//! Heartbeats: what a session sends in place of pings to prove its lease.

use alloc::string::String;

use zk_jute::records::{CheckVersionRequest, MultiOp, MultiRequest, MultiResponse, SyncRequest};
use zk_jute::{Decode, DecodeError, Encode, ErrorCode, OpCode, Version};

use super::Session;
use super::state::{Closing, Heartbeat, HeartbeatZnode, Live, Ping, State};
use super::submission::REQUEST_HEADER_LEN;
use crate::event::{Event, SubmitError};
use crate::lease::{Followup, LeaseGrade, LeaseOutlook};
use crate::requests::Purpose;
use crate::time::Instant;

impl<R, W: Clone> Session<R, W> {
    /// Proves the lease from now on, as the [`LeaseGrade`] of this session demands: with a
    /// heartbeat that names `znode`, at once and then a third of the timeout after each answer,
    /// over reconnects too, until [`Session::stop_heartbeats`]. Called again it goes on with
    /// another znode.
    ///
    /// Without heartbeats, a lease of the grades `Sync` and `Quorum` is proved by nothing but the
    /// making of the session. With `Contact`, pings do, and this changes nothing.
    ///
    /// The znode has to exist, or heartbeats are refused ([`Event::HeartbeatRefused`]) and prove
    /// nothing: name the own candidate, so that the answer also shows that it stood. (Under `Sync`
    /// it is looked at only after a lapse or a hand-over.) After a refusal the same znode is tried
    /// again soon, then ever more rarely; another one is tried at once, so name one that stands.
    ///
    /// # Errors
    ///
    /// [`SubmitError::TooLarge`] if no server would read the request. Nothing is changed then.
    pub fn start_heartbeats(&mut self, now: Instant, znode: &str) -> Result<(), SubmitError> {
        self.check_lease(now);
        if self.lease.grade() == LeaseGrade::Contact {
            return Ok(());
        }
        self.check_size(REQUEST_HEADER_LEN + MultiRequest::new(&check(znode)).encoded_len())?;
        let is_another = self.heartbeat_znode.as_deref() != Some(znode);
        self.heartbeat_znode = Some(String::from(znode));
        if let State::Live(live) = &mut self.state {
            live.heartbeat = match live.heartbeat {
                Heartbeat::RefusedUntil(_) if is_another => Heartbeat::DueAt(now),
                Heartbeat::Unanswered(_) if is_another => {
                    Heartbeat::Unanswered(HeartbeatZnode::Former)
                }
                heartbeat => heartbeat,
            };
            let live = *live;
            self.beat_if_due(now, live);
        }
        Ok(())
    }

    /// Goes back to pings. What was proved stays.
    pub fn stop_heartbeats(&mut self) {
        self.heartbeat_znode = None;
    }

    /// Whether the lease can be relied on to go on, if heartbeats go on (or start now), nothing
    /// fails and answers take no longer than they did: [`LeaseOutlook::Secure`]. Before that a new
    /// leader had better wait; it would lose its lease although nothing is wrong.
    pub fn lease_is_secure(&self, now: Instant) -> bool {
        matches!(self.lease_outlook(now), LeaseOutlook::Secure { .. })
    }

    /// What [`lease_is_secure`](Self::lease_is_secure) says, and what the lease waits for if it is
    /// not secure. An answer or the passing of time changes it: ask again after each of the two.
    pub fn lease_outlook(&self, now: Instant) -> LeaseOutlook {
        match self.state {
            State::Live(live) if !live.is_read_only() => {
                let beats_from = match live.heartbeat {
                    Heartbeat::RefusedUntil(at) => at,
                    Heartbeat::DueAt(_) | Heartbeat::Unanswered(_) => now,
                };
                self.lease.outlook(now, beats_from)
            }
            _ => LeaseOutlook::AwaitsProof,
        }
    }

    /// When a heartbeat is due on this connection.
    pub(super) fn heartbeat_at(&self, live: Live) -> Option<Instant> {
        match (&self.heartbeat_znode, live.heartbeat, live.closing) {
            // A server without its leader would refuse it.
            _ if live.is_read_only() => None,
            (Some(_), Heartbeat::DueAt(due) | Heartbeat::RefusedUntil(due), Closing::NotAsked) => {
                Some(due)
            }
            _ => None,
        }
    }

    /// When a ping is due, if the last one is answered: not where the next heartbeat takes its
    /// place.
    pub(super) fn ping_at(&self, live: Live) -> Option<Instant> {
        match (self.heartbeat_at(live), live.ping) {
            (Some(_), _) | (None, Ping::SentAt(_)) => None,
            (None, Ping::Answered) => {
                let due = live.ping_at();
                Some(self.lease.next_ping(live.last_sent).map_or(due, |at| due.min(at)))
            }
        }
    }

    pub(super) fn beat_if_due(&mut self, now: Instant, live: Live) {
        if self.heartbeat_at(live).is_none_or(|due| now < due) {
            return;
        }
        let Some(znode) = &self.heartbeat_znode else {
            return;
        };
        let sent = match self.lease.grade() {
            LeaseGrade::Contact => return,
            // A follower answers a `sync` also for a session that its leader is closing.
            LeaseGrade::Sync if !self.lease.is_settling() => {
                self.requests.send(now, &SyncRequest { path: znode }, Purpose::Heartbeat)
            }
            LeaseGrade::Sync | LeaseGrade::Quorum => {
                let operations = check(znode);
                self.requests.send(now, &MultiRequest::new(&operations), Purpose::Heartbeat)
            }
        };
        debug_assert!(sent.is_ok(), "its length was checked when the znode was named");
        let heartbeat = Heartbeat::Unanswered(HeartbeatZnode::Current);
        self.state = State::Live(Live { last_sent: now, heartbeat, ..live });
    }

    /// A heartbeat was answered with this outcome.
    pub(super) fn heartbeat_answered(
        &mut self,
        now: Instant,
        sent_at: Instant,
        outcome: ErrorCode,
    ) {
        if outcome != ErrorCode::OK {
            return self.heartbeat_refused(now, outcome);
        }
        let followup = self.lease.heartbeat_answered(now, sent_at);
        let State::Live(live) = &mut self.state else {
            return;
        };
        live.refusals = 0;
        match (followup, &self.heartbeat_znode, live.closing) {
            (Followup::Confirm, Some(znode), Closing::NotAsked) => {
                let request = SyncRequest { path: znode };
                let sent = self.requests.send(now, &request, Purpose::Confirmation);
                debug_assert!(sent.is_ok(), "shorter than the heartbeat");
                live.last_sent = now;
            }
            (Followup::Confirm, _, _) => {
                self.lease.not_confirmed();
                live.heartbeat = Heartbeat::DueAt(self.lease.next_heartbeat(now));
            }
            (Followup::Nothing, _, _) => {
                live.heartbeat = Heartbeat::DueAt(self.lease.next_heartbeat(now));
            }
        }
    }

    /// The confirmation of a heartbeat was answered with this outcome.
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
        self.lease.confirmed(now, sent_at);
        if let State::Live(live) = &mut self.state {
            live.heartbeat = Heartbeat::DueAt(self.lease.next_heartbeat(now));
        }
    }

    fn heartbeat_refused(&mut self, now: Instant, error: ErrorCode) {
        self.events.push_back(Event::HeartbeatRefused { error });
        let State::Live(live) = &mut self.state else {
            return;
        };
        live.heartbeat = match live.heartbeat {
            // The refusal says nothing of the znode that is named now.
            Heartbeat::Unanswered(HeartbeatZnode::Former) => Heartbeat::DueAt(now),
            _ => Heartbeat::RefusedUntil(now + self.lease.retry_delay(live.refusals)),
        };
        live.refusals = live.refusals.saturating_add(1);
        let live = *live;
        self.beat_if_due(now, live);
    }
}

/// What became of a heartbeat. What a server says of the operations of a multi stands behind its
/// header, which calls every multi a success.
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
