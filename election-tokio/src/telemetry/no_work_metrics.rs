//! The metrics of slots, several locks, jobs that run once, and caches without the feature `metrics`: nothing.

use election_session::cache::CacheCounts;

use crate::error::lost::LockLost;

#[derive(Debug)]
pub(crate) struct SlotMeter;

impl SlotMeter {
    pub(crate) const fn gained() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the same with metrics")]
    pub(crate) const fn ended(&self, _: Option<LockLost>, _: &'static str) {}
}

#[derive(Debug)]
pub(crate) struct LocksMeter;

#[expect(clippy::unused_self, reason = "the same with metrics")]
impl LocksMeter {
    pub(crate) const fn start() -> Self {
        Self
    }

    pub(crate) const fn began_anew() {}

    pub(crate) const fn held(self) -> LocksHeldMeter {
        LocksHeldMeter
    }

    pub(crate) const fn not_held(self, _: &'static str) {}
}

#[derive(Debug)]
pub(crate) struct LocksHeldMeter;

impl LocksHeldMeter {
    #[expect(clippy::unused_self, reason = "the same with metrics")]
    pub(crate) const fn ended(self, _: LockLost) {}
}

#[derive(Debug)]
pub(crate) struct OnceMeter;

impl OnceMeter {
    pub(crate) const fn start() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the same with metrics")]
    pub(crate) const fn finished(self, _: &'static str) {}
}

#[derive(Debug)]
pub(crate) struct RunMeter;

impl RunMeter {
    pub(crate) const fn start() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the same with metrics")]
    pub(crate) const fn finished(self, _: &'static str) {}
}

#[derive(Debug)]
pub(crate) struct CacheMeter;

#[expect(clippy::unused_self, reason = "the same with metrics")]
impl CacheMeter {
    pub(crate) const fn start() -> Self {
        Self
    }

    pub(crate) const fn gap(&mut self, _: &'static str) {}

    pub(crate) const fn look(&mut self, _: CacheCounts, _: bool) {}
}
