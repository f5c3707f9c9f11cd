//! The caller's own requests and watches.

use zk_jute::Request;
use zk_session::{Instant, SubmitError, WatchMode, Watching};

use super::{Recipe, RecipeHost};
use crate::key::{CallerWatch, Tag, Watcher};

impl<R: Recipe, T, W: Clone> RecipeHost<R, T, W> {
    /// Whether the caller may submit another request: one always, for only its reply would make room
    /// for others; and any once the host is over, to be refused.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.callers.have_room(self.session.queued_bytes()) || self.ended().is_some()
    }

    /// Submits a request. Its outcome comes as [`Event::Completed`](crate::Event::Completed) with
    /// `tag`, in the order of submission.
    ///
    /// # Errors
    ///
    /// [`SubmitError::Full`] if there is [no room](Self::has_room).
    #[inline]
    pub fn submit<Q: Request>(
        &mut self,
        now: Instant,
        tag: T,
        request: &Q,
    ) -> Result<(), SubmitError> {
        self.admit()?;
        let submitted = self.session.submit(now, Tag::Caller(tag), request);
        self.count(submitted)
    }

    /// Submits a read that leaves a one-shot watch, like
    /// [`Session::submit_watching`](zk_session::Session::submit_watching).
    ///
    /// # Errors
    ///
    /// Those of [`RecipeHost::submit`].
    pub fn submit_watching(
        &mut self,
        now: Instant,
        tag: T,
        read: Watching<'_>,
        watcher: W,
    ) -> Result<CallerWatch, SubmitError> {
        self.admit()?;
        let (tag, watcher) = (Tag::Caller(tag), Watcher::Caller(watcher));
        let submitted = self.session.submit_watching(now, tag, read, watcher);
        let session = self.sessions;
        self.count(submitted).map(|id| CallerWatch { session, id })
    }

    /// Submits a persistent watch, like
    /// [`Session::submit_persistent`](zk_session::Session::submit_persistent).
    ///
    /// # Errors
    ///
    /// Those of [`RecipeHost::submit`].
    pub fn submit_persistent(
        &mut self,
        now: Instant,
        tag: T,
        watch: (&str, WatchMode),
        watcher: W,
    ) -> Result<CallerWatch, SubmitError> {
        self.admit()?;
        let (tag, watcher) = (Tag::Caller(tag), Watcher::Caller(watcher));
        let submitted = self.session.submit_persistent(now, tag, watch, watcher);
        let session = self.sessions;
        self.count(submitted).map(|id| CallerWatch { session, id })
    }

    /// Drops a watch of the caller, if its session is the present one; watches of other sessions
    /// went with them. Events of it that wait to be polled still come.
    pub fn forget(&mut self, now: Instant, watch: CallerWatch) {
        if watch.session == self.sessions {
            self.session.forget(now, watch.id);
        }
    }

    /// Presents an identity on this connection and on every later one of this session.
    ///
    /// # Errors
    ///
    /// Those of [`Session::authenticate`](zk_session::Session::authenticate).
    pub fn authenticate(
        &mut self,
        now: Instant,
        scheme: &str,
        credential: &[u8],
    ) -> Result<(), SubmitError> {
        self.session.authenticate(now, scheme, credential)
    }

    fn admit(&self) -> Result<(), SubmitError> {
        if self.has_room() { Ok(()) } else { Err(SubmitError::Full) }
    }

    fn count<X>(&mut self, submitted: Result<X, SubmitError>) -> Result<X, SubmitError> {
        submitted.inspect(|_| self.callers.submitted())
    }
}
