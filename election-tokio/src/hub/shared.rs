//! The hub behind a lock, shared by the driver task and the handles. The lock is held for a few
//! steps of the state machines and never across an await.

use core::task::Waker;
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use election_session::Settings;
use tracing::Span;
use zk_session::{Instant, SubmitError};

use super::lease_cell::LeaseCell;
use super::{Change, Hub, Servers, Unlocked, Vitals};
use crate::clock::Clock;
use crate::ids::Ids;
use crate::path::Chroot;
use crate::telemetry::client_span;

/// Shared by all handles of a client and its driver.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) chroot: Chroot,
    pub(crate) span: Span,
    /// The longest frame to read, in bytes.
    pub(crate) max_reply: usize,
    pub(crate) ids: Ids,
    lease: LeaseCell,
    pub(crate) vitals: Arc<Vitals>,
    hub: Mutex<Hub>,
}

impl Shared {
    /// # Errors
    ///
    /// An identity that no server would accept.
    pub(crate) fn new(
        settings: Settings,
        servers: Servers,
        chroot: Chroot,
        max_reply: usize,
        (clock, ids): (Clock, Ids),
    ) -> Result<Self, SubmitError> {
        let hub = Hub::new(settings, servers, clock.now())?;
        let vitals = Arc::clone(hub.vitals());
        let (lease, hub) = (LeaseCell::new(), Mutex::new(hub));
        let span = client_span(chroot.as_str());
        Ok(Self { clock, chroot, span, max_reply, ids, lease, vitals, hub })
    }

