//! The seat of a recipe in the host: its machine, its watches, and its grant.

use alloc::boxed::Box;
use alloc::sync::Arc;

use election_core::{Failure, Hold, Recipe, Ticket};
use zk_jute::SessionId;
use zk_session::{Instant, Session};

use crate::event::{RecipeEnd, Wake};
use crate::few::Few;
use crate::grant::{GrantChange, SeatGrant};
use crate::key::{RecipeKey, Tag, Watcher};
use crate::lists::{Cause, Lists, Moment};
use crate::perform::{Performed, Performer, RecipeWatch, WatchOn};
use crate::replies::{Happening, Stimulus, UNIMPLEMENTED, feed};
use crate::site::Site;

/// The parts of the host that a recipe's step uses.
pub(crate) struct Surroundings<'h, T, W> {
    /// The key of the seat.
    pub(crate) key: RecipeKey,
    pub(crate) session: &'h mut Session<Tag<T>, Watcher<W>>,
    pub(crate) now: Instant,
    pub(crate) lists: &'h mut Lists,
}

/// The progress of a recipe in its session's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeatStage {
    Standing,
    /// The session is being closed: events about the recipe's znode mean its end.
    Closing,
    /// The recipe is over, and the caller has not polled its end yet.
    Over(RecipeEnd),
}

impl SeatStage {
    /// Returns whether the recipe is closing, and its end if it is over.
    pub(crate) const fn facts(self) -> (bool, Option<RecipeEnd>) {
        match self {
            Self::Standing => (false, None),
            Self::Closing => (true, None),
            Self::Over(end) => (false, Some(end)),
        }
    }
}

/// A recipe that stands on the host's sessions.
#[derive(Debug)]
pub(crate) struct Seat<R> {
    pub(crate) recipe: R,
    pub(crate) site: Arc<Site>,
    watches: Few<RecipeWatch>,
    /// The last submitted request.
    submitted: Option<Submitted>,
    pub(crate) grant: SeatGrant,
    /// The session that the recipe stands in, once it had one.
    pub(crate) session: Option<SessionId>,
    /// The rest that the recipe awaits. It is in a box, because there are thousands of seats, and most
    /// await none of it.
    awaited: Option<Box<Awaited>>,
    pub(crate) stage: SeatStage,
}

/// The events that a recipe awaits besides replies and changes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Awaited {
    /// The path on the server of a znode. The recipe waits for the list of its children.
    listing: Option<Arc<str>>,
    times: Times,
}

/// The times at which a recipe has to be fed an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) deadline: Option<Instant>,
    /// The end of the recipe's delay, if it waits for one.
    pub(crate) delay_until: Option<Instant>,
}

/// A request of a recipe, and when it was submitted.
#[derive(Clone, Copy, Debug)]
struct Submitted {
    ticket: Ticket,
    moment: Moment,
    by: By,
}

/// The form of a recipe's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// A request that all servers know, or one with a recipe that handles a server that does not know
    /// it.
    KnownRequest,
    /// `create2`, which servers before 3.5 do not know.
    Create2,
}

/// The result of a step.
#[derive(Debug)]
pub(crate) struct Taken<N> {
    pub(crate) notice: Option<N>,
    pub(crate) grant: Option<GrantChange>,
    pub(crate) woken_by: Option<Wake>,
}

impl<R: Recipe> Seat<R> {
    pub(crate) const fn new(recipe: R, site: Arc<Site>) -> Self {
        Self {
            recipe,
            site,
            watches: Few::None,
            submitted: None,
            grant: SeatGrant::NONE,
            session: None,
            awaited: None,
            stage: SeatStage::Standing,
        }
    }

    pub(crate) fn times(&self) -> Times {
        self.awaited.as_ref().map(|awaited| awaited.times).unwrap_or_default()
    }

    pub(crate) fn set_times(&mut self, times: Times) {
        set(&mut self.awaited, |awaited| awaited.times = times);
    }

    pub(crate) fn listing(&self) -> Option<&Arc<str>> {
        self.awaited.as_ref()?.listing.as_ref()
    }

    pub(crate) fn awaits_no_list(&mut self) {
        if self.awaited.is_some() {
            set(&mut self.awaited, |awaited| awaited.listing = None);
        }
    }

    /// Sets the deadline. Returns the former one.
    pub(crate) fn replace_deadline(&mut self, deadline: Option<Instant>) -> Option<Instant> {
        let times = self.times();
        if times.deadline != deadline {
            self.set_times(Times { deadline, ..times });
        }
        times.deadline
    }

