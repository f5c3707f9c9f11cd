//! Bytes on their way in one direction.

use core::time::Duration;
use std::collections::VecDeque;

use tokio::time::Instant;

use crate::network::Flow;

/// They arrive in the order in which they were sent.
#[derive(Default)]
pub(crate) struct Queue(VecDeque<(Instant, Vec<u8>)>);

impl Queue {
    pub(crate) fn push(&mut self, latency: Duration, bytes: Vec<u8>) {
        let at = Instant::now() + latency;
        let at = self.0.back().map_or(at, |(last, _)| at.max(*last));
        self.0.push_back((at, bytes));
    }

    pub(crate) fn next_at(&self, flow: Flow) -> Option<Instant> {
        self.0.front().map(|(at, _)| *at).filter(|_| flow == Flow::Runs)
    }

    pub(crate) fn arrived(&mut self, flow: Flow) -> Option<Vec<u8>> {
        self.next_at(flow).filter(|at| *at <= Instant::now())?;
        self.0.pop_front().map(|(_, bytes)| bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
