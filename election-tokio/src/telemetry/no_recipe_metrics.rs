//! The metrics of barriers, queues and counters without the feature `metrics`: nothing.

#[derive(Debug)]
pub(crate) struct BarrierMeter;

impl BarrierMeter {
    pub(crate) const fn start(_: &'static str) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the same with metrics")]
    pub(crate) const fn finished(self, _: Option<&'static str>) {}
}

pub(crate) const fn items_put(_: usize, _: &'static str) {}

#[derive(Debug)]
pub(crate) struct TakeMeter;

#[expect(clippy::unused_self, reason = "the same with metrics")]
impl TakeMeter {
    pub(crate) const fn start(_: &'static str) -> Self {
        Self
    }

    pub(crate) const fn got(&self) {}

    pub(crate) const fn ended(&self, _: &'static str) {}
}

#[derive(Debug)]
pub(crate) struct ClaimMeter;

#[expect(clippy::unused_self, reason = "the same with metrics")]
impl ClaimMeter {
    pub(crate) const fn start() -> Self {
        Self
    }

    pub(crate) const fn ended(&self, _: &'static str) {}
}

pub(crate) const fn counter_changed(_: &'static str) {}
