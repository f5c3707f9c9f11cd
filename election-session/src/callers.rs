//! The caller's own requests in flight.

use zk_session::Limits;

/// The bounds on the caller's requests in flight.
#[derive(Debug)]
pub(crate) struct Callers {
    limits: Limits,
    in_flight: usize,
}

impl Callers {
    pub(crate) const fn new(limits: Limits) -> Self {
        Self { limits, in_flight: 0 }
    }

    pub(crate) fn completed(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    pub(crate) fn submitted(&mut self) {
        self.in_flight += 1;
    }

    /// Returns whether there is room for another request, if this many bytes wait to be sent. There
    /// always is for one: only its reply would make room for others.
    pub(crate) const fn have_room(&self, queued_bytes: usize) -> bool {
        let Self { limits, in_flight } = self;
        *in_flight == 0
            || *in_flight < limits.max_in_flight && queued_bytes < limits.max_queued_bytes
    }
}