    /// Works on the hub, dispatches the events, and lets the driver send the submitted requests.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Hub, Instant) -> T) -> T {
        let mut unlocked = None;
        let (result, driver) = self.work(
            |hub| hub.reading(self.clock.now()),
            |hub, now| (work(hub, now), hub.wake_driver()),
            |all| unlocked = Some(core::mem::take(all)),
        );
        if let Some(driver) = driver {
            driver.wake();
        }
        if let Some(mut unlocked) = unlocked {
            unlocked.carry_out(&self.span);
        }
        result
    }

    /// Submits a request, and lets the driver send it. Only a request that wakes the driver reads
    /// the clock. Requests that are submitted until the driver runs go out together with the first
    /// one, and count as sent when that one was submitted. For the lease that is never too late.
    pub(crate) fn submit<T>(&self, work: impl FnOnce(&mut Hub, Instant) -> T) -> T {
        let mut hub = self.lock();
        let driver = hub.wake_driver_to_send();
        let now = match driver {
            // The driver, which does no more than send, is to find that the machine has slept.
            Some(_) => hub.reading(self.clock.read().time()),
            None => hub.last_reading(),
        };
        let result = work(&mut hub, now);
        // Almost no request makes an event, and without an event no lease has changed.
        if hub.host.has_events() || !hub.unlocked.is_empty() {
            hub.change = Change::Any;
            self.finish(hub, now);
        } else {
            drop(hub);
        }
        if let Some(driver) = driver {
            driver.wake();
        }
        result
    }

    /// Works on the hub at a time that the driver has read, and dispatches the events. `scratch`
    /// only saves allocations.
    pub(crate) fn drive<T>(
        &self,
        now: Instant,
        scratch: &mut Unlocked,
        work: impl FnOnce(&mut Hub, Instant) -> T,
    ) -> T {
        let result = self.work(|hub| hub.reading(now), work, |all| all.move_to(scratch));
        if !scratch.is_empty() {
            scratch.carry_out(&self.span);
        }
        result
    }

    /// Works on the hub. `take` takes the work to do without the lock, if there is any.
    #[inline]
    fn work<T>(
        &self,
        read: impl FnOnce(&mut Hub) -> Instant,
        work: impl FnOnce(&mut Hub, Instant) -> T,
        take: impl FnOnce(&mut Unlocked),
    ) -> T {
        let mut hub = self.lock();
        let now = read(&mut hub);
        let result = work(&mut hub, now);
        self.hand_out(&mut hub, now);
        if !hub.unlocked.is_empty() {
            take(&mut hub.unlocked);
        }
        result
    }

    /// Dispatches the events of a step, and does the work that needs no lock.
    #[cold]
    fn finish(&self, mut hub: MutexGuard<'_, Hub>, now: Instant) {
        self.hand_out(&mut hub, now);
        let mut unlocked = core::mem::take(&mut hub.unlocked);
        drop(hub);
        unlocked.carry_out(&self.span);
    }

    fn hand_out(&self, hub: &mut Hub, now: Instant) {
        hub.dispatch(now);
        self.lease.copy(hub.host.lease_deadline());
    }

    /// Notes that the driver is dropped: no reply will come any more.
    pub(crate) fn driver_is_gone(&self) {
        self.with(|hub, now| hub.host.abandon(now));
    }

    /// Works on the hub without submitting anything or making events. It drops the returned waker
    /// outside of the lock.
    pub(crate) fn look<T>(&self, work: impl FnOnce(&mut Hub) -> (T, Option<Waker>)) -> T {
        let (result, replaced) = work(&mut self.lock());
        drop(replaced);
        result
    }

    /// The hub, for a step that neither submits anything nor makes events.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, Hub> {
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks it, unless another thread, or this one, holds the lock.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Hub>> {
        self.hub.try_lock().ok()
    }

    /// Returns until when no server can have expired the session, less the margin.
    pub(crate) fn lease_deadline(&self) -> Option<Instant> {
        self.lease.deadline()
    }

    /// Returns the rest of the lease, if there is one; zero if its deadline has passed.
    pub(crate) fn lease_remaining(&self) -> Option<Duration> {
        self.clock.notice_sleep();
        let now = self.clock.now();
        self.lease_deadline().map(|deadline| deadline.saturating_since(now))
    }

    /// Returns whether the lease deadline lies ahead. It reads the clock before anything else.
    pub(crate) fn holds_lease(&self) -> bool {
        self.clock.notice_sleep();
        let now = self.clock.now();
        self.lease.lasts_at(now)
    }

    /// Returns whether a holding is valid. It reads the clock before anything else.
    pub(crate) fn covers(&self, is_lost: impl FnOnce() -> bool) -> bool {
        self.clock.notice_sleep();
        let now = self.clock.now();
        self.lease.covers(now, is_lost)
    }

    /// Lets the session notice that its lease has lapsed, without waiting for the driver.
    pub(crate) fn check_lease(&self) {
        self.with(|hub, now| hub.host.handle_timeout(now));
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroUsize;

    use zk_session::Config;

    use super::*;

    fn shared() -> Shared {
        let settings = Settings::new(Config::new(NonZeroUsize::MIN), 1);
        let chroot = Chroot::new("").unwrap();
        Shared::new(
            settings,
            Servers::new(Vec::new()),
            chroot,
            1024,
            (Clock::start(None), Ids::default()),
        )
        .unwrap()
    }

    /// A driver that is woken to send requests looks at nothing else, unless the hub has noted that there is more.
    #[tokio::test(start_paused = true)]
    async fn a_driver_is_told_of_all_that_is_more_than_requests_to_send() {
        let shared = shared();
        let has_changed = || shared.lock().has_changed();
        assert!(has_changed(), "it has not looked yet");
        let looks = || shared.lock().driver_sleeps(Waker::noop());
        looks();
        shared.submit(|_, _| ());
        assert!(!has_changed());
        shared.with(|_, _| ());
        shared.submit(|_, _| ());
        assert!(has_changed(), "also where a caller submits after it");
        looks();
        shared.submit(|hub, now| hub.host.close(now));
        assert!(has_changed(), "something came of it");
    }

    /// The lease counts from when a request was sent. Counted as sent later than it was, it would prove
    /// a lease that goes on after the server has expired the session.
    #[tokio::test(start_paused = true)]
    async fn no_request_counts_as_sent_later_than_it_was_submitted() {
        let second = Duration::from_secs(1);
        let shared = shared();
        for _ in 0..3 {
            tokio::time::advance(second).await;
            shared.lock().driver_sleeps(Waker::noop());
            let first = shared.submit(|_, now| now);
            assert_eq!(first, shared.clock.now(), "it wakes the driver");
            for _ in 0..3 {
                tokio::time::advance(second).await;
                let next = shared.submit(|_, now| now);
                assert_eq!(next, first, "it goes out together with the first one");
            }
            tokio::time::advance(second).await;
            let step = shared.with(|_, now| now);
            assert_eq!(step, shared.clock.now());
            let turn = shared.drive(first, &mut Unlocked::default(), |_, now| now);
            assert_eq!(turn, step, "time does not go back for a driver that read the clock before");
            assert_eq!(shared.submit(|_, now| now), step);
        }
    }
}
