//! The session's clock: tokio's clock since the client was made, plus the time that the machine
//! slept since, or by a clock of the user's stood still, which tokio's leaves out.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

use tokio::time::Instant;

#[derive(Clone, Debug)]
pub(crate) struct Clock(Arc<Dial>);

/// When the clock was started, and how long the machine has slept since, as of the last look.
#[derive(Debug)]
struct Dial {
    origin: Instant,
    /// Returns how long the machine has slept since it was started.
    total: fn() -> Duration,
    at_start: Duration,
    /// Most clients have none, and a client at rest is to be small.
    own: Option<Box<Own>>,
    seen_micros: AtomicU64,
}

/// The user's clock, and what it said when this one was started.
#[derive(Debug)]
struct Own {
    clock: OwnClock,
    at_start: Duration,
}

/// A clock that the user brings because it goes on while the machine stands still. It returns the time since
/// a moment that stays the same.
#[derive(Clone)]
pub(crate) struct OwnClock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl OwnClock {
    pub(crate) fn new(read: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    fn read(&self) -> Duration {
        (self.0)()
    }
}

impl fmt::Debug for OwnClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnClock")
    }
}

/// A reading of the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    time: zk_session::Instant,
    slept_micros: u64,
}

impl Reading {
    pub(crate) const fn time(self) -> zk_session::Instant {
        self.time
    }

    /// Returns whether the machine has not slept between the two, as of the last look.
    pub(crate) const fn is_same_sleep(self, other: Self) -> bool {
        self.slept_micros == other.slept_micros
    }
}

/// The difference that the two clocks may show because they are read one after the other. No
/// machine sleeps and wakes within it. If it counted, the scheduler would shift a session's timers,
/// and no two runs of a test in virtual time would be the same.
const NOISE: Duration = Duration::from_millis(20);

impl Clock {
    pub(crate) fn start(own: Option<OwnClock>) -> Self {
        Self::start_with(slept_since_boot, own)
    }

    fn start_with(total: fn() -> Duration, own: Option<OwnClock>) -> Self {
        let (at_start, seen_micros) = (total(), AtomicU64::new(0));
        // The user's clock is read first: what passes until tokio's is read counts as sleep.
        let own = own.map(|clock| Box::new(Own { at_start: clock.read(), clock }));
        Self(Arc::new(Dial { origin: Instant::now(), total, at_start, own, seen_micros }))
    }

    /// Returns the time, which never goes back. A sleep counts only once it was
    /// [noticed](Self::notice_sleep).
    pub(crate) fn now(&self) -> zk_session::Instant {
        zk_session::Instant::since_origin(self.0.origin.elapsed() + self.0.slept())
    }

    /// Returns the time, after checking whether the machine has slept.
    pub(crate) fn read(&self) -> Reading {
        self.notice_sleep();
        let slept_micros = self.0.seen_micros.load(Ordering::Relaxed);
        let slept = Duration::from_micros(slept_micros);
        let time = zk_session::Instant::since_origin(self.0.origin.elapsed() + slept);
        Reading { time, slept_micros }
    }

    /// Whether a sleep was noticed since then.
    pub(crate) fn has_slept_since(&self, reading: Reading) -> bool {
        self.0.seen_micros.load(Ordering::Relaxed) != reading.slept_micros
    }

    /// Returns the time from the start to this moment of tokio's clock, by that clock alone.
    pub(crate) fn awake(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.0.origin)
    }

    /// Checks whether the machine has slept, by two readings of a clock.
    pub(crate) fn notice_sleep(&self) {
        let slept = (self.0.total)().saturating_sub(self.0.at_start).max(self.0.stood_still());
        if slept < NOISE {
            return;
        }
        let micros = u64::try_from(slept.as_micros()).unwrap_or(u64::MAX);
        self.0.seen_micros.fetch_max(micros, Ordering::Relaxed);
    }

    /// Returns the moment on tokio's clock; a moment in the far future if that cannot represent it.
    pub(crate) fn to_tokio(&self, at: zk_session::Instant) -> Instant {
        const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);
        let awake = at.elapsed().saturating_sub(self.0.slept());
        self.0.origin.checked_add(awake).unwrap_or_else(|| Instant::now() + FAR)
    }

    /// Returns the moment of tokio's clock on this one.
    pub(crate) fn to_session(&self, at: Instant) -> zk_session::Instant {
        let awake = at.saturating_duration_since(self.0.origin);
        zk_session::Instant::since_origin(awake + self.0.slept())
    }
}

