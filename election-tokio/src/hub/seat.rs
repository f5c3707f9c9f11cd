//! Recipes of any type, with the state that their users see.

use core::any::Any;
use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;

use election_core::{Command, Event, Hold, Output, Phase, Recipe, Ticket, Znode};
use election_session::{RecipeEnd, Step, View};
use zk_session::SessionEnd;

use super::Unlocked;

/// Shows a recipe to its user. It works under the hub's lock, and postpones user code until the
/// lock is released.
pub(crate) trait Face: Send + fmt::Debug {
    /// The recipe that it shows.
    type Recipe: Recipe<Notice: Send + fmt::Debug> + Send + fmt::Debug;

    /// Notes an event before the recipe gets it.
    fn hears(&mut self, _: &Self::Recipe, _: &Event<'_>) {}

    /// Notes a command of the recipe.
    fn asks(&mut self, _: &Command<'_>) {}

    /// Shows a step.
    fn stepped(
        &mut self,
        recipe: &Self::Recipe,
        step: Step<<Self::Recipe as Recipe>::Notice>,
        view: View<'_>,
        unlocked: &mut Unlocked,
    );

    /// Shows that the client has ended before the recipe has reported its own end.
    fn client_ended(&mut self, _: &Self::Recipe, _: SessionEnd, _: &mut Unlocked) {}

    /// Notes that nothing more comes of the recipe, whether it has reported its end or not.
    fn over(&mut self, _: &Self::Recipe, _: RecipeEnd, _: &mut Unlocked) {}
}

/// A recipe of a client, whatever its type, with its face.
pub(crate) trait Seat: Recipe<Notice = Noticed> + Send + fmt::Debug {
    fn stepped(&mut self, step: Step<Noticed>, view: View<'_>, unlocked: &mut Unlocked);

    fn over(&mut self, end: RecipeEnd, unlocked: &mut Unlocked);

    /// Returns the recipe, to note its user's wishes. Only the host may feed it.
    fn recipe_mut(&mut self) -> &mut dyn Any;
}

/// A notice that the seat keeps for its face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noticed;

#[derive(Debug)]
struct Faced<F: Face> {
    recipe: F::Recipe,
    face: F,
    /// Of steps that the face was not shown yet. Mostly there are none.
    notices: Kept<<F::Recipe as Recipe>::Notice>,
}

type Kept<N> = Option<Box<Notices<N>>>;

/// Notices, oldest first.
#[derive(Debug)]
struct Notices<N>(VecDeque<N>);

impl dyn Seat {
    /// Makes a seat of a recipe with this face.
    pub(crate) fn new<F: Face + 'static>(recipe: F::Recipe, face: F) -> Box<Self> {
        Box::new(Faced { recipe, face, notices: None })
    }
}

impl<F: Face> Faced<F> {
    /// Keeps the notice of a step, and shows the commands to the face.
    fn keep<'a>(
        (face, notices): (&mut F, &mut Kept<<F::Recipe as Recipe>::Notice>),
        output: Output<'a, <F::Recipe as Recipe>::Notice>,
    ) -> Output<'a, Noticed> {
        let Output { command, notice } = output;
        if let Some(command) = &command {
            face.asks(command);
        }
        let notice = notice.map(|notice| {
            let kept = notices.get_or_insert_with(|| Box::new(Notices(VecDeque::new())));
            kept.0.push_back(notice);
            Noticed
        });
        Output { command, notice }
    }
}

impl<F: Face> Recipe for Faced<F> {
    type Notice = Noticed;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, Noticed> {
        let Self { recipe, face, notices } = self;
        face.hears(recipe, &event);
        Self::keep((face, notices), recipe.handle_event(event))
    }

    fn withdraw(&mut self) -> Output<'_, Noticed> {
        let Self { recipe, face, notices } = self;
        Self::keep((face, notices), recipe.withdraw())
    }

    fn phase(&self) -> Phase {
        self.recipe.phase()
    }

    fn hold(&self) -> Hold {
        self.recipe.hold()
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        self.recipe.heartbeat()
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        self.recipe.awaits_change(ticket)
    }

    fn awaits_delay(&self) -> Option<Duration> {
        self.recipe.awaits_delay()
    }

    fn waits_for_look(&self) -> bool {
        self.recipe.waits_for_look()
    }
}

impl<F: Face + 'static> Seat for Faced<F> {
    fn stepped(&mut self, step: Step<Noticed>, view: View<'_>, unlocked: &mut Unlocked) {
        let step = step.map(|Noticed| self.notices.as_mut()?.0.pop_front());
        self.notices.take_if(|notices| notices.0.is_empty());
        self.face.stepped(&self.recipe, step, view, unlocked);
    }

    fn over(&mut self, end: RecipeEnd, unlocked: &mut Unlocked) {
        let Self { recipe, face, .. } = self;
        face.over(recipe, end, unlocked);
        if let (RecipeEnd::HostEnded(end), Phase::Standing | Phase::Leaving) = (end, recipe.phase())
        {
            face.client_ended(recipe, end, unlocked);
        }
    }

    fn recipe_mut(&mut self) -> &mut dyn Any {
        &mut self.recipe
    }
}

impl Recipe for Box<dyn Seat> {
    type Notice = Noticed;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, Noticed> {
        (**self).handle_event(event)
    }

    fn withdraw(&mut self) -> Output<'_, Noticed> {
        (**self).withdraw()
    }

    fn phase(&self) -> Phase {
        (**self).phase()
    }

    fn hold(&self) -> Hold {
        (**self).hold()
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        (**self).heartbeat()
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        (**self).awaits_change(ticket)
    }

    fn awaits_delay(&self) -> Option<Duration> {
        (**self).awaits_delay()
    }

    fn waits_for_look(&self) -> bool {
        (**self).waits_for_look()
    }
}
