//! The caller's interface to recipes, and the steps of recipes.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use zk_session::Instant;

use election_core::{Phase, Token};

use super::{HostLink, Pending, Recipe, RecipeHost};
use crate::event::{Event, RecipeEnd, Step};
use crate::grant::{Grant, GrantChange};
use crate::key::RecipeKey;
use crate::lists::{Delivery, Next};
use crate::perform::submit_list;
use crate::replies::{Happening, Stimulus};
use crate::seat::{Seat, SeatStage, Surroundings, Taken, Times};
use crate::site::Site;
use crate::view::View;

impl<R: Recipe, T, W: Clone> RecipeHost<R, T, W> {
    /// Adds a recipe. It stands as soon as there is a session, and goes on over lost connections
    /// and expired sessions until [`Event::Over`](crate::Event::Over).
    pub fn stand(&mut self, now: Instant, recipe: R, site: Arc<Site>) -> RecipeKey {
        self.last_key += 1;
        let key = RecipeKey(self.last_key);
        self.seats.insert(key, Box::new(Seat::new(recipe, site)));
        self.readiness.clear();
        if self.heartbeats.checked.is_none() {
            self.keep_ready(now);
        }
        if let Some(end) = self.ended() {
            self.recipe_is_over(key, RecipeEnd::HostEnded(end));
        } else if let (HostLink::Up { .. }, Some(session), true) =
            (self.link, self.session.id(), self.session.is_connected())
        {
            self.start_looks(now);
            self.stimulate(now, key, Stimulus::Happened(Happening::Connected(session)));
        }
        key
    }

    /// Makes a recipe give up, whatever it is doing. A grant that was announced to its user is over
    /// with this call.
    pub fn withdraw(&mut self, now: Instant, key: RecipeKey) {
        self.stimulate(now, key, Stimulus::Withdraw);
    }

    /// Sets, or with `None` removes, the time at which the host feeds the recipe
    /// [`Event::Deadline`](election_core::Event::Deadline).
    pub fn set_deadline(&mut self, key: RecipeKey, deadline: Option<Instant>) {
        // A recipe that is over, with its end not polled yet, waits for nothing.
        let seat = self.seats.get_mut(&key);
        let Some(seat) = seat.filter(|seat| !matches!(seat.stage, SeatStage::Over(_))) else {
            return;
        };
        let former = seat.replace_deadline(deadline);
        self.deadlines.replace(key, former, deadline);
    }

    /// Feeds the recipe [`Event::Deadline`](election_core::Event::Deadline) at once. A nominee that
    /// leads steps down, and a grant that was announced to its user is over.
    pub fn reach_deadline(&mut self, now: Instant, key: RecipeKey) {
        self.set_deadline(key, None);
        self.stimulate(now, key, Stimulus::Happened(Happening::Deadline));
    }

    /// Returns a recipe, until its [`Event::Over`](crate::Event::Over) was polled.
    pub fn recipe(&self, key: RecipeKey) -> Option<&R> {
        Some(&self.seats.get(&key)?.recipe)
    }