impl Dial {
    /// Returns how much less has passed by tokio's clock than by the user's. Two clocks never run at quite
    /// the same rate, and each step is a sleep to the driver, so the steps are not small.
    fn stood_still(&self) -> Duration {
        let Some(own) = &self.own else {
            return Duration::ZERO;
        };
        let awake = self.origin.elapsed();
        let ahead = own.clock.read().saturating_sub(own.at_start).saturating_sub(awake);
        ahead.saturating_sub(Duration::from_nanos(
            u64::try_from(ahead.as_nanos() % NOISE.as_nanos()).unwrap_or(0),
        ))
    }

    fn slept(&self) -> Duration {
        Duration::from_micros(self.seen_micros.load(Ordering::Relaxed))
    }
}

/// Returns the difference of two clocks, one of which goes on during sleep. If the process is
/// interrupted between the readings it is too small, and so without effect.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn slept_since_boot() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    let boot = clock_gettime(ClockId::Boottime);
    let awake = clock_gettime(ClockId::Monotonic);
    // Asked for at each wake-up: plain numbers cost a third of what durations do.
    let seconds = boot.tv_sec.saturating_sub(awake.tv_sec);
    let nanos = seconds.saturating_mul(1_000_000_000).saturating_add(boot.tv_nsec - awake.tv_nsec);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

/// Returns zero. On other systems tokio's clock is the best without `unsafe`: on Windows it goes on
/// during sleep.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn slept_since_boot() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    static SLEPT: AtomicU64 = AtomicU64::new(5);

    fn slept() -> Duration {
        Duration::from_secs(SLEPT.load(Ordering::Relaxed))
    }

    /// A lease of ten seconds is over after a night, although the process was never paused by its
    /// own clock (C-68).
    #[tokio::test(start_paused = true)]
    async fn the_clock_counts_sleep_once_it_is_noticed() {
        let clock = Clock::start_with(slept, None);
        let deadline = clock.now() + Duration::from_secs(10);
        let before = clock.to_tokio(deadline);
        SLEPT.store(5 + 8 * 60 * 60, Ordering::Relaxed);
        assert!(clock.now() < deadline);
        clock.notice_sleep();
        assert!(deadline < clock.now());
        assert_eq!(clock.now().elapsed(), Duration::from_secs(8 * 60 * 60));
        assert!(clock.to_tokio(deadline) < before);
        SLEPT.store(5, Ordering::Relaxed);
        clock.notice_sleep();
        assert_eq!(clock.now().elapsed(), Duration::from_secs(8 * 60 * 60), "it never goes back");
    }

    /// A hypervisor that holds a guest stops all of the guest's clocks; the user's goes on.
    #[tokio::test(start_paused = true)]
    async fn the_clock_counts_what_the_users_clock_is_ahead() {
        let read = Arc::new(AtomicU64::new(0));
        let own = OwnClock::new({
            let read = Arc::clone(&read);
            move || Duration::from_millis(read.load(Ordering::Relaxed))
        });
        let clock = Clock::start(Some(own));
        let elapsed_at = |millis| {
            read.store(millis, Ordering::Relaxed);
            clock.notice_sleep();
            clock.now().elapsed()
        };
        assert_eq!(elapsed_at(7), Duration::ZERO, "two clocks never say quite the same");
        assert_eq!(elapsed_at(60_007), Duration::from_secs(60));
        assert_eq!(elapsed_at(0), Duration::from_secs(60), "it never goes back");
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(elapsed_at(65_000), Duration::from_secs(65));
    }

    #[test]
    fn the_machine_does_not_sleep_while_it_runs_this() {
        let clock = Clock::start(None);
        clock.notice_sleep();
        assert!(clock.0.slept() < Duration::from_secs(60));
    }
}
