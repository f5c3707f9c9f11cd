//! The client: one session, cheap to share.

// rustdoc shows the methods of a type in the order of its modules: first what each program uses.
mod builder;

mod operations;

mod create;

mod transaction;

mod access;
mod chroot;
mod create_before_3_5;
mod delete_tree;
mod ensemble;
mod failure;
mod handover;
mod inspect;
mod multi_read;
mod parents;
mod pipeline;
mod reconnected;
mod stamped;
mod ttl;
mod watch;

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use zk_jute::{ErrorCode, OpCode, Request, SessionId};
use zk_session::{Completion, Rollback, ServerAddress, ServerFamily, SessionEnd, SubmitError};

pub use crate::error::version::ServerVersion;
pub use builder::ClientBuilder;
pub use create::{CreateMode, Created};
pub use ensemble::{
    EnsembleConfig, EnsembleMember, EnsembleMemberRole, ParseEnsembleMemberError, Reconfiguration,
};
pub use failure::{CloseError, ConnectError, NoServers};
pub use handover::NoSession;
pub use inspect::ConnectionIdentity;
pub use multi_read::{MultiRead, ReadOutcome};
pub use operations::Children;
pub(crate) use reconnected::Obstacle;
pub(crate) use stamped::{Leaves, Stamped};
pub use transaction::{OperationOutcome, Transaction, TransactionError};
pub use ttl::{Ttl, TtlError};
pub use watch::{OneshotWatch, PersistentWatch, WatchEvent, WatchLost, WatchUpdate};

use crate::hub::{CallStage, Caller, Hub, Shared};
use crate::path::{self, PathError};
use crate::state::ConnectionState;
use crate::telemetry::metrics::RequestMeter;
use crate::telemetry::{Outcome, RequestSpan};
use crate::updates::{NoMoreUpdates, Updates};
use crate::{Error, ErrorKind};

/// A client of a ZooKeeper ensemble: a handle on one session.
///
/// Clones share the session. The last clone, together with the last
/// [`Nomination`](crate::election::Nomination) made from it, closes the session when it is dropped.
///
/// Every operation is *cancel safe* in this sense: dropping its future leaves nothing behind in the
/// client. The server may still execute the operation, as after a lost connection. Operations are
/// sent in the order in which their futures are first polled, except operations that have to wait
/// for room ([`Limits`](crate::session::Limits)).
#[derive(Clone)]
pub struct Client {
    pub(crate) handle: Arc<Handle>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Where the lock is held, as by a driver that panics, there is nothing to show.
        let mut shown = f.debug_struct("Client");
        let Some(hub) = self.shared().try_lock() else {
            return shown.finish_non_exhaustive();
        };
        let (session, state) = (hub.host.session_id(), hub.connection.read(Clone::clone));
        drop(hub);
        if let Some(session) = session {
            shown.field("session", &format_args!("{session}"));
        }
        shown.field("state", &format_args!("{state}")).finish()
    }
}

/// Closes the session with the last owner.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.with(|hub, now| hub.host.close(now));
    }
}

impl Client {
    /// Replaces the list of servers of the client and all its clones. The list counts until the
    /// client's [`ServerSource`](crate::source::ServerSource), if it has one, names others. A
    /// connection stays until it is lost, even if its server is not on the list; an attempt to
    /// connect begins anew.
    ///
    /// # Errors
    ///
    /// [`NoServers`] if the list is empty.
    pub fn update_servers(
        &self,
        servers: impl IntoIterator<Item = ServerAddress>,
    ) -> Result<(), NoServers> {
        let servers: Vec<_> = servers.into_iter().collect();
        if servers.is_empty() {
            return Err(NoServers);
        }
        self.shared().with(|hub, now| hub.replace_servers(now, servers));
        Ok(())
    }

    /// Returns the state of the connection and session.
    pub fn connection_state(&self) -> ConnectionState {
        self.shared().lock().connection.read(Clone::clone)
    }

    /// Returns the state of the connection and session, with its changes.
    pub fn connection_updates(&self) -> Updates<ConnectionState> {
        Updates::new(self.shared().lock().connection.subscribe())
    }

    /// Returns the session, once a server has granted one. After an expiry it is the next one, once
    /// that is granted.
    pub fn session_id(&self) -> Option<SessionId> {
        self.shared().lock().host.session_id()
    }

    /// Returns the family of the server that the client is connected to, or was last; `None` before the
    /// first connection. It decides whether a lease holds.
    pub fn server_family(&self) -> Option<ServerFamily> {
        self.shared().lock().host.server_family()
    }

