//! The session: what goes in, what comes out, and which state it is in.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use bytes::{Bytes, BytesMut};
use zk_jute::records::{CloseSession, ExistsRequest, GetChildren2Request, GetDataRequest};
use zk_jute::{FrameError, Request, RequestHeader, SessionId, Xid, Zxid, put_frame};

use crate::config::{Config, Credentials, WhileDisconnected};
use crate::event::{ConnectionEnd, End, Event, Expiry, SubmitError, Transport};
use crate::lease::Lease;
use crate::outbox::Outbox;
use crate::pending::{AskedWatch, InFlight, Pending, Purpose};
use crate::servers::{ServerIndex, Servers};
use crate::time::Instant;
use crate::watches::{WatchId, WatchedBy, Watches};

mod connection;
mod frames;

#[cfg(test)]
mod tests;

/// One ZooKeeper session over many connections. See the [crate documentation](crate) for the loop
/// that drives it.
///
/// `R` is what the caller tells its requests apart by, `W` its watches; both come back in
/// [`Event`]s.
pub struct Session<R, W> {
    config: Config,
    rng: fastrand::Rng,
    servers: Servers,
    /// Attempts to connect since a session was last accepted.
    attempts: u32,
    state: State,
    identity: Identity,
    lease: Lease,
    last_xid: Xid,
    /// What a server has to have applied before this session talks to it.
    seen: Zxid,
    /// What all watch events are delivered for: zxids of replies only. An event may share its
    /// transaction with others that are still on their way, so its zxid does not count here.
    delivered: Zxid,
    outbox: Outbox,
    in_flight: InFlight<R>,
    queued: Queue<R>,
    watches: Watches<W>,
    credentials: Vec<Authentication>,
    transport: Option<Transport>,
    events: VecDeque<Event<R, W>>,
}

/// Where the session is between no connection and a working one. A deadline lives in its state.
#[derive(Clone, Copy, Debug)]
enum State {
    Waiting {
        until: Instant,
    },
    Opening {
        server: ServerIndex,
        give_up_at: Instant,
    },
    Handshaking {
        server: ServerIndex,
        sent_at: Instant,
        give_up_at: Instant,
    },
    Live(Live),
    Ended(End),
}

/// A connection on which the session is established.
#[derive(Clone, Copy, Debug)]
struct Live {
    timeout: Duration,
    last_sent: Instant,
    last_received: Instant,
    ping: Ping,
    closing: Closing,
}

#[derive(Clone, Copy, Debug)]
enum Ping {
    Answered,
    SentAt(Instant),
}

#[derive(Clone, Copy, Debug)]
enum Closing {
    NotAsked,
    GiveUpAt(Instant),
}

/// Whether a server has granted the session yet.
#[derive(Debug)]
enum Identity {
    New,
    Granted {
        credentials: Credentials,
        timeout: Duration,
        /// When the session is declared dead if no server is in reach until then.
        dead_at: Instant,
    },
}

/// Requests that wait for a connection.
#[derive(Debug)]
struct Queue<R> {
    frames: BytesMut,
    requests: VecDeque<Pending<R>>,
}

/// An identity to present on every connection.
struct Authentication {
    scheme: String,
    credential: Vec<u8>,
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authentication")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

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

impl<R, W> Session<R, W> {
    /// A session that does not exist yet. The first attempt to connect begins at once.
    pub fn new(config: Config, seed: u64, now: Instant) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        Self {
            servers: Servers::new(config.servers, &mut rng),
            rng,
            attempts: 0,
            state: State::Waiting { until: now },
            identity: Identity::New,
            lease: Lease::new(config.margin),
            last_xid: Xid::default(),
            seen: Zxid::ZERO,
            delivered: Zxid::ZERO,
            outbox: Outbox::default(),
            in_flight: InFlight::new(),
            queued: Queue {
                frames: BytesMut::new(),
                requests: VecDeque::new(),
            },
            watches: Watches::new(),
            credentials: Vec::new(),
            transport: None,
            events: VecDeque::new(),
            config,
        }
    }

    /// Submits a request. Its outcome comes as [`Event::Completed`] with `tag`, in the order of
    /// submission.
    ///
    /// A request that asks for a watch goes through [`Session::submit_watching`]: a watch set from
    /// here would fire for nobody.
    pub fn submit<Q: Request>(
        &mut self,
        now: Instant,
        tag: R,
        request: &Q,
    ) -> Result<(), SubmitError> {
        self.enqueue(now, request, Purpose::Caller { tag, watch: None })
    }

