//! A kind of object as the checker wants it: what each operation makes of each state.

use alloc::sync::Arc;
use core::cell::Cell;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;
use core::time::Duration;

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

    /// Returns the state behind an operation; none if its results do not tell it.
    fn state_behind(_op: &Op) -> Option<Self::State> {
        None
    }

    /// Whether an operation with an unknown outcome has no effect in this state and in all that come after it.
    fn is_past(_op: &Op, _state: &Self::State) -> bool {
        false
    }
}

/// An operation in its history.
#[derive(Debug)]
struct Step<C, S> {
    part: Part<S>,
    context: Arc<C>,
}

#[derive(Clone, Debug)]
enum Part<S> {
    /// Before all others: the state that the object is in.
    First(S),
    Done(Op),
    Unknown(Op),
    /// Behind all operations that took effect. What has an unknown outcome and comes behind it never takes effect.
    Last,
}

impl<C, S: Clone> Clone for Step<C, S> {
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
    type Operation = Step<K::Context, K::State>;

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
            Part::First(state) => Some(state.clone()),
            Part::Done(op) => K::done(op, context, object),
            Part::Unknown(_) if *is_over => Some(object.clone()),
            Part::Unknown(op) => K::unknown(op, context, object),
            Part::Last => Some(object.clone()),
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

/// Operations that are asked for at once, if not more of them overlap: time and memory go by their square.
const MANY: usize = 200;

/// Asks the checker, part by part: where nothing is under way but operations that are past, and the last one tells the
/// state, what comes behind is another history that begins in that state.
pub(crate) fn ask<K: Kind>(calls: &[Call]) -> Word {
    let mut state = K::State::default();
    let mut sorted: Vec<&Call> = calls.iter().collect();
    sorted.sort_by_key(|call| call.invoked);
    let mut part: Vec<Call> = Vec::new();
    let (mut ended, mut behind) = (Duration::ZERO, None);
    for call in sorted {
        let may_part = part.len() >= MANY && call.invoked > ended;
        if let Some(next) = behind.take_if(|state| may_part && nothing_is_left::<K>(&part, state)) {
            match ask_from::<K>(&part, state) {
                Word::Linearizable => {}
                word => return word,
            }
            part.clear();
            state = next;
        }
        if let End::Ok(at, op) = &call.end {
            let is_alone = call.invoked > ended;
            behind = is_alone.then(|| K::state_behind(op)).flatten();
            ended = ended.max(*at);
        }
        part.push(call.clone());
    }
    ask_from::<K>(&part, state)
}

/// Whether none of the operations with an unknown outcome takes effect in this state or later.
fn nothing_is_left<K: Kind>(calls: &[Call], state: &K::State) -> bool {
    let mut unknown = calls.iter().filter(|call| call.end == End::Unknown);
    unknown.all(|call| K::is_past(&call.op, state))
}

fn ask_from<K: Kind>(calls: &[Call], state: K::State) -> Word {
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
    let last = calls.len();
    let first = Part::First(state);
    let mut actions = Vec::from([
        (last, Action::Call(step(first.clone()))),
        (last, Action::Response(step(first))),
    ]);
    actions.extend(events.into_iter().map(|(_, action)| action));
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