    /// Returns what the host knows of a recipe, until its [`Event::Over`](crate::Event::Over) was
    /// polled.
    pub fn view(&self, key: RecipeKey) -> Option<View<'_>> {
        let seat = self.seats.get(&key)?;
        let Seat { grant, session, stage, site, .. } = &**seat;
        let (is_closing, end) = stage.facts();
        Some(View {
            grant: grant.get(),
            session: *session,
            lease_deadline: self.session.lease_deadline(),
            delay_until: seat.times().delay_until,
            is_closing,
            end,
            site,
        })
    }

    /// Returns a recipe and what the host knows of it, for recipes that keep something for their
    /// user. Only the host may feed the recipe.
    pub fn recipe_mut(&mut self, key: RecipeKey) -> Option<(&mut R, View<'_>)> {
        let lease_deadline = self.session.lease_deadline();
        let seat = self.seats.get_mut(&key)?;
        let delay_until = seat.times().delay_until;
        let Seat { recipe, grant, session, stage, site, .. } = &mut **seat;
        let (grant, session) = (grant.get(), *session);
        let (is_closing, end) = stage.facts();
        let view = View { grant, session, lease_deadline, delay_until, is_closing, end, site };
        Some((recipe, view))
    }

    /// Returns what the user of a recipe may act by at `now`: the token of its announced grant,
    /// while the lease deadline lies ahead.
    ///
    /// Call it before each act, with the clock just read. It returns `None` while there are events
    /// to poll: one of them may say that the lease has lapsed, although it was proved again since.
    pub fn held(&self, now: Instant, key: RecipeKey) -> Option<Token> {
        if !self.events.is_empty() || self.session.has_events() {
            return None;
        }
        let Grant::Announced { token } = *self.seats.get(&key)?.grant.get() else {
            return None;
        };
        self.session.lease_deadline().filter(|deadline| now < *deadline).map(|_| token)
    }

    /// Returns the recipes that take steps, oldest first.
    pub fn recipes(&self) -> impl Iterator<Item = (RecipeKey, &R)> {
        let standing = self.seats.iter().filter(|(_, seat)| seat.stage == SeatStage::Standing);
        standing.map(|(key, seat)| (*key, &seat.recipe))
    }

    /// Adds an event behind the earlier ones.
    pub(super) fn tell(&mut self, event: Event<R, T, W>) {
        self.events.push_back(Pending::Event(event));
    }

    /// Reports a change that no event of the recipe has caused.
    pub(super) fn tell_step(&mut self, key: RecipeKey, grant: Option<GrantChange>) {
        let zxid = self.session.last_zxid();
        self.tell(Event::Stepped(Step { key, notice: None, grant, woken_by: None, zxid }));
    }

    /// Ends a recipe, which takes no more steps.
    pub(super) fn recipe_is_over(&mut self, key: RecipeKey, end: RecipeEnd) {
        let Some(seat) = self.seats.get_mut(&key) else {
            return;
        };
        if let SeatStage::Over(_) = seat.stage {
            return;
        }
        seat.stage = SeatStage::Over(end);
        let former = seat.replace_deadline(None);
        self.deadlines.replace(key, former, None);
        // A recipe that has finished holds nothing any more.
        if let RecipeEnd::HostEnded(end) = end
            && let Some(grant) = seat.grant.end(end)
        {
            self.tell_step(key, Some(grant));
        }
        self.events.push_back(Pending::Over(key));
    }

    /// Takes out a recipe that is over.
    pub(super) fn take_over(&mut self, now: Instant, key: RecipeKey) -> Option<Event<R, T, W>> {
        let Seat { recipe, site, stage: SeatStage::Over(end), .. } = *self.seats.remove(&key)?
        else {
            return None;
        };
        self.lease_not_needed(now);
        Some(Event::Over { key, recipe: Box::new(recipe), site, end })
    }

    pub(super) fn stimulate(&mut self, now: Instant, key: RecipeKey, stimulus: Stimulus) {
        let Some(seat) = self.seats.get(&key) else {
            return;
        };
        if let Some(parent) = seat.listing()
            && let Some(delivery) = self.lists.claim(parent, key)
        {
            self.deliver(now, delivery);
        }
        self.step(now, key, stimulus);
    }

    fn step(&mut self, now: Instant, key: RecipeKey, stimulus: Stimulus) {
        let Self { seats, session, lists, events, .. } = self;
        let Some(seat) = seats.get_mut(&key).filter(|seat| seat.stage == SeatStage::Standing)
        else {
            return;
        };
        let zxid = session.last_zxid();
        seat.handle(&mut Surroundings { key, session, now, lists }, stimulus, |taken| {
            let Taken { notice, grant, woken_by } = taken;
            let step = Step { key, notice, grant, woken_by, zxid };
            events.push_back(Pending::Event(Event::Stepped(step)));
        });
        if seat.recipe.waits_for_look() {
            self.looks.retry_soon(now);
        }
        let (awaited, former) = (seat.recipe.awaits_delay(), seat.times());
        if awaited.is_some() != former.delay_until.is_some() {
            let until = awaited.map(|delay| now + delay);
            seat.set_times(Times { deadline: until, delay_until: until });
            self.deadlines.replace(key, former.deadline, until);
        }
        if seat.grant.get().awaits_lease() {
            self.awaiting_lease.insert(key);
        }
        if seat.recipe.phase() == Phase::Over {
            self.recipe_is_over(key, RecipeEnd::Finished);
        }
        self.tend_heartbeats(now, key);
    }

    pub(super) fn stimulate_all(&mut self, now: Instant, happening: Happening) {
        let keys: Vec<_> = self.seats.keys().copied().collect();
        for key in keys {
            self.stimulate(now, key, Stimulus::Happened(happening));
        }
    }

    /// Delivers lists to the recipes that asked for them, as many as the turn admits, and asks for
    /// the next ones. Returns whether there was anything to do.
    pub(super) fn deliver_lists(&mut self, now: Instant) -> bool {
        let mut has_delivered = false;
        while let Some(next) = self.lists.next(&mut self.turn) {
            has_delivered = true;
            match next {
                Next::Deliver(delivery) => self.deliver(now, delivery),
                Next::Submit { parent, key } => {
                    if let Err(failure) = submit_list(&mut self.session, now, &parent, key) {
                        for reader in self.lists.not_sent(&parent) {
                            let happening = Happening::NotSent(reader.ticket, failure);
                            self.step(now, reader.key, Stimulus::Happened(happening));
                        }
                    }
                }
                Next::Done => {}
            }
        }
        has_delivered
    }

    fn deliver(&mut self, now: Instant, delivery: Delivery) {
        let Delivery { to, listed } = delivery;
        if let Some(seat) = self.seats.get_mut(&to.key) {
            seat.awaits_no_list();
        }
        self.step(now, to.key, Stimulus::Listed { ticket: to.ticket, listed });
    }

    /// Announces waiting grants, if a reply or the passing of time has made the lease good enough.
    pub(super) fn announce_grants(&mut self, now: Instant) {
        let Self { seats, session, lists, events, .. } = self;
        let zxid = session.last_zxid();
        self.awaiting_lease.retain(|key| {
            let Some(seat) = seats.get_mut(key).filter(|seat| seat.stage == SeatStage::Standing)
            else {
                return false;
            };
            let key = *key;
            let grant = seat.look_at_lease(&Surroundings { key, session, now, lists });
            if grant.is_some() {
                let (notice, woken_by) = (None, None);
                let step = Step { key, notice, grant, woken_by, zxid };
                events.push_back(Pending::Event(Event::Stepped(step)));
            }
            seat.grant.get().awaits_lease()
        });
    }

    /// Makes all recipes look at the same moment, so that one list serves all at one node.
    pub(super) fn look_if_due(&mut self, now: Instant) {
        if self.looks.is_due(now) {
            self.start_looks(now);
            self.stimulate_all(now, Happening::Look);
        }
        if self.looks.is_retry_due(now) {
            let throttled = self.seats.iter().filter(|(_, seat)| seat.recipe.waits_for_look());
            let throttled: Vec<_> = throttled.map(|(key, _)| *key).collect();
            for key in throttled {
                self.stimulate(now, key, Stimulus::Happened(Happening::Look));
            }
        }
    }

    pub(super) fn tell_deadlines(&mut self, now: Instant) {
        while let Some(key) = self.deadlines.take_due(now) {
            if let Some(seat) = self.seats.get_mut(&key) {
                seat.replace_deadline(None);
            }
            self.stimulate(now, key, Stimulus::Happened(Happening::Deadline));
        }
    }

    /// Starts the looks: recipes with a connection look now and then.
    pub(super) fn start_looks(&mut self, now: Instant) {
        if let HostLink::Up { timeout } = self.link
            && !self.seats.is_empty()
        {
            self.looks.start(now, timeout);
        }
    }
}