    /// Submits a read that leaves a watch. [`Event::Fired`] or [`Event::WatchLost`] tells
    /// `watcher` once, unless the read fails or the watch is [forgotten](Session::forget).
    pub fn submit_watching(
        &mut self,
        now: Instant,
        tag: R,
        read: Watching<'_>,
        watcher: W,
    ) -> Result<WatchId, SubmitError> {
        let (path, by) = match read {
            Watching::Exists(path) => (path, WatchedBy::Exists),
            Watching::GetData(path) => (path, WatchedBy::GetData),
            Watching::GetChildren(path) => (path, WatchedBy::GetChildren),
        };
        let id = self.watches.ask(path, watcher);
        let purpose = Purpose::Caller {
            tag,
            watch: Some(AskedWatch { id, by }),
        };
        let watch = true;
        let submitted = match by {
            WatchedBy::Exists => self.enqueue(now, &ExistsRequest { path, watch }, purpose),
            WatchedBy::GetData => self.enqueue(now, &GetDataRequest { path, watch }, purpose),
            WatchedBy::GetChildren => {
                self.enqueue(now, &GetChildren2Request { path, watch }, purpose)
            }
        };
        match submitted {
            Ok(()) => Ok(id),
            Err(error) => {
                self.watches.forget(id);
                Err(error)
            }
        }
    }

    /// Drops a watch: nothing will be reported for it. The server forgets it when it fires, or
    /// with the connection.
    pub fn forget(&mut self, watch: WatchId) {
        self.watches.forget(watch);
    }

    /// Presents an identity on this connection, if there is one, and on every later one, before
    /// anything else. A refusal ends the session with [`End::AuthFailed`].
    pub fn authenticate(&mut self, now: Instant, scheme: &str, credential: &[u8]) {
        let authentication = Authentication {
            scheme: scheme.into(),
            credential: credential.to_vec(),
        };
        if let State::Live(live) = &mut self.state {
            live.last_sent = now;
            connection::send_auth(&mut self.outbox, &authentication);
        }
        self.credentials.push(authentication);
    }

    /// Ends the session: after the requests submitted so far, a `closeSession` is sent and its
    /// answer awaited for at most the session timeout. Without a connection the session is
    /// abandoned at once. [`Event::Ended`] tells which.
    pub fn close(&mut self, now: Instant) {
        match self.state {
            State::Live(Live {
                closing: Closing::GiveUpAt(_),
                ..
            })
            | State::Ended(_) => {}
            State::Live(live) => {
                if self.send(now, &CloseSession, Purpose::Close).is_err() {
                    return self.end(End::Abandoned);
                }
                let closing = Closing::GiveUpAt(now + live.timeout);
                self.state = State::Live(Live {
                    closing,
                    last_sent: now,
                    ..live
                });
            }
            State::Waiting { .. } | State::Opening { .. } | State::Handshaking { .. } => {
                self.end(End::Abandoned);
            }
        }
    }

    /// The transport that [`Transport::Connect`] asked for is open.
    pub fn handle_opened(&mut self, now: Instant) {
        self.check_lease(now);
        if let State::Opening { server, .. } = self.state {
            self.send_handshake();
            let give_up_at = now + self.connect_timeout();
            self.state = State::Handshaking {
                server,
                sent_at: now,
                give_up_at,
            };
        }
    }

    /// The transport delivered the payload of a frame.
    pub fn handle_frame(&mut self, now: Instant, frame: Bytes) {
        self.check_lease(now);
        match self.state {
            State::Handshaking { sent_at, .. } => self.handle_handshake(now, sent_at, &frame),
            State::Live(_) => self.handle_live_frame(now, frame),
            State::Waiting { .. } | State::Opening { .. } | State::Ended(_) => {}
        }
    }

    /// The transport could not be opened, failed, or was closed by the other side.
    pub fn handle_closed(&mut self, now: Instant) {
        self.check_lease(now);
        self.connection_ended(now, ConnectionEnd::Closed);
    }

