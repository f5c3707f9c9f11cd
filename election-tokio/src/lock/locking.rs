//! Asking for a lock: its settings, and the wait for it.

use std::sync::Arc;

use bytes::Bytes;
use election_core::NomineeId;
use election_core::election::ElectionNode;
use election_core::format::Format;
use election_core::lock::{LockOptions, WhenBusy};
use election_session::Site;
use tokio::time::{Instant, timeout_at};

use super::{ACQUIRE, Acquiring, Lock, LockError, LockGuard, Settings};
use crate::acl::Acls;
use crate::client::Client;
use crate::held::Guard;
use crate::spot::Spot;

impl Lock {
    pub(super) fn new(client: Client, path: &str, options: LockOptions) -> Self {
        let spot = Spot::new(client, "lock", path);
        Self { settings: Arc::new(Settings { spot, options }) }
    }

    /// Waits until the lock is held. Lost connections and expired sessions do not end the wait;
    /// after an expired session it goes on at the end of the queue.
    ///
    /// Cancel safe: dropping the future gives up the place in the queue, or the lock.
    ///
    /// # Errors
    ///
    /// [`LockError`]: waiting does not repair it.
    pub async fn lock(&self) -> Result<LockGuard, LockError> {
        let mut acquiring = self.acquiring(WhenBusy::Wait)?;
        loop {
            if let Some((acquisition, tenure)) = (&mut acquiring).await? {
                return Ok(LockGuard::new(acquisition, acquiring.site, self.guard(), tenure));
            }
        }
    }

    /// Waits until the lock is held, until the deadline at most; then returns `None`. The place in
    /// the queue is given up by then, and its znode deleted in the background.
    ///
    /// Cancel safe, as [`Lock::lock`].
    ///
    /// # Errors
    ///
    /// Those of [`Lock::lock`].
    pub async fn lock_until(&self, deadline: Instant) -> Result<Option<LockGuard>, LockError> {
        match timeout_at(deadline, self.lock()).await {
            Ok(guard) => guard.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Takes the lock if it is free; otherwise returns `None`, and leaves nothing behind. Servers
    /// may be behind, so a lock that has just become free may count as held. Without a connection
    /// this waits for one.
    ///
    /// Cancel safe, as [`Lock::lock`].
    ///
    /// # Errors
    ///
    /// Those of [`Lock::lock`].
    pub async fn try_lock(&self) -> Result<Option<LockGuard>, LockError> {
        let mut acquiring = self.acquiring(WhenBusy::GiveUp)?;
        let held = (&mut acquiring).await?;
        Ok(held.map(|(acquisition, tenure)| {
            LockGuard::new(acquisition, acquiring.site, self.guard(), tenure)
        }))
    }

    fn guard(&self) -> Guard {
        Guard::of(self.settings.options.format)
    }

    pub(super) fn site(&self) -> Result<&Arc<Site>, LockError> {
        Ok(self.settings.spot.site(ACQUIRE)?)
    }

    pub(super) fn path(&self) -> &str {
        &self.settings.spot.path
    }

    pub(super) fn client(&self) -> &Client {
        &self.settings.spot.client
    }

    /// Returns whether a znode beside the lock's node is within the chroot.
    pub(crate) fn may_have_siblings(&self) -> Result<bool, LockError> {
        Ok(self.site()?.may_have_siblings())
    }

    fn acquiring(
        &self,
        when_busy: WhenBusy,
    ) -> Result<
        Acquiring<'_, impl Fn(NomineeId) -> Result<election_core::lock::Lock, LockError> + use<>>,
        LockError,
    > {
        let options = LockOptions { when_busy, ..self.settings.options };
        let contender = move |id| Ok(election_core::lock::Lock::new(id, options)?);
        Ok(Acquiring::new(self.client(), self.site()?, contender))
    }
}

/// Settings.
impl Lock {
    /// Changes the settings, for contenders from here on.
    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Sets the data of the contender's znode: by convention its name.
    pub fn data(self, data: impl Into<Bytes>) -> Self {
        self.with(|settings| settings.spot.set_data(data.into()))
    }

    /// Sets the access list of the contender's znode, and of the lock's node and its ancestors if
    /// they have to be created (default: every client may do everything).
    pub fn acls(self, acls: Acls) -> Self {
        self.with(|settings| settings.spot.set_acls(acls))
    }

    /// Sets what happens if the lock's node does not exist (default: it is created as a persistent
    /// znode).
    pub fn node(self, node: ElectionNode) -> Self {
        self.with(|settings| {
            settings.spot.set_node(node);
            settings.options.node = node;
        })
    }

    /// Sets the format of the contenders' names: all contenders for one lock need the same one.
    /// A contender that finds an earlier one of another format is refused, by
    /// [`LockError::OtherFormat`]; one that finds a later one waits for its end until its next look, a
    /// minute at most by default, and is refused then.
    ///
    /// In [`Format::zookeeper_write_lock`], [`Format::leader_election_support`] and
    /// [`Format::go_leaderelection`] no name tells one contender of a session from another. There a
    /// client has one contender at a path, and may ask again once its last znode is gone, which
    /// [`LockGuard::release`] waits for. If the format prescribes the data, that is used.
    pub fn format(self, format: Format) -> Self {
        self.with(|settings| settings.options.format = format)
    }
}
