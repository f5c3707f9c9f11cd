//! The watches of a tracker of znodes, and what it asks for before its first read.

/// The watches by which a tracker hears of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackerWatches {
    /// One persistent recursive watch on the tracked node. It needs servers since 3.6.
    Persistent,
    /// One-shot watches: on each list of children, and on the data of each znode.
    OneShot,
}

/// The requests of a tracker before its first read: its persistent watch, behind a barrier where an earlier session may
/// have shown more than the present server has applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetUp {
    watching: TrackerWatches,
    step: Step,
}

/// A request of the set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetUpRequest {
    Barrier,
    AddWatch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Due(SetUpRequest),
    InFlight(SetUpRequest, u64),
    Done,
}

impl SetUp {
    pub(crate) const fn new(watching: TrackerWatches) -> Self {
        Self { watching, step: Self::behind_the_barrier(watching) }
    }

    const fn behind_the_barrier(watching: TrackerWatches) -> Step {
        match watching {
            TrackerWatches::Persistent => Step::Due(SetUpRequest::AddWatch),
            TrackerWatches::OneShot => Step::Done,
        }
    }

    pub(crate) const fn watching(&self) -> TrackerWatches {
        self.watching
    }

    pub(crate) const fn is_done(&self) -> bool {
        matches!(self.step, Step::Done)
    }

    /// Returns the request that is due, which is on its way from then on.
    pub(crate) const fn ask(&mut self, ticket: u64) -> Option<SetUpRequest> {
        let Step::Due(request) = self.step else { return None };
        self.step = Step::InFlight(request, ticket);
        Some(request)
    }

    /// Notes that the barrier was passed. Returns whether that was awaited.
    pub(crate) fn passed_barrier(&mut self, ticket: u64) -> bool {
        let is_awaited = self.step == Step::InFlight(SetUpRequest::Barrier, ticket);
        if is_awaited {
            self.step = Self::behind_the_barrier(self.watching);
        }
        is_awaited
    }

    /// Notes that the watch is set.
    pub(crate) fn added_watch(&mut self, ticket: u64) {
        if self.step == Step::InFlight(SetUpRequest::AddWatch, ticket) {
            self.step = Step::Done;
        }
    }

    /// Notes that the server knows no persistent watches: one-shot ones take their place.
    pub(crate) fn lacks_persistent_watches(&mut self, ticket: u64) {
        self.watching = TrackerWatches::OneShot;
        self.added_watch(ticket);
    }

    /// Notes that a request failed: it is due again, if it is one of these.
    pub(crate) fn failed(&mut self, ticket: u64) {
        if let Step::InFlight(request, awaited) = self.step
            && awaited == ticket
        {
            self.step = Step::Due(request);
        }
    }

    /// Begins anew, in another session.
    pub(crate) const fn begin_anew(&mut self) {
        self.step = Step::Due(SetUpRequest::Barrier);
    }
}