    /// Takes in a stimulus, submits the requests that follow from it, and hands each step to `taken`.
    pub(crate) fn handle<T, W: Clone>(
        &mut self,
        around: &mut Surroundings<'_, T, W>,
        stimulus: Stimulus,
        mut taken: impl FnMut(Taken<R::Notice>),
    ) {
        match &stimulus {
            Stimulus::Happened(Happening::Connected(id)) => self.session = Some(*id),
            Stimulus::Happened(Happening::Disconnected | Happening::SessionExpired) => {
                self.awaits_no_list();
                self.watches.retain(|watch| {
                    around.session.forget(around.now, watch.id);
                    false
                });
            }
            // The user has not relied on the lease yet.
            Stimulus::Happened(Happening::LeaseLapsed) if !self.grant.get().is_announced() => {
                return;
            }
            Stimulus::Happened(Happening::Fired { ticket, .. } | Happening::WatchLost(ticket)) => {
                self.watches.retain(|watch| watch.ticket != *ticket);
            }
            Stimulus::Happened(_)
            | Stimulus::Replied { .. }
            | Stimulus::Listed { .. }
            | Stimulus::Withdraw => {}
        }
        let mut next = Some(self.heard(stimulus));
        while let Some(stimulus) = next.take() {
            let before = self.recipe.hold();
            let woken_by = self.wake(&stimulus);
            let (notice, not_sent) = self.step(around, &stimulus);
            let grant = self.follow_hold(before, around);
            taken(Taken { notice, grant, woken_by });
            next = not_sent.map(Stimulus::Happened);
        }
        self.drop_unwanted_watches(around);
    }

    /// Replaces the refusal of `create2` by a server that does not know it. That server closes the
    /// connection; on the next one the recipe asks again, by `create`.
    fn heard(&self, stimulus: Stimulus) -> Stimulus {
        match (&stimulus, self.submitted) {
            (
                Stimulus::Replied { ticket, outcome: Err(UNIMPLEMENTED), .. },
                Some(Submitted { ticket: submitted, by: By::Create2, .. }),
            ) if *ticket == submitted => {
                Stimulus::Happened(Happening::NotSent(submitted, Failure::ConnectionLoss))
            }
            _ => stimulus,
        }
    }

    /// Returns the change that is about to wake the recipe, if there is one.
    fn wake(&self, stimulus: &Stimulus) -> Option<Wake> {
        match stimulus {
            Stimulus::Happened(Happening::Fired { ticket, wake }) => {
                self.recipe.awaits_change(*ticket).then_some(*wake)
            }
            _ => None,
        }
    }

    /// Checks the lease that the grant waits for.
    pub(crate) fn look_at_lease<T, W: Clone>(
        &mut self,
        around: &Surroundings<'_, T, W>,
    ) -> Option<GrantChange> {
        let outlook = around.session.lease_outlook(around.now);
        self.grant.look_at_lease(self.recipe.hold(), outlook)
    }

    fn follow_hold<T, W: Clone>(
        &mut self,
        before: Hold,
        around: &Surroundings<'_, T, W>,
    ) -> Option<GrantChange> {
        let hold = self.recipe.hold();
        let ended = self.grant.follow(hold);
        let is_promoted = before.token() != hold.token();
        ended.or_else(|| is_promoted.then(|| self.look_at_lease(around)).flatten())
    }

    /// Makes one step of the recipe, and ends the borrow of its output. A command that could not be
    /// sent comes back as the recipe's next input.
    fn step<T, W: Clone>(
        &mut self,
        around: &mut Surroundings<'_, T, W>,
        stimulus: &Stimulus,
    ) -> (Option<R::Notice>, Option<Happening>) {
        let Self { recipe, site, watches, submitted, awaited, .. } = self;
        let Surroundings { key, session, now, lists } = around;
        let cause = cause_of(stimulus, *submitted);
        let performer = Performer { session, now: *now, key: *key, site, lists, cause };
        feed(recipe, stimulus, |output| {
            let Some(command) = output.command else {
                return (output.notice, None);
            };
            let (ticket, moment) = (command.ticket, performer.lists.moment());
            let not_sent = match performer.carry_out(&command) {
                Ok(Performed::Submitted) => {
                    *submitted = Some(Submitted { ticket, moment, by: By::KnownRequest });
                    None
                }
                Ok(Performed::SubmittedByCreate2) => {
                    *submitted = Some(Submitted { ticket, moment, by: By::Create2 });
                    None
                }
                Ok(Performed::WaitsForList(parent)) => {
                    set(awaited, |awaited| awaited.listing = Some(parent));
                    None
                }
                Ok(Performed::Watching(watch)) => {
                    *submitted = Some(Submitted { ticket, moment, by: By::KnownRequest });
                    watches.push(watch);
                    None
                }
                Err(failure) => Some(Happening::NotSent(ticket, failure)),
            };
            (output.notice, not_sent)
        })
    }

    /// Drops watches after the commands were carried out: the server then need not set anew the one
    /// on the path of a new watch.
    fn drop_unwanted_watches<T, W: Clone>(&mut self, around: &mut Surroundings<'_, T, W>) {
        let Self { recipe, watches, .. } = self;
        watches.retain(|watch| {
            let is_wanted = recipe.awaits_change(watch.ticket);
            match watch.on {
                _ if is_wanted => {}
                WatchOn::Own => around.session.forget_locally(watch.id),
                WatchOn::Other => around.session.forget(around.now, watch.id),
            }
            is_wanted
        });
    }
}

fn set(awaited: &mut Option<Box<Awaited>>, change: impl FnOnce(&mut Awaited)) {
    change(awaited.get_or_insert_default());
    awaited.take_if(|awaited| **awaited == Awaited::default());
}

/// Returns the cause for which a recipe asks for a list.
fn cause_of(stimulus: &Stimulus, submitted: Option<Submitted>) -> Cause {
    match (stimulus, submitted) {
        (Stimulus::Replied { ticket, .. }, Some(submitted)) if submitted.ticket == *ticket => {
            Cause::ReplyTo(submitted.moment)
        }
        _ => Cause::News,
    }
}