    /// Returns the last loss of transactions by the ensemble that this client has noticed: what it had shown
    /// to an earlier session of this client is gone, and tokens go back. What to do: [when the ensemble has
    /// lost its data](https://github.com/zk-election/zk-election/blob/main/docs/operating.md#when-the-ensemble-has-lost-its-data).
    ///
    /// `None` proves nothing: only a write of a later session shows a loss, and only where zxids have gone
    /// back.
    pub fn rollback(&self) -> Option<Rollback> {
        self.shared().lock().rollback().read(|rollback| *rollback)
    }

    /// Returns [`Client::rollback`], with its changes.
    pub fn rollback_updates(&self) -> Updates<Option<Rollback>> {
        Updates::new(self.shared().lock().rollback().subscribe())
    }

    /// Closes the session for all clones. Operations submitted before are still answered; then the
    /// ephemeral znodes of the session go at once. Waits for the server's confirmation, at most for
    /// the session timeout.
    ///
    /// Cancel safe: once polled, the session is closing, whether or not the future is dropped.
    ///
    /// # Errors
    ///
    /// [`CloseError`] if no server confirmed it. The ephemeral znodes then go when the server
    /// expires the session, after at most the session timeout.
    pub async fn close(self) -> Result<(), CloseError> {
        let mut connection = self.connection_updates();
        self.shared().with(|hub, now| hub.host.close(now));
        match connection.wait_for(|state| matches!(state, ConnectionState::Closed { .. })).await {
            Ok(ConnectionState::Closed { end: SessionEnd::Closed | SessionEnd::Expired(_) }) => {
                Ok(())
            }
            Ok(_) | Err(NoMoreUpdates) => Err(CloseError),
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    /// Returns the path on the server.
    #[inline]
    pub(crate) fn server_path<'a, Q: Request>(
        &'a self,
        path: &'a str,
    ) -> Result<std::borrow::Cow<'a, str>, Error> {
        self.checked_path(Q::OPCODE, path, path::check_path(path))
    }

    #[inline]
    fn checked_path<'a>(
        &'a self,
        operation: OpCode,
        path: &'a str,
        checked: Result<(), PathError>,
    ) -> Result<std::borrow::Cow<'a, str>, Error> {
        match checked {
            Ok(()) => Ok(self.shared().chroot.enter(path)),
            Err(error) => Err(Self::invalid_path(operation, path, error)),
        }
    }

    #[cold]
    fn invalid_path(operation: OpCode, path: &str, error: PathError) -> Error {
        Error::new(operation, path, ErrorKind::InvalidPath(error))
    }

    /// Makes the error of an operation that failed. If only the chroot can be missing, the error has
    /// [`ErrorKind::NoChroot`].
    #[cold]
    fn error(&self, operation: OpCode, path: &str, kind: ErrorKind) -> Error {
        let chroot = self.shared().chroot.as_str();
        let is_creation = matches!(
            operation,
            OpCode::CREATE | OpCode::CREATE2 | OpCode::CREATE_CONTAINER | OpCode::CREATE_TTL
        );
        let needs_chroot_alone = path == "/" || is_creation && path.rfind('/') == Some(0);
        match kind {
            ErrorKind::Refused(ErrorCode::NO_NODE) if needs_chroot_alone && !chroot.is_empty() => {
                Error::new(operation, chroot, ErrorKind::NoChroot)
            }
            kind => Error::new(operation, path, kind),
        }
    }

    /// Sends a request and waits for its reply; `path` is for the error.
    pub(crate) fn call<'a, Q: Request>(
        &'a self,
        path: &'a str,
        request: &'a Q,
    ) -> impl Future<Output = Result<Completion, Error>> + use<'a, Q> {
        self.call_if(path, request, |_| Ok(()))
    }

    /// Sends a request like [`Client::call`], if `admit` does not object at the moment of
    /// submission, after all waiting. `admit` runs under the hub's lock, so nothing comes between.
    pub(crate) fn call_if<'a, Q: Request, E: From<Error>, F: Fn(&Hub) -> Result<(), E>>(
        &'a self,
        path: &'a str,
        request: &'a Q,
        admit: F,
    ) -> impl Future<Output = Result<Completion, E>> + use<'a, Q, E, F> {
        Call {
            client: self,
            path,
            request,
            admit,
            pending: PendingCall::new(self.shared(), Q::OPCODE),
        }
    }
}

/// A request until its reply. It replaces an `async` block, because each request is polled twice.
struct Call<'a, Q, F> {
    client: &'a Client,
    path: &'a str,
    request: &'a Q,
    admit: F,
    pending: PendingCall<'a>,
}

/// No field is pinned.
impl<Q, F> Unpin for Call<'_, Q, F> {}

