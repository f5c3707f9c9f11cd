//! A kind of object as the checker wants it: what each operation makes of each state.

use alloc::sync::Arc;
use core::cell::Cell;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History as Actions};
use todc_utils::specifications::Specification;

use super::history::{Call, End};
use super::operation::Op;

/// A specification of one kind of object.
pub(crate) trait Kind {
    /// What is known of the whole history: it tells the operations with an unknown outcome apart that lead nowhere.
    type Context: Debug;
    /// The state of the object.
    type State: Clone + Debug + Default + Eq + Hash;

    /// Looks through a history.
    fn context(calls: &[Call]) -> Self::Context;

    /// Returns the state after an operation that took effect with these results; none if that cannot be.
    fn done(op: &Op, context: &Self::Context, state: &Self::State) -> Option<Self::State>;

    /// Returns the state after an operation with an unknown outcome takes effect; none if it has no effect in
    /// this state, or one that some operation shows not to be.
    fn unknown(op: &Op, context: &Self::Context, state: &Self::State) -> Option<Self::State>;

    /// Whether that may be the last state.
    fn may_end(_context: &Self::Context, _state: &Self::State) -> bool {
        true
    }
}

/// An operation in its history.
#[derive(Debug)]
struct Step<C> {
    part: Part,
    context: Arc<C>,
}

#[derive(Clone, Debug)]
enum Part {
    Done(Op),
    Unknown(Op),
    /// Behind all operations that took effect. What has an unknown outcome and comes behind it never takes effect.
    Last,
}

impl<C> Clone for Step<C> {
    fn clone(&self) -> Self {
        Self { part: self.part.clone(), context: Arc::clone(&self.context) }
    }
}

/// A kind to the checker.
struct Spec<K>(PhantomData<K>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State<S> {
    is_over: bool,
    object: S,
}

thread_local! {
    /// How often the checker may still try an operation.
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

impl<K: Kind> Specification for Spec<K> {
    type State = State<K::State>;
    type Operation = Step<K::Context>;

    fn init() -> Self::State {
        State::default()
    }

    fn apply(step: &Self::Operation, state: &Self::State) -> (bool, Self::State) {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1));
        let Step { part, context } = step;
        let State { is_over, object } = state;
        let next = match part {
            _ if left == 0 => None,
            Part::Done(op) => K::done(op, context, object),
            Part::Unknown(_) if *is_over => Some(object.clone()),
            Part::Unknown(op) => K::unknown(op, context, object),
            Part::Last => K::may_end(context, object).then(|| object.clone()),
        };
        let is_over = *is_over || matches!(part, Part::Last);
        next.map_or_else(|| (false, state.clone()), |object| (true, State { is_over, object }))
    }
}

/// The checker's word on one history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Linearizable,
    Not,
    /// It would have taken too long.
    Undecided,
}

/// How often the checker tries an operation, for each operation that there is.
const EFFORT: u64 = 1_000;

/// Asks the checker.
pub(crate) fn ask<K: Kind>(calls: &[Call]) -> Word {
    let context = Arc::new(K::context(calls));
    let step = |part| Step { part, context: Arc::clone(&context) };
    // Of one moment first what begins: operations that touch are beside each other.
    let mut events = Vec::new();
    let mut unknown = Vec::new();
    for (process, Call { invoked, op, end, .. }) in calls.iter().enumerate() {
        match end {
            End::Failed(_) => {}
            End::Ok(at, result) => {
                let part = Part::Done(result.clone());
                events.push(((*invoked, 0_u8), (process, Action::Call(step(part.clone())))));
                events.push(((*at, 1), (process, Action::Response(step(part)))));
            }
            End::Unknown => {
                let part = Part::Unknown(op.clone());
                events.push(((*invoked, 0), (process, Action::Call(step(part.clone())))));
                unknown.push((process, Action::Response(step(part))));
            }
        }
    }
    events.sort_by_key(|(at, _)| *at);
    let mut actions: Vec<_> = events.into_iter().map(|(_, action)| action).collect();
    let last = calls.len();
    actions.push((last, Action::Call(step(Part::Last))));
    actions.push((last, Action::Response(step(Part::Last))));
    actions.extend(unknown);
    let effort = EFFORT.saturating_mul(u64::try_from(actions.len()).unwrap_or(u64::MAX));
    LEFT.set(effort);
    match WGLChecker::<Spec<K>>::is_linearizable(Actions::from_actions(actions)) {
        true => Word::Linearizable,
        false if LEFT.get() == 0 => Word::Undecided,
        false => Word::Not,
    }
}