    /// Does what is due at `now`. Call it at [`Session::poll_timeout`], and whenever: what is not
    /// due is not done.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.check_lease(now);
        match self.state {
            State::Waiting { until } if until <= now => self.open(now),
            State::Opening { give_up_at, .. } | State::Handshaking { give_up_at, .. }
                if give_up_at <= now =>
            {
                self.connection_ended(now, ConnectionEnd::TimedOut);
            }
            State::Live(live) => self.handle_live_timeout(now, live),
            State::Waiting { .. }
            | State::Opening { .. }
            | State::Handshaking { .. }
            | State::Ended(_) => {}
        }
        if self.dead_at().is_some_and(|dead_at| dead_at <= now) {
            self.end(End::Expired(Expiry::Unreachable));
        }
    }

    /// When [`Session::handle_timeout`] wants to be called next; `None` once the session is over.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let state = match self.state {
            State::Waiting { until } => until,
            State::Opening { give_up_at, .. } | State::Handshaking { give_up_at, .. } => give_up_at,
            State::Live(live) => live.next_timeout(),
            State::Ended(_) => return None,
        };
        [self.lease.deadline(), self.dead_at()]
            .into_iter()
            .flatten()
            .chain([state])
            .min()
    }

    /// What to do with the transport now, if anything.
    pub fn poll_transport(&mut self) -> Option<Transport> {
        self.transport.take()
    }

    /// Appends the bytes to send to `output`. Both may be empty.
    pub fn poll_transmit(&mut self, output: &mut BytesMut) {
        self.outbox.drain_into(output);
    }

    /// The next event, oldest first.
    pub fn poll_event(&mut self) -> Option<Event<R, W>> {
        self.events.pop_front()
    }

    /// Until when no server can have expired the session, less the margin; what that rests on is
    /// the [`Grade`](crate::Grade). `None` before the first connection and once it has passed.
    pub fn lease_deadline(&self) -> Option<Instant> {
        self.lease.deadline()
    }

    /// The session's id, once a server has granted it.
    pub fn id(&self) -> Option<SessionId> {
        match &self.identity {
            Identity::New => None,
            Identity::Granted { credentials, .. } => Some(credentials.session),
        }
    }

    /// How the session ended, once it has.
    pub fn ended(&self) -> Option<End> {
        match self.state {
            State::Ended(end) => Some(end),
            State::Waiting { .. }
            | State::Opening { .. }
            | State::Handshaking { .. }
            | State::Live(_) => None,
        }
    }

    /// The highest zxid seen in any reply or event.
    pub fn last_zxid(&self) -> Zxid {
        self.seen
    }

    /// Whether requests can be sent right now.
    pub fn is_connected(&self) -> bool {
        matches!(
            self.state,
            State::Live(Live {
                closing: Closing::NotAsked,
                ..
            })
        )
    }

    /// Whether the next request would be refused with [`SubmitError::Full`].
    pub fn is_full(&self) -> bool {
        let limits = &self.config.limits;
        self.in_flight.len() + self.queued.requests.len() >= limits.max_in_flight
            || self.outbox.len() + self.queued.frames.len() >= limits.max_queued_bytes
    }

    fn enqueue<Q: Request>(
        &mut self,
        now: Instant,
        request: &Q,
        purpose: Purpose<R>,
    ) -> Result<(), SubmitError> {
        match (self.state, self.config.while_disconnected) {
            (
                State::Ended(_)
                | State::Live(Live {
                    closing: Closing::GiveUpAt(_),
                    ..
                }),
                _,
            ) => Err(SubmitError::Closed),
            (State::Live(_), _) if !self.is_full() => self.send(now, request, purpose),
            (State::Live(_), _) => Err(SubmitError::Full),
            (_, WhileDisconnected::Refuse) => Err(SubmitError::NotConnected),
            (_, WhileDisconnected::Queue) if self.is_full() => Err(SubmitError::Full),
            (_, WhileDisconnected::Queue) => self.queue(now, request, purpose),
        }
    }

    /// Sends on the present connection, whatever the bounds say.
    fn send<Q: Request>(
        &mut self,
        now: Instant,
        request: &Q,
        purpose: Purpose<R>,
    ) -> Result<(), SubmitError> {
        let xid = self.last_xid.next();
        let header = RequestHeader {
            xid,
            opcode: Q::OPCODE,
        };
        self.outbox
            .push(self.config.limits.max_frame, &header, request)?;
        self.in_flight.push_back(Pending {
            xid,
            sent_at: now,
            purpose,
        });
        self.last_xid = xid;
        if let State::Live(live) = &mut self.state {
            live.last_sent = now;
        }
        Ok(())
    }

    /// Keeps a request until there is a connection.
    fn queue<Q: Request>(
        &mut self,
        now: Instant,
        request: &Q,
        purpose: Purpose<R>,
    ) -> Result<(), SubmitError> {
        let xid = self.last_xid.next();
        let header = RequestHeader {
            xid,
            opcode: Q::OPCODE,
        };
        put_frame(
            &mut self.queued.frames,
            self.config.limits.max_frame,
            &header,
            request,
        )?;
        self.queued.requests.push_back(Pending {
            xid,
            sent_at: now,
            purpose,
        });
        self.last_xid = xid;
        Ok(())
    }
}

/// The only way in which a request does not fit into a frame is by its length.
impl From<FrameError> for SubmitError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::TooLong { length, limit } => Self::TooLarge { length, limit },
            _ => Self::TooLarge {
                length: usize::MAX,
                limit: 0,
            },
        }
    }
}

impl<R, W> fmt::Debug for Session<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id())
            .field("state", &self.state)
            .field("last_zxid", &self.seen)
            .field("lease_deadline", &self.lease.deadline())
            .field("in_flight", &self.in_flight.len())
            .finish_non_exhaustive()
    }
}