impl<Q: Request, E: From<Error>, F: Fn(&Hub) -> Result<(), E>> Future for Call<'_, Q, F> {
    type Output = Result<Completion, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let call = self.get_mut();
        if !matches!(call.pending.stage, CallStage::Sent(_)) {
            return call.poll_submit(cx).map(Err);
        }
        match call.pending.poll_outcome(cx) {
            Poll::Ready(Ok(completion)) => Poll::Ready(Ok(completion)),
            Poll::Ready(Err(failure)) => {
                Poll::Ready(Err(call.named(ErrorKind::of_failure(failure)).into()))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<Q: Request, F> Call<'_, Q, F> {
    #[cold]
    fn named(&self, kind: ErrorKind) -> Error {
        self.client.error(Q::OPCODE, self.path, kind)
    }

    /// Submits the request. Returns `Ready` if it cannot be sent.
    fn poll_submit<E: From<Error>>(&mut self, cx: &Context<'_>) -> Poll<E>
    where
        F: Fn(&Hub) -> Result<(), E>,
    {
        let Self { client, path, request, admit, pending } = self;
        let (submitted, replaced) = client.shared().submit(|hub, now| match admit(hub) {
            Ok(()) => {
                let caller = pending.caller(cx);
                let (submitted, replaced) = hub.calls.submit(&mut hub.host, now, *request, caller);
                (Ok(submitted), replaced)
            }
            Err(refused) => (Err(refused), hub.calls.give_up(&mut pending.stage)),
        });
        drop(replaced);
        match submitted {
            Ok(Poll::Ready(Ok(()))) => {
                pending.sent(Q::OPCODE, path);
                Poll::Pending
            }
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(Err(error))) => {
                let kind = pending.not_sent(Q::OPCODE, path, error);
                Poll::Ready(self.named(kind).into())
            }
            Err(refused) => {
                pending.meter.finished(Outcome::NotSent);
                Poll::Ready(refused)
            }
        }
    }
}

/// A call, from before its submission to its outcome. Dropping its future gives it up.
pub(crate) struct PendingCall<'a> {
    shared: &'a Shared,
    pub(crate) stage: CallStage,
    meter: RequestMeter,
}

impl<'a> PendingCall<'a> {
    pub(crate) fn new(shared: &'a Shared, operation: OpCode) -> Self {
        Self { shared, stage: CallStage::Unsent, meter: RequestMeter::start(operation) }
    }

    pub(crate) fn caller<'c, 'w>(&'c mut self, cx: &'c Context<'w>) -> Caller<'c, 'w> {
        Caller { stage: &mut self.stage, cx }
    }

    /// Polls the outcome of a call that was sent.
    #[inline]
    pub(crate) fn poll_outcome(
        &mut self,
        cx: &Context<'_>,
    ) -> Poll<Result<Completion, zk_session::Failure>> {
        let CallStage::Sent(key) = self.stage else {
            return Poll::Pending;
        };
        let mut hub = self.shared.lock();
        match hub.calls.poll(key, cx) {
            Err(replaced) => {
                drop(hub);
                drop(replaced);
                Poll::Pending
            }
            Ok(outcome) => {
                let span = hub.calls.spans.remove(key);
                drop(hub);
                self.stage = CallStage::Over;
                self.meter.finished(Outcome::of(&outcome));
                if let Some(span) = span {
                    let zxid = outcome.as_ref().map(|reply| reply.zxid);
                    span.finished(zxid.map_err(|failure| *failure));
                }
                Poll::Ready(outcome)
            }
        }
    }

    /// Notes that the call was sent. From here on it has a key, under which its span is kept.
    #[inline]
    pub(crate) fn sent(&self, operation: OpCode, path: &str) {
        if RequestSpan::may_be_heard()
            && let CallStage::Sent(key) = self.stage
            && let Some(span) = RequestSpan::open(operation, path, &self.shared.span)
        {
            self.shared.look(|hub| (hub.calls.spans.insert(key, span), None));
        }
    }

    /// Notes that the call was not sent, and why.
    #[cold]
    pub(crate) fn not_sent(&self, operation: OpCode, path: &str, error: SubmitError) -> ErrorKind {
        self.meter.finished(Outcome::NotSent);
        if RequestSpan::may_be_heard()
            && let Some(span) = RequestSpan::open(operation, path, &self.shared.span)
        {
            span.not_sent(error);
        }
        ErrorKind::of_submission(error)
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        let stage = self.stage;
        if !matches!(stage, CallStage::Unsent | CallStage::Over) {
            let span = self.shared.look(|hub| (hub.calls.span_of(stage), hub.calls.abandon(stage)));
            self.meter.finished(Outcome::GivenUp);
            if let Some(span) = span {
                span.given_up();
            }
        }
    }
}
