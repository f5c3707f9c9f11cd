//! Requests of the caller: operations, watches, identities, the end.

use alloc::sync::Arc;

use zk_jute::records::{
    AddWatchRequest, CloseSession, ExistsRequest, GetChildren2Request, GetDataRequest,
    RemoveWatchesRequest, WatcherType,
};
use zk_jute::{Decode, Encode, OpCode, Request, RequestHeader};

use super::Session;
use super::state::{Authentication, Closing, Live, State};
use crate::config::WhileDisconnected;
use crate::event::{SessionEnd, SubmitError};
use crate::requests::Purpose;
use crate::secret::Secret;
use crate::time::Instant;
use crate::watches::{Batch, Source, WatchId, WatchMode, WatchedBy};

/// A read that leaves a one-shot watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watching<'a> {
    /// An `exists`; the watch is left whether the znode exists or not.
    Exists(&'a str),
    /// A `getData`; the watch is left only if the znode exists.
    GetData(&'a str),
    /// A `getChildren2`; the watch is left only if the znode exists.
    GetChildren(&'a str),
}

impl<'a> Watching<'a> {
    const fn path(self) -> &'a str {
        match self {
            Self::Exists(path) | Self::GetData(path) | Self::GetChildren(path) => path,
        }
    }

    const fn asks(self) -> WatchedBy {
        match self {
            Self::Exists(_) => WatchedBy::Exists,
            Self::GetData(_) => WatchedBy::GetData,
            Self::GetChildren(_) => WatchedBy::GetChildren,
        }
    }
}

impl<R, W: Clone> Session<R, W> {
    /// Submits a request. Its outcome comes as [`Event::Completed`](crate::Event::Completed) with
    /// `tag`, in the order of submission.
    ///
    /// A request that asks for a watch goes through [`Session::submit_watching`]: a watch set from
    /// here would fire without a watcher.
    #[inline]
    pub fn submit<Q: Request>(
        &mut self,
        now: Instant,
        tag: R,
        request: &Q,
    ) -> Result<(), SubmitError> {
        self.check_lease(now);
        self.enqueue(now, request, Purpose::Caller(tag))
    }

    /// Submits a read that leaves a watch. [`Event::Fired`](crate::Event::Fired) or
    /// [`Event::WatchLost`](crate::Event::WatchLost) comes once with the tag `watcher`, unless the
    /// read fails or the caller [forgets](Session::forget) the watch.
    ///
    /// Several watches on one path are one watch on the server, and fire together.
    pub fn submit_watching(
        &mut self,
        now: Instant,
        tag: R,
        read: Watching<'_>,
        watcher: W,
    ) -> Result<WatchId, SubmitError> {
        self.check_lease(now);
        self.check_size(Batch::least_frame_len(read.path()))?;
        let (id, source) = self.watches.ask(read.path(), watcher, read.asks());
        let purpose = Purpose::Watching(tag, id);
        let watch = source == Source::Own;
        let submitted = match read {
            Watching::Exists(path) => {
                let request = ExistsRequest { path, watch };
                self.enqueue(now, &request, purpose)
            }
            Watching::GetData(path) => {
                let request = GetDataRequest { path, watch };
                self.enqueue(now, &request, purpose)
            }
            Watching::GetChildren(path) => {
                let request = GetChildren2Request { path, watch };
                self.enqueue(now, &request, purpose)
            }
        };
        submitted.map(|()| id).inspect_err(|_| self.watches.unanswered(id))
    }

    /// Submits a watch that stays (since ZooKeeper 3.6.0).
    /// [`Event::Changed`](crate::Event::Changed) comes with `watcher` for each change, and
    /// [`Event::ChangesMissed`](crate::Event::ChangesMissed) after each reconnect, since servers
    /// keep no events for a client that is away. This goes on until the caller
    /// [forgets](Session::forget) the watch, or the watch is [lost](crate::Event::WatchLost).
    ///
    /// The znode need not exist. One path may have watches of all kinds, whatever the release of
    /// the server.
    pub fn submit_persistent(
        &mut self,
        now: Instant,
        tag: R,
        (path, mode): (&str, WatchMode),
        watcher: W,
    ) -> Result<WatchId, SubmitError> {
        self.check_lease(now);
        self.check_size(Batch::least_frame_len(path))?;
        let wire = self.watches.wire_mode(path, mode);
        let (id, _) = self.watches.ask(path, watcher, WatchedBy::AddWatch { mode, wire });
        let request = AddWatchRequest { path, mode: wire.wire() };
        let submitted = self.enqueue(now, &request, Purpose::Watching(tag, id));
        submitted.map(|()| id).inspect_err(|_| self.watches.unanswered(id))
    }

    /// Drops a watch: no more events come for it. If it was the last one on its path, the session
    /// removes the watch on the server too, since it would stay there (CURATOR-107). Not so on servers that are not
    /// Apache ZooKeeper, unless they have shown that they know how: others close the connection over the request.
    pub fn forget(&mut self, now: Instant, watch: WatchId) {
        self.check_lease(now);
        self.watches.forget(watch);
        self.remove_unwanted(now);
    }

    /// Drops a watch on a znode that is about to be deleted, like [`Session::forget`]. No
    /// request goes to the server: the deletion ends the watch there.
    pub fn forget_locally(&mut self, watch: WatchId) {
        self.watches.forget_locally(watch);
    }

    /// Removes the server's watches on paths where the session has none left. It uses the type
    /// `Any`: servers before 3.9 cannot tell the kinds apart, and the session has none of any kind
    /// there.
    pub(super) fn remove_unwanted(&mut self, now: Instant) {
        while let Some(path) = self.watches.take_unwanted() {
            if let State::Live(live @ Live { closing: Closing::NotAsked, .. }) = &mut self.state
                && !self.requests.is_refused(OpCode::REMOVE_WATCHES)
                && self.requests.may_remove_watches(live.family)
            {
                let request = RemoveWatchesRequest { path: &path, kind: WatcherType::ANY };
                let purpose = Purpose::RemoveWatches(Arc::clone(&path));
                let sent = self.requests.send(now, &request, purpose);
                debug_assert!(sent.is_ok(), "shorter than what set the watch");
                live.last_sent = now;
            }
        }
    }

    /// Removes what the server had too much to do to remove: it has just had time for a ping or a
    /// heartbeat, so this asks at their pace.
    pub(super) fn remove_again(&mut self, now: Instant) {
        self.watches.remove_again();
        self.remove_unwanted(now);
    }

    /// Presents an identity on this connection, if there is one, and on every later one, before
    /// anything else. A refusal ends the session with [`SessionEnd::AuthFailed`].
    ///
    /// # Errors
    ///
    /// [`SubmitError::TooLarge`] if no server would accept it; [`SubmitError::Closed`] if there
    /// will be no later connection. The session then does not keep it.
    pub fn authenticate(
        &mut self,
        now: Instant,
        scheme: &str,
        credential: &[u8],
    ) -> Result<(), SubmitError> {
        self.check_lease(now);
        let authentication =
            Authentication { scheme: scheme.into(), credential: Secret::new(credential) };
        let packet = authentication.packet();
        self.check_size(REQUEST_HEADER_LEN + packet.encoded_len())?;
        match &mut self.state {
            State::Ended(_) | State::Live(Live { closing: Closing::GiveUpAt(_), .. }) => {
                return Err(SubmitError::Closed);
            }
            State::Live(live) => {
                self.requests.send_auth(&packet)?;
                live.last_sent = now;
            }
            State::Waiting { .. }
            | State::Opening { .. }
            | State::Handshaking { .. }
            | State::Authenticating(_) => {}
        }
        self.authentications.push(authentication);
        Ok(())
    }

    /// Ends the session. It sends a `closeSession` after the requests submitted so far, and waits
    /// for the answer, at most for the session timeout. Without a connection it abandons the
    /// session at once. [`Event::Ended`](crate::Event::Ended) says which.
    pub fn close(&mut self, now: Instant) {
        self.check_lease(now);
        match &mut self.state {
            State::Live(Live { closing: Closing::GiveUpAt(_), .. }) | State::Ended(_) => {}
            State::Live(live) => {
                let sent = self.requests.send(now, &CloseSession, Purpose::Close);
                if sent.is_err() {
                    return self.end(SessionEnd::Abandoned);
                }
                live.last_sent = now;
                live.closing = Closing::GiveUpAt(now + live.timeout);
            }
            State::Waiting { .. }
            | State::Opening { .. }
            | State::Handshaking { .. }
            | State::Authenticating(_) => {
                self.end(SessionEnd::Abandoned);
            }
        }
    }

    #[inline]
    fn enqueue<Q: Request>(
        &mut self,
        now: Instant,
        request: &Q,
        purpose: Purpose<R>,
    ) -> Result<(), SubmitError> {
        match (&mut self.state, self.config.while_disconnected) {
            (State::Ended(_) | State::Live(Live { closing: Closing::GiveUpAt(_), .. }), _) => {
                Err(SubmitError::Closed)
            }
            _ if self.requests.is_refused(Q::OPCODE) => Err(SubmitError::Unsupported(Q::OPCODE)),
            (State::Live(_), _) | (_, WhileDisconnected::Queue) if self.requests.are_full() => {
                Err(SubmitError::Full)
            }
            (State::Live(live), _) => {
                self.requests.send(now, request, purpose)?;
                live.last_sent = now;
                Ok(())
            }
            (_, WhileDisconnected::Queue) => self.requests.queue(now, request, purpose),
            (_, WhileDisconnected::Refuse) => Err(SubmitError::NotConnected),
        }
    }

    pub(super) fn check_size(&self, length: usize) -> Result<(), SubmitError> {
        let limit = self.config.limits.max_frame;
        if length > limit {
            return Err(SubmitError::TooLarge { length, limit });
        }
        Ok(())
    }
}

pub(super) const REQUEST_HEADER_LEN: usize = <RequestHeader as Decode<'static>>::MIN_ENCODED_LEN;
