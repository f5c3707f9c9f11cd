//! What the caller asks for: requests, watches, identities, the end.

use zk_jute::records::{CloseSession, ExistsRequest, GetChildren2Request, GetDataRequest};
use zk_jute::{Decode, Encode, Request, RequestHeader};

use super::Session;
use super::state::{Authentication, Closing, Live, State};
use crate::config::WhileDisconnected;
use crate::event::{End, SubmitError};
use crate::requests::{AskedWatch, Purpose};
use crate::secret::Secret;
use crate::time::Instant;
use crate::watches::{Batch, WatchId, WatchedBy};

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
}

impl<R, W> Session<R, W> {
    /// Submits a request. Its outcome comes as [`Event::Completed`](crate::Event::Completed) with
    /// `tag`, in the order of submission.
    ///
    /// A request that asks for a watch goes through [`Session::submit_watching`]: a watch set from
    /// here would fire for nobody.
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
    /// [`Event::WatchLost`](crate::Event::WatchLost) tells `watcher` once, unless the read fails
    /// or the watch is [forgotten](Session::forget).
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
        let id = self.watches.ask(read.path(), watcher);
        let watching = |by| Purpose::Watching(tag, AskedWatch { id, by });
        let watch = true;
        let submitted = match read {
            Watching::Exists(path) => {
                let request = ExistsRequest { path, watch };
                self.enqueue(now, &request, watching(WatchedBy::Exists))
            }
            Watching::GetData(path) => {
                let request = GetDataRequest { path, watch };
                self.enqueue(now, &request, watching(WatchedBy::GetData))
            }
            Watching::GetChildren(path) => {
                let request = GetChildren2Request { path, watch };
                self.enqueue(now, &request, watching(WatchedBy::GetChildren))
            }
        };
        submitted.map(|()| id).inspect_err(|_| self.watches.forget(id))
    }

    /// Drops a watch: nothing will be reported for it. The server forgets it when it fires, or
    /// with the connection.
    pub fn forget(&mut self, watch: WatchId) {
        self.watches.forget(watch);
    }

    /// Presents an identity on this connection, if there is one, and on every later one, before
    /// anything else. A refusal ends the session with [`End::AuthFailed`].
    ///
    /// # Errors
    ///
    /// [`SubmitError::TooLarge`] if no server would read it, [`SubmitError::Closed`] if there will
    /// be no later connection. It is then not kept.
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

    /// Ends the session: after the requests submitted so far, a `closeSession` is sent and its
    /// answer awaited for at most the session timeout. Without a connection the session is
    /// abandoned at once. [`Event::Ended`](crate::Event::Ended) tells which.
    pub fn close(&mut self, now: Instant) {
        self.check_lease(now);
        match &mut self.state {
            State::Live(Live { closing: Closing::GiveUpAt(_), .. }) | State::Ended(_) => {}
            State::Live(live) => {
                let sent = self.requests.send(now, &CloseSession, Purpose::Close);
                if sent.is_err() {
                    return self.end(End::Abandoned);
                }
                live.last_sent = now;
                live.closing = Closing::GiveUpAt(now + live.timeout);
            }
            State::Waiting { .. }
            | State::Opening { .. }
            | State::Handshaking { .. }
            | State::Authenticating(_) => {
                self.end(End::Abandoned);
            }
        }
    }

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
