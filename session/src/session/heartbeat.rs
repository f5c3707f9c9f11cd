//! Heartbeats: what a session sends in place of pings to prove its lease.

use alloc::string::String;

use zk_jute::records::{CheckVersionRequest, MultiOp, MultiRequest, MultiResponse, SyncRequest};
use zk_jute::{Decode, Encode, ErrorCode, Version};

use super::Session;
use super::state::{Closing, Heartbeat, Live, State};
use super::submission::REQUEST_HEADER_LEN;
use crate::event::{ConnectionEnd, Event, SubmitError};
use crate::lease::{Followup, Grade};
use crate::requests::Purpose;
use crate::time::Instant;

impl<R, W: Clone> Session<R, W> {
    /// Proves the lease from now on, as the [`Grade`] of this session demands: with a heartbeat
    /// that names `znode`, at once and then a third of the timeout after each answer, over
    /// reconnects too, until [`Session::stop_heartbeats`]. Called again it goes on with another
    /// znode.
    ///
    /// Without heartbeats, a lease of the grades `Sync` and `Quorum` is proved by nothing but the
    /// making of the session. With `Contact`, pings do, and this changes nothing.
    ///
    /// For `Quorum` the znode has to exist, or heartbeats are refused
    /// ([`Event::HeartbeatRefused`]) and prove nothing: name the own candidate, so that the answer
    /// also shows that it stood.
    ///
    /// # Errors
    ///
    /// [`SubmitError::TooLarge`] if no server would read the request. Nothing is changed then.
    pub fn start_heartbeats(&mut self, now: Instant, znode: &str) -> Result<(), SubmitError> {
        self.check_lease(now);
        if self.lease.grade() == Grade::Contact {
            return Ok(());
        }
        self.check_size(REQUEST_HEADER_LEN + MultiRequest::new(&check(znode)).encoded_len())?;
        self.heartbeat_znode = Some(String::from(znode));
        if let State::Live(live) = self.state {
            self.beat_if_due(now, live);
        }
        Ok(())
    }

    /// Goes back to pings. What was proved stays.
    pub fn stop_heartbeats(&mut self) {
        self.heartbeat_znode = None;
    }

    /// Whether the lease can be relied on to go on: its deadline lies after the moment at which
    /// heartbeats will have proved a later one, if nothing fails. Before that a new leader had
    /// better wait; it would lose its lease although nothing is wrong.
    pub fn lease_is_secure(&self, now: Instant) -> bool {
        self.lease.is_secure(now)
    }

    /// When a heartbeat is due on this connection.
    pub(super) fn heartbeat_at(&self, live: Live) -> Option<Instant> {
        match (&self.heartbeat_znode, live.heartbeat, live.closing) {
            // A server without its leader would refuse it.
            _ if live.is_read_only() => None,
            (Some(_), Heartbeat::DueAt(due), Closing::NotAsked) => Some(due),
            _ => None,
        }
    }

    /// When a ping is due: not where the next heartbeat takes its place.
    pub(super) fn ping_at(&self, live: Live) -> Option<Instant> {
        match self.heartbeat_at(live) {
            Some(_) => None,
            None => live.ping_at(),
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
            Grade::Contact => return,
            Grade::Sync => {
                self.requests.send(now, &SyncRequest { path: znode }, Purpose::Heartbeat)
            }
            Grade::Quorum => {
                let operations = check(znode);
                self.requests.send(now, &MultiRequest::new(&operations), Purpose::Heartbeat)
            }
        };
        debug_assert!(sent.is_ok(), "its length was checked when the znode was named");
        let heartbeat = Heartbeat::Unanswered;
        self.state = State::Live(Live { last_sent: now, heartbeat, ..live });
    }

    /// What a server says of the operations of a multi stands behind its header, which calls every
    /// multi a success (protocol section 4.6).
    pub(super) fn handle_heartbeat_reply(
        &mut self,
        now: Instant,
        sent_at: Instant,
        error: ErrorCode,
        body: &[u8],
    ) {
        match (self.lease.grade(), error) {
            (Grade::Quorum, ErrorCode::OK) => match MultiResponse::decode_prefix(body) {
                Ok(response) => {
                    let error = response.error().map_or(ErrorCode::OK, |(_, error)| error);
                    self.heartbeat_answered(now, sent_at, error);
                }
                Err(error) => {
                    self.connection_ended(now, ConnectionEnd::Protocol(error.into()));
                }
            },
            _ => self.heartbeat_answered(now, sent_at, error),
        }
    }

    fn heartbeat_answered(&mut self, now: Instant, sent_at: Instant, error: ErrorCode) {
        let followup = if error == ErrorCode::OK {
            self.lease.heartbeat_answered(now, sent_at)
        } else {
            self.events.push_back(Event::HeartbeatRefused { error });
            Followup::Nothing
        };
        let State::Live(live) = &mut self.state else {
            return;
        };
        live.heartbeat = Heartbeat::DueAt(now + self.lease.interval());
        if let (Followup::Confirm, Some(znode), Closing::NotAsked) =
            (followup, &self.heartbeat_znode, live.closing)
        {
            let request = SyncRequest { path: znode };
            let sent = self.requests.send(now, &request, Purpose::Confirmation);
            debug_assert!(sent.is_ok(), "shorter than the heartbeat");
            live.last_sent = now;
        }
    }
}

fn check(znode: &str) -> [MultiOp<'_>; 1] {
    [MultiOp::Check(CheckVersionRequest { path: znode, version: Version::ANY })]
}
