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
    watch: PersistentWatch,
    step: Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PersistentWatch {
    Missing,
    Set,
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
        let watch = PersistentWatch::Missing;
        Self { watching, watch, step: Self::behind_the_barrier(watching, watch) }
    }

    const fn behind_the_barrier(watching: TrackerWatches, watch: PersistentWatch) -> Step {
        match (watching, watch) {
            (TrackerWatches::Persistent, PersistentWatch::Missing) => {
                Step::Due(SetUpRequest::AddWatch)
            }
            (TrackerWatches::Persistent, PersistentWatch::Set) | (TrackerWatches::OneShot, _) => {
                Step::Done
            }
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
            self.step = Self::behind_the_barrier(self.watching, self.watch);
        }
        is_awaited
    }

    /// Notes that the watch is set.
    pub(crate) fn added_watch(&mut self, ticket: u64) {
        if self.step == Step::InFlight(SetUpRequest::AddWatch, ticket) {
            (self.watch, self.step) = (PersistentWatch::Set, Step::Done);
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
        self.watch = PersistentWatch::Missing;
        self.step = Step::Due(SetUpRequest::Barrier);
    }

    /// Asks for a barrier before the next read, in the session in which the watch is set.
    pub(crate) const fn wait_for_barrier(&mut self) {
        if self.is_done() {
            self.step = Step::Due(SetUpRequest::Barrier);
        }
    }
}
